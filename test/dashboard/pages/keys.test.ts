import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { AddressRanges } from "../../../src/accounts/AddressRanges.ts"
import { limits } from "../../../src/Limits.ts"
import { type Browser, type DashboardServer, password, startDashboard } from "../fixture.ts"
import { fieldsOf } from "./pageForm.ts"

const keys = "/dashboard/shop/sandbox/keys"
const production = "/dashboard/shop/production/keys"
const wish = { scope: "full", expires: "never" }

let server: DashboardServer
let owner: Browser
let viewer: Browser
const run = <A, E>(effect: Effect.Effect<A, E>) => Effect.runPromise(effect)

beforeAll(async () => {
  server = await startDashboard()
  const old = { project: "shop", environment: "sandbox", scope: "full" } as const
  await run(server.keys.create(old))
  owner = await server.owner()
  const { projects } = await run(server.engine.readDirectory)
  const shop = [...projects.values()].find(({ name }) => name === "shop")!.id
  viewer = await server.joined(owner, "viewer", `viewer ${shop}`)
})
afterAll(() => server.stop())

const listed = async () => (await run(server.keys.list)).at(-1)!

const statusWith = async (key: string, headers: Record<string, string> = {}) => {
  const asked = { headers: { authorization: `Bearer ${key}`, ...headers } }
  return (await fetch(`${server.url}/v1/leaderboard`, asked)).status
}

/** Sends a form that creates a key. Returns the text of the key on the next page. */
const textAfter = async (browser: Browser, path: string, fields: Record<string, string>) => {
  const { location, text } = await browser.post(path, fields)
  if (location === null) throw new Error(text)
  const page = await browser.get(location)
  return { page: page.text, key: /id="key"[^>]*>(lk_\w+)</.exec(page.text)![1]! }
}

/** The words of the table row that contains `words`. */
const rowWith = (page: string, words: string): string | undefined =>
  [...page.matchAll(/<tr>(?:(?!<\/tr>).)*<\/tr>/gs)]
    .map(([row]) => row)
    .find((row) => row.includes(words))

describe("A key's whole life", () => {
  it("is created, used, rotated with both in force, expired by the clock, and revoked at once", async () => {
    const old = await textAfter(owner, keys, { ...wish, name: "Backend" })
    const { id } = await listed()
    expect(await statusWith(old.key)).toBe(200)
    expect(rowWith((await owner.get(keys)).text, "Backend")).toMatch(
      /<td><bdi>ada<\/bdi><br>.*2026-11-22 10/s,
    )
    const page = await owner.get(keys)
    expect(fieldsOf(page.text, `${keys}/${id}/rotate`)).toEqual({
      idempotencyKey: expect.any(String),
      overlap: "24h",
    })
    const next = await textAfter(owner, `${keys}/${id}/rotate`, { overlap: "1h" })
    const successor = await listed()
    expect(successor).toMatchObject({ name: "Backend", createdBy: "ada", scope: "full" })
    expect([await statusWith(old.key), await statusWith(next.key)]).toEqual([200, 200])
    const both = (await owner.get(keys)).text
    expect(both).toContain("in force, rotated")
    expect(both).not.toContain(`${keys}/${id}/rotate"`)
    server.clock.set("2026-11-22T11:01:00Z")
    expect([await statusWith(old.key), await statusWith(next.key)]).toEqual([401, 200])
    await owner.post(`${keys}/${successor.id}/revoke`)
    expect(await statusWith(next.key)).toBe(401)
    const actions = (await server.logged()).map(({ action, subject }) => [action, subject])
    expect(actions.slice(0, 2)).toEqual([
      ["key.revoke", successor.id],
      ["key.rotate", successor.id],
    ])
  })

  it("is shown once, with commands for curl, JavaScript and Python that its scope allows", async () => {
    const { key, page } = await textAfter(owner, keys, { ...wish, scope: "read" })
    for (const label of ["curl", "JavaScript", "Python"]) {
      expect(page).toContain(`<summary>${label}</summary>`)
    }
    expect(page.match(/\/v1\/leaderboard/g)).toHaveLength(3)
    expect(page).not.toContain("/v1/events")
    expect((await owner.get(keys)).text).not.toContain(key)
  })
})

