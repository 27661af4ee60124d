/** The gallery of the elements, in a real browser. */
import { afterAll, beforeAll, expect, it } from "vitest"
import { type Gallery, openGallery } from "../../src/client/build/gallery.ts"
import { accessibilityFaults } from "../dashboard/browser/axe.ts"
import { useTabs } from "../dashboard/browser/tabs.ts"

const tabs = useTabs()
let gallery: Gallery
beforeAll(async () => {
  gallery = await openGallery()
})
afterAll(() => gallery.close())

it("The gallery shows every element with data, in both directions, and a toast for a new badge", async () => {
  const page = await tabs.open({ url: gallery.url })
  await page.goto("/")
  for (const text of [
    "Level 6 · 1,520 XP · Rank 1",
    "580 XP to level 7",
    "Scholar · Silver",
    "lessons 1 / 20",
    "Now 7 · best 8",
    "You have 380 points",
    "4,620 points missing",
  ]) {
    await page.getByText(text).first().waitFor()
  }
  await page.getByRole("table", { name: "Leaderboard" }).getByText("Cléo").waitFor()
  await page.getByRole("img", { name: /^Ada, .* longest streak/ }).waitFor()
  expect(await accessibilityFaults(page)).toEqual([])
  await page.getByLabel("right to left").check()
  await page.locator(`laurel-recap svg[direction=rtl]`).waitFor()
  expect(await accessibilityFaults(page)).toEqual([])
  for (const width of [375, 1920]) {
    await page.setViewportSize({ width, height: 900 })
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(width)
  }
  await page.getByRole("button", { name: "Buy for 120 points" }).click()
  await page.getByRole("status").filter({ hasText: "Bought: Signed poster" }).waitFor()
  await page.getByRole("button", { name: "Sold out" }).waitFor()
  for (let n = 0; n < 15; n++) await page.getByRole("button", { name: "Do a lesson" }).click()
  await page.getByText("Level 7", { exact: true }).first().waitFor()
})
