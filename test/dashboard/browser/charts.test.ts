/** Charts in a real browser: single values by keys and pointer, print, phones and wide windows. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Sample, startSample } from "./sample.ts"
import { useTabs } from "./tabs.ts"

const tabs = useTabs()
let sample: Sample

beforeAll(async () => {
  sample = await startSample()
})
afterAll(() => sample.server.stop())

const open = async (path: string, javaScriptEnabled = true) => {
  const { owner, server } = sample
  const page = await tabs.open({ url: server.url, cookiesOf: owner, javaScriptEnabled })
  await page.goto(`/dashboard/shop/sandbox${path}`)
  return page
}

describe("A chart", () => {
  it("is read by the arrow keys, Home and End, and by the pointer", async () => {
    const page = await open("?days=7")
    const chart = page.locator(".chart", { hasText: "Daily active users" })
    const reading = chart.getByRole("status")
    const svg = chart.getByRole("img", { name: /^Daily active users from Nov 14 to Nov 22/ })
    expect(await reading.textContent()).toBe("Dashed: the period before.")
    // The script that reads charts is loaded after the page.
    await chart.locator("svg[tabindex]").waitFor()
    await svg.focus()
    const read = async (key: string) => {
      await page.keyboard.press(key)
      return reading.textContent()
    }
    expect(await read("ArrowLeft")).toMatch(/^Nov 22: \d+ so far$/)
    expect(await read("ArrowLeft")).toMatch(/^Nov 21: \d+ so far$/)
    expect(await read("ArrowLeft")).toMatch(/^Nov 20: \d+, before: \d+$/)
    expect(await read("Home")).toMatch(/^Nov 14: \d+, before: \d+$/)
    expect(await read("ArrowLeft")).toMatch(/^Nov 14/)
    expect(await read("ArrowRight")).toMatch(/^Nov 15/)
    expect(await read("End")).toMatch(/^Nov 22/)
    expect(await chart.locator("rect.at").count()).toBe(1)
    await page.keyboard.press("Tab")
    expect(await reading.textContent()).toBe("Dashed: the period before.")
    await chart.locator("rect").nth(2).hover({ force: true })
    expect(await reading.textContent()).toMatch(/^Nov 16/)
  })

  it("is whole without a script, and has its values in a table", async () => {
    const page = await open("/retention", false)
    await page.getByRole("img", { name: /^Retention from Day 0 to Day 90: lowest/ }).waitFor()
    await page.getByText("Table of retention").click()
    const table = page.getByRole("region", { name: "Retention" })
    expect(await table.getByRole("row").count()).toBe(92)
    expect(await page.locator("title", { hasText: /^Day 1: / }).count()).toBe(1)
  })

  it("fits a phone of 375 pixels and a window of 1,920, and is printed without links", async () => {
    for (const path of ["", "/retention"]) {
      const page = await open(path)
      for (const width of [375, 1_920]) {
        await page.setViewportSize({ width, height: 800 })
        const wider = await page.evaluate(
          "document.documentElement.scrollWidth - document.documentElement.clientWidth",
        )
        expect([path, width, wider]).toEqual([path, width, 0])
        const box = await page.locator(".plot svg").first().boundingBox()
        expect(box!.width).toBeGreaterThan(width > 1_000 ? 320 : 240)
      }
      await page.emulateMedia({ media: "print" })
      expect(await page.locator("nav.side").isVisible()).toBe(false)
      expect(await page.locator(".plot svg").first().isVisible()).toBe(true)
    }
  })
})
