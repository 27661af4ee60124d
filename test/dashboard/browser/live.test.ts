/** Live messages in a real browser. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { accessibilityFaults } from "./axe.ts"
import { ask, type Sample, startSample } from "./sample.ts"
import { useTabs } from "./tabs.ts"

const tabs = useTabs()
let sample: Sample

beforeAll(async () => {
  sample = await startSample()
})
afterAll(() => sample.server.stop())

const send = (userId: string, action = "LESSON_DONE") =>
  ask(sample.server.url, sample.key, "POST", "/events", { userId, action, metadata: { score: 70 } })

const openLive = async () => {
  const { owner, server } = sample
  const page = await tabs.open({ url: server.url, cookiesOf: owner })
  await page.goto("/dashboard/shop/sandbox/live")
  return { page, rows: page.getByRole("list", { name: "Messages" }).getByRole("listitem") }
}

describe("The page Live", () => {
  it("shows messages as they happen, newest first, and each as a whole", async () => {
    const { page, rows } = await openLive()
    await page.getByRole("status").filter({ hasText: "Connected." }).waitFor()
    await send("first-user", "SHARED")
    await send("second-user", "SHARED")
    await rows.filter({ hasText: "second-user" }).first().waitFor()
    const texts = await rows.allTextContents()
    expect(texts.findIndex((text) => text.includes("second-user"))).toBeLessThan(
      texts.findIndex((text) => text.includes("first-user")),
    )
    const one = rows.filter({ hasText: "event.tracked" }).first()
    await one.locator("summary").press("Enter")
    const whole = JSON.parse((await one.locator("pre").textContent())!)
    expect(whole).toMatchObject({ type: "event.tracked", data: { userId: "second-user" } })
    await one.getByRole("button", { name: "Copy" }).click()
    await one.getByRole("button", { name: "Copied" }).waitFor()
    expect(JSON.parse(await page.evaluate<string>("navigator.clipboard.readText()"))).toEqual(whole)
    const link = one.getByRole("link", { name: "Show the user" })
    expect(await link.getAttribute("href")).toBe("/dashboard/shop/sandbox/users/second-user")
    expect(await accessibilityFaults(page)).toEqual([])
  })
})
