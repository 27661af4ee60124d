/** Passkeys in the forms of the dashboard, with a software authenticator instead of a browser. */
import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest"
import { limits } from "../../src/Limits.ts"
import { Authenticator, type Lies } from "../accounts/passkeys/authenticator.ts"
import { Browser, type DashboardServer, password, type Reply, startDashboard } from "./fixture.ts"

let server: DashboardServer
let url: string
let owner: Browser

const run = <A, E>(effect: Effect.Effect<A, E>) => Effect.runPromise(effect)

/** A browser at an address that supports passkeys. */
const newBrowser = () => new Browser(url)

const optionsOf = async (browser: Browser, path: string, fields: Record<string, string> = {}) => {
  const { headers, status, text } = await browser.post(`/dashboard${path}`, fields)
  expect({ status, text }).toMatchObject({ status: 200 })
  expect(headers.get("content-type")).toBe("application/json")
  return JSON.parse(text)
}

const send = (
  browser: Browser,
  path: string,
  passkey: string,
  fields: Record<string, string> = {},
) => browser.post(`/dashboard${path}`, { ...fields, with: "passkey", passkey })

const signIn = async (browser: Browser, authenticator: Authenticator, lies: Lies = {}) =>
  send(browser, "/sign-in", authenticator.use(await optionsOf(browser, "/sign-in/passkey"), lies))

const alertOf = ({ text }: Reply): string => /role="alert">(?:<p>)?([^<]+)/.exec(text)?.[1] ?? ""

/** The token of a link from the command line, which needs no confirmation. */
const invite = (email: string) =>
  run(server.people.invite("operator", { email, access: { owner: true, projects: [] } }))
const resetOf = async (name: string) =>
  run(server.people.reset("operator", (await accountOf(name)).id))

/** A browser of a new account that has a passkey and no password. */
const joinWithPasskey = async (name: string) => {
  const browser = newBrowser()
  const authenticator = new Authenticator(url)
  const email = `${name}@example.com`
  const fields = { token: await invite(email), email, name }
  const answer = authenticator.create(await optionsOf(browser, "/join/passkey", fields))
  expect(await send(browser, "/join", answer, fields)).toMatchObject({
    status: 303,
    location: "/dashboard",
  })
  return { answer, authenticator, browser }
}

/** Adds a passkey to the account that is signed in. */
const addPasskey = async (browser: Browser, passkeyName: string) => {
  const authenticator = new Authenticator(url)
  const options = await optionsOf(browser, "/account/passkeys/options")
  const reply = await send(browser, "/account/passkeys", authenticator.create(options), {
    passkeyName,
  })
  expect(reply).toMatchObject({ status: 303, location: "/dashboard/account" })
  return { authenticator, options }
}

const later = (ms: number) => server.clock.set(new Date(server.engine.now() + ms).toISOString())
const accountOf = async (name: string) => {
  const { accounts } = await run(server.engine.readDirectory)
  return [...accounts.values()].find((account) => account.name === name)!
}

beforeAll(async () => {
  server = await startDashboard()
  url = server.url.replace("127.0.0.1", "localhost")
  owner = newBrowser()
  for (const [name, text] of (await server.owner()).cookies) owner.cookies.set(name, text)
})
afterAll(() => server.stop())

