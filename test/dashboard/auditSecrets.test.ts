/** The bytes of the audit log contain no password, token or key that went through the dashboard. */
import { Effect } from "effect"
import { expect, it } from "vitest"
import { type Browser, password, startDashboard } from "./fixture.ts"

const changed = "another long phrase of words"
const typed = "a password typed as the address"

it("The audit log has no secret, whichever way a secret was created or used", async () => {
  const server = await startDashboard()
  const secrets = new Set([password, changed, typed, server.setupToken])
  try {
    const wish = { scope: "full", expires: "never" }
    const create = server.keys.create({
      project: "shop",
      environment: "sandbox",
      scope: "full",
    })
    secrets.add((await Effect.runPromise(create)).key)
    const owner = await server.owner()
    /** Sends a form. Returns the secret that the next page shows once. */
    const made = async (browser: Browser, path: string, fields: Record<string, string>) => {
      const { location, status } = await browser.post(path, fields)
      expect({ path, status }).toEqual({ path, status: 303 })
      const { text } = await browser.get(location!)
      const secret = /<code class="secret"[^>]*>([^<]+)</.exec(text)?.[1]
      expect({ path, secret }).toEqual({ path, secret: expect.any(String) })
      const own = secret!.split("#").at(-1)!
      secrets.add(own)
      return own
    }
    const bob = server.browser()
    const account = { email: "bob@example.com", name: "Bob", password }
    const invitation = { role: "owner", email: account.email }
    const token = await made(owner, "/dashboard/team/invite", invitation)
    expect((await bob.post("/dashboard/join", { ...account, token })).status).toBe(303)
    for (const one of [owner, bob]) {
      for (const text of one.cookies.values()) secrets.add(text)
    }
    expect((await bob.post("/dashboard/account/password", { password: changed })).status).toBe(303)
    for (const text of bob.cookies.values()) secrets.add(text)
    expect((await bob.post("/dashboard/confirm", { password: changed })).status).toBe(303)
    const { accounts } = await Effect.runPromise(server.engine.readDirectory)
    const { id } = [...accounts.values()].find(({ email }) => email === account.email)!
    const reset = await made(owner, `/dashboard/team/${id}/reset`, {})
    const back = server.browser()
    expect((await back.post("/dashboard/reset", { token: reset, password })).status).toBe(303)
    for (const text of back.cookies.values()) secrets.add(text)
    for (let count = 0; count < 6; count++) {
      await server.browser().post("/dashboard/sign-in", { email: typed, password: typed })
    }
    for (const environment of ["sandbox", "production"]) {
      await made(owner, `/dashboard/shop/${environment}/keys`, wish)
    }
    const webhooks = "/dashboard/shop/sandbox/webhooks"
    const url = "https://hooks.example.com/t0ken-in-the-path"
    await made(owner, `${webhooks}/new`, { url, events: "*" })
    const { subject } = (await server.logged())[0]!
    await made(owner, `${webhooks}/${subject}/rotate`, {})
    secrets.add("t0ken-in-the-path")

    const actions = (await server.logged()).map(({ action }) => action)
    expect(new Set(actions)).toEqual(
      new Set([
        "account.create",
        "account.change_password",
        "account.create_reset_link",
        "account.reset_password",
        "invitation.create",
        "session.confirm",
        "session.fail_sign_in",
        "key.create",
        "webhook.create",
        "webhook.rotate_secret",
      ]),
    )
    const bytes = Buffer.concat([...server.auditDisk.files("/data/audit").values()])
    expect(bytes.includes("bob@example.com")).toBe(true)
    expect(secrets.size).toBeGreaterThan(14)
    const found = [...secrets].filter((secret) => bytes.includes(secret))
    expect(found).toEqual([])
  } finally {
    await server.stop()
  }
})
