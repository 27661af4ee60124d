/** What scripts add to forms: no reload, suggestions, pickers, and drafts that outlive a session. */
import type { Page } from "playwright-core"
import { describe, expect, it, onTestFinished } from "vitest"
import { password } from "../fixture.ts"
import { startWorld, type World } from "../pages/definitions/world.ts"
import { accessibilityFaults } from "./axe.ts"
import { useTabs } from "./tabs.ts"

const tabs = useTabs()
const base = "/dashboard/shop/sandbox"

const openPage = async (address: string): Promise<World & { readonly page: Page }> => {
  const world = await startWorld()
  const { owner, server } = world
  onTestFinished(() => server.stop())
  const page = await tabs.open({ url: server.url, cookiesOf: owner, statuses: [400] })
  await page.goto(base + address)
  // A reload would lose the mark.
  await page.evaluate("document.body.dataset.mark = 'same page'")
  return { ...world, page }
}

const isSamePage = (page: Page) => page.evaluate<boolean>("'mark' in document.body.dataset")

describe("The form of a definition", () => {
  it("is tried without a reload, beside the form in a wide window, and Back leads to the try before", async () => {
    const { page } = await openPage("/rules/new")
    await page.setViewportSize({ width: 1600, height: 900 })
    await page.getByLabel("Action", { exact: true }).fill("TRIED")
    for (const xp of ["10", "20"]) {
      await page.getByLabel("Xp", { exact: true }).fill(xp)
      await page.getByRole("button", { name: "Try", exact: true }).click()
      await page.getByText(`+${xp}, then ${xp}`).waitFor()
    }
    expect(await isSamePage(page)).toBe(true)
    expect(
      await page
        .getByRole("button", { name: "Try", exact: true })
        .evaluate((one) => one.matches(":focus")),
    ).toBe(true)
    const [form, outcome] = await Promise.all(
      ["[id='reward.xp']", "#outcome"].map((one) => page.locator(one).boundingBox()),
    )
    expect(outcome!.x).toBeGreaterThan(form!.x + form!.width)
    expect(await accessibilityFaults(page)).toEqual([])
    await page.goBack()
    await page.getByText("+10, then 10").waitFor()
  })

  it("marks the fields of a refused try without a reload", async () => {
    const { page } = await openPage("/rules/new")
    await page.getByLabel("Action", { exact: true }).fill("not an action")
    await page.getByRole("button", { name: "Try", exact: true }).click()
    await page.getByText("Nothing was tried: see the fields that are marked.").waitFor()
    expect(await isSamePage(page)).toBe(true)
    expect(await page.getByLabel("Action", { exact: true }).inputValue()).toBe("not an action")
  })

  it("shows the fields of a chosen kind at once, and keeps the typed text and the focus", async () => {
    const { page } = await openPage("/badges/new")
    await page.getByLabel("Name", { exact: true }).fill("Runner")
    const kind = page.getByLabel("Kind", { exact: true })
    expect(await page.getByRole("button", { name: "Show its fields" }).count()).toBe(0)
    await kind.focus()
    await kind.selectOption("action_sum")
    await page.getByLabel("Sum of").waitFor()
    expect(await isSamePage(page)).toBe(true)
    expect(await page.getByLabel("Name", { exact: true }).inputValue()).toBe("Runner")
    expect(await kind.evaluate((one) => one.matches(":focus"))).toBe(true)
  })

  it("gets a row without a reload, with the focus in its first field", async () => {
    const { page } = await openPage("/rules/new")
    await page.getByRole("button", { name: "Add condition" }).click()
    await page.getByLabel("Path", { exact: true }).and(page.locator(":focus")).waitFor()
    expect(await isSamePage(page)).toBe(true)
  })

  it("suggests the actions that events had", async () => {
    const { api, page } = await openPage("/rules/new")
    await api("POST", "/v1/events", { userId: "ada", action: "LESSON_DONE" })
    await page.reload()
    const list = await page.getByLabel("Action", { exact: true }).getAttribute("list")
    const options = page.locator(`datalist[id="${list}"] option`)
    expect(
      await options.evaluateAll((all) => all.map((one) => one.getAttribute("value"))),
    ).toContain("LESSON_DONE")
  })

  it("takes a time from a picker of the reader's zone", async () => {
    const { page } = await openPage("/rules/new")
    const picker = page.getByLabel("Start in your time zone")
    await picker.fill("2026-12-01T09:30")
    await picker.blur()
    expect(await page.getByLabel("Start", { exact: true }).inputValue()).toBe(
      "2026-12-01T09:30:00Z",
    )
    expect(await accessibilityFaults(page)).toEqual([])
  })

  it("has its text again after the session ended and the same person signed in", async () => {
    const { page, server } = await openPage("/rules/new")
    await page.getByLabel("Action", { exact: true }).fill("UNSENT")
    await page.getByLabel("Xp", { exact: true }).fill("7")
    await page.getByLabel("Xp", { exact: true }).blur()
    server.clock.set("2026-12-22T10:00:00Z")
    await page.reload()
    await page.getByLabel("E-mail address", { exact: true }).fill("ada@example.com")
    await page.getByLabel("Password").fill(password)
    await page.getByRole("button", { name: "Sign in", exact: true }).click()
    await page.getByRole("heading", { level: 1, name: "Create rule" }).waitFor()
    expect(await page.getByLabel("Action", { exact: true }).inputValue()).toBe("UNSENT")
    expect(await page.getByLabel("Xp", { exact: true }).inputValue()).toBe("7")
    await page.goto(`${base}/badges`)
    await page.goto(`${base}/rules/new`)
    expect(await page.getByLabel("Action", { exact: true }).inputValue()).toBe("")
  })
})