describe("A passkey in place of a password", () => {
  it("sets up the first account, which then signs in and confirms without a password", async () => {
    const fresh = await startDashboard()
    try {
      const origin = fresh.url.replace("127.0.0.1", "localhost")
      const browser = new Browser(origin)
      const authenticator = new Authenticator(origin)
      const fields = { token: fresh.setupToken, email: "Ada@example.com", name: "Ada" }
      const options = await optionsOf(browser, "/setup/passkey", fields)
      expect(options).toMatchObject({
        rp: { id: "localhost" },
        user: { name: "ada@example.com", displayName: "Ada" },
      })
      const made = await send(browser, "/setup", authenticator.create(options), fields)
      expect(made).toMatchObject({ status: 303, location: "/dashboard" })
      const other = new Browser(origin)
      const use = async (from: Browser, path: string, next = "") =>
        send(from, path + next, authenticator.use(await optionsOf(from, `${path}/passkey`)))
      const { location } = await use(other, "/sign-in", "?next=/dashboard/team")
      expect(location).toBe("/dashboard/team")
      fresh.clock.set("2026-11-22T10:15:00Z")
      const invitation = { role: "owner", email: "bob@example.com" }
      expect((await other.post("/dashboard/team/invite", invitation)).location).toContain(
        "/confirm",
      )
      const page = await other.get("/dashboard/confirm")
      expect(page.text).not.toContain('type="password"')
      expect((await use(other, "/confirm")).status).toBe(303)
      expect((await other.post("/dashboard/team/invite", invitation)).location).toContain("?link=")
    } finally {
      await fresh.stop()
    }
  })

  it("is offered on each page of a link, beside the password, to browsers with a script", async () => {
    const fresh = await startDashboard()
    onTestFinished(() => fresh.stop())
    for (const path of ["setup", "join", "reset"]) {
      // There is an account, so nothing is left to set up.
      const atFresh = new Browser(fresh.url.replace("127.0.0.1", "localhost"))
      const browser = path === "setup" ? atFresh : newBrowser()
      const { text } = await browser.get(`/dashboard/${path}`)
      expect(text).toMatch(/<button [^>]*data-passkey="create"[^>]* formnovalidate hidden>/)
      expect(text).toContain('type="password"')
      expect(text).toContain("Passkeys need a script")
    }
    expect((await newBrowser().get("/dashboard/sign-in")).text).toMatch(
      /data-passkey="get" data-options="\/dashboard\/sign-in\/passkey" hidden/,
    )
  })

  it("gets no options if the link or a typed text is wrong, and the form says why", async () => {
    const browser = newBrowser()
    const wrong = { token: "guessed", email: "x@example.com", name: "X" }
    const refused = await browser.post("/dashboard/join/passkey", wrong)
    expect(refused.status).toBe(404)
    expect(alertOf(await send(browser, "/join", "", wrong))).toBe(
      "The browser sends no cookies. Allow them for this page.",
    )
    await optionsOf(browser, "/sign-in/passkey")
    expect(alertOf(await send(browser, "/join", "", wrong))).toBe(
      "The link was used, revoked or has expired.",
    )
    const incomplete = { token: await invite("c@d"), email: "nobody", name: " " }
    expect((await browser.post("/dashboard/join/passkey", incomplete)).status).toBe(400)
    const { status, text } = await send(browser, "/join", "", incomplete)
    expect(status).toBe(400)
    expect(text).toContain("E-mail address must be an e-mail address")
    expect(text).toContain("Name must not be empty")
    const other = { ...incomplete, email: "eve@example.com", name: "Eve" }
    expect((await browser.post("/dashboard/join/passkey", other)).text).toContain(
      "must be the address that was invited",
    )
    // The same token still works.
    expect(
      alertOf(await send(browser, "/join", "", { ...incomplete, email: "c@d", name: "C" })),
    ).toBe("The browser has sent no passkey. Try again.")
  })

  it("joins once with a link: neither the answer nor the link works again", async () => {
    const { answer, browser } = await joinWithPasskey("grace")
    const account = await accountOf("grace")
    expect(account.password).toBeNull()
    expect(account.passkeys).toMatchObject([{ name: "First passkey", counter: 0 }])
    const fields = { token: await invite("eve@example.com"), email: "eve@example.com", name: "Eve" }
    expect(alertOf(await send(browser, "/join", answer, fields))).toContain("was sent twice")
  })

  it("replaces the password in a reset; earlier passkeys stay, and the next page lists them", async () => {
    const { authenticator, browser } = await joinWithPasskey("hedy")
    await browser.post("/dashboard/account/password", { password })
    const token = await resetOf("hedy")
    const elsewhere = newBrowser()
    expect((await elsewhere.get("/dashboard/reset")).text).toContain("Your passkeys stay")
    const second = new Authenticator(url)
    const options = await optionsOf(elsewhere, "/reset/passkey", { token })
    expect(options.excludeCredentials).toMatchObject([{ id: authenticator.id }])
    const reply = await send(elsewhere, "/reset", second.create(options), { token })
    expect(reply).toMatchObject({ status: 303, location: "/dashboard/account" })
    const listed = await elsewhere.get("/dashboard/account")
    expect(listed.text.match(/<td>First passkey<\/td>/g)).toHaveLength(2)
    expect((await browser.get("/dashboard/account")).status).toBe(303)
    const old = { email: "hedy@example.com", password }
    expect((await newBrowser().post("/dashboard/sign-in", old)).status).toBe(400)
    expect((await signIn(newBrowser(), authenticator)).status).toBe(303)
    expect((await signIn(newBrowser(), second)).status).toBe(303)
  })

  it("of one reset does not work for the reset of another account", async () => {
    await joinWithPasskey("ivy")
    await joinWithPasskey("jane")
    const tokens = [await resetOf("ivy"), await resetOf("jane")]
    const browser = newBrowser()
    const answer = new Authenticator(url).create(
      await optionsOf(browser, "/reset/passkey", { token: tokens[0]! }),
    )
    const crossed = await send(browser, "/reset", answer, { token: tokens[1]! })
    expect(alertOf(crossed)).toBe("The passkey was created for another account.")
  })
})

