/** The page /docs in a real browser: what axe finds in it. */
import { expect, it } from "vitest"
import { accessibilityFaults } from "../../dashboard/browser/axe.ts"
import { useTabs } from "../../dashboard/browser/tabs.ts"
import type { Json } from "../exampleWorld.ts"
import { startServer } from "../fixture.ts"

const tabs = useTabs()

/**
 * Axe reads some 130,000 elements, twice. Half of them are the schemas below the operations: pages
 * with a part of the operations each would take longer in all.
 */
const timeout = 600_000

it("The reference at /docs is accessible in light and dark", { timeout }, async () => {
  const server = await startServer()
  try {
    const { json } = await server.call("GET", "/openapi.json", { key: null })
    const operations = Object.values<Json>(json.paths).flatMap(Object.keys).length
    expect(operations).toBeGreaterThan(120)
    const page = await tabs.open({ url: server.url })
    await page.goto("/docs")
    const snippets = page.locator(".request-card pre").filter({ hasText: /^curl / })
    await expect.poll(() => snippets.count(), { timeout }).toBe(operations)
    expect(await accessibilityFaults(page)).toEqual([])
  } finally {
    await server.stop()
  }
})
