/** Live messages in a real browser. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { password } from "../fixture.ts"
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
  it("begins with the messages of the sample, sent before the page was opened", async () => {
    const { rows } = await openLive()
    await rows.filter({ hasText: "LESSON_DONE" }).filter({ hasText: "ada" }).first().waitFor()
  })

  it("shows messages as they happen, newest first, and the whole message on request", async () => {
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

  it("shows only the chosen kind and user, also among earlier messages", async () => {
    const { page, rows } = await openLive()
    await page.getByRole("status").filter({ hasText: "Connected." }).waitFor()
    for (const user of ["chosen", "other", "chosen"]) await send(user, "SHARED")
    await rows.filter({ hasText: "chosen" }).nth(3).waitFor()
    await page.getByLabel("User").fill("chosen")
    await page.getByLabel("Kind").selectOption("event.tracked")
    const chosen = (count: number) =>
      Array.from({ length: count }, () => expect.stringMatching(/event\.tracked.*chosen/))
    await expect.poll(() => rows.allTextContents()).toEqual(chosen(2))
    await send("other", "SHARED")
    await send("chosen", "SHARED")
    await rows.nth(2).waitFor()
    expect(await rows.allTextContents()).toEqual(chosen(3))
  })

  it("draws nothing while it is paused, and the missed messages after that", async () => {
    const { page, rows } = await openLive()
    await page.getByLabel("Kind").selectOption("event.tracked")
    await page.getByRole("status").filter({ hasText: "Connected." }).waitFor()
    await page.getByRole("button", { name: "Pause" }).click()
    await send("paused")
    await page.getByText("since the pause").waitFor()
    expect(await rows.filter({ hasText: "paused" }).count()).toBe(0)
    await page.getByRole("button", { name: "Resume" }).click()
    await rows.filter({ hasText: "paused" }).waitFor()
  })

  it("shows the newest 200 of many", async () => {
    const { page, rows } = await openLive()
    await page.getByLabel("Kind").selectOption("event.tracked")
    await page.getByRole("status").filter({ hasText: "Connected." }).waitFor()
    const events = Array.from({ length: 210 }, (_, index) => ({
      userId: `many-${String(index).padStart(3, "0")}`,
      action: "SHARED",
    }))
    await ask(sample.server.url, sample.key, "POST", "/events/batch", { events })
    await page.getByText("many-209").waitFor()
    await page.getByText("many-009").waitFor({ state: "detached" })
    const texts = await rows.allTextContents()
    expect(texts.map((text) => Number(/many-(\d+)/.exec(text)?.[1]))).toEqual(
      Array.from({ length: 200 }, (_, index) => 209 - index),
    )
  })

  it("says that the visitor is signed out once the session has ended", async () => {
    const { server } = sample
    const browser = server.browser()
    await browser.post("/dashboard/sign-in", { email: "grace@example.com", password })
    const page = await tabs.open({ url: server.url, cookiesOf: browser })
    await page.goto("/dashboard/shop/sandbox/live")
    await page.getByRole("status").filter({ hasText: "Connected." }).waitFor()
    await browser.post("/dashboard/sign-out")
    await send("unseen")
    await page.getByRole("status").filter({ hasText: "You are signed out" }).waitFor()
    expect(await page.getByText("unseen").count()).toBe(0)
  })
})

describe("The pages of items", () => {
  it("show what is sold and left as it changes, and keep what is typed", async () => {
    const { key, owner, server } = sample
    const post = (path: string, body: object) => ask(server.url, key, "POST", path, body)
    const { id } = await post("/items", { key: "mug", name: "Mug", price: { points: 1 }, stock: 2 })
    await post("/users/grace/rewards", { type: "points", amount: 9 })
    const open = async (path: string) => {
      const page = await tabs.open({ url: server.url, cookiesOf: owner })
      await page.goto(`/dashboard/shop/sandbox/items${path}`)
      await page.getByRole("status").filter({ hasText: "Connected." }).waitFor()
      return page
    }
    const list = await open("")
    const one = await open(`/${id}`)
    await one.getByLabel("Name").fill("Blue mug")
    const row = list.getByRole("row").filter({ hasText: "Mug" })
    await row.getByText("0 sold").waitFor()
    await post("/users/grace/purchases", { item: "mug" })
    await row.getByText("1 sold").waitFor()
    const { purchaseId } = await post("/users/grace/purchases", { item: "mug" })
    await row.getByText("no, sold out").waitFor()
    await one.getByText("no, sold out").waitFor()
    await ask(server.url, key, "DELETE", `/users/grace/purchases/${purchaseId}`)
    await row.getByText("1 left").waitFor()
    await one.locator(`[id="sold-${id}"]`).filter({ hasText: /^1$/ }).waitFor()
    expect(await one.getByLabel("Name").inputValue()).toBe("Blue mug")
    expect(await accessibilityFaults(list)).toEqual([])
  })
})
