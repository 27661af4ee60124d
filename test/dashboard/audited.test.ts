import { Effect, Exit } from "effect"
import { HttpApi } from "effect/http-api"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { AuditEntry } from "../../src/accounts/audit/AuditLog.ts"
import { userSubject } from "../../src/accounts/audit/userSubject.ts"
import { routes } from "../../src/dashboard/Dashboard.ts"
import { audited } from "../../src/dashboard/request/audited.ts"
import type { Route, Visit } from "../../src/dashboard/request/Route.ts"
import { html } from "../../src/dashboard/view/Html.ts"
import { about, pageReply, redirect } from "../../src/dashboard/view/Replies.ts"
import { emptyDirectory } from "../../src/domain/project/Directory.ts"
import { laurelError } from "../../src/domain/values/Errors.ts"
import { Api } from "../../src/http/api/Api.ts"
import { loggedOperations, notLogged } from "../../src/http/contract/AuditedOperations.ts"
import { limits } from "../../src/Limits.ts"
import { logInMemory } from "../accounts/audit/logInMemory.ts"
import { ask } from "./browser/sample.ts"
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
      directory: emptyDirectory,
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
          subject: ids.includes("user")
            ? userSubject(null, "prj_1:production", "auser b")
            : ids.map((name) => `a${name} b`).join(" "),
          detail: "",
          projectId: route.access === "project" ? "prj_1" : null,
          environment: route.access === "project" ? "production" : null,
          ...request,
        },
      ])
    }
  })

  it("is not logged if it was refused", async () => {
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

  it("changes nothing while the log cannot be written", async () => {
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

  it("creates no session for an account that acts too often", async () => {
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

  it("says that the change was made, if the log entry could not be written", async () => {
    const failed = laurelError("storage_unavailable", "This was done, but …")
    const log = { ...logInMemory().log, write: () => Effect.fail(failed) }
    const route = routes.find(({ method }) => method === "POST")!
    const answer = () => Effect.succeed(redirect("/x"))
    expect(await run(Effect.flip(audited(log, route, visitOf(route), answer)))).toBe(failed)
  })

  it("may add a subject and a detail to its log entry", async () => {
    const { entries, log } = logInMemory()
    const route = routes.find(({ access, method }) => method === "POST" && access === "project")!
    const note = { subject: "key_1", detail: "full" }
    const answer = () => Effect.succeed(about(redirect("/x"), note))
    await run(audited(log, route, visitOf(route), answer))
    expect(entries).toMatchObject([note])
  })
})

describe("Every operation that writes", () => {
  it("is logged with its changes, or is in the history of a user, or changes nothing", () => {
    const writing: Array<string> = []
    HttpApi.reflect(Api, {
      onGroup: () => {},
      onEndpoint: ({ endpoint, group }) => {
        if (endpoint.method === "GET") return
        writing.push(`${group.identifier}.${endpoint.identifier}`)
      },
    })
    expect([...Object.keys(loggedOperations), ...notLogged].sort()).toEqual(writing.sort())
  })
})

describe("A change by an API key", () => {
  let server: DashboardServer
  let key: { readonly id: string; readonly key: string }

  beforeAll(async () => {
    server = await startDashboard()
    const wish = { project: "shop", environment: "sandbox", scope: "full" } as const
    key = await run(server.keys.create({ ...wish, name: "Backend" }))
    await server.owner()
  })
  afterAll(() => server.stop())

  const call = (method: string, path: string, body?: unknown) =>
    ask(server.url, key.key, method, path, body)
  const since = async (before: number) => {
    const entries = await server.logged()
    return entries.slice(0, entries.length - before).toReversed()
  }
  const count = async () => (await server.logged()).length

  it("is logged with the key, the address, the request, and each member before and after", async () => {
    const before = await count()
    const rule = await call("POST", "/rules", { action: "LESSON_DONE", reward: { xp: 5 } })
    await call("PATCH", `/rules/${rule.id}`, { reward: { xp: 7 }, cooldownSeconds: 60 })
    await call("DELETE", `/rules/${rule.id}`)
    const { keys } = await run(server.engine.readDirectory)
    const same = {
      by: { id: key.id, key: "Backend" },
      subject: rule.id,
      detail: "LESSON_DONE",
      address: "127.0.0.1",
      requestId: expect.stringMatching(/^req_/),
      projectId: keys.get(key.id)!.projectId,
      environment: "sandbox",
    }
    const [created, changed, deleted] = await since(before)
    expect(created).toMatchObject({ ...same, action: "rule.create" })
    expect(created!.changes).toBeUndefined()
    expect(changed).toMatchObject({
      ...same,
      action: "rule.update",
      changes: [
        { field: "reward.xp", from: "5", to: "7" },
        { field: "cooldownSeconds", from: "null", to: "60" },
      ],
    })
    expect(deleted).toMatchObject({ ...same, action: "rule.archive" })
  })

  it("is logged with the id of a definition that the path names by its key", async () => {
    const before = await count()
    const { id } = await call("POST", "/badges", { name: "By key", criteria: { kind: "manual" } })
    await call("PATCH", "/badges/by-key", { secret: true })
    await call("DELETE", "/badges/by-key")
    expect((await since(before)).map(({ subject }) => subject)).toEqual([id, id, id])
  })

  it("is not logged if it was refused, changed nothing, or was replayed", async () => {
    const rule = await call("POST", "/rules", { action: "WALK", reward: { xp: 5 } })
    const before = await count()
    await expect(call("PATCH", "/rules/rul_none", { status: "paused" })).rejects.toThrow("404")
    await expect(call("POST", "/rules", { action: "walk" })).rejects.toThrow("400")
    await call("PATCH", `/rules/${rule.id}`, { reward: { xp: 5 } })
    expect(await since(before)).toEqual([])
    const headers = {
      authorization: `Bearer ${key.key}`,
      "content-type": "application/json",
      "idempotency-key": "once",
    }
    const body = JSON.stringify({ action: "RUN", reward: { xp: 1 } })
    for (let sent = 0; sent < 2; sent++) {
      const { status } = await fetch(`${server.url}/v1/rules`, { method: "POST", headers, body })
      expect(status).toBe(201)
    }
    expect(await since(before)).toMatchObject([{ action: "rule.create", detail: "RUN" }])
  })

  it("by a file is one entry, with the members of each definition", async () => {
    const file = await call("GET", "/definitions")
    const before = await count()
    const [rule] = file.rules
    const changed = { ...rule, reward: { xp: 99 } }
    const definitions = { ...file, rules: [changed, ...file.rules.slice(1)] }
    await call("POST", "/definitions/apply", { definitions })
    await call("POST", "/definitions/apply", { definitions })
    expect(await since(before)).toMatchObject([
      {
        action: "definitions.apply",
        detail: "0 created, 1 updated, 0 deleted",
        changes: [{ field: `rule ${rule.id} reward`, to: '{"xp":99}' }],
      },
    ])
  })

  it("of settings and webhooks is logged with its differences, and a URL by its host only", async () => {
    const before = await count()
    await call("PATCH", "/project", { timezone: "Europe/Berlin" })
    const url = "https://hooks.example.com/s3cret"
    const webhook = await call("POST", "/webhooks", { url, events: ["*"] })
    const change = (to: string) => call("PATCH", `/webhooks/${webhook.id}`, { url: to })
    await change("https://hooks.example.com/other-s3cret")
    await change("https://elsewhere.example.com/s3cret")
    const entries = await since(before)
    expect(entries.map(({ action, changes }) => ({ action, changes }))).toEqual([
      {
        action: "settings.update",
        changes: [{ field: "timezone", from: '"UTC"', to: '"Europe/Berlin"' }],
      },
      { action: "webhook.create" },
      {
        action: "webhook.change",
        changes: [
          { field: "url", from: "hooks.example.com", to: "hooks.example.com, another path" },
        ],
      },
      {
        action: "webhook.change",
        changes: [{ field: "url", from: "hooks.example.com", to: "elsewhere.example.com" }],
      },
    ])
    expect(JSON.stringify(entries)).not.toContain("s3cret")
  })

  it("is logged with the replaced value, also when changes arrive at the same time", async () => {
    const rule = await call("POST", "/rules", { action: "SWIM", reward: { xp: 1 } })
    const before = await count()
    const wished = Array.from({ length: 10 }, (_, index) => index + 2)
    await Promise.all(wished.map((xp) => call("PATCH", `/rules/${rule.id}`, { reward: { xp } })))
    const changes = (await since(before)).flatMap((entry) => entry.changes ?? [])
    expect(changes).toHaveLength(wished.length)
    expect(changes[0]!.from).toBe("1")
    for (const [index, { from }] of changes.entries()) {
      if (index > 0) expect(from).toBe(changes[index - 1]!.to)
    }
  })

  it("of a user is in the history of the user, and an erasure in the log by a hash of the id", async () => {
    const before = await count()
    await call("POST", "/events", { userId: "eve-secret-id", action: "RUN" })
    await call("PUT", "/users/eve-secret-id", { displayName: "Eve" })
    expect(await since(before)).toEqual([])
    await call("DELETE", "/users/eve-secret-id")
    const [erased] = await since(before)
    expect(erased).toMatchObject({ action: "user.erase", subject: expect.stringMatching(/^user_/) })
  })

  it(`has at most ${limits.auditKeyEntriesPerHourMax} entries an hour, and the next one counts the rest`, async () => {
    const wish = { project: "flood", environment: "sandbox", scope: "full" } as const
    const other = await run(server.keys.create({ ...wish }))
    const rule = await ask(server.url, other.key, "POST", "/rules", {
      action: "RUN",
      reward: { xp: 1 },
    })
    const change = (xp: number) =>
      ask(server.url, other.key, "PATCH", `/rules/${rule.id}`, { reward: { xp } })
    for (let xp = 2; xp <= limits.auditKeyEntriesPerHourMax; xp++) await change(xp)
    const newest = async () => (await server.logged())[0]!
    const { sequence } = await newest()
    await change(1)
    await change(2)
    expect((await newest()).sequence).toBe(sequence)
    server.clock.set("2026-11-22T11:30:00Z")
    await change(3)
    const entry = await newest()
    expect(entry.sequence).toBe(sequence + 1)
    expect(entry.detail).toBe("RUN, and 2 more changes since the entry before")
  })
})

describe("The audit log", () => {
  let server: DashboardServer
  let owner: Browser

  beforeAll(async () => {
    server = await startDashboard()
    const key = { project: "shop", environment: "sandbox", scope: "full" } as const
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

  it("has the author, key, environment, address and request of a new key", async () => {
    const before = await server.logged()
    const keys = "/dashboard/shop/production/keys"
    const wish = { scope: "read", expires: "never" }
    const own = { "sec-fetch-site": "same-origin", "x-request-id": "mine-1" }
    await owner.post(keys, wish, own)
    const { id } = (await run(server.keys.list)).at(-1)!
    await owner.post(`${keys}/${id}/revoke`)
    const [revoked, created] = await since(before)
    const where = { environment: "production", subject: id, address: "127.0.0.1" }
    expect(created).toMatchObject({ ...where, action: "key.create", requestId: "mine-1" })
    expect(created!.detail).toBe("read")
    expect(revoked).toMatchObject({ ...where, action: "key.revoke" })
    expect(created!.projectId).toMatch(/^prj_/)
    expect(created!.at).toBeGreaterThanOrEqual(Date.parse("2026-11-22T10:00:00Z"))
  })

  it("has one entry of wrong passwords for each pause, without the typed text", async () => {
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

  it("has the values before and after a form, and its page shows them", async () => {
    const before = await server.logged()
    const fields = { action: "LESSON_DONE", "reward.xp": "5" }
    await owner.post("/dashboard/shop/sandbox/rules/new", fields)
    const { subject } = (await since(before))[0]!
    const changed = { ...fields, "reward.xp": "8" }
    const reply = await owner.post(`/dashboard/shop/sandbox/rules/${subject}`, changed)
    expect(reply.status).toBe(303)
    expect((await since(before))[0]).toMatchObject({
      action: "rule.update",
      changes: [{ field: "reward.xp", from: "5", to: "8" }],
    })
    const { text } = await owner.get("/dashboard/log?action=rule.update")
    expect(text).toMatch(/<code>reward\.xp<\/code>: .*5.* → .*8/)
    await owner.post("/dashboard/account/profile", { name: "Ada L." })
    expect((await since(before))[0]!.detail).toBe("ada → Ada L.")
  })

  it("has an entry of the key that the setup creates", async () => {
    const fresh = await startDashboard()
    try {
      const wish = { project: "demo", environment: "sandbox", scope: "full" } as const
      await run(fresh.keys.create({ ...wish }))
      const fields = { token: fresh.setupToken, email: "ada@example.com", name: "ada", password }
      await fresh.browser().post("/dashboard/setup", fields)
      const { id } = (await run(fresh.keys.list)).at(-1)!
      const [, made] = await fresh.logged()
      expect(made).toMatchObject({
        action: "key.create",
        by: { email: "ada@example.com" },
        subject: id,
        detail: "full",
        environment: "sandbox",
      })
    } finally {
      await fresh.stop()
    }
  })

  it("has no user ids, and an environment's log still finds entries by the id of a user", async () => {
    const shop = "/dashboard/shop/sandbox"
    const userId = "grace-hopper@navy"
    const before = await server.logged()
    const key = await run(
      server.keys.create({
        project: "shop",
        environment: "sandbox",
        scope: "full",
      }),
    )
    await ask(server.url, key.key, "POST", "/events", { userId, action: "RUN", id: "own-id" })
    const user = `${shop}/users/${encodeURIComponent(userId)}`
    await owner.post(`${user}/reward`, { type: "xp", amount: "5" })
    await owner.post(`${user}/hide`)
    await owner.post(`${user}/erase`, { confirm: userId })
    const entries = await since(before)
    expect(entries.map(({ action }) => action)).toEqual(["user.erase", "user.hide", "user.reward"])
    expect(new Set(entries.map(({ subject }) => subject)).size).toBe(1)
    const bytes = Buffer.concat([...server.auditDisk.files("/data/audit").values()])
    expect(bytes.includes("grace")).toBe(false)
    const found = await owner.get(`${shop}/log?on=${encodeURIComponent(userId)}`)
    expect(found.text.match(/<code>user\./g)).toHaveLength(3)
    const none = await owner.get(`/dashboard/shop/production/log?on=${encodeURIComponent(userId)}`)
    expect(none.text).toContain("No entry matches.")
  })

  it("has no entry of a refused form", async () => {
    const before = await server.logged()
    const refused = await owner.post("/dashboard/team/acc_unknown/remove")
    expect(refused.status).toBe(404)
    const browser = server.browser()
    expect((await browser.post("/dashboard/sign-out")).location).toContain("/sign-in")
    expect(await since(before)).toEqual([])
  })
})
