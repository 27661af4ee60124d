import { Effect, Exit } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { AuditEntry } from "../../src/accounts/audit/AuditLog.ts"
import { routes } from "../../src/dashboard/Dashboard.ts"
import { audited } from "../../src/dashboard/request/audited.ts"
import type { Route, Visit } from "../../src/dashboard/request/Route.ts"
import { html } from "../../src/dashboard/view/Html.ts"
import { about, pageReply, redirect } from "../../src/dashboard/view/Replies.ts"
import { laurelError } from "../../src/domain/values/Errors.ts"
import { logInMemory } from "../accounts/audit/logInMemory.ts"
import { type Browser, type DashboardServer, password, startDashboard } from "./fixture.ts"

const run = <A, E>(effect: Effect.Effect<A, E>) => Effect.runPromise(effect)

describe("Every form", () => {
  const request = { address: "192.0.2.7", requestId: "req_1" }
  const member = { account: { id: "acc_1", email: "ada@example.com" } }
  const place = { project: { id: "prj_1" }, environment: "production" }
  const paramsOf = ({ path }: Route): Record<string, string> =>
    Object.fromEntries([...path.matchAll(/:(\w+)/g)].map(([, name]) => [name!, `a${name}%20b`]))
  const visitOf = (route: Route) =>
    ({
      request,
      params: paramsOf(route),
      ...(route.access !== "anyone" && { member }),
      ...(route.access === "project" && { place }),
    }) as unknown as Visit

  it("is logged once it succeeded, with account, subject, project, address and request", async () => {
    for (const route of routes) {
      if (route.method === "GET") continue
      const { entries, log } = logInMemory()
      await run(audited(log, route, visitOf(route), () => Effect.succeed(redirect("/x"))))
      if (route.action === "none") {
        expect(entries).toEqual([])
        continue
      }
      expect(route.action).toMatch(/^[a-z_]+\.[a-z_]+$/)
      const ids = Object.keys(paramsOf(route)).filter(
        (name) => name !== "project" && name !== "environment",
      )
      expect(entries).toEqual([
        {
          action: route.action,
          by: route.access === "anyone" ? "visitor" : member.account,
          subject: ids.map((name) => `a${name} b`).join(" "),
          detail: "",
          projectId: route.access === "project" ? "prj_1" : null,
          environment: route.access === "project" ? "production" : null,
          ...request,
        },
      ])
    }
  })

  it("is not logged where it was refused", async () => {
    const refused = laurelError("confirmation_required", "Confirm first.")
    for (const route of routes) {
      const { entries, log } = logInMemory()
      const page = pageReply(400, html`faults`)
      await run(audited(log, route, visitOf(route), () => Effect.succeed(page)))
      const failing = audited(log, route, visitOf(route), () => Effect.fail(refused))
      expect(await run(Effect.flip(failing))).toBe(refused)
      expect(entries).toEqual([])
    }
  })

  it("does nothing while the log takes no entry", async () => {
    const full = laurelError("storage_unavailable", "full")
    const log = { ...logInMemory().log, admit: () => Effect.fail(full) }
    const route = routes.find(({ method }) => method === "POST")!
    let done = false
    const answer = () => {
      done = true
      return Effect.succeed(redirect("/x"))
    }
    expect(await run(Effect.flip(audited(log, route, visitOf(route), answer)))).toBe(full)
    expect(done).toBe(false)
  })

  it("gives no session to an account that acts too often", async () => {
    const tooMany = laurelError("rate_limited", "too many")
    const { entries, log } = logInMemory()
    const admit = (id?: string) => (id === "acc_1" ? Effect.fail(tooMany) : Effect.void)
    const form = routes.find(({ method, path }) => method === "POST" && path === "/sign-in")!
    const answer = () => Effect.succeed(about(redirect("/x"), { account: member.account }))
    const refused = audited({ ...log, admit }, form, visitOf(form), answer)
    expect(await run(Effect.flip(refused))).toBe(tooMany)
    expect(entries).toEqual([])
  })

  it("lets an account that acts too often end a session and revoke a key", async () => {
    const tooMany = laurelError("rate_limited", "too many")
    const { log } = logInMemory()
    const admit = (id?: string) => (id === undefined ? Effect.void : Effect.fail(tooMany))
    const admitted: Array<string> = []
    for (const route of routes) {
      if (route.method === "GET" || route.action === "none" || route.access === "anyone") continue
      const answered = audited({ ...log, admit }, route, visitOf(route), () =>
        Effect.succeed(redirect("/x")),
      )
      if (Exit.isSuccess(await run(Effect.exit(answered)))) admitted.push(route.action)
    }
    expect(admitted.sort()).toEqual(["key.revoke", "session.end", "session.sign_out"])
  })

  it("says that it was done where the entry could not be written", async () => {
    const failed = laurelError("storage_unavailable", "This was done, but …")
    const log = { ...logInMemory().log, write: () => Effect.fail(failed) }
    const route = routes.find(({ method }) => method === "POST")!
    const answer = () => Effect.succeed(redirect("/x"))
    expect(await run(Effect.flip(audited(log, route, visitOf(route), answer)))).toBe(failed)
  })

  it("may name its subject and more about it", async () => {
    const { entries, log } = logInMemory()
    const route = routes.find(({ access, method }) => method === "POST" && access === "project")!
    const note = { subject: "key_1", detail: "full" }
    const answer = () => Effect.succeed(about(redirect("/x"), note))
    await run(audited(log, route, visitOf(route), answer))
    expect(entries).toMatchObject([note])
  })
})

