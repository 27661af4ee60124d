/** Every secret of accounts and keys is looked for in every byte that the process leaves or says. */
import { mkdir, readFile } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { Authenticator } from "../accounts/passkeys/authenticator.ts"
import { Browser, type Reply } from "../dashboard/fixture.ts"
import { everyByteOf, readServerFile, run, Server, temporaryFolder } from "./program.ts"

/** A browser that collects what it was told beyond what it asked for. */
class Collector extends Browser {
  readonly texts: Array<string> = []

  override async get(...args: Parameters<Browser["get"]>): Promise<Reply> {
    return this.#kept(await super.get(...args))
  }

  override async post(...args: Parameters<Browser["post"]>): Promise<Reply> {
    return this.#kept(await super.post(...args))
  }

  #kept(reply: Reply): Reply {
    this.texts.push(
      reply.text,
      JSON.stringify([...reply.headers].filter(([name]) => name !== "set-cookie")),
    )
    return reply
  }
}

describe("Passwords, links, sessions, devices, passkeys, keys and user tokens", () => {
  it("are in no file, no line of the log, no metric, no export, and on no page but the one that shows them", async () => {
    const folder = await temporaryFolder()
    const server = await Server.start(folder)
    const url = server.url.replace("127.0.0.1", "localhost")
    const secrets = new Map<string, string>()
    const secret = (name: string, text: string): string => {
      secrets.set(name, text)
      return text
    }
    const browsers: Array<Collector> = []
    const browser = () => {
      const made = new Collector(url)
      browsers.push(made)
      return made
    }
    const keepCookies = (name: string, { cookies }: Browser) => {
      for (const [cookie, text] of cookies) secret(`${name}: ${cookie}`, text)
    }
    /** A page that shows a secret once: it is not searched. */
    const shownOnce = async (from: Collector, path: string, pattern: RegExp): Promise<string> => {
      const { text } = await from.get(path)
      const [, found] = pattern.exec(text)!
      from.texts.length -= 2
      return found!
    }
    const optionsOf = async (from: Collector, path: string) =>
      JSON.parse((await from.post(`/dashboard${path}`)).text)

    // The first owner, by a link; a project, a key, a passkey.
    const link = (await readFile(join(folder, "setup-link"), "utf8")).trim()
    const token = secret("setup link", link.split("#")[1]!)
    const ada = browser()
    const password = secret("password", "correct horse battery")
    const account = { email: "ada@example.com", name: "Ada", password }
    await ada.post("/dashboard/setup", {
      ...account,
      token: secret("guess", "guessed-setup-token"),
    })
    await ada.post("/dashboard/setup", { ...account, token, password: secret("weak", "sh0rt-one") })
    expect((await ada.post("/dashboard/setup", { ...account, token })).status).toBe(303)
    keepCookies("ada", ada)
    const keys = "/dashboard/demo/sandbox/keys"
    const wish = { name: "Server", scope: "full", expires: "never" }
    const created = await ada.post(keys, wish)
    const key = secret(
      "key",
      await shownOnce(ada, created.location!, /id="key"[^>]*>(lk_test_\w+)</),
    )
    const used = await server.request(key, "POST", "/v1/events", { userId: "u", action: "A" })
    expect(used.status).toBe(200)
    await server.request(secret("wrong key", `${key.slice(0, -4)}zzzz`), "GET", "/v1/project")
    const user = secret(
      "user token",
      (await server.request(key, "POST", "/v1/users/u/tokens")).body.token,
    )
    expect((await server.request(user, "GET", "/v1/users/u")).status).toBe(200)
    const wrongUser = secret("wrong user token", `${user.slice(0, -4)}zzzz`)
    expect((await server.request(wrongUser, "GET", "/v1/users/u")).status).toBe(401)
    const inAddress = await server.request(key, "GET", `/v1/users/u?access_token=${user}`)
    expect([inAddress.status, JSON.stringify(inAddress.body).includes(user)]).toEqual([400, false])
    const authenticator = new Authenticator(url)
    const passkey = secret(
      "passkey answer",
      authenticator.create(await optionsOf(ada, "/account/passkeys/options")),
    )
    const named = { with: "passkey", passkey, passkeyName: "laptop" }
    expect((await ada.post("/dashboard/account/passkeys", named)).status).toBe(303)

    // Signing in: wrong, by the password in the place of the address, right, by passkey.
    const phone = browser()
    const wrong = { email: account.email, password: secret("wrong password", "not the password") }
    for (let count = 0; count < 7; count++) await phone.post("/dashboard/sign-in", wrong)
    const mixed = { email: secret("misplaced", "swordfish-in-the-wrong-field"), password: "" }
    await phone.post("/dashboard/sign-in", mixed)
    const answer = authenticator.use(await optionsOf(phone, "/sign-in/passkey"))
    const byPasskey = { with: "passkey", passkey: secret("signature", answer) }
    expect((await phone.post("/dashboard/sign-in", byPasskey)).status).toBe(303)
    expect((await phone.post("/dashboard/sign-in", byPasskey)).status).toBe(400)
    keepCookies("phone", phone)
    const confirmed = { password: secret("wrong confirmation", "not this one either") }
    await ada.post("/dashboard/confirm", confirmed)
    await ada.post("/dashboard/confirm", { password })

    // Somebody joins, is reset, changes the password, is removed.
    const { location } = await ada.post("/dashboard/team/invite", {
      role: "owner",
      email: "grace@example.com",
    })
    const join_ = secret("join link", await shownOnce(ada, location!, /join#([\w-]+)/))
    const grace = browser()
    const second = { email: "grace@example.com", name: "Grace" }
    const first = secret("grace's password", "a phrase of four words")
    const joined = await grace.post("/dashboard/join", { ...second, token: join_, password: first })
    expect(joined.status).toBe(303)
    keepCookies("grace", grace)
    const made = await run(["accounts", "reset-password", second.email], folder)
    const reset = secret("reset link", made.stdout.trim().split("#")[1]!)
    const next = secret("grace's next password", "another phrase of words")
    expect((await grace.post("/dashboard/reset", { token: reset, password: next })).status).toBe(
      303,
    )
    keepCookies("grace again", grace)
    const third = secret("grace's third password", "three is a charm, they say")
    expect((await grace.post("/dashboard/account/password", { password: third })).status).toBe(303)
    keepCookies("grace at last", grace)
    for (const path of ["", "/account", "/team", "/log", "/nothing", "/demo/sandbox/keys"]) {
      for (const from of [ada, grace, browser()]) await from.get(`/dashboard${path}`)
    }
    const { adminUrl, token: adminToken } = await readServerFile(folder)
    const metrics = await (await fetch(`${adminUrl}/metrics`)).text()
    expect(metrics).toContain("laurel_")
    expect((await run(["accounts", "remove", second.email], folder)).code).toBe(0)

    const archived = await run(["snapshots", "create"], folder)
    expect({ code: archived.code, stderr: archived.stderr }).toMatchObject({ code: 0 })
    const exports = join(folder, "exports")
    await mkdir(exports)
    const whole = join(exports, "whole")
    const one = join(exports, "one")
    expect((await run(["snapshots", "export", whole], folder)).code).toBe(0)
    const scope = ["--project", "demo", "--environment", "sandbox"]
    expect((await run(["snapshots", "export", one, ...scope], folder)).code).toBe(0)
    expect(await server.stop()).toBe(0)
    // A start after the account was created removes the file with the setup link.
    const again = await Server.start(folder)
    expect(await again.stop("SIGKILL")).toBe("SIGKILL")

    const project = (await readFile(one)).toString("latin1")
    expect(project.length).toBeGreaterThan(100)
    for (const person of ["ada@example.com", "grace@example.com", "acc_", "ses_", "laptop"]) {
      expect({ person, found: project.includes(person) }).toEqual({ person, found: false })
    }
    const places = {
      files: (await everyByteOf(folder)).toString("latin1"),
      metrics,
      log: [server, again].map(({ stderr, stdout }) => stderr.text + stdout.text).join("\n"),
      commands: archived.stdout + archived.stderr,
      pages: browsers.flatMap(({ texts }) => texts).join("\n"),
    }
    // The search would find them: addresses are where secrets must not be.
    for (const place of ["files", "pages"] as const) {
      expect(places[place]).toContain("grace@example.com")
    }
    expect(secrets.size).toBeGreaterThan(20)
    secrets.set("admin token", adminToken)
    // A refused form comes back with what was typed, but for passwords.
    const typed = ["setup link", "guess", "misplaced"]
    const found: Array<string> = []
    for (const [place, text] of Object.entries(places)) {
      for (const [name, one] of secrets) {
        if (place === "pages" && typed.includes(name)) continue
        // As the text itself, as JSON within JSON, as a form or an address writes it, and as an attribute of a page.
        const forms = [one, JSON.stringify(one).slice(1, -1), encodeURIComponent(one)]
        if (forms.some((form) => text.includes(form))) found.push(`${name} in ${place}`)
      }
    }
    expect(found).toEqual([])
  })
})
