/** The page /docs in a real browser: what axe finds in it. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { accessibilityFaults } from "../../dashboard/browser/axe.ts"
import { useTabs } from "../../dashboard/browser/tabs.ts"
import type { Json } from "../exampleWorld.ts"
import { startServer, type TestServer } from "../fixture.ts"

const tabs = useTabs()

/** Axe reads thousands of elements, twice. */
const timeout = 300_000

/**
 * The page with all operations would take axe minutes, since some rules compare each element with the
 * others: it gets one path of three at a time.
 */
const parts = 3

describe("The reference at /docs", () => {
  let server: TestServer
  let contract: Json
  beforeAll(async () => {
    server = await startServer()
    contract = (await server.call("GET", "/openapi.json", { key: null })).json
  })
  afterAll(() => server.stop())

  for (let part = 0; part < parts; part++) {
    const name = `is accessible in light and dark, part ${part + 1} of ${parts} of its operations`
    it(name, { timeout }, async () => {
      const all = Object.entries<Json>(contract.paths)
      const some = all.filter((_, place) => place % parts === part)
      const operations = some.flatMap(([, path]) => Object.keys(path)).length
      expect(operations).toBeGreaterThan(40)
      const page = await tabs.open({ url: server.url })
      await page.route("**/openapi.json", (route) =>
        route.fulfill({ json: { ...contract, paths: Object.fromEntries(some) } }),
      )
      await page.goto("/docs")
      const snippets = page.locator(".request-card pre").filter({ hasText: /^curl / })
      await expect.poll(() => snippets.count()).toBe(operations)
      expect(await accessibilityFaults(page)).toEqual([])
    })
  }
})
