/** The flows of a key's life by keyboard alone. */
import { Effect } from "effect"
import type { Locator, Page } from "playwright-core"
import { describe, expect, it, onTestFinished } from "vitest"
import { password, startDashboard } from "../fixture.ts"
import { localhostOf } from "./localhost.ts"
import { useTabs } from "./tabs.ts"

const tabs = useTabs()

/** Moves the focus with Tab until it is on the element. */
const tabTo = async (page: Page, target: Locator): Promise<void> => {
  for (let presses = 0; presses < 80; presses++) {
    if (await target.evaluate((element) => element.matches(":focus"))) return
    await page.keyboard.press("Tab")
  }
  throw new Error(`No focus on ${target} after 80 presses of Tab`)
}

const press = async (page: Page, target: Locator): Promise<void> => {
  await tabTo(page, target)
  await page.keyboard.press("Enter")
}

const type = async (page: Page, label: string, text: string): Promise<void> => {
  await tabTo(page, page.getByLabel(label, { exact: true }))
  await page.keyboard.type(text)
}

const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true })

describe("By keyboard alone", () => {
  it("people set up the server, sign in, create a key, copy and use it, and revoke it", async () => {
    const server = await startDashboard()
    onTestFinished(() => server.stop())
    const wish = { project: "shop", environment: "sandbox", scope: "read" } as const
    await Effect.runPromise(server.keys.create(wish))
    const page = await tabs.open({ url: server.url })
    await page.goto(`/dashboard/setup#${server.setupToken}`)
    await type(page, "E-mail address", "ada@example.com")
    await type(page, "Name", "Ada")
    await type(page, "Password", password)
    await page.keyboard.press("Enter")

    await press(page, button(page, "Sign out Ada"))
    await page.getByRole("heading", { level: 1, name: "Sign in" }).waitFor()
    await type(page, "E-mail address", "ada@example.com")
    await type(page, "Password", password)
    await page.keyboard.press("Enter")
    await button(page, "Sign out Ada").waitFor()

    // The first stop is the skip link, which skips the side column.
    await page.goto("/dashboard/shop/sandbox/keys")
    await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    await page.locator("#main:focus").waitFor()
    await press(page, button(page, "Create key"))
    await page.getByRole("heading", { name: "Your new key" }).waitFor()
    await press(page, page.locator("button[data-copy=key]"))
    await button(page, "Copied").waitFor()
    const key = await page.evaluate<string>("navigator.clipboard.readText()")
    const use = async () => {
      const headers = { authorization: `Bearer ${key}` }
      return (await fetch(`${localhostOf(server.url)}/v1/project`, { headers })).status
    }
    expect(await use()).toBe(200)
    await page.reload()
    expect(await page.content()).not.toContain(key)

    // The newest key is the first of the list.
    const revoke = button(page, "Revoke").first()
    await press(page, revoke)
    const dialog = page.getByRole("dialog")
    await dialog.waitFor()
    await page.keyboard.press("Escape")
    await dialog.waitFor({ state: "hidden" })
    await revoke.and(page.locator(":focus")).waitFor()
    expect(await use()).toBe(200)
    await page.keyboard.press("Enter")
    await press(page, dialog.getByRole("button", { name: "Revoke key" }))
    // The list shows the keys in force.
    await button(page, "Revoke").nth(1).waitFor({ state: "detached" })
    expect(await use()).toBe(401)
  })
})
