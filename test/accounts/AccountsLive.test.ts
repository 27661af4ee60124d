import { describe, expect, it } from "@effect/vitest"
import { Context, Effect, Scope } from "effect"
import { TestClock } from "effect/testing"
import { Accounts } from "../../src/accounts/Accounts.ts"
import { make } from "../../src/accounts/AccountsLive.ts"
import { ApiKeys, type KeyRequest } from "../../src/accounts/ApiKeys.ts"
import { makeKeyText } from "../../src/accounts/KeyText.ts"
import { Engine } from "../../src/engine/Engine.ts"
import * as MemoryStorage from "../../src/storage/MemoryStorage.ts"
import { startInMemory } from "../engine/fixture.ts"

const wish: KeyRequest = {
  project: "shop",
  environment: "sandbox",
  scope: "full",
  tier: "free",
}

/** Accounts over a real engine; `state` lets a second one begin where the first ended. */
const startAccounts = Effect.fnUntraced(function* (state = new MemoryStorage.MemoryState()) {
  const fixture = yield* startInMemory({ state })
  const scope = yield* Scope.make()
  const context = yield* make.pipe(
    Effect.provideService(Engine, fixture.engine),
    Scope.provide(scope),
  )
  return {
    ...fixture,
    state,
    accounts: Context.get(context, Accounts),
    keys: Context.get(context, ApiKeys),
  }
})

describe("Accounts", () => {
  it.effect("know a key from the moment it is created to the moment it is revoked", () =>
    Effect.gen(function* () {
      const { accounts, keys } = yield* startAccounts()
      const before = accounts.version
      const created = yield* keys.create(wish)
      expect(accounts.version).not.toBe(before)
      expect(accounts.authenticate(created.key)).toMatchObject({
        keyId: created.id,
        environmentName: "sandbox",
        environment: expect.stringMatching(/^prj_[0-9a-f]{32}:sandbox$/),
        scope: "full",
        tier: "free",
      })
      const held = accounts.version
      yield* keys.revoke(created.id)
      expect(accounts.version).not.toBe(held)
      expect(accounts.authenticate(created.key)).toBeUndefined()
      expect((yield* Effect.flip(keys.revoke(created.id))).code).toBe("key_not_found")
    }),
  )

  it.effect("know no key but those they made", () =>
    Effect.gen(function* () {
      const { accounts, keys } = yield* startAccounts()
      expect(accounts.authenticate(makeKeyText("sandbox"))).toBeUndefined()
      const { key } = yield* keys.create(wish)
      for (const wrong of ["", "x", `${key}x`, key.slice(0, -1), makeKeyText("sandbox")]) {
        expect(accounts.authenticate(wrong)).toBeUndefined()
      }
    }),
  )

  it.effect("keep nothing from which a key could be told", () =>
    Effect.gen(function* () {
      const { close, keys, state } = yield* startAccounts()
      const { key } = yield* keys.create(wish)
      yield* close()
      const again = yield* startInMemory({ state })
      const directory = yield* again.engine.readDirectory
      const stored = JSON.stringify([...directory.keys.values()])
      for (let at = 12; at + 8 <= key.length; at++) {
        expect(stored).not.toContain(key.slice(at, at + 8))
      }
    }),
  )

  it.effect("know every key again after a restart, with the same secret", () =>
    Effect.gen(function* () {
      const first = yield* startAccounts()
      const kept = yield* first.keys.create(wish)
      yield* TestClock.adjust(1)
      const ended = yield* first.keys.create({ ...wish, environment: "production" })
      yield* first.keys.revoke(ended.id)
      yield* first.close("kill")
      const second = yield* startAccounts(first.state)
      expect(second.accounts.authenticate(kept.key)?.keyId).toBe(kept.id)
      expect(second.accounts.authenticate(ended.key)).toBeUndefined()
      yield* TestClock.adjust(1)
      const more = yield* second.keys.create(wish)
      expect(second.accounts.authenticate(more.key)?.projectId).toBe(
        second.accounts.authenticate(kept.key)?.projectId,
      )
      expect((yield* second.keys.list).map(({ id, status }) => [id, status])).toEqual([
        [kept.id, "in_force"],
        [ended.id, "revoked"],
        [more.id, "in_force"],
      ])
    }),
  )

  it.effect("let a key expire at its time, and tell those who remember callers", () =>
    Effect.gen(function* () {
      const { accounts, keys } = yield* startAccounts()
      const expiresAt = new Date(60_000).toISOString()
      const created = yield* keys.create({ ...wish, expiresAt })
      expect(created.expiresAt).toBe(expiresAt)
      yield* TestClock.adjust(59_999)
      const before = accounts.version
      expect(accounts.authenticate(created.key)?.keyId).toBe(created.id)
      yield* TestClock.adjust(1)
      expect(accounts.authenticate(created.key)).toBeUndefined()
      expect(accounts.version).not.toBe(before)
      expect(accounts.version).toBe(accounts.version)
      expect((yield* keys.list)[0]?.status).toBe("expired")
    }),
  )

  it.effect("count requests by the clock of the program", () =>
    Effect.gen(function* () {
      const { accounts, keys } = yield* startAccounts()
      const caller = accounts.authenticate((yield* keys.create(wish)).key)!
      expect(accounts.consume(caller, 100).limited).toBe(false)
      expect(accounts.consume(caller, 1).limited).toBe(true)
      yield* TestClock.adjust("60 seconds")
      expect(accounts.consume(caller, 1)).toMatchObject({ limited: false, remaining: 99 })
    }),
  )

  it.effect("refuse a wish with all its faults at once, and change nothing", () =>
    Effect.gen(function* () {
      const { accounts, keys } = yield* startAccounts()
      yield* keys.create(wish)
      const before = accounts.version
      const refused = yield* Effect.flip(keys.create({ ...wish, project: "No", rateLimit: null }))
      expect(refused.errors?.map(({ pointer }) => pointer)).toEqual(["/project", "/rateLimit"])
      expect(accounts.version).toBe(before)
      expect(yield* keys.list).toHaveLength(1)
    }),
  )

  it.effect("make the secret once however many first keys are asked for together", () =>
    Effect.gen(function* () {
      const { accounts, committed, keys } = yield* startAccounts()
      const created = yield* Effect.all(
        Array.from({ length: 20 }, () => keys.create(wish)),
        { concurrency: "unbounded" },
      )
      for (const { id, key } of created) expect(accounts.authenticate(key)?.keyId).toBe(id)
      const facts = committed.flatMap((record) => record.facts)
      expect(facts.filter(({ kind }) => kind === "directory.created")).toHaveLength(1)
      expect(facts.filter(({ kind }) => kind === "project.created")).toHaveLength(1)
    }),
  )

  it.effect("see within a second what another way has changed", () =>
    Effect.gen(function* () {
      const { accounts, engine, keys } = yield* startAccounts()
      const { id, key } = yield* keys.create(wish)
      yield* engine.askDirectory({ kind: "revokeKey", keyId: id })
      yield* TestClock.adjust("1 second")
      expect(accounts.authenticate(key)).toBeUndefined()
    }),
  )
})
