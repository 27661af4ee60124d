/**
 * Text typed into a form, in a real browser: it survives a refusal, Back, a confirmation and the
 * end of a session.
 */
import type { Page } from "playwright-core"
import { describe, expect, it, onTestFinished } from "vitest"
import { type Browser, type DashboardServer, password } from "../fixture.ts"
import { startWorld } from "../pages/definitions/world.ts"
import { useTabs } from "./tabs.ts"

const tabs = useTabs()

interface Opened {
  readonly server: DashboardServer
  readonly owner: Browser
  readonly page: Page
}

const openPage = async (address: string): Promise<Opened> => {
  const { owner, server } = await startWorld()
  onTestFinished(() => server.stop())
  const page = await tabs.open({ url: server.url, cookiesOf: owner, statuses: [400] })
  await page.goto(address)
  return { server, owner, page }
}

const heading = (page: Page, name: string) =>
  page.getByRole("heading", { level: 1, name, exact: true }).waitFor()

const rules = "/dashboard/shop/sandbox/rules"

describe("Text that was typed into a form", () => {
  it("is still there after a refusal, after a visit to another page, and after a reload", async () => {
    const { page } = await openPage(`${rules}/new`)
    await page.getByLabel("Action", { exact: true }).fill("wrong action")
    await page.getByRole("button", { name: "Create rule" }).click()
    const isThere = async (text = "wrong action") => {
      await page.getByText("Nothing was saved: see the fields that are marked.").waitFor()
      expect(await page.getByLabel("Action", { exact: true }).inputValue()).toBe(text)
    }
    await isThere()
    await page.getByRole("link", { name: "Badges" }).click()
    await heading(page, "Badges")
    await page.goBack()
    await isThere()
    await page.reload()
    await isThere()
    await page.getByLabel("Action", { exact: true }).fill("RIGHT_ACTION")
    await page.getByLabel("Xp", { exact: true }).fill("5")
    await page.getByRole("button", { name: "Create rule" }).click()
    await page.getByText("Saved.").waitFor()
    // Back shows the refused page with the correction. A changed form counts as a new one.
    await page.goBack()
    await isThere("RIGHT_ACTION")
    await page.getByLabel("Action", { exact: true }).fill("OTHER_ACTION")
    await page.getByLabel("Xp", { exact: true }).fill("5")
    await page.getByRole("button", { name: "Create rule" }).click()
    await page.getByText("Saved.").waitFor()
  })

  it("is still there after a visit to another page before sending, and not in a new form", async () => {
    const { page } = await openPage(`${rules}/new`)
    await page.getByLabel("Action", { exact: true }).fill("UNSENT")
    await page.getByLabel("Period").selectOption("day")
    await page.getByLabel("Status").selectOption("draft")
    await page.getByRole("link", { name: "Badges" }).click()
    await heading(page, "Badges")
    await page.goBack()
    await heading(page, "Create rule")
    expect(await page.getByLabel("Action", { exact: true }).inputValue()).toBe("UNSENT")
    expect(await page.getByLabel("Period").inputValue()).toBe("day")
    expect(await page.getByLabel("Status").inputValue()).toBe("draft")
    await page.getByRole("link", { name: "Rules", exact: true }).click()
    await page.getByRole("link", { name: "Create rule" }).click()
    await heading(page, "Create rule")
    expect(await page.getByLabel("Action", { exact: true }).inputValue()).toBe("")
  })

  it("is not kept in the browser if it is a password", async () => {
    const { page } = await openPage("/dashboard/account")
    await page.getByLabel("New password").fill("a secret of many words")
    await page.getByLabel("Name", { exact: true }).fill("Ada L.")
    await page.getByRole("link", { name: "Projects" }).click()
    await heading(page, "Projects")
    await page.goBack()
    await heading(page, "Account")
    expect(await page.evaluate("JSON.stringify(history.state)")).toBe('{"typed":{"name":"Ada L."}}')
    expect(await page.getByLabel("New password").inputValue()).toBe("")
  })

  it("is there for each of several tries, when the visitor goes back step by step", async () => {
    const { page } = await openPage(`${rules}/new`)
    for (const xp of ["10", "20"]) {
      await page.getByLabel("Action", { exact: true }).fill("TRIED")
      await page.getByLabel("Xp", { exact: true }).fill(xp)
      await page.getByRole("button", { name: "Try", exact: true }).click()
      await page.getByText(`+${xp}, then ${xp}`).waitFor()
    }
    await page.goBack()
    await page.getByText("+10, then 10").waitFor()
    await page.goForward()
    await page.getByText("+20, then 20").waitFor()
    expect(await page.getByLabel("Xp", { exact: true }).inputValue()).toBe("20")
  })

  it("is sent by the confirmation of the form", async () => {
    const { page, server } = await openPage("/dashboard/team")
    server.clock.set("2026-11-22T11:00:00Z")
    await page.getByLabel("E-mail address", { exact: true }).fill("alan@example.com")
    await page.getByRole("button", { name: "Create link" }).click()
    await heading(page, "Confirm that it is you")
    await page.getByText("invitation.create").waitFor()
    await page.getByLabel("Password").fill("not the password")
    await page.getByRole("button", { name: "Confirm" }).click()
    await page.getByRole("alert").waitFor()
    await page.getByLabel("Password").fill(password)
    await page.getByRole("button", { name: "Confirm" }).click()
    await heading(page, "Team")
    await page.getByRole("region", { name: "Open links" }).getByText("alan@example.com").waitFor()
    const actions = (await server.logged()).map(({ action }) => action)
    expect(actions.slice(0, 2)).toEqual(["invitation.create", "session.confirm"])
    await page.reload()
    const { length } = (await server.logged()).filter(
      ({ action }) => action === "invitation.create",
    )
    expect(length).toBe(2)
  })

  it("survives a sign-out in between, and is sent on request after the sign-in", async () => {
    const { owner, page, server } = await openPage(`${rules}/new`)
    await page.getByLabel("Action", { exact: true }).fill("LATE_ACTION")
    await page.getByLabel("Xp", { exact: true }).fill("7")
    await owner.post("/dashboard/sign-out")
    await page.getByRole("button", { name: "Create rule" }).click()
    await heading(page, "Sign in")
    await page.getByText("What you typed is kept").waitFor()
    await page.getByLabel("E-mail address").fill("ada@example.com")
    await page.getByLabel("Password").fill("not the password")
    await page.getByRole("button", { name: "Sign in", exact: true }).click()
    await page.getByRole("alert").waitFor()
    await page.getByLabel("Password").fill(password)
    await page.getByRole("button", { name: "Sign in", exact: true }).click()
    await heading(page, "Your form was not sent")
    await page.getByRole("cell", { name: "LATE_ACTION" }).waitFor()
    const before = (await server.logged()).map(({ action }) => action)
    expect(before).not.toContain("rule.create")
    await page.getByRole("button", { name: "Send it now" }).click()
    await heading(page, "Rule for LATE_ACTION")
    await page.getByText("Saved.").waitFor()
  })
})
