/** The list of users in a real browser: by keyboard alone, on a phone and in a wide window. */
import type { Locator, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { accessibilityFaults } from "./axe.ts"
import { type Sample, startSample } from "./sample.ts"
import { useTabs } from "./tabs.ts"

const tabs = useTabs()
let sample: Sample

beforeAll(async () => {
  sample = await startSample()
})
afterAll(() => sample.server.stop())

const open = async (query = "") => {
  const { owner, server } = sample
  const page = await tabs.open({ url: server.url, cookiesOf: owner })
  await page.goto(`/dashboard/shop/sandbox/users${query}`)
  return page
}

/** Moves the focus with Tab until it is on the element. */
const tabTo = async (page: Page, target: Locator): Promise<void> => {
  for (let presses = 0; presses < 120; presses++) {
    if (await target.evaluate((element) => element.matches(":focus"))) return
    await page.keyboard.press("Tab")
  }
  throw new Error(`No focus on ${target} after 120 presses of Tab`)
}

describe("The list of users", () => {
  it("is filtered and sorted by keyboard alone", async () => {
    const page = await open()
    await tabTo(page, page.locator("summary", { hasText: "Filters" }))
    await page.keyboard.press("Enter")
    await tabTo(page, page.getByLabel("Level to"))
    await page.keyboard.type("1")
    await page.keyboard.press("Enter")
    await page.waitForURL(/levelMax=1/)
    const sort = page.getByRole("link", { name: "Xp", exact: true })
    await tabTo(page, sort)
    await page.keyboard.press("Enter")
    await page.waitForURL(/levelMax=1.*sort=xp/)
    expect(await page.locator("th[aria-sort=descending]").textContent()).toBe("Xp")
    await tabTo(page, page.getByRole("link", { name: "Remove all filters" }))
    await page.keyboard.press("Enter")
    await page.waitForURL((url) => !url.search.includes("levelMax"))
    expect(page.url()).toContain("sort=xp")
  })

  it("fits a phone of 375 pixels and a window of 1,920, and has no fault of access", async () => {
    for (const query of ["", "?levelMax=1&sort=lastEventAt"]) {
      const page = await open(query)
      for (const width of [375, 1_920]) {
        await page.setViewportSize({ width, height: 800 })
        const wider = await page.evaluate(
          "document.documentElement.scrollWidth - document.documentElement.clientWidth",
        )
        expect([query, width, wider]).toEqual([query, width, 0])
      }
      expect([query, await accessibilityFaults(page)]).toEqual([query, []])
    }
  })
})
