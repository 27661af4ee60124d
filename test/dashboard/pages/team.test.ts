import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { Account } from "../../../src/domain/accounts/Account.ts"
import { type Browser, type DashboardServer, startDashboard } from "../fixture.ts"

let server: DashboardServer
let owner: Browser
let bob: Browser
let ids: Readonly<Record<"bank" | "shop", string>>

const run = <A, E>(effect: Effect.Effect<A, E>) => Effect.runPromise(effect)
const accountNamed = async (name: string): Promise<Account> => {
  const { accounts } = await run(server.engine.readDirectory)
  return [...accounts.values()].find((account) => account.name === name)!
}
const post = async (name: string, path: string, fields: Record<string, string> = {}) =>
  owner.post(`/dashboard/team/${(await accountNamed(name)).id}/${path}`, fields)

beforeAll(async () => {
  server = await startDashboard()
  owner = await server.owner()
  for (const name of ["shop", "bank"]) await owner.post("/dashboard/projects", { name })
  const { projects } = await run(server.engine.readDirectory)
  const idOf = (wanted: string) => [...projects.values()].find(({ name }) => name === wanted)!.id
  ids = { shop: idOf("shop"), bank: idOf("bank") }
  bob = await server.joined(owner, "bob", `viewer ${ids.shop}`)
})
afterAll(() => server.stop())

describe("The page of an account", () => {
  it("adds, replaces and removes a role in one project, without effect on other projects", async () => {
    const projects = async () => (await accountNamed("bob")).access.projects
    expect((await post("bob", "access", { role: "admin", project: "bank" })).status).toBe(303)
    expect(await projects()).toEqual([
      { projectId: ids.shop, role: "viewer" },
      { projectId: ids.bank, role: "admin" },
    ])
    await post("bob", "access", { role: "admin", project: "shop" })
    expect(new Set(await projects())).toEqual(
      new Set([
        { projectId: ids.bank, role: "admin" },
        { projectId: ids.shop, role: "admin" },
      ]),
    )
    await post("bob", `roles/${ids.bank}/remove`)
    expect(await projects()).toEqual([{ projectId: ids.shop, role: "admin" }])
    const last = await post("bob", `roles/${ids.shop}/remove`)
    expect(last.status).toBe(400)
    expect(last.text).toContain("must name at least one project, or make the account an owner")
  })

  it("does not undo a change that another owner makes at the same time", async () => {
    for (let round = 0; round < 10; round++) {
      await post("bob", "access", { role: "admin", project: "shop" })
      await post("bob", "access", { role: "viewer", project: "bank" })
      const [given, removed] = await Promise.all([
        post("bob", "access", { role: "admin", project: "bank" }),
        post("bob", `roles/${ids.shop}/remove`),
      ])
      const { projects } = (await accountNamed("bob")).access
      const roleIn = (id: string) => projects.find(({ projectId }) => projectId === id)?.role
      expect([roleIn(ids.bank) === "admin", roleIn(ids.shop) === undefined]).toEqual([
        given.status === 303,
        removed.status === 303,
      ])
    }
    await post("bob", "access", { role: "admin", project: "shop" })
    await post("bob", `roles/${ids.bank}/remove`)
  })

  it("ends the sessions of an account whose role changed", async () => {
    expect((await bob.get("/dashboard/account")).location).toContain("/sign-in")
  })

  it("marks an unknown role or project", async () => {
    const role = await post("bob", "access", { role: "emperor", project: "shop" })
    expect(role.status).toBe(400)
    expect(role.text).toMatch(/<select id="role"[^>]* aria-invalid="true"/)
    const project = await post("bob", "access", { role: "admin", project: "gone" })
    expect(project.text).toMatch(/<select id="project"[^>]* aria-invalid="true"/)
  })

  it("gives and takes the role of owner, but never takes it from the last owner", async () => {
    await post("bob", "access", { role: "owner" })
    expect((await accountNamed("bob")).access).toEqual({ owner: true, projects: [] })
    await post("bob", "access", { role: "viewer", project: "bank" })
    expect((await accountNamed("bob")).access).toEqual({
      owner: false,
      projects: [{ projectId: ids.bank, role: "viewer" }],
    })
    const refused = await post("ada", "access", { role: "viewer", project: "bank" })
    expect(refused.text).toContain("The last owner cannot be removed or demoted.")
  })

  it("shows a reset link once, and removes the account", async () => {
    const { location } = await post("bob", "reset")
    const { id } = await accountNamed("bob")
    expect(location).toMatch(new RegExp(`^/dashboard/team/${id}\\?link=`))
    expect((await owner.get(location!)).text).toContain("/dashboard/reset#")
    expect((await owner.get(location!)).text).not.toContain("/dashboard/reset#")
    expect((await post("bob", "remove")).location).toBe("/dashboard/team")
    expect((await owner.get(`/dashboard/team/${id}`)).status).toBe(404)
    expect((await owner.post(`/dashboard/team/${id}/reset`)).status).toBe(404)
  })

  it("lists many accounts in pages of a hundred", async () => {
    const { text } = await owner.get("/dashboard/team?offset=100")
    expect(text).toContain("none of 1")
  })
})
