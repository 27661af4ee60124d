import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { limits } from "../../../src/Limits.ts"
import { type Browser, type DashboardServer, startDashboard } from "../fixture.ts"

let server: DashboardServer
let owner: Browser

const run = <A, E>(effect: Effect.Effect<A, E>) => Effect.runPromise(effect)
const projectId = async (name: string): Promise<string | undefined> => {
  const { projects } = await run(server.engine.readDirectory)
  return [...projects.values()].find((project) => project.name === name)?.id
}
const track = (key: string) =>
  fetch(`${server.url}/v1/events`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ userId: "ada", action: "LESSON_DONE" }),
  }).then(({ status }) => status)

beforeAll(async () => {
  server = await startDashboard()
  owner = await server.owner()
})
afterAll(() => server.stop())

describe("Many projects", () => {
  it("are listed in pages of a hundred, archived ones last", async () => {
    const many = await startDashboard()
    try {
      const browser = await many.owner()
      const wish = { environment: "sandbox", scope: "full" } as const
      const named = (number: number) => `p${String(number).padStart(3, "0")}`
      for (let number = 0; number <= limits.pageMax; number++) {
        await run(many.keys.create({ project: named(number), ...wish }))
      }
      const { projects } = await run(many.engine.readDirectory)
      const first = [...projects.values()].find(({ name }) => name === named(0))!
      const archive = { typed: first.name }
      await browser.post(`/dashboard/projects/${first.id}/archive`, archive)
      const linked = async (query: string) => {
        const { text } = await browser.get(`/dashboard${query}`)
        const all = [...text.matchAll(/href="\/dashboard\/(p\d+)\/sandbox"/g)]
        return { text, names: all.map(([, name]) => name) }
      }
      const page = await linked("")
      expect(page.names).toEqual(Array.from({ length: limits.pageMax }, (_, at) => named(at + 1)))
      expect(page.text).not.toContain("Unarchive")
      const next = await linked(`?offset=${limits.pageMax}`)
      expect(next.names).toEqual([])
      expect(next.text).toContain(`/dashboard/projects/${first.id}/unarchive`)
      expect(next.text).not.toContain("A project is one app or product.")
    } finally {
      await many.stop()
    }
  })
})