describe("A passkey beside a password", () => {
  it("is listed with its name and its last use, and signs in until it is removed", async () => {
    const { authenticator, options } = await addPasskey(owner, "<b>laptop</b>")
    expect(options.user.name).toBe("ada@example.com")
    const unused = await owner.get("/dashboard/account")
    expect(unused.text).toMatch(/<td>&lt;b&gt;laptop&lt;\/b&gt;<\/td><td><time.*<\/td><td>never</)
    const browser = newBrowser()
    authenticator.counter = 4
    expect(await signIn(browser, authenticator)).toMatchObject({ status: 303 })
    expect((await browser.get("/dashboard/account")).text).not.toContain("<td>never</td>")
    const removed = await browser.post(`/dashboard/account/passkeys/${authenticator.id}/remove`)
    expect(removed).toMatchObject({ status: 303, location: "/dashboard/account" })
    authenticator.counter = 5
    expect(alertOf(await signIn(newBrowser(), authenticator))).toBe(
      "No account has this passkey. It may have been removed.",
    )
    const again = await owner.post(`/dashboard/account/passkeys/${authenticator.id}/remove`)
    expect(alertOf(again)).toBe("The account has no such passkey.")
  })

  it("needs a confirmation to be added or removed", async () => {
    const { authenticator, browser } = await joinWithPasskey("kay")
    const options = await optionsOf(browser, "/account/passkeys/options")
    later(limits.sessionConfirmedMs)
    expect((await browser.post("/dashboard/account/passkeys/options")).location).toContain(
      "/dashboard/confirm?next=",
    )
    const answer = new Authenticator(url).create(options)
    for (const passkey of [answer, ""]) {
      const added = await send(browser, "/account/passkeys", passkey, { passkeyName: "x" })
      expect(added.location).toContain("/dashboard/confirm?next=")
    }
    const remove = `/dashboard/account/passkeys/${authenticator.id}/remove`
    expect((await browser.post(remove)).location).toContain("/dashboard/confirm?next=")
    const confirm = authenticator.use(await optionsOf(browser, "/confirm/passkey"))
    expect((await send(browser, "/confirm", confirm)).status).toBe(303)
    expect((await send(browser, "/confirm", confirm)).status).toBe(400)
    await addPasskey(browser, "second")
  })

  it("cannot be removed if it is the only way to sign in", async () => {
    const { authenticator, browser } = await joinWithPasskey("lin")
    const remove = `/dashboard/account/passkeys/${authenticator.id}/remove`
    expect(alertOf(await browser.post(remove))).toBe(
      "The passkey is the account&#39;s only way to sign in.",
    )
    const { authenticator: second } = await addPasskey(browser, "second")
    expect((await browser.post(remove)).status).toBe(303)
    expect((await signIn(newBrowser(), second)).status).toBe(303)
  })

  it(`is one of at most ${limits.passkeysPerAccountMax}, each with a name`, async () => {
    const { browser } = await joinWithPasskey("mary")
    for (let count = 1; count < limits.passkeysPerAccountMax; count++) {
      await addPasskey(browser, `passkey ${count}`)
    }
    const add = async (passkeyName: string) => {
      const answer = new Authenticator(url).create(
        await optionsOf(browser, "/account/passkeys/options"),
      )
      return send(browser, "/account/passkeys", answer, { passkeyName })
    }
    expect(alertOf(await add("more"))).toBe("At most 20 passkeys per account are allowed.")
    const other = (await joinWithPasskey("nina")).browser
    const options = await optionsOf(other, "/account/passkeys/options")
    const unnamed = await send(other, "/account/passkeys", new Authenticator(url).create(options), {
      passkeyName: " ",
    })
    expect(unnamed.text).toContain("Name of the new passkey must not be empty")
  })
})

