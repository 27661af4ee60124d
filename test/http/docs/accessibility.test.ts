/** The page /docs in a real browser: what axe finds in it. */
import { expect, it } from "vitest"
import { accessibilityFaults } from "../../dashboard/browser/axe.ts"
import { useTabs } from "../../dashboard/browser/tabs.ts"
import type { Json } from "../exampleWorld.ts"
import { startServer } from "../fixture.ts"

const tabs = useTabs()

/** Axe reads thousands of elements, twice. */
const timeout = 300_000

/**
 * The reader shows every operation alike, and axe needs a second for each few of them: the page gets
 * one path of three.
 */
const pathsOfEach = 3

it("The reference at /docs is accessible in light and dark", { timeout }, async () => {
  const server = await startServer()
  try {
    const { json } = await server.call("GET", "/openapi.json", { key: null })
    const some = Object.entries<Json>(json.paths).filter((_, place) => place % pathsOfEach === 0)
    const operations = some.flatMap(([, path]) => Object.keys(path)).length
    expect(operations).toBeGreaterThan(40)
    const page = await tabs.open({ url: server.url })
    await page.route("**/openapi.json", (route) =>
      route.fulfill({ json: { ...json, paths: Object.fromEntries(some) } }),
    )
    await page.goto("/docs")
    const snippets = page.locator(".request-card pre").filter({ hasText: /^curl / })
    await expect.poll(() => snippets.count()).toBe(operations)
    expect(await accessibilityFaults(page)).toEqual([])
  } finally {
    await server.stop()
  }
})