describe("Projects", () => {
  it("are explained as long as there is none, and created by a form that marks a wrong name", async () => {
    expect((await owner.get("/dashboard")).text).toContain("A project is one app or product.")
    const wrong = await owner.post("/dashboard/projects", { name: "My Shop" })
    expect(wrong.status).toBe(400)
    expect(wrong.text).toMatch(/<input id="name"[^>]* value="My Shop"[^>]* aria-invalid="true"/)
    const { location, status } = await owner.post("/dashboard/projects", { name: "shop" })
    expect([status, location]).toEqual([303, "/dashboard"])
    const { text } = await owner.get("/dashboard")
    expect(text).toContain('href="/dashboard/shop/sandbox"')
    expect(text).toContain('href="/dashboard/shop/production"')
    const again = await owner.post("/dashboard/projects", { name: "shop" })
    expect(again.text).toContain("A project has the name shop already.")
  })

  it("keep their new name if they are renamed while a key is created, and no other project appears", async () => {
    const id = await projectId("shop")
    const wish = { scope: "full", expires: "never" }
    const names = ["shop", ...Array.from({ length: 10 }, (_, round) => `store${round}`)]
    for (const [round, name] of names.slice(1).entries()) {
      await Promise.all([
        owner.post(`/dashboard/projects/${id}/rename`, { name }),
        owner.post(`/dashboard/${names[round]}/sandbox/keys`, wish),
      ])
      expect(await projectId(names[round]!)).toBeUndefined()
    }
    await owner.post(`/dashboard/projects/${id}/rename`, { name: "shop" })
    expect(await projectId("shop")).toBe(id)
  })

  it("keep keys and data under a new name; only the addresses change", async () => {
    await owner.post("/dashboard/projects", { name: "before" })
    const wish = { project: "before", environment: "sandbox", scope: "full" } as const
    const { key } = await run(server.keys.create(wish))
    expect(await track(key)).toBe(200)
    const id = await projectId("before")
    await owner.post(`/dashboard/projects/${id}/rename`, { name: "after" })
    expect(await track(key)).toBe(200)
    expect((await owner.get("/dashboard/before/sandbox")).status).toBe(404)
    const { text } = await owner.get("/dashboard/after/sandbox")
    expect(text).toMatch(/Users in all<\/dt><dd>1</)
    expect(text).toContain("<p>2 events. <a")
  })

  it("are archived once their name is typed: keys are refused at once, and work again after unarchiving", async () => {
    await owner.post("/dashboard/projects", { name: "old" })
    const wish = { project: "old", environment: "production", scope: "full" } as const
    const { id: keyId, key } = await run(server.keys.create(wish))
    const id = await projectId("old")
    const archive = `/dashboard/projects/${id}/archive`
    const mistyped = await owner.post(archive, { typed: "odl" })
    expect(mistyped.text).toContain("The name that you typed is not the name of the project.")
    expect(await track(key)).toBe(200)
    expect((await owner.post(archive, { typed: "old" })).status).toBe(303)
    expect(await track(key)).toBe(401)
    expect((await owner.get("/dashboard/old/production/keys")).status).toBe(404)
    expect((await owner.post(`/dashboard/old/production/keys/${keyId}/revoke`)).status).toBe(404)
    await owner.post(`/dashboard/projects/${id}/unarchive`)
    expect(await track(key)).toBe(200)
    expect((await owner.get("/dashboard/old/production/keys")).status).toBe(200)
  })

  it("are limited by an owner alone: all keys of an environment share one window", async () => {
    await owner.post("/dashboard/projects", { name: "limited" })
    const wish = { project: "limited", environment: "sandbox", scope: "full" } as const
    const keys = [await run(server.keys.create(wish)), await run(server.keys.create(wish))]
    const id = await projectId("limited")
    const limit = `/dashboard/projects/${id}/limit`
    const set = await owner.post(limit, { tier: "enterprise", rateLimit: "2" })
    expect([set.status, set.location]).toEqual([303, "/dashboard"])
    const statuses = []
    for (const { key } of [...keys, ...keys]) statuses.push(await track(key))
    expect(statuses).toEqual([200, 200, 429, 429])
    expect((await server.logged())[0]).toMatchObject({
      action: "project.limit",
      subject: id,
      projectId: id,
      detail: "limited: enterprise, no limit → enterprise, 2 requests a minute",
    })
    expect((await owner.get("/dashboard")).text).toContain("enterprise<br>2 a minute")
    const page = (await owner.get("/dashboard/limited/sandbox/keys")).text
    expect(page).toContain("enterprise: 2 requests a minute in sandbox")
    const admin = await server.joined(owner, "admin", `admin ${id}`)
    expect((await admin.get("/dashboard")).text).not.toContain(limit)
    for (const tier of ["enterprise", "pro"]) {
      expect((await admin.post(limit, { tier })).status).toBeGreaterThanOrEqual(400)
    }
    for (const rateLimit of ["0", "-1", "1.5", "many", "Infinity", "1000000001"]) {
      const refused = await owner.post(limit, { tier: "enterprise", rateLimit })
      expect([refused.status, refused.text]).toEqual([400, expect.stringContaining("/rateLimit")])
    }
    expect((await owner.post(limit, { tier: "pro", rateLimit: "5" })).status).toBe(400)
    expect((await owner.post(limit, { tier: "gold" })).status).toBe(400)
    expect(await track(keys[0]!.key)).toBe(429)
    expect((await owner.post(limit, { tier: "pro", rateLimit: "" })).status).toBe(303)
    expect(await track(keys[0]!.key)).toBe(200)
  })

  it("are archived only after a recent confirmation", async () => {
    await owner.post("/dashboard/projects", { name: "kept" })
    const id = await projectId("kept")
    server.clock.set("2026-11-22T11:00:00Z")
    const { location } = await owner.post(`/dashboard/projects/${id}/archive`, { typed: "kept" })
    expect(location).toMatch(/^\/dashboard\/confirm/)
    expect((await owner.get("/dashboard/kept/sandbox")).status).toBe(200)
  })
})
