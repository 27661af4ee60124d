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
 * others: it gets a part of the operations and of the webhooks at a time, with the schemas that they need.
 */
const parts = 8

const partOf = (part: number, all: Record<string, Json>): Record<string, Json> => {
  const entries = Object.entries(all)
  const at = (n: number) => Math.floor((n * entries.length) / parts)
  return Object.fromEntries(entries.slice(at(part), at(part + 1)))
}

/** The schemas that `value` refers to, and those that these refer to. */
const schemasOf = (contract: Json, value: unknown): Record<string, Json> => {
  const found: Record<string, Json> = {}
  const follow = (one: unknown): void => {
    for (const [, name] of JSON.stringify(one).matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
      if (name! in found) continue
      found[name!] = contract.components.schemas[name!]
      follow(found[name!])
    }
  }
  follow(value)
  return found
}

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
      // Neighbours share schemas.
      const some = {
        paths: partOf(part, contract.paths),
        webhooks: partOf(part, contract.webhooks),
      }
      const operations = Object.values(some.paths).flatMap((path) => Object.keys(path)).length
      expect(operations).toBeGreaterThan(10)
      const components = { ...contract.components, schemas: schemasOf(contract, some) }
      const page = await tabs.open({ url: server.url })
      await page.route("**/openapi.json", (route) =>
        route.fulfill({ json: { ...contract, components, ...some } }),
      )
      await page.goto("/docs")
      const snippets = page.locator(".request-card pre").filter({ hasText: /^curl / })
      await expect.poll(() => snippets.count()).toBe(operations)
      expect(await accessibilityFaults(page)).toEqual([])
    })
  }

  it("has no schema that no operation needs", () => {
    const needed = schemasOf(contract, [contract.paths, contract.webhooks])
    expect(Object.keys(contract.components.schemas).sort()).toEqual(Object.keys(needed).sort())
  })
})
