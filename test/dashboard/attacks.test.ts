/** Attacks with a link, a stolen cookie, or another site. */
import { request } from "node:http"
import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { routes } from "../../src/dashboard/Dashboard.ts"
import { dashboardPrefix } from "../../src/dashboard/view/Assets.ts"
import { limits } from "../../src/Limits.ts"
import { Browser, type DashboardServer, password, type Reply, startDashboard } from "./fixture.ts"

let server: DashboardServer
let owner: Browser

const run = <A, E>(effect: Effect.Effect<A, E>) => Effect.runPromise(effect)

beforeAll(async () => {
  server = await startDashboard()
  owner = await server.owner()
  for (const project of ["shop", "bank"]) {
    await run(server.keys.create({ project, environment: "sandbox", scope: "full" }))
  }
})
afterAll(() => server.stop())

const invite = (email: string) =>
  run(server.people.invite("operator", { email, access: { owner: true, projects: [] } }))

const join = async (name: string): Promise<Browser> => {
  const browser = server.browser()
  const email = `${name}@example.com`
  const fields = { token: await invite(email), email, name, password }
  expect((await browser.post("/dashboard/join", fields)).status).toBe(303)
  return browser
}

/** The browser of a thief, with all cookies of `browser`. */
const stolenFrom = ({ cookies }: Browser): Browser => {
  const thief = server.browser()
  for (const [name, text] of cookies) thief.cookies.set(name, text)
  return thief
}

const isSignedIn = async (browser: Browser): Promise<boolean> =>
  (await browser.get("/dashboard/account")).status === 200

const accountOf = async (name: string) =>
  (await run(server.people.accounts)).find((account) => account.name === name)!

describe("A setup link", () => {
  it("makes one owner when two send it at once, and none for a guessed token", async () => {
    const fresh = await startDashboard()
    try {
      const send = (token: string, name: string) =>
        fresh.browser().post("/dashboard/setup", { token, email: `${name}@x`, name, password })
      const guesses = ["", "x", "0".repeat(43), `${fresh.setupToken}x`, fresh.setupToken.slice(1)]
      for (const guess of guesses) {
        const { status, text } = await send(guess, "eve")
        expect({ guess, status }).toEqual({ guess, status: 404 })
        expect(text).toContain("The link was used, revoked or has expired.")
      }
      const names = ["ada", "bob", "eve"]
      const both = await Promise.all(names.map((name) => send(fresh.setupToken, name)))
      expect(both.map(({ status }) => status).sort()).toEqual([303, 404, 404])
      expect(await run(fresh.people.accounts)).toHaveLength(1)
      const lost = both.find(({ status }) => status === 404)!
      expect(lost.text).toContain("The link was used, revoked or has expired.")
      expect(lost.headers.getSetCookie()).toEqual([])
    } finally {
      await fresh.stop()
    }
  })
})

describe("A stolen session", () => {
  it("ends when its owner signs out, also when the owner does so from another browser", async () => {
    const browser = await join("ann")
    const thief = stolenFrom(browser)
    expect(await isSignedIn(thief)).toBe(true)
    await browser.post("/dashboard/sign-out")
    expect(await isSignedIn(thief)).toBe(false)
    const account = { email: "ann@example.com", password }
    const first = server.browser()
    await first.post("/dashboard/sign-in", account)
    const second = server.browser()
    await second.post("/dashboard/sign-in", account)
    await second.post("/dashboard/account/sessions/end-others")
    expect([await isSignedIn(first), await isSignedIn(second)]).toEqual([false, true])
  })

  it("ends when the password changes, and the owner continues in a new session", async () => {
    const browser = await join("ben")
    const thief = stolenFrom(browser)
    const before = browser.cookies.get("laurel")
    await browser.post("/dashboard/account/password", { password: "a phrase of other words" })
    expect(browser.cookies.get("laurel")).not.toBe(before)
    expect([await isSignedIn(thief), await isSignedIn(browser)]).toEqual([false, true])
  })

  it("ends after a password reset, a change of the role, and the removal of the account", async () => {
    const ends = [
      async (id: string) => {
        const token = await run(server.people.reset("operator", id))
        const fields = { token, password: "a phrase of other words" }
        expect((await server.browser().post("/dashboard/reset", fields)).status).toBe(303)
      },
      async (id: string) => {
        const reply = await owner.post(`/dashboard/team/${id}/access`, { role: "owner" })
        expect(reply.status).toBe(303)
      },
      async (id: string) => {
        expect((await owner.post(`/dashboard/team/${id}/remove`)).status).toBe(303)
      },
    ]
    for (const [index, end] of ends.entries()) {
      const name = `cleo${index}`
      const thief = stolenFrom(await join(name))
      expect(await isSignedIn(thief)).toBe(true)
      await end((await accountOf(name)).id)
      expect(await isSignedIn(thief)).toBe(false)
      expect((await thief.post("/dashboard/team/invite", { role: "owner" })).location).toContain(
        "/dashboard/sign-in",
      )
    }
  })

  it("cannot take over the account: changes that lock out the owner need the password", async () => {
    const browser = await join("dan")
    const thief = stolenFrom(browser)
    server.clock.set(new Date(server.engine.now() + limits.sessionConfirmedMs).toISOString())
    const { id } = await accountOf("ada")
    const attempts: ReadonlyArray<readonly [string, Record<string, string>]> = [
      ["/account/password", { password: "the thief's own phrase" }],
      ["/account/passkeys", { with: "passkey", passkeyName: "x" }],
      ["/team/invite", { role: "owner" }],
      [`/team/${id}/reset`, {}],
      [`/team/${id}/address`, { email: "thief@example.com" }],
      [`/team/${id}/remove`, {}],
      [`/team/${id}/access`, { role: "owner" }],
    ]
    for (const [path, fields] of attempts) {
      const localhost = new Browser(server.url.replace("127.0.0.1", "localhost"))
      for (const [name, text] of thief.cookies) localhost.cookies.set(name, text)
      const { location } = await localhost.post(`/dashboard${path}`, fields)
      expect({ path, location }).toEqual({
        path,
        location: expect.stringContaining("/dashboard/confirm?next="),
      })
    }
  })
})

