import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { Accounts } from "../../src/accounts/Accounts.ts"
import * as AccountsLive from "../../src/accounts/AccountsLive.ts"
import { Engine } from "../../src/engine/Engine.ts"
import { serveAdmin } from "../../src/http/AdminServer.ts"
import { limits } from "../../src/Limits.ts"
import { startInMemory } from "../engine/fixture.ts"

const token = "the-token"

/** The admin server over a real engine, for the test's scope. */
const startAdmin = Effect.gen(function* () {
  const { close, engine } = yield* startInMemory()
  yield* Effect.addFinalizer(() => close("kill"))
  const services = yield* Effect.provideService(AccountsLive.make, Engine, engine)
  const { url } = yield* Effect.provide(serveAdmin({ host: "127.0.0.1", port: 0, token }), services)
  const accounts = yield* Effect.provide(Accounts, services)
  const ask = (method: string, path: string, body?: string, authorization = `Bearer ${token}`) =>
    Effect.promise(async () => {
      const headers = { authorization }
      const reply = await fetch(url + path, {
        method,
        headers,
        ...(body !== undefined && { body }),
      })
      const text = await reply.text()
      return { status: reply.status, headers: reply.headers, text, body: jsonOf(text) }
    })
  return { accounts, ask }
})

const jsonOf = (text: string) => (text === "" ? undefined : JSON.parse(text))

const wish = { project: "shop", environment: "sandbox", scope: "read", tier: "free" }

describe("The admin server", () => {
  it.live("creates, lists and revokes keys", () =>
    Effect.gen(function* () {
      const { accounts, ask } = yield* startAdmin
      const created = yield* ask("POST", "/admin/keys", JSON.stringify(wish))
      expect(created.status).toBe(201)
      expect(created.headers.get("cache-control")).toBe("no-store")
      const { id, key } = created.body
      expect(accounts.authenticate(key)?.keyId).toBe(id)
      const listed = yield* ask("GET", "/admin/keys")
      expect(listed.body.keys).toMatchObject([{ id, project: "shop", status: "in_force" }])
      expect(listed.text).not.toContain(key)
      const revoked = yield* ask("DELETE", `/admin/keys/${id}`)
      expect([revoked.status, revoked.text]).toEqual([204, ""])
      expect(accounts.authenticate(key)).toBeUndefined()
      const again = yield* ask("DELETE", `/admin/keys/${id}`)
      expect([again.status, again.body.code]).toEqual([404, "key_not_found"])
    }),
  )

  it.live("lets nobody in without its token, whatever is asked", () =>
    Effect.gen(function* () {
      const { ask } = yield* startAdmin
      for (const authorization of ["", "Bearer", "Bearer ", "Bearer the-toke", `Basic ${token}`]) {
        for (const [method, path] of [
          ["GET", "/admin/keys"],
          ["POST", "/admin/keys"],
          ["DELETE", "/admin/keys/key_1"],
          ["GET", "/"],
        ] as const) {
          const { body, headers, status } = yield* ask(method, path, undefined, authorization)
          expect([status, body.code]).toEqual([401, "unauthorized"])
          expect(headers.get("www-authenticate")).toBe("Bearer")
        }
      }
    }),
  )

  it.live("answers what it does not know with 404", () =>
    Effect.gen(function* () {
      const { ask } = yield* startAdmin
      for (const [method, path] of [
        ["GET", "/"],
        ["GET", "/admin/keys/key_1"],
        ["PUT", "/admin/keys"],
        ["DELETE", "/admin/keys"],
        ["DELETE", "/admin/keys/"],
        ["GET", "/v1/leaderboard"],
      ] as const) {
        expect((yield* ask(method, path)).status).toBe(404)
      }
    }),
  )

  it.live("names all that is wrong with a wish, and makes no key of it", () =>
    Effect.gen(function* () {
      const { ask } = yield* startAdmin
      const strange = { environment: "moon", scope: "full", tier: "free", colour: "red" }
      const faults = (yield* ask("POST", "/admin/keys", JSON.stringify(strange))).body.errors
      expect(faults.map(({ pointer }: { pointer: string }) => pointer).sort()).toEqual([
        "/colour",
        "/environment",
        "/project",
      ])
      const limited = JSON.stringify({ ...wish, project: "No", rateLimit: 7 })
      const refused = yield* ask("POST", "/admin/keys", limited)
      expect([refused.status, refused.body.code]).toEqual([400, "invalid_request"])
      expect(refused.body.errors).toHaveLength(2)
      for (const expiresAt of ["soon", "2001-01-01T00:00:00Z"]) {
        const reply = yield* ask("POST", "/admin/keys", JSON.stringify({ ...wish, expiresAt }))
        expect(reply.body.errors[0].pointer).toBe("/expiresAt")
      }
      expect((yield* ask("POST", "/admin/keys", "{")).body.code).toBe("invalid_json")
      const huge = JSON.stringify({ ...wish, project: "x".repeat(limits.bodyBytesMax) })
      expect((yield* ask("POST", "/admin/keys", huge)).status).toBe(413)
      expect((yield* ask("GET", "/admin/keys")).body.keys).toEqual([])
    }),
  )
})