describe("An attacker with a passkey", () => {
  it("cannot sign in with an answer to other options than the server gave", async () => {
    const { authenticator } = await joinWithPasskey("olga")
    const wrong: ReadonlyArray<readonly [Lies, RegExp]> = [
      [{ origin: "https://evil.example" }, /origin/],
      [{ origin: server.url }, /origin/],
      [{ rpId: "evil.example" }, /RP ?ID/i],
      [{ verified: false }, /verif/],
      [{ challenge: "" }, /waited too long/],
      [{ challenge: "AAAA" }, /waited too long/],
      [{ userHandle: Buffer.from("acc_1").toString("base64url") }, /No account/],
      [{ signature: Buffer.alloc(64) }, /not accepted/],
    ]
    for (const [lies, reason] of wrong) {
      const browser = newBrowser()
      const { status, text } = await signIn(browser, authenticator, lies)
      expect({ lies, status }).toEqual({ lies, status: 400 })
      expect(text).toMatch(reason)
      expect(browser.cookies.has("laurel")).toBe(false)
    }
  })

  it("cannot replay an answer, in the same browser, in another one, or after five minutes", async () => {
    const { authenticator } = await joinWithPasskey("paula")
    const browser = newBrowser()
    const answer = authenticator.use(await optionsOf(browser, "/sign-in/passkey"))
    const thief = newBrowser()
    await optionsOf(thief, "/sign-in/passkey")
    expect(alertOf(await send(thief, "/sign-in", answer))).toContain("waited too long")
    expect((await send(browser, "/sign-in", answer)).status).toBe(303)
    expect(alertOf(await send(browser, "/sign-in", answer))).toContain("was sent twice")
    const late = authenticator.use(await optionsOf(browser, "/sign-in/passkey"))
    later(limits.passkeyChallengeMs)
    expect(alertOf(await send(browser, "/sign-in", late))).toContain("waited too long")
  })

  it("cannot confirm the session of another account, or confirm with an answer to a sign-in", async () => {
    const victim = await joinWithPasskey("quinn")
    const attacker = await joinWithPasskey("rosa")
    const options = await optionsOf(victim.browser, "/confirm/passkey")
    expect(options.allowCredentials).toMatchObject([{ id: victim.authenticator.id }])
    expect(
      alertOf(await send(victim.browser, "/confirm", attacker.authenticator.use(options))),
    ).toBe("No account has this passkey. It may have been removed.")
    const signsIn = victim.authenticator.use(await optionsOf(victim.browser, "/sign-in/passkey"))
    expect(alertOf(await send(victim.browser, "/confirm", signsIn))).toContain("waited too long")
    // The challenge of one session does not work in another session of the same account.
    const second = newBrowser()
    await signIn(second, victim.authenticator)
    const elsewhere = victim.authenticator.use(await optionsOf(second, "/confirm/passkey"))
    expect(alertOf(await send(victim.browser, "/confirm", elsewhere))).toContain("waited too long")
  })

  it("that was copied is detected by its counter", async () => {
    const { authenticator } = await joinWithPasskey("sara")
    authenticator.counter = 10
    expect((await signIn(newBrowser(), authenticator)).status).toBe(303)
    const copy = authenticator.copy()
    for (const counter of [10, 9, 0]) {
      copy.counter = counter
      expect(alertOf(await signIn(newBrowser(), copy))).toBe(
        "The passkey may have been copied. Use another way to sign in.",
      )
    }
    authenticator.counter = 11
    expect((await signIn(newBrowser(), authenticator)).status).toBe(303)
  })

  it("cannot register the passkey of another account, or one of another algorithm than offered", async () => {
    const { browser } = await joinWithPasskey("tess")
    const twice = new Authenticator(url)
    const own = twice.create(await optionsOf(browser, "/account/passkeys/options"))
    expect((await send(browser, "/account/passkeys", own, { passkeyName: "own" })).status).toBe(303)
    const algorithm = new Authenticator(url).create(
      await optionsOf(browser, "/account/passkeys/options"),
      { algorithm: -35 },
    )
    const refused = await send(browser, "/account/passkeys", algorithm, { passkeyName: "x" })
    expect(alertOf(refused)).toMatch(/alg/)
    const thief = (await joinWithPasskey("uma")).browser
    const options = await optionsOf(thief, "/account/passkeys/options")
    const stolen = await send(thief, "/account/passkeys", twice.recreate(options), {
      passkeyName: "stolen",
    })
    expect(alertOf(stolen)).toBe("The passkey belongs to an account already.")
  })

  it("is refused with 64 KiB of garbage", async () => {
    const browser = newBrowser()
    await optionsOf(browser, "/sign-in/passkey")
    const room = limits.pageBodyBytesMax - "with=passkey&passkey=".length
    for (const garbage of ["x".repeat(room), "9".repeat(room), "[".repeat(Math.floor(room / 3))]) {
      const { status, text } = await browser.post("/dashboard/sign-in", {
        with: "passkey",
        passkey: garbage,
      })
      expect(status).toBe(400)
      expect(text).toContain("The browser has sent no passkey. Try again.")
    }
  })
})

