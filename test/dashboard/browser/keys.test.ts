/**
 * A key in a real browser: created, copied, used, rotated and revoked through its dialogs, with and
 * without scripts.
 */
import type { Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Browser, type DashboardServer, startDashboard } from "../fixture.ts"
import { accessibilityFaults } from "./axe.ts"
import { useTabs } from "./tabs.ts"

const tabs = useTabs()
let server: DashboardServer
let owner: Browser

beforeAll(async () => {
  server = await startDashboard()
  owner = await server.owner()
  await owner.post("/dashboard/projects", { name: "shop" })
})
afterAll(() => server.stop())

const keysPage = "/dashboard/shop/sandbox/keys"

const statusWith = async (key: string): Promise<number> => {
  const headers = { authorization: `Bearer ${key}` }
  return (await fetch(`${server.url}/v1/leaderboard`, { headers })).status
}

const shownKey = async (page: Page): Promise<string> => {
  await page.getByRole("heading", { name: "Your new key" }).waitFor()
  return page.locator("#key").innerText()
}

const create = async (page: Page, name: string): Promise<string> => {
  await page.goto(keysPage)
  await page.getByLabel("Name").fill(name)
  await page.getByRole("button", { name: "Create key" }).click()
  return shownKey(page)
}

const rowOf = (page: Page, name: string) => page.getByRole("row").filter({ hasText: name })

describe("A key in the browser", () => {
  it("is created, copied, used, rotated and revoked", async () => {
    const page = await tabs.open({ url: server.url, cookiesOf: owner })
    const old = await create(page, "Backend")
    expect(await accessibilityFaults(page)).toEqual([])
    await page.getByRole("button", { name: "Copy the key" }).click()
    await page.getByRole("button", { name: "Copied" }).waitFor()
    expect(await page.evaluate("navigator.clipboard.readText()")).toBe(old)
    expect(await page.getByRole("region", { name: "curl" }).innerText()).toContain(old)
    expect(await page.getByRole("region", { name: "Python" }).isVisible()).toBe(false)
    await page.getByText("Python", { exact: true }).click()
    expect(await page.getByRole("region", { name: "Python" }).innerText()).toContain(old)
    expect(await statusWith(old)).toBe(200)

    await page.reload()
    expect(await page.getByText(old).count()).toBe(0)
    await rowOf(page, "Backend").getByRole("button", { name: "Rotate" }).click()
    const rotation = page.getByRole("dialog", { name: "Rotate Backend of sandbox?" })
    await rotation.getByRole("button", { name: "Keep it" }).waitFor()
    await rotation.getByLabel("The old key expires").selectOption("at once")
    await rotation.getByRole("button", { name: "Rotate key" }).click()
    const next = await shownKey(page)
    expect([await statusWith(old), await statusWith(next)]).toEqual([401, 200])

    await rowOf(page, "Backend").getByRole("button", { name: "Revoke" }).click()
    const revocation = page.getByRole("dialog", { name: "Revoke Backend of sandbox?" })
    await revocation.waitFor()
    await page.keyboard.press("Escape")
    await revocation.waitFor({ state: "hidden" })
    await rowOf(page, "Backend").getByRole("button", { name: "Revoke" }).click()
    await revocation.getByRole("button", { name: "Revoke key" }).click()
    await page.getByText("No key is in force.").waitFor()
    expect(await statusWith(next)).toBe(401)
    await page.getByRole("link", { name: "Expired or revoked" }).click()
    await page.waitForURL(/status=/)
    expect(await rowOf(page, "Backend").count()).toBe(2)
  })

  it("needs a script only for copying", async () => {
    const page = await tabs.open({ url: server.url, cookiesOf: owner, javaScriptEnabled: false })
    const key = await create(page, "Plain")
    expect(await page.getByRole("button", { name: "Copy the key" }).isVisible()).toBe(false)
    expect(await statusWith(key)).toBe(200)
    await rowOf(page, "Plain").getByRole("button", { name: "Revoke" }).click()
    await page.getByRole("dialog").getByRole("button", { name: "Revoke key" }).click()
    await page.waitForURL(`**${keysPage}`)
    expect(await statusWith(key)).toBe(401)
  })
})