describe("The form of a new key", () => {
  it("makes a publishable key, whatever scope is chosen beside it", async () => {
    const asked = { ...wish, kind: "publishable", allowedOrigins: "https://app.example" }
    const { key, page } = await textAfter(owner, keys, asked)
    expect(key).toMatch(/^lk_pub_test_/)
    expect(page.match(/\/v1\/leaderboard/g)).toHaveLength(3)
    const made = await listed()
    expect(made).toMatchObject({ kind: "publishable", scope: "read", name: "publishable key" })
    expect(rowWith((await owner.get(keys)).text, key.slice(0, 16))).toContain(
      "<td>publishable</td>",
    )
    expect((await server.logged())[0]).toMatchObject({
      action: "key.create",
      subject: made.id,
      detail: "publishable",
    })
    expect(await statusWith(key)).toBe(200)
    expect(await statusWith(key, { origin: "https://app.example" })).toBe(200)
    expect(await statusWith(key, { origin: "https://other.example" })).toBe(403)
    expect(await statusWith(key, { origin: "null" })).toBe(403)
    const other = { ...wish, kind: "other" }
    expect((await owner.post(keys, other)).text).toContain("Choose one of the listed options")
  })

  it("takes a name, an expiry, origins and addresses, and the key obeys them", async () => {
    const { key } = await textAfter(owner, keys, {
      ...wish,
      name: "Shop floor",
      expires: "30",
      allowedOrigins: "https://app.example\r\n\r\n http://localhost:5173 ",
      allowedCidrs: "127.0.0.1\n10.0.0.0/8",
    })
    expect(await listed()).toMatchObject({
      name: "Shop floor",
      allowedOrigins: ["https://app.example", "http://localhost:5173"],
      allowedCidrs: ["127.0.0.1/32", "10.0.0.0/8"],
    })
    const row = rowWith((await owner.get(keys)).text, "Shop floor")!
    for (const words of ["<code>https://app.example</code>", "10.0.0.0/8", "never"]) {
      expect(row).toContain(words)
    }
    expect(await statusWith(key)).toBe(200)
    expect(await statusWith(key, { origin: "https://other.example" })).toBe(403)
  })

  it("marks all faults at their fields, keeps the typed texts, and creates nothing", async () => {
    const before = await run(server.keys.list)
    const typed = {
      ...wish,
      name: "x".repeat(limits.keyNameCharactersMax + 1),
      allowedOrigins: "https://good.example\n<b>null</b>",
      allowedCidrs: "10.0.0.0/33\n::1",
    }
    const { status, text } = await owner.post(keys, typed)
    expect(status).toBe(400)
    expect(text).toContain("Nothing was saved: see the fields that are marked.")
    for (const field of ["name", "allowedOrigins", "allowedCidrs"]) {
      expect(text).toContain(`id="${field}-fault"`)
    }
    expect(text).toContain("“&lt;b&gt;null&lt;/b&gt;” must be an origin")
    expect(text).toContain("“10.0.0.0/33” must be an address or a range")
    expect(text).not.toContain("“https://good.example”")
    expect(fieldsOf(text, keys)).toMatchObject(typed)
    expect(await run(server.keys.list)).toEqual(before)
    for (const field of ["scope", "expires"]) {
      expect((await owner.post(keys, { ...wish, [field]: "other" })).status).toBe(400)
    }
  })

  it("takes hostile names, and shows them as text", async () => {
    const name = `<b>x</b> "q" 'a' & \u202e javascript:alert(1)`
    await textAfter(owner, keys, { ...wish, name })
    const { text } = await owner.get(keys)
    expect(text).not.toContain("<b>x</b>")
    expect(text).toContain("&lt;b&gt;x&lt;/b&gt;")
  })
})