describe("Wrong passwords of others", () => {
  it("do not delay a passkey, or a device that signed in before", async () => {
    const known = newBrowser()
    const account = { email: "vera@example.com", password }
    await known.post("/dashboard/join", {
      ...account,
      token: await invite(account.email),
      name: "vera",
    })
    const { authenticator } = await addPasskey(known, "phone")
    for (let count = 0; count <= limits.signInFailuresFreePerAccount; count++) {
      await newBrowser().post("/dashboard/sign-in", { ...account, password: "wrong" })
    }
    const paused = await newBrowser().post("/dashboard/sign-in", account)
    expect(paused.status).toBe(429)
    expect(Number(paused.headers.get("retry-after"))).toBeGreaterThan(0)
    expect((await signIn(newBrowser(), authenticator)).status).toBe(303)
    await known.post("/dashboard/sign-out")
    expect((await known.post("/dashboard/sign-in", account)).status).toBe(303)
  })
})

describe("At an address at which browsers refuse passkeys", () => {
  const startAt = (site: Parameters<typeof startDashboard>[0]) => startDashboard(site)

  it("the pages say so and name a remedy", async () => {
    const cases = [
      [{}, "Open http://localhost:"],
      [{ publicUrl: "https://192.0.2.1/" }, "Browsers refuse passkeys on an IP address. Set"],
      [{ publicUrl: "https://[2001:db8::1]/" }, "Browsers refuse passkeys on an IP address. Set"],
      [{ publicUrl: "http://laurel.example.com/" }, "Browsers refuse passkeys without TLS."],
    ] as const
    for (const [site, words] of cases) {
      const at = await startAt(site)
      try {
        const browser = await at.owner()
        for (const path of ["account", "join"]) {
          const { text } = await browser.get(`/dashboard/${path}`)
          expect(text).toContain(words)
          expect(text).not.toContain("data-passkey")
        }
        const { status, text } = await browser.post("/dashboard/sign-in/passkey")
        expect(status).toBe(400)
        expect(text).toContain(words)
      } finally {
        await at.stop()
      }
    }
  })

  it("none is needed with a public URL over https: passkeys are bound to its host", async () => {
    const at = await startAt({ publicUrl: "https://laurel.example.com:8443/" })
    try {
      const browser = at.browser()
      const options = await optionsOf(browser, "/sign-in/passkey")
      expect(options.rpId).toBe("laurel.example.com")
      const fields = { token: at.setupToken, email: "a@b", name: "A" }
      const create = async (origin: string) => {
        const options = await optionsOf(browser, "/setup/passkey", fields)
        return send(browser, "/setup", new Authenticator(origin).create(options), fields)
      }
      expect((await create("https://laurel.example.com")).status).toBe(400)
      expect((await create("https://laurel.example.com:8443")).status).toBe(303)
    } finally {
      await at.stop()
    }
  })
})
