/** The dashboard of the real process: from the first start to a key that works. */
import { readdir, readFile, stat } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { exitCodes } from "../../src/cli/output/ExitCode.ts"
import { Browser, password } from "../dashboard/fixture.ts"
import { ownerAccount, setUpOwner } from "./owner.ts"
import { everyByteOf, run, Server, temporaryFolder } from "./program.ts"

describe("The dashboard", () => {
  it("is set up by the link of the first start, and makes a key that survives a kill", async () => {
    const folder = await temporaryFolder()
    const server = await Server.start(folder)
    await server.stdout.waitFor(/Create the first account of the dashboard with the link in this/)
    const file = join(folder, "setup-link")
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    const link = (await readFile(file, "utf8")).trim()
    expect(link).toMatch(/^http:\/\/localhost:\d+\/dashboard\/setup#[\w-]{43}$/)
    expect(server.stdout.text).not.toContain(link.split("#")[1])
    const browser = new Browser(server.url)
    const account = { email: "ada@example.com", name: "Ada", password }
    const [, token] = link.split("#")
    expect((await browser.post("/dashboard/setup", { ...account, token: token! })).status).toBe(303)
    expect((await browser.get("/dashboard")).text).toContain("demo")
    const wish = { name: "App", scope: "full", expires: "never" }
    const created = await browser.post("/dashboard/demo/sandbox/keys", wish)
    const page = await browser.get(created.location!)
    const [, key] = /id="key"[^>]*>(lk_test_\w+)</.exec(page.text)!
    await server.stop("SIGKILL")

    const again = await Server.start(folder)
    await again.stdout.waitFor(/The dashboard: http:\/\/localhost:\d+\/dashboard\n/)
    expect(await readdir(folder)).not.toContain("setup-link")
    const moved = new Browser(again.url)
    for (const [name, text] of browser.cookies) moved.cookies.set(name, text)
    expect((await moved.get("/dashboard/account")).text).toContain("ada@example.com")
    const log = await moved.get("/dashboard/log")
    expect(actionsOf(log.text)).toEqual([
      "key.create",
      "account.create",
      "key.create",
      "key.create",
    ])
    const { status } = await fetch(`${again.url}/v1/project`, {
      headers: { authorization: `Bearer ${key}` },
    })
    expect(status).toBe(200)
    expect(await again.stop()).toBe(0)
    const written = await everyByteOf(folder)
    expect(written.includes('"action":"account.create"')).toBe(true)
    for (const secret of [password, token!, key!, ...browser.cookies.values()]) {
      expect(written.includes(secret)).toBe(false)
      expect(server.stdout.text + again.stdout.text).not.toContain(secret)
    }
  })

  it("knows no session after a restore, and its accounts still", async () => {
    const folder = await temporaryFolder()
    const server = await Server.start(folder)
    const browser = await setUpOwner(server, folder)
    const account = ownerAccount
    expect((await browser.get("/dashboard/account")).status).toBe(200)
    const made = await run(["snapshots", "create", "--json"], folder)
    expect(made.code).toBe(0)
    const archived = await everyByteOf(join(folder, "archive"))
    expect(archived.includes("ada@example.com")).toBe(true)
    expect(archived.includes('"action":"account.create"')).toBe(false)
    const renamed = { name: "Ada L." }
    expect((await browser.post("/dashboard/account/profile", renamed)).status).toBe(303)
    await server.stop()
    const { id } = JSON.parse(made.stdout)
    const restored = await run(["snapshots", "restore", id, "--yes"], folder)
    expect({ code: restored.code, stderr: restored.stderr }).toMatchObject({ code: 0 })

    const again = await Server.start(folder)
    const moved = new Browser(again.url)
    for (const [name, text] of browser.cookies) moved.cookies.set(name, text)
    expect((await moved.get("/dashboard/account")).location).toContain("/sign-in")
    expect((await moved.post("/dashboard/sign-in", account)).status).toBe(303)
    const restoredAccount = await moved.get("/dashboard/account")
    expect(restoredAccount.text).not.toContain("Ada L.")
    // The log keeps the changes that the restore has undone.
    const { text } = await moved.get("/dashboard/log")
    expect(actionsOf(text).slice(0, 3)).toEqual([
      "session.sign_in",
      "data.restore",
      "account.change_profile",
    ])
    expect(text).toMatch(/up to record \d+/)
    await again.stop("SIGKILL")
    // The restore is over: what began after it stays.
    const third = await Server.start(folder)
    const still = new Browser(third.url)
    for (const [name, text] of moved.cookies) still.cookies.set(name, text)
    expect((await still.get("/dashboard/account")).status).toBe(200)
    expect(await third.stop()).toBe(0)
  })

  it("has accounts that the command line manages, beside the server and without one", async () => {
    const folder = await temporaryFolder()
    const accounts = async (...args: ReadonlyArray<string>) => {
      const { code, stderr, stdout } = await run(["accounts", ...args], folder)
      return { code, stderr, stdout: stdout.trim() }
    }
    const follow = (server: Server, link: string, fields: Record<string, string>) => {
      const { hash, pathname } = new URL(link)
      return new Browser(server.url).post(pathname, { ...fields, token: hash.slice(1) })
    }
    expect(await accounts("list")).toMatchObject({ code: exitCodes.noData })
    const server = await Server.start(folder)
    // The first owner may come by the command line, too.
    const owner = await accounts("invite", "ada@example.com", "--role", "owner")
    expect(owner).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/\/dashboard\/join#[\w-]{43}$/),
    })
    const ada = { email: "ada@example.com", name: "Ada", password }
    expect((await follow(server, owner.stdout, ada)).status).toBe(303)
    const viewer = await accounts(
      "invite",
      "bob@example.com",
      "--role",
      "viewer",
      "--project",
      "demo",
    )
    const bob = { email: "bob@example.com", name: "Bob", password }
    expect((await follow(server, viewer.stdout, bob)).status).toBe(303)
    for (const wrong of [
      ["invite", "--role", "owner"],
      ["invite", "bob@example.com", "--role", "viewer"],
      ["invite", "bob@example.com", "--role", "owner", "--project", "demo"],
    ]) {
      expect((await accounts(...wrong)).code).toBe(exitCodes.usage)
    }
    expect(
      await accounts("invite", "eve@example.com", "--role", "admin", "--project", "nothing"),
    ).toMatchObject({
      code: exitCodes.refused,
      stderr: expect.stringContaining("must be the name of a project"),
    })
    const last = await accounts("remove", "ada@example.com")
    expect(last).toMatchObject({ code: exitCodes.refused })
    expect(last.stderr).toContain("The last owner cannot be removed or demoted.")
    expect((await accounts("remove", "nobody@example.com")).stderr).toContain("No account has this")
    await server.stop()

    // Without a server the data directory is opened for it.
    const list = await accounts("list", "--json")
    expect(JSON.parse(list.stdout)).toMatchObject([
      { email: "ada@example.com", roles: [{ role: "owner", project: null }] },
      { email: "bob@example.com", roles: [{ role: "viewer", project: "demo" }] },
    ])
    expect((await accounts("list")).stdout).toMatch(/bob@example\.com\s+Bob\s+viewer of demo/)
    const reset = await accounts("reset-password", "Bob@example.com")
    expect(reset.code).toBe(0)
    expect((await accounts("remove", "ada@example.com")).code).toBe(exitCodes.refused)

    const again = await Server.start(folder)
    const changed = "another long phrase"
    expect((await follow(again, reset.stdout, { password: changed })).status).toBe(303)
    const signIn = (password: string) =>
      new Browser(again.url).post("/dashboard/sign-in", { email: bob.email, password })
    expect((await signIn(password)).status).toBe(400)
    expect((await signIn(changed)).status).toBe(303)
    expect((await accounts("remove", "bob@example.com")).code).toBe(0)
    expect((await signIn(changed)).status).toBe(400)
    const back = new Browser(again.url)
    await back.post("/dashboard/sign-in", ada)
    const { text } = await back.get("/dashboard/log?by=operator")
    expect(actionsOf(text)).toEqual([
      "account.remove",
      "account.create_reset_link",
      "invitation.create",
      "invitation.create",
      "key.create",
    ])
    expect(text).toContain("viewer of demo")
    expect(await again.stop()).toBe(0)
  })

  it("is not there with LAUREL_DASHBOARD=off", async () => {
    const folder = await temporaryFolder()
    const server = await Server.start(folder, { LAUREL_DASHBOARD: "off" })
    for (const path of ["/dashboard", "/dashboard/setup", "/dashboard/assets/islands.js"]) {
      const { headers, status } = await fetch(`${server.url}${path}`, { redirect: "manual" })
      expect(status).toBe(404)
      expect(headers.get("content-type")).toContain("problem+json")
    }
    const names = await readdir(folder)
    expect(names).not.toContain("setup-link")
    expect(names).not.toContain("audit")
    expect(server.stdout.text).not.toContain("dashboard")
    expect(await server.stop()).toBe(0)
  })
})

/** The actions on a page of the audit log, newest first. */
const actionsOf = (text: string): ReadonlyArray<string> =>
  [...text.matchAll(/<td><code>([a-z_]+\.[a-z_]+)<\/code><\/td>/g)].map(([, action]) => action!)
