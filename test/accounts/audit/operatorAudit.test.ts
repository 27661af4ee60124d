import { describe, expect, it } from "@effect/vitest"
import { Context, Effect } from "effect"
import type { AccountAdmin } from "../../../src/accounts/AccountAdmin.ts"
import * as AccountsLive from "../../../src/accounts/AccountsLive.ts"
import { ApiKeys } from "../../../src/accounts/ApiKeys.ts"
import { RequestOrigin } from "../../../src/accounts/audit/AuditLog.ts"
import {
  auditedAccounts,
  auditedKeys,
  auditedProjects,
} from "../../../src/accounts/audit/operatorAudit.ts"
import { Projects } from "../../../src/accounts/Projects.ts"
import { laurelError } from "../../../src/domain/values/Errors.ts"
import { Engine } from "../../../src/engine/Engine.ts"
import { startInMemory } from "../../engine/fixture.ts"
import { logInMemory } from "./logInMemory.ts"

const refused = laurelError("storage_unavailable", "full")

describe("An operator's change to keys", () => {
  const start = Effect.gen(function* () {
    const { engine } = yield* startInMemory()
    const made = yield* Effect.provideService(AccountsLive.make, Engine, engine)
    const keys = Context.get(made, ApiKeys)
    const { entries, log } = logInMemory()
    return { engine, entries, keys, log, audited: auditedKeys(keys, log, engine.readDirectory) }
  })
  const wish = { project: "shop", environment: "production", scope: "read" } as const

  it.effect("is logged with the key, its project, and the request", () =>
    Effect.gen(function* () {
      const { audited, engine, entries } = yield* start
      const origin = { address: "127.0.0.1", requestId: "req_1" }
      const first = yield* Effect.provideService(audited.create(wish), RequestOrigin, origin)
      const second = yield* audited.rotate(first.id, "1h")
      yield* audited.revoke(second.id)
      const [projectId] = (yield* engine.readDirectory).projects.keys()
      const by = { by: "operator", projectId, environment: "production" }
      const none = { address: "", requestId: "" }
      expect(entries).toEqual([
        { ...by, ...origin, action: "key.create", subject: first.id, detail: "read" },
        {
          ...by,
          ...none,
          action: "key.rotate",
          subject: second.id,
          detail: `in place of ${first.id}, read`,
        },
        { ...by, ...none, action: "key.revoke", subject: second.id, detail: "read" },
      ])
      expect(JSON.stringify(entries)).not.toContain(first.key)
    }),
  )

  it.effect("is refused while nothing can be logged, and is not logged if it was refused", () =>
    Effect.gen(function* () {
      const { audited, engine, entries, keys, log } = yield* start
      const full = auditedKeys(
        keys,
        { ...log, admit: () => Effect.fail(refused) },
        engine.readDirectory,
      )
      expect(yield* Effect.flip(full.create(wish))).toBe(refused)
      expect(yield* keys.list).toEqual([])
      expect((yield* Effect.flip(audited.revoke("key_unknown"))).code).toBe("key_not_found")
      expect(entries).toEqual([])
    }),
  )
})

describe("An operator's change to the limit of a project", () => {
  it.effect("is logged with the limit before and after, and is not logged if it was refused", () =>
    Effect.gen(function* () {
      const { engine } = yield* startInMemory()
      const made = yield* Effect.provideService(AccountsLive.make, Engine, engine)
      const { entries, log } = logInMemory()
      const projects = auditedProjects(Context.get(made, Projects), log, engine.readDirectory)
      yield* projects.create("operator", "shop")
      const [{ id } = { id: "" }] = yield* projects.list
      yield* projects.limit("operator", id, { tier: "free" })
      yield* Effect.flip(projects.limit("operator", id, { tier: "free", rateLimit: 7 }))
      yield* projects.limit("operator", id, { tier: "enterprise", rateLimit: 7 })
      const by = { by: "operator", action: "project.limit", projectId: id, environment: null }
      expect(entries).toMatchObject([
        { ...by, detail: "shop: enterprise, no limit → free, 100 requests a minute" },
        {
          ...by,
          detail: "shop: free, 100 requests a minute → enterprise, 7 requests a minute",
        },
      ])
    }),
  )
})

describe("An operator's change to accounts", () => {
  const admin: AccountAdmin["Service"] = {
    list: Effect.succeed([]),
    createLink: () => Effect.succeed({ path: "/join#secret-token" }),
    remove: (email) => (email === "nobody" ? Effect.fail(refused) : Effect.void),
  }

  it.effect("is logged, without the link", () =>
    Effect.gen(function* () {
      const { entries, log } = logInMemory()
      const audited = auditedAccounts(admin, log)
      const bob = "bob@example.com"
      yield* audited.list
      yield* audited.createLink({ purpose: "join", email: bob, role: "viewer", project: "shop" })
      yield* audited.createLink({ purpose: "reset", email: bob })
      yield* audited.remove(bob)
      yield* Effect.flip(audited.remove("nobody"))
      expect(entries).toMatchObject([
        { by: "operator", action: "invitation.create", detail: `viewer of shop, ${bob}` },
        { by: "operator", action: "account.create_reset_link", detail: bob },
        { by: "operator", action: "account.remove", detail: bob },
      ])
      expect(JSON.stringify(entries)).not.toContain("secret-token")
    }),
  )
})
