/** Passkeys in a real browser, with a virtual authenticator that verifies the user at once. */
import type { Page } from "playwright-core"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { type DashboardServer, startDashboard } from "../fixture.ts"
import { accessibilityFaults } from "./axe.ts"
import { type TabOptions, useTabs } from "./tabs.ts"

const tabs = useTabs()
let server: DashboardServer

beforeEach(async () => {
  server = await startDashboard()
})
afterEach(() => server.stop())

interface Tab {
  readonly page: Page
  /** Removes the authenticator, or lets it refuse the user. */
  readonly setVerified: (isVerified: boolean) => Promise<void>
}

const openWithAuthenticator = async (options: Partial<TabOptions> = {}): Promise<Tab> => {
  const page = await tabs.open({ url: server.url, ...options })
  const session = await page.context().newCDPSession(page)
  await session.send("WebAuthn.enable")
  const { authenticatorId } = await session.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2",
      transport: "internal",
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
  const setVerified = (isUserVerified: boolean) =>
    session.send("WebAuthn.setUserVerified", { authenticatorId, isUserVerified })
  return { page, setVerified: async (isVerified) => void (await setVerified(isVerified)) }
}

const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true })
/** Waits for exactly these words: an earlier alert stays until the next page is there. */
const alerted = (page: Page, words: string) =>
  page
    .getByRole("alert")
    .filter({ visible: true, hasText: new RegExp(`^${RegExp.escape(words)}$`) })
    .waitFor()

const setUp = async (page: Page): Promise<void> => {
  await page.goto(`/dashboard/setup#${server.setupToken}`)
  await page.getByLabel("E-mail address").fill("ada@example.com")
  await page.getByLabel("Name").fill("Ada")
  await button(page, "Create account with a passkey").click()
  await button(page, "Sign out Ada").waitFor()
}

describe("A passkey in a browser", () => {
  it("sets up the first account, signs in, confirms, and is listed", async () => {
    const { page } = await openWithAuthenticator()
    await setUp(page)
    await button(page, "Sign out Ada").click()
    await page.waitForURL("**/dashboard/sign-in")
    expect(await accessibilityFaults(page)).toEqual([])
    await button(page, "Sign in with a passkey").click()
    await button(page, "Sign out Ada").waitFor()

    server.clock.set("2026-11-22T10:15:00Z")
    await page.goto("/dashboard/account")
    await page.getByLabel("Name of the new passkey").fill("phone")
    await button(page, "Add passkey").click()
    await page.waitForURL("**/dashboard/confirm?*")
    expect(await accessibilityFaults(page)).toEqual([])
    await button(page, "Confirm with a passkey").click()
    await page.waitForURL("**/dashboard/account")
    expect(await page.getByRole("region", { name: "Passkeys" }).textContent()).toContain(
      "First passkey",
    )
  })

  it("is refused with a sentence on the page, and a second try works", async () => {
    const { page, setVerified } = await openWithAuthenticator({ statuses: [400, 404, 409] })
    await setUp(page)
    await page.goto("/dashboard/account")
    await page.getByLabel("Name of the new passkey").fill("again")
    await button(page, "Add passkey").click()
    await alerted(page, "This device has a passkey of the account already.")
    expect(await accessibilityFaults(page)).toEqual([])
    await button(page, "Remove").click()
    await button(page, "Remove passkey").click()
    await alerted(page, "The passkey is the account's only way to sign in.")
    await button(page, "Sign out Ada").click()
    await setVerified(false)
    await button(page, "Sign in with a passkey").click()
    await alerted(page, "No passkey was chosen, or the time ran out.")
    await setVerified(true)
    await button(page, "Sign in with a passkey").click()
    await button(page, "Sign out Ada").waitFor()

    await page.goto("/dashboard/join#guessed-guessed-guessed")
    await page.getByLabel("E-mail address").fill("eve@example.com")
    await page.getByLabel("Name").fill("Eve")
    await button(page, "Create account with a passkey").click()
    await alerted(page, "The link was used, revoked or has expired.")
  })

  it("is not offered without a script, but the password is", async () => {
    const page = await tabs.open({ url: server.url, javaScriptEnabled: false })
    await page.goto("/dashboard/setup")
    expect(await button(page, "Create account with a passkey").count()).toBe(0)
    expect(await page.getByText("Passkeys need a script").isVisible()).toBe(true)
    expect(await page.getByLabel("Password").isVisible()).toBe(true)
    await page.getByLabel("Code").fill(server.setupToken)
    await page.getByLabel("E-mail address").fill("ada@example.com")
    await page.getByLabel("Name").fill("Ada")
    await page.getByLabel("Password").fill("correct horse battery")
    await button(page, "Create account").click()
    await button(page, "Sign out Ada").waitFor()
  })
})
