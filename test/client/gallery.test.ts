/** The gallery of the elements, in a real browser, and the table of custom properties in the README. */
import { readFileSync } from "node:fs"
import type { Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Gallery, openGallery } from "../../src/client/build/gallery.ts"
import { accessibilityFaults } from "../dashboard/browser/axe.ts"
import { useTabs } from "../dashboard/browser/tabs.ts"

const tabs = useTabs()
let gallery: Gallery
beforeAll(async () => {
  gallery = await openGallery()
})
afterAll(() => gallery.close())

const openPage = async (): Promise<Page> => {
  const page = await tabs.open({ url: gallery.url })
  // The stream of the toast has no messages from before it.
  const stream = page.waitForResponse(/\/v1\/stream\?.*events=/)
  await page.goto("/")
  await stream
  await page.getByRole("table", { name: "Leaderboard" }).getByText("Cléo").waitFor()
  await page.getByRole("img", { name: /^Ada, .* longest streak/ }).waitFor()
  return page
}

const fileOf = (path: string) =>
  readFileSync(new URL(`../../src/client/${path}`, import.meta.url), "utf8")

const namesIn = (text: string, pattern: RegExp) =>
  [...new Set([...text.matchAll(pattern)].map(([, name]) => name!))].sort()

describe("The gallery", () => {
  it("shows every element, and React has a component for each", () => {
    const elements = namesIn(fileOf("elements.ts"), /"(laurel-\w+)": Laurel/g)
    expect(elements.length).toBeGreaterThan(10)
    expect(namesIn(fileOf("build/gallery.html"), /<(laurel-\w+)/g)).toEqual(elements)
    expect(namesIn(fileOf("react-elements.ts"), /"(laurel-\w+)",?\s*\)/g)).toEqual(elements)
  })

  it("shows data in every element, in both directions and on every screen", async () => {
    const page = await openPage()
    for (const text of [
      "Level 6 · 1,720 XP · Rank 1",
      "380 XP to level 7",
      "Scholar · Silver",
      "lessons 6 / 20",
      "Now 7 · best 8",
      "800 of 2,000 · 40 %",
      "You have 430 points",
      "4,570 points missing",
    ]) {
      await page.getByText(text).first().waitFor()
    }
    const league = page.getByRole("table", { name: "Weekly league · Bronze" })
    // The score is of the week, so it depends on the day.
    expect(await league.getByRole("row").nth(2).innerText()).toMatch(/^2\tAda\t▲ up\t\d+$/)
    expect(await accessibilityFaults(page)).toEqual([])
    await page.getByLabel("right to left").check()
    await page.locator(`laurel-recap svg[direction=rtl]`).waitFor()
    expect(await accessibilityFaults(page)).toEqual([])
    for (const width of [375, 1920]) {
      await page.setViewportSize({ width, height: 900 })
      expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(width)
    }
  })

  it("has themes of custom properties whose text is legible", async () => {
    const page = await openPage()
    const themes = page.getByLabel("Theme")
    const [, ...names] = await themes.getByRole("option").allInnerTexts()
    expect(names).toEqual(["night", "paper"])
    const ground = () =>
      page.evaluate(
        "getComputedStyle(document.querySelector('laurel-goal').shadowRoot.querySelector('.card')).backgroundColor",
      )
    const seen = new Set([await ground()])
    await page.getByRole("button", { name: "Do a lesson" }).click()
    for (const name of names) {
      await themes.selectOption(name)
      seen.add(await ground())
      expect([name, await accessibilityFaults(page)]).toEqual([name, []])
    }
    expect(seen.size).toBe(3)
  })

  it("tells a new badge with its tier, and is animated only without reduced motion", async () => {
    const page = await openPage()
    const motion = () =>
      page.evaluate(`(() => {
        const toast = document.querySelector("laurel-toast").shadowRoot.querySelector("p")
        return getComputedStyle(toast).animationName
      })()`)
    for (let n = 0; n < 3; n++) await page.getByRole("button", { name: "Share a lesson" }).click()
    await page.getByText("New badge: Ambassador · Herald").waitFor()
    expect(await motion()).toBe("none")
    await page.emulateMedia({ reducedMotion: "no-preference" })
    expect(await motion()).toBe("rise")
  })

  it("sells, and follows the learner", async () => {
    const page = await openPage()
    await page.getByRole("button", { name: "Buy for 120 points" }).click()
    await page.getByRole("status").filter({ hasText: "Bought: Signed poster" }).waitFor()
    await page.getByRole("button", { name: "Sold out" }).waitFor()
    for (let n = 0; n < 15; n++) await page.getByRole("button", { name: "Do a lesson" }).click()
    await page.getByText("Level 7", { exact: true }).first().waitFor()
  })
})

describe("The README of the client", () => {
  it("lists every custom property with its values in light and dark", () => {
    const used = new Set(
      [
        ...fileOf("elements/base.ts").matchAll(/var\((--laurel-\w+),(light-dark\(.*?\)|.*?)\)/g),
      ].map(([, name, value]) => {
        const [, light = value, dark = value] = /light-dark\((.*),(.*)\)/.exec(value!) ?? []
        return `${name} ${light} ${dark}`
      }),
    )
    const listed = [
      ...fileOf("README.md").matchAll(/^\| `(--laurel-\w+)` \| .* \| `(.*)` \| `(.*)` \|$/gm),
    ].map(([, name, light, dark]) => `${name} ${light} ${dark}`)
    expect(listed.length).toBeGreaterThan(5)
    expect(listed.toSorted()).toEqual([...used].sort())
  })
})
