import { describe, expect, it } from "vitest"
import { localhostOf } from "../dashboard/browser/localhost.ts"
import { useTabs } from "../dashboard/browser/tabs.ts"
import { password } from "../dashboard/fixture.ts"
import { setUpOwner } from "./owner.ts"
import { run, Server, temporaryFolder } from "./program.ts"

const tabs = useTabs()

describe("An owner", () => {
  it("is still signed in after a restart, signs in again, and comes back by a link of the command line", async () => {
    const folder = await temporaryFolder()
    const first = await Server.start(folder)
    const { port } = new URL(first.url)
    const ada = await setUpOwner(first, folder)
    const page = await tabs.open({
      url: first.url,
      cookiesOf: ada,
      statuses: [400],
      connectionsFail: true,
    })
    await page.goto("/dashboard/account")
    expect(await first.stop()).toBe(0)
    const second = await Server.start(folder, { LAUREL_PORT: port })
    await page.reload()
    const signOut = page.getByRole("button", { name: "Sign out Ada" })
    await signOut.click()

    const signIn = async (secret: string) => {
      await page.getByLabel("E-mail address").fill("ada@example.com")
      await page.getByLabel("Password").fill(secret)
      await page.getByRole("button", { name: "Sign in", exact: true }).click()
    }
    await signIn("not the password")
    await page.getByRole("alert").filter({ visible: true }).waitFor()
    await signIn(password)
    await signOut.click()

    // The page says how to come back; the command prints the link.
    await page.getByText("laurel accounts reset-password EMAIL").waitFor()
    const reset = await run(["accounts", "reset-password", "ada@example.com"], folder)
    expect(reset.code).toBe(0)
    const { hash, pathname } = new URL(reset.stdout.trim())
    await page.goto(`${localhostOf(second.url)}${pathname}${hash}`)
    const changed = "another long phrase"
    await page.getByLabel("Password").fill(changed)
    await page.getByRole("button", { name: "Change password", exact: true }).click()
    await signOut.click()
    await signIn(password)
    await page.getByRole("alert").filter({ visible: true }).waitFor()
    await signIn(changed)
    await signOut.waitFor()
    expect(await second.stop()).toBe(0)
  })
})
