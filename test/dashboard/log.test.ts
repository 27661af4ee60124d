import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { limits } from "../../src/Limits.ts"
import { type Browser, type DashboardServer, password, startDashboard } from "./fixture.ts"

let server: DashboardServer
let owner: Browser
let admin: Browser
let viewer: Browser

const run = <A, E>(effect: Effect.Effect<A, E>) => Effect.runPromise(effect)
const wish = { scope: "full", expires: "never" }

/** The rows of the table: the text of each cell. */
const rowsOf = (text: string): ReadonlyArray<ReadonlyArray<string>> => {
  const body = /<tbody>([\s\S]*?)<\/tbody>/.exec(text)?.[1] ?? ""
  return [...body.matchAll(/<tr>([\s\S]*?)<\/tr>/g)].map(([, row]) =>
    [...row!.matchAll(/<td[^>]*>([\s\S]*?)<\/td>/g)].map(([, cell]) =>
      cell!.replace(/<[^>]+>/g, "").trim(),
    ),
  )
}
const actionsAt = async (browser: Browser, path: string) => {
  const { status, text } = await browser.get(path)
  expect({ path, status }).toEqual({ path, status: 200 })
  return rowsOf(text).map(([, , action]) => action)
}

beforeAll(async () => {
  server = await startDashboard()
  for (const project of ["shop", "bank"]) {
    const key = { project, environment: "sandbox", scope: "full" } as const
    await run(server.keys.create(key))
  }
  const { projects } = await run(server.engine.readDirectory)
  const shop = [...projects.values()].find(({ name }) => name === "shop")!.id
  owner = await server.owner()
  admin = await server.joined(owner, "bea", `admin ${shop}`)
  viewer = await server.joined(owner, "vic", `viewer ${shop}`)
  await owner.post("/dashboard/bank/sandbox/keys", wish)
  await admin.post("/dashboard/shop/sandbox/keys", wish)
  await admin.post("/dashboard/shop/production/keys", wish)
})
afterAll(() => server.stop())

describe("The page of the log", () => {
  it("shows owners everything, newest first", async () => {
    expect(await actionsAt(owner, "/dashboard/log")).toEqual([
      "key.create",
      "key.create",
      "key.create",
      "account.create",
      "invitation.create",
      "account.create",
      "invitation.create",
      "account.create",
    ])
    const { text } = await owner.get("/dashboard/log")
    const [first] = rowsOf(text)
    const { id } = (await run(server.keys.list)).at(-1)!
    expect(first!.slice(1, 6)).toEqual([
      "bea@example.com",
      "key.create",
      "shop production",
      "127.0.0.1",
      `${id} full`,
    ])
    expect(first![6]).toMatch(/^req_/)
  })

  it("shows admins their environment, and viewers nothing", async () => {
    for (const environment of ["sandbox", "production"]) {
      const path = `/dashboard/shop/${environment}/log`
      expect(await actionsAt(admin, path)).toEqual(["key.create"])
      expect((await viewer.get(path)).status).toBe(403)
      expect((await viewer.get(`/dashboard/shop/${environment}/keys`)).text).not.toContain("/log")
      expect((await admin.get(`/dashboard/shop/${environment}/keys`)).text).toContain(path)
    }
    expect((await admin.get("/dashboard/log")).status).toBe(404)
    expect((await admin.get("/dashboard/bank/sandbox/log")).status).toBe(404)
    // A filter for another project shows none of its entries.
    const { projects } = await run(server.engine.readDirectory)
    const bank = [...projects.values()].find(({ name }) => name === "bank")!.id
    const other = `/dashboard/shop/sandbox/log?project=${bank}`
    expect(await actionsAt(admin, other)).toEqual(["key.create"])
    expect((await admin.get(other)).text).toContain("bea@example.com")
  })

  it("has only the entries that match the filter", async () => {
    const count = async (query: string) =>
      (await actionsAt(owner, `/dashboard/log?${query}`)).length
    const { accounts, projects } = await run(server.engine.readDirectory)
    const bea = [...accounts.values()].find(({ email }) => email.startsWith("bea"))!.id
    const shop = [...projects.values()].find(({ name }) => name === "shop")!.id
    expect(await count("by=bea%40")).toBe(3)
    expect(await count(`by=${bea}`)).toBe(3)
    expect(await count("action=key.create")).toBe(3)
    expect(await count(`project=${shop}`)).toBe(2)
    expect(await count(`project=${shop}&by=bea&action=account.create`)).toBe(0)
    expect(await count("from=2026-11-22&to=2026-11-22")).toBe(8)
    expect(await count("from=2026-11-23")).toBe(0)
    expect(await count("to=2026-11-21")).toBe(0)
    const none = await owner.get("/dashboard/log?by=nobody")
    expect(none.text).toContain("No entry matches.")
  })

  it("marks a wrong day, and ignores a malformed cursor", async () => {
    for (const wrong of ["yesterday", "2026-13-40", "2026-11-22T10:00"]) {
      const { status, text } = await owner.get(`/dashboard/log?from=${wrong}`)
      expect(status).toBe(400)
      expect(text).toContain("From must be a day such as 2026-11-22")
    }
    for (const cursor of ["-1", "x", "9".repeat(30), "1e9"]) {
      expect(await actionsAt(owner, `/dashboard/log?cursor=${cursor}`)).toHaveLength(8)
    }
  })

  it("shows removed accounts by their last address, and names as text", async () => {
    const fresh = await startDashboard()
    try {
      const first = await fresh.owner()
      const other = await fresh.joined(first, "gone", "owner")
      const email = `<b>x</b>"&'@example.com`
      const { accounts } = await run(fresh.engine.readDirectory)
      const { id } = [...accounts.values()].find((account) => account.name === "gone")!
      const moved = await first.post(`/dashboard/team/${id}/address`, { email })
      expect(moved.status).toBe(303)
      const changes = await first.get("/dashboard/log?action=account.change_address")
      expect(rowsOf(changes.text)[0]![5]).toContain("gone@example.com → &lt;b&gt;x")
      await other.post("/dashboard/account/sessions/end-others")
      expect((await first.post(`/dashboard/team/${id}/remove`)).status).toBe(303)
      const { text } = await first.get(`/dashboard/log?by=${id}`)
      expect(text).toContain("gone@example.com")
      expect(text).toContain("&lt;b&gt;x&lt;/b&gt;&quot;&amp;&#39;@example.com")
      expect(text).not.toContain("<b>x")
      const removed = await first.get("/dashboard/log?action=account.remove")
      expect(rowsOf(removed.text)[0]![5]).toContain("&lt;b&gt;x")
    } finally {
      await fresh.stop()
    }
  })

  it(`has ${limits.auditPageMax} rows, and links to older ones that keep the filter`, async () => {
    const browser = server.browser()
    const account = { email: "vic@example.com", password }
    await browser.post("/dashboard/sign-in", account)
    for (let count = 0; count < limits.auditPageMax; count++) {
      await browser.post("/dashboard/account/sessions/end-others")
    }
    const first = await owner.get("/dashboard/log?by=vic")
    expect(rowsOf(first.text)).toHaveLength(limits.auditPageMax)
    const [, older] = /rel="next" href="([^"]+)"/.exec(first.text)!
    const next = await owner.get(older!.replaceAll("&amp;", "&"))
    expect(rowsOf(next.text).map(([, , action]) => action)).toEqual([
      "session.sign_in",
      "account.create",
    ])
    expect(next.text).not.toContain('rel="next"')
    expect(next.text).toContain(">Newest</a>")
  })
})

