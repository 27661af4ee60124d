/** The first minute in a real browser: from the first start to the first event that appears by itself. */
import { execFile } from "node:child_process"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { describe, expect, it } from "vitest"
import { accessibilityFaults } from "../dashboard/browser/axe.ts"
import { useTabs } from "../dashboard/browser/tabs.ts"
import { password } from "../dashboard/fixture.ts"
import { waitMs } from "../waitMs.ts"
import { Server, temporaryFolder } from "./program.ts"

const tabs = useTabs()
const shell = async (command: string): Promise<string> => {
  const { stdout } = await promisify(execFile)("sh", ["-c", command], { timeout: waitMs })
  return stdout
}

describe("The first minute", () => {
  it("leads from the link of the first start to the first event, which appears by itself", async () => {
    const folder = await temporaryFolder()
    const server = await Server.start(folder)
    await server.stdout.waitFor(/Create the first account of the dashboard/)
    const link = (await readFile(join(folder, "setup-link"), "utf8")).trim()
    expect(link).toMatch(/^http:\/\/localhost:\d+\/dashboard\/setup#/)
    const page = await tabs.open({ url: server.url })

    // Under the number of the machine, the browser is led to its name, and keeps the code.
    await page.goto(link.replace("//localhost:", "//127.0.0.1:"))
    expect(page.url()).toBe(link.split("#")[0])
    expect(await page.getByLabel("Code").isVisible()).toBe(false)
    await page.getByLabel("E-mail address").fill("ada@example.com")
    await page.getByLabel("Name", { exact: true }).fill("Ada")
    await page.getByLabel("Password").fill(password)
    await page.getByRole("button", { name: "Create account", exact: true }).click()

    await page.getByRole("heading", { level: 1, name: "Get started" }).waitFor()
    expect(new URL(page.url()).pathname).toBe("/dashboard/demo/sandbox/start")
    expect(await accessibilityFaults(page)).toEqual([])
    const copied = async (name: string) => {
      await page.getByRole("button", { name: `Copy ${name}`, exact: true }).click()
      return page.evaluate<string>("navigator.clipboard.readText()")
    }
    const key = await copied("the key")
    expect(key).toMatch(/^lk_test_\w{49}$/)
    await page.getByText("No event yet.").waitFor()
    await page.getByRole("status").filter({ hasText: "Connected." }).waitFor()
    await shell(await copied("Create a rule with curl"))
    const reply = await shell(await copied("curl"))
    expect(JSON.parse(reply)).toMatchObject({ userId: "ada", xp: { earned: 50 } })
    await page.getByText("ada: LESSON_DONE, +50 xp").waitFor()
    for (const language of ["JavaScript", "Python"]) {
      expect(await shell(await copied(language))).toMatch(/LESSON_DONE/)
    }
    expect(await accessibilityFaults(page)).toEqual([])
    await page.getByRole("link", { name: "Watch messages live" }).click()
    await page.getByRole("heading", { level: 1, name: /^Live/ }).waitFor()

    // The key is shown once.
    await page.goBack()
    await page.reload()
    await page.getByText("Events have arrived from 1 user.").waitFor()
    expect(await page.content()).not.toContain(key)
    expect(await server.stop()).toBe(0)
  })
})