describe("The list", () => {
  it("shows keys in force, so that ended ones do not bury them, in pages of 20", async () => {
    const base = { project: "many", environment: "sandbox", scope: "read" } as const
    for (let index = 0; index < 23; index++) {
      server.clock.set(new Date(Date.parse("2026-11-22T11:30:00Z") + 1_000 * index).toISOString())
      const { id } = await run(server.keys.create({ ...base, name: `Key ${index}.` }))
      if (index < 2) await run(server.keys.revoke(id))
    }
    const many = "/dashboard/many/sandbox/keys"
    const rows = async (query: string) => {
      const { text } = await owner.get(`${many}${query}`)
      return [...text.matchAll(/<bdi>(Key \d+\.)/g)].map(([, name]) => name)
    }
    expect(await rows("")).toHaveLength(20)
    expect((await rows(""))[0]).toBe("Key 22.")
    expect(await rows("?offset=20")).toEqual(["Key 2."])
    expect(await rows("?status=ended")).toEqual(["Key 1.", "Key 0."])
    expect(await rows("?status=all&offset=20")).toEqual(["Key 2.", "Key 1.", "Key 0."])
    expect(await rows("?status=constructor&offset=-1")).toHaveLength(20)
    expect(await rows("?offset=999999")).toEqual([])
  })

  it("is visible to viewers, without any form", async () => {
    const { text } = await viewer.get(`${keys}?status=all`)
    expect(text).toContain("Shop floor")
    expect(text).not.toContain("Revoke")
    expect(text).not.toContain("Create key")
    const { id } = await listed()
    for (const action of [`${keys}/${id}/rotate`, `${keys}/${id}/revoke`, keys]) {
      expect((await viewer.post(action, { ...wish, overlap: "0" })).status).toBe(403)
    }
  })
})

describe("A key of production", () => {
  it("needs a confirmation to be created or rotated, but not to be revoked", async () => {
    const fresh = await startDashboard()
    try {
      await run(
        fresh.keys.create({
          project: "shop",
          environment: "production",
          scope: "full",
        }),
      )
      const browser = await fresh.owner()
      const [key] = await run(fresh.keys.list)
      fresh.clock.set("2026-11-22T10:15:00Z")
      const own = { "sec-fetch-site": "same-origin", referer: `${fresh.url}${production}` }
      const confirm = `/dashboard/confirm?next=${encodeURIComponent(production)}`
      const rotate = `${production}/${key!.id}/rotate`
      expect((await browser.get(production)).text).toContain(confirm)
      expect((await browser.post(production, wish, own)).location).toBe(confirm)
      expect((await browser.post(rotate, { overlap: "0" }, own)).location).toBe(confirm)
      expect(await run(fresh.keys.list)).toHaveLength(1)
      await browser.post(confirm, { password })
      expect((await browser.get(production)).text).not.toContain(confirm)
      expect((await browser.post(rotate, { overlap: "24h" })).location).toContain("?created=")
      fresh.clock.set("2026-11-22T10:40:00Z")
      expect((await browser.post(`${production}/${key!.id}/revoke`)).location).toBe(production)
      expect((await run(fresh.keys.list))[0]?.status).toBe("revoked")
    } finally {
      await fresh.stop()
    }
  })
})

describe("Behind a trusted proxy", () => {
  it("a session has the address of the visitor, not a forged one", async () => {
    const ranges = new AddressRanges(["127.0.0.1/32"])
    const trustedProxies = { ranges, field: "x-forwarded-for" } as const
    const fresh = await startDashboard({}, { trustedProxies })
    try {
      const browser = await fresh.owner()
      const fields = { email: "ada@example.com", password }
      await browser.post("/dashboard/sign-in", fields, {
        "sec-fetch-site": "same-origin",
        "x-forwarded-for": "192.0.2.1, 203.0.113.7",
      })
      const { text } = await browser.get("/dashboard/account")
      expect(text).toContain("203.0.113.7")
      expect(text).not.toContain("192.0.2.1")
    } finally {
      await fresh.stop()
    }
  })
})