describe("A link", () => {
  const acceptAs = (token: string, email: string) =>
    server.browser().post("/dashboard/join", { token, email, name: "x", password })

  it("for one address creates no account with another address", async () => {
    const token = await invite("una@example.com")
    const refused = await acceptAs(token, "eve@example.com")
    expect(refused.status).toBe(400)
    expect(refused.text).toContain("must be the address that was invited")
    expect((await acceptAs(token, "Una@example.com")).status).toBe(303)
  })

  it("ends when its owner loses the role, and a reset link ends when the password changes", async () => {
    const linkOf = async (browser: Browser, path: string, fields: Record<string, string>) => {
      const { location } = await browser.post(path, fields)
      return /#([\w-]+)/.exec((await browser.get(location!)).text)![1]!
    }
    const max = await join("max")
    const { id } = await accountOf("max")
    const made = await linkOf(max, "/dashboard/team/invite", { role: "owner", email: "me@x" })
    const demoted = { role: "viewer", project: "shop" }
    const lena = await join("lena")
    expect((await lena.post(`/dashboard/team/${id}/access`, demoted)).status).toBe(303)
    expect((await acceptAs(made, "me@x")).status).toBe(404)

    const nia = await join("nia")
    const token = await run(server.people.reset("operator", (await accountOf("nia")).id))
    const changed = { password: "a phrase of other words" }
    expect((await nia.post("/dashboard/account/password", changed)).status).toBe(303)
    const late = await server.browser().post("/dashboard/reset", { token, password })
    expect(late.status).toBe(404)
  })

  it("is the only way to get an address: only an owner changes the address of an account", async () => {
    const pia = await join("pia")
    const { projects } = await run(server.engine.readDirectory)
    const shop = [...projects.values()].find(({ name }) => name === "shop")!.id
    const ona = await server.joined(pia, "ona", `viewer ${shop}`)
    const eve = { name: "ona", email: "eve@example.com" }
    expect((await ona.post("/dashboard/account/profile", eve)).status).toBe(303)
    const { email, id } = await accountOf("ona")
    expect(email).toBe("ona@example.com")
    expect((await ona.get("/dashboard/account")).text).toContain("An owner can change it.")
    expect((await ona.post(`/dashboard/team/${id}/address`, eve)).status).toBe(404)
    expect((await pia.post(`/dashboard/team/${id}/address`, eve)).status).toBe(303)
    expect((await accountOf("ona")).email).toBe("eve@example.com")
  })
})

describe("A session id that somebody else chose", () => {
  it("never becomes the session of an account: each sign-in creates a new session", async () => {
    const chosen = "A".repeat(43)
    const fixed = () => {
      const browser = server.browser()
      browser.cookies.set("laurel", chosen)
      return browser
    }
    const email = "fay@example.com"
    const fields = { token: await invite(email), email, name: "fay", password }
    const joined = fixed()
    await joined.post("/dashboard/join", fields)
    const signedIn = fixed()
    await signedIn.post("/dashboard/sign-in", fields)
    const reset = fixed()
    const token = await run(server.people.reset("operator", (await accountOf("fay")).id))
    await reset.post("/dashboard/reset", { token, password: "a phrase of other words" })
    for (const browser of [joined, signedIn, reset]) {
      expect(browser.cookies.get("laurel")).toMatch(/^[\w-]{43}$/)
      expect(browser.cookies.get("laurel")).not.toBe(chosen)
    }
    expect(await isSignedIn(fixed())).toBe(false)
  })
})