describe("The audit log", () => {
  let server: DashboardServer
  let owner: Browser

  beforeAll(async () => {
    server = await startDashboard()
    const key = { project: "shop", environment: "sandbox", scope: "full", tier: "free" } as const
    await run(server.keys.create(key))
    owner = await server.owner()
  })
  afterAll(() => server.stop())

  const since = async (before: ReadonlyArray<AuditEntry>) => {
    const entries = await server.logged()
    return entries.slice(0, entries.length - before.length)
  }

  it("names the account that a link made, and each that signs in", async () => {
    const ada = { by: { email: "ada@example.com" }, subject: "", projectId: null }
    expect(await server.logged()).toMatchObject([{ ...ada, action: "account.create" }])
    const before = await server.logged()
    const browser = server.browser()
    const wrong = { email: "ada@example.com", password: "not the password" }
    expect((await browser.post("/dashboard/sign-in", wrong)).status).toBe(400)
    expect(await since(before)).toEqual([])
    await browser.post("/dashboard/sign-in", { ...wrong, password })
    await browser.post("/dashboard/sign-out")
    expect(await since(before)).toMatchObject([
      { ...ada, action: "session.sign_out" },
      { ...ada, action: "session.sign_in" },
    ])
  })

  it("says who made which key where, from where, and in which request", async () => {
    const before = await server.logged()
    const keys = "/dashboard/shop/production/keys"
    const wish = { scope: "read", tier: "pro", expires: "never" }
    const own = { "sec-fetch-site": "same-origin", "x-request-id": "mine-1" }
    await owner.post(keys, wish, own)
    const { id } = (await run(server.keys.list)).at(-1)!
    await owner.post(`${keys}/${id}/revoke`)
    const [revoked, created] = await since(before)
    const where = { environment: "production", subject: id, address: "127.0.0.1" }
    expect(created).toMatchObject({ ...where, action: "key.create", requestId: "mine-1" })
    expect(created!.detail).toBe("read, pro")
    expect(revoked).toMatchObject({ ...where, action: "key.revoke" })
    expect(created!.projectId).toMatch(/^prj_/)
    expect(created!.at).toBeGreaterThanOrEqual(Date.parse("2026-11-22T10:00:00Z"))
  })

  it("tells of wrong passwords once for each pause, and nothing of what was typed", async () => {
    const before = await server.logged()
    const browser = server.browser()
    const wrong = { email: "ada@example.com", password: "s3cret that was typed" }
    for (let count = 0; count < 10; count++) await browser.post("/dashboard/sign-in", wrong)
    const { accounts } = await run(server.engine.readDirectory)
    const failed = { action: "session.fail_sign_in", by: "visitor", address: "127.0.0.1" }
    expect(await since(before)).toMatchObject([
      { ...failed, subject: [...accounts.keys()][0], detail: "wrong passwords, a pause of 1 s" },
    ])
    expect((await since(before))[0]!.requestId).toMatch(/^req_/)
    const password = { ...wrong, email: "typed here by mistake" }
    for (let count = 0; count < 10; count++) await browser.post("/dashboard/sign-in", password)
    const entries = await since(before)
    expect(entries[0]).toMatchObject({ ...failed, subject: "" })
    expect(JSON.stringify(entries)).not.toContain("typed")
  })

  it("has no entry of what a page refused", async () => {
    const before = await server.logged()
    const refused = await owner.post("/dashboard/team/acc_unknown/remove")
    expect(refused.status).toBe(404)
    const browser = server.browser()
    expect((await browser.post("/dashboard/sign-out")).location).toContain("/sign-in")
    expect(await since(before)).toEqual([])
  })
})