describe("The log of an environment", () => {
  it("has the entries of its whole project", async () => {
    const { projects } = await run(server.engine.readDirectory)
    const bank = [...projects.values()].find(({ name }) => name === "bank")!.id
    const renamed = await owner.post(`/dashboard/projects/${bank}/rename`, { name: "savings" })
    expect(renamed.status).toBe(303)
    expect(await actionsAt(owner, "/dashboard/savings/sandbox/log")).toEqual([
      "project.rename",
      "key.create",
    ])
    expect(await actionsAt(owner, "/dashboard/savings/production/log")).toEqual(["project.rename"])
  })
})

describe("A disk that is full", () => {
  it("makes a form fail with a reason before anything changes", async () => {
    const before = (await run(server.keys.list)).length
    server.auditDisk.capacityBytes = 0
    try {
      const refused = await owner.post("/dashboard/shop/sandbox/keys", wish)
      expect(refused.status).toBe(503)
      expect(refused.text).toContain(
        "The disk has no space for the audit log, so nothing was changed.",
      )
      expect(await run(server.keys.list)).toHaveLength(before)
      expect((await owner.get("/dashboard/log")).status).toBe(200)
    } finally {
      server.auditDisk.capacityBytes = Number.POSITIVE_INFINITY
    }
    expect((await owner.post("/dashboard/shop/sandbox/keys", wish)).status).toBe(303)
  })

  it("after the change is reported in the reply and in the log", async () => {
    const before = (await run(server.keys.list)).length
    // The first call is the check before the change, the second is the write.
    server.auditDisk.failCall(2, "EIO")
    const told = await owner.post("/dashboard/shop/sandbox/keys", wish)
    expect(told.status).toBe(503)
    expect(told.text).toContain("This was done, but the audit log could not be written.")
    expect(await run(server.keys.list)).toHaveLength(before + 1)
    expect((await owner.post("/dashboard/shop/sandbox/keys", wish)).status).toBe(503)
    expect(await run(server.keys.list)).toHaveLength(before + 1)
  })
})