describe("Every reply", () => {
  const securityHeaders = {
    "content-security-policy": expect.stringMatching(
      /^default-src 'none'; script-src 'self'; .*base-uri 'none'; frame-ancestors 'none'; .*trusted-types 'none'$/,
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
  }

  const pathOf = (path: string) =>
    dashboardPrefix +
    path
      .replace(":project", "shop")
      .replace(":environment", "sandbox")
      .replace(/:(\w+)/g, "unknown")

  it("forbids framing, foreign code and content sniffing: page, form, error, file and refusal", async () => {
    const replies: Array<readonly [string, Reply]> = []
    const keep = async (name: string, reply: Promise<Reply>) => replies.push([name, await reply])
    for (const { method, path } of routes.filter(({ path }) => path !== "/sign-out")) {
      for (const browser of [owner, server.browser()]) {
        const address = pathOf(path)
        await keep(
          `${method} ${path}`,
          method === "GET" ? browser.get(address) : browser.post(address),
        )
      }
    }
    const { text } = await owner.get("/dashboard/account")
    const files = [...text.matchAll(/(?:href|src)="(\/dashboard\/assets\/[^"]+)"/g)]
    expect(files.length).toBeGreaterThanOrEqual(3)
    for (const [, file] of files) await keep(file!, owner.get(file!))
    await keep("not found", owner.get("/dashboard/nothing"))
    await keep("of another site", owner.post("/dashboard/team/invite", {}, { origin: "https://e" }))
    const tooLong = { email: "x".repeat(limits.pageBodyBytesMax) }
    await keep("too long", owner.post("/dashboard/sign-in", tooLong))
    for (const [name, { headers, status }] of replies) {
      const shown = Object.fromEntries(
        Object.keys(securityHeaders).map((header) => [header, headers.get(header)]),
      )
      expect({ name, status, ...shown }).toEqual({ name, status, ...securityHeaders })
    }
  })

  it("redirects only into the dashboard, whatever the address or the referring page", async () => {
    const elsewhere = [
      "https://evil.example",
      "//evil.example",
      "/\\evil.example",
      "/dashboard//evil.example",
      "/dashboard/..//evil.example",
      "/dashboard%2f..%2f..",
      "javascript:alert(1)",
    ]
    const own = { "sec-fetch-site": "same-origin" }
    for (const next of elsewhere) {
      const query = `?next=${encodeURIComponent(next)}`
      const browser = server.browser()
      const account = { email: "ada@example.com", password }
      const replies = [
        await browser.post(`/dashboard/sign-in${query}`, account),
        await browser.post(`/dashboard/confirm${query}`, { password }),
        await server.browser().get("/dashboard/account", { ...own, referer: next }),
        await server.browser().post("/dashboard/account/profile", {}, { ...own, referer: next }),
        await server
          .browser()
          .post("/dashboard/account/profile", {}, { ...own, referer: `https://x${next}` }),
      ]
      for (const { location, status } of replies) {
        expect({ next, status }).toEqual({ next, status: 303 })
        const url = new URL(location!, "http://localhost:1")
        expect(url.host).toBe("localhost:1")
        expect(url.pathname).toMatch(/^\/dashboard(\/[a-z-]+)*$/)
        const after = url.searchParams.get("next")
        if (after !== null) {
          const form = await browser.post(`${url.pathname}${url.search}`, account)
          expect(form.location).toMatch(/^\/dashboard(\/[a-z-]+)*$/)
        }
      }
    }
  })

  it("takes the session from its own cookie only, never from a cookie of another name", async () => {
    const session = (await join("gus")).cookies.get("laurel")!
    const { port } = new URL(server.url)
    const statusWith = (headers: Record<string, string>, path = "/dashboard/account") =>
      new Promise<number>((resolve, reject) => {
        request({
          host: "127.0.0.1",
          port,
          path,
          headers: { host: `localhost:${port}`, ...headers },
        })
          .on("response", (reply) => {
            reply.resume()
            resolve(reply.statusCode!)
          })
          .on("error", reject)
          .end()
      })
    expect(await statusWith({ cookie: `a=b; laurel=${session}` })).toBe(200)
    for (const headers of [
      { authorization: `Bearer ${session}` },
      { cookie: `__Host-laurel=${session}` },
      { cookie: `laurel-device=${session}` },
      { cookie: `Laurel=${session}` },
      { cookie: `laurel=x; laurel=${session}` },
    ]) {
      expect({ headers, status: await statusWith(headers as never) }).toEqual({
        headers,
        status: 303,
      })
    }
    expect(await statusWith({}, `/dashboard/account?laurel=${session}`)).toBe(303)
  })
})
