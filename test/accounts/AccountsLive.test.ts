import { describe, expect, it } from "@effect/vitest"
import { Context, Effect, Exit, Fiber, Latch, Scope } from "effect"
import { TestClock } from "effect/testing"
import { Accounts } from "../../src/accounts/Accounts.ts"
import { make } from "../../src/accounts/AccountsLive.ts"
import { ApiKeys, type KeyRequest } from "../../src/accounts/ApiKeys.ts"
import { makeKeyText } from "../../src/accounts/KeyText.ts"
import { OwnPartition } from "../../src/accounts/OwnPartition.ts"
import { Projects } from "../../src/accounts/Projects.ts"
import type { JournalRecord } from "../../src/domain/record/Record.ts"
import { laurelError } from "../../src/domain/values/Errors.ts"
import { Engine } from "../../src/engine/Engine.ts"
import { limits } from "../../src/Limits.ts"
import { startInMemory } from "../engine/fixture.ts"
import * as MemoryStorage from "../storage/MemoryStorage.ts"

const wish: KeyRequest = {
  project: "shop",
  environment: "sandbox",
  scope: "full",
}

/** Accounts over a real engine; `state` lets a second one begin where the first ended. */
const startAccounts = Effect.fnUntraced(function* (
  state = new MemoryStorage.MemoryState(),
  wrap: (engine: Engine["Service"]) => Engine["Service"] = (engine) => engine,
) {
  const fixture = yield* startInMemory({ state })
  const scope = yield* Scope.make()
  const context = yield* make.pipe(
    Effect.provideService(Engine, wrap(fixture.engine)),
    Scope.provide(scope),
  )
  return {
    ...fixture,
    state,
    /** An orderly end of the accounts, before that of the engine. */
    end: Scope.close(scope, Exit.void),
    accounts: Context.get(context, Accounts),
    keys: Context.get(context, ApiKeys),
    projects: Context.get(context, Projects),
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
      })
      const held = accounts.version
      yield* keys.revoke(created.id)
      expect(accounts.version).not.toBe(held)
      expect(accounts.authenticate(created.key)).toBeUndefined()
      expect((yield* Effect.flip(keys.revoke(created.id))).code).toBe("key_not_found")
    }),
  )

  it.effect("know publishable keys, also after a rotation", () =>
    Effect.gen(function* () {
      const { accounts, keys } = yield* startAccounts()
      const asked = { ...wish, kind: "publishable", scope: "read" } as const
      const first = yield* keys.create(asked)
      const second = yield* keys.rotate(first.id, "24h")
      for (const { key, kind } of [first, second]) {
        expect([kind, key.slice(0, 12)]).toEqual(["publishable", "lk_pub_test_"])
        expect(accounts.authenticate(key)).toMatchObject({ kind, scope: kind })
      }
    }),
  )

  it.effect("know only keys that they made", () =>
    Effect.gen(function* () {
      const { accounts, keys } = yield* startAccounts()
      expect(accounts.authenticate(makeKeyText("sandbox"))).toBeUndefined()
      const { key } = yield* keys.create(wish)
      for (const wrong of ["", "x", `${key}x`, key.slice(0, -1), makeKeyText("sandbox")]) {
        expect(accounts.authenticate(wrong)).toBeUndefined()
      }
    }),
  )

  it.effect("store nothing that reveals a key", () =>
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

  it.effect("list keys in the order of creation, also within one millisecond", () =>
    Effect.gen(function* () {
      const first = yield* startAccounts()
      const ids: Array<string> = []
      for (let made = 0; made < 20; made++) ids.push((yield* first.keys.create(wish)).id)
      expect((yield* first.keys.list).map(({ id }) => id)).toEqual(ids)
      yield* first.close("kill")
      const second = yield* startAccounts(first.state)
      expect((yield* second.keys.list).map(({ id }) => id)).toEqual(ids)
    }),
  )

  it.effect("let a key expire at its time, and change their version", () =>
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

  it.effect("limit all keys of a project together, from the request after the change", () =>
    Effect.gen(function* () {
      const { accounts, keys, projects } = yield* startAccounts()
      const made = [yield* keys.create(wish), yield* keys.create({ ...wish, scope: "read" })]
      const [one, other] = made.map(({ key }) => accounts.authenticate(key)!)
      expect([one!.tier, accounts.consume(one!, 1_000_000).limited]).toEqual(["enterprise", false])
      const before = accounts.version
      const [project] = yield* projects.list
      expect(project).toMatchObject({ name: "shop", tier: "enterprise", rateLimit: null })
      const limited = yield* projects.limit("operator", project!.id, { tier: "free" })
      expect(limited).toEqual({ ...project, tier: "free", rateLimit: 100 })
      expect(accounts.version).not.toBe(before)
      expect(accounts.authenticate(made[0]!.key)?.tier).toBe("free")
      expect(accounts.consume(one!, 60).limited).toBe(false)
      expect(accounts.consume(other!, 41)).toMatchObject({ limited: true, remaining: 40 })
      expect(accounts.consume(other!, 40)).toMatchObject({ limited: false, remaining: 0 })
      expect(accounts.consume(one!, 1).limited).toBe(true)
      const own = { tier: "enterprise", rateLimit: 7 } as const
      yield* projects.limit("operator", project!.id, own)
      expect(accounts.consume(one!, 7)).toMatchObject({ limited: false, limit: 7 })
      expect(accounts.consume(other!, 1)).toMatchObject({ limited: true, tier: "enterprise" })
      yield* projects.limit("operator", project!.id, { tier: "enterprise", rateLimit: null })
      expect(accounts.consume(one!, 1_000_000)).toMatchObject({ limited: false, limit: null })
      const unknown = yield* Effect.flip(projects.limit("operator", "prj_x", { tier: "free" }))
      expect(unknown.code).toBe("project_not_found")
    }),
  )

  it.effect("keep a project's limit over a restart", () =>
    Effect.gen(function* () {
      const { close, keys, projects, state } = yield* startAccounts()
      const { key } = yield* keys.create(wish)
      const [project] = yield* projects.list
      yield* projects.limit("operator", project!.id, { tier: "enterprise", rateLimit: 3 })
      yield* close("kill")
      const again = yield* startAccounts(state)
      const caller = again.accounts.authenticate(key)!
      expect(again.accounts.consume(caller, 3).limited).toBe(false)
      expect(again.accounts.consume(caller, 1).limited).toBe(true)
    }),
  )

  it.effect("count requests by the clock of the program", () =>
    Effect.gen(function* () {
      const { accounts, keys, projects } = yield* startAccounts()
      const caller = accounts.authenticate((yield* keys.create(wish)).key)!
      yield* projects.limit("operator", caller.projectId, { tier: "free" })
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
      const refused = yield* Effect.flip(keys.create({ ...wish, project: "No", name: "" }))
      expect(refused.errors?.map(({ pointer }) => pointer)).toEqual(["/project", "/name"])
      expect(accounts.version).toBe(before)
      expect(yield* keys.list).toHaveLength(1)
    }),
  )

  it.effect("make one secret, however many first keys are created at the same time", () =>
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

  it.effect("see changes of other writers at once", () =>
    Effect.gen(function* () {
      const { accounts, engine, keys } = yield* startAccounts()
      const { id, key } = yield* keys.create(wish)
      const caller = accounts.authenticate(key)!
      const { version } = accounts
      yield* engine.askDirectory({ kind: "revokeKey", by: "operator", keyId: id })
      expect(accounts.version).not.toBe(version)
      expect(accounts.isInForce(caller)).toBe(false)
      expect(accounts.authenticate(key)).toBeUndefined()
      expect((yield* keys.list)[0]).toMatchObject({ status: "revoked" })
    }),
  )
})

describe("User tokens", () => {
  const tokenOf = (accounts: Accounts["Service"], key: string, seconds = 3_600) =>
    accounts.makeToken(accounts.authenticate(key)!, "ada", seconds)

  it.effect("are of one user, in the environment of the key that made them", () =>
    Effect.gen(function* () {
      const { accounts, keys } = yield* startAccounts()
      const restricted = { allowedCidrs: ["10.0.0.0/8"], allowedOrigins: ["https://app.example"] }
      const made = yield* keys.create({ ...wish, ...restricted })
      const { expiresAt, token } = tokenOf(accounts, made.key)!
      const server = accounts.authenticate(made.key)!
      expect(accounts.authenticate(token)).toEqual({
        ...server,
        kind: "user",
        scope: "user",
        userId: "ada",
        issuedAt: 0,
        expiresAt,
        restrictions: { origins: new Set(["https://app.example"]), addresses: undefined },
      })
    }),
  )

  it.effect("end by the clock, and no later than their key", () =>
    Effect.gen(function* () {
      const { accounts, keys } = yield* startAccounts()
      const expiresAt = new Date(90_500).toISOString()
      const lasting = tokenOf(accounts, (yield* keys.create(wish)).key, 60)!
      const short = tokenOf(accounts, (yield* keys.create({ ...wish, expiresAt })).key)!
      expect([lasting.expiresAt, short.expiresAt]).toEqual([60_000, 90_000])
      const caller = accounts.authenticate(lasting.token)!
      yield* TestClock.adjust(59_999)
      expect([accounts.isInForce(caller), accounts.authenticate(lasting.token)]).toEqual([
        true,
        caller,
      ])
      yield* TestClock.adjust(1)
      expect([accounts.isInForce(caller), accounts.authenticate(lasting.token)]).toEqual([
        false,
        undefined,
      ])
      expect(accounts.authenticate(short.token)).toBeDefined()
      yield* TestClock.adjust(30_000)
      expect(accounts.authenticate(short.token)).toBeUndefined()
    }),
  )

  it.effect("end when their key is revoked or replaced, or its project is archived", () =>
    Effect.gen(function* () {
      const { accounts, engine, keys } = yield* startAccounts()
      const [revoked, replaced, archived] = [
        yield* keys.create(wish),
        yield* keys.create(wish),
        yield* keys.create({ ...wish, project: "old" }),
      ]
      const tokens = [revoked, replaced, archived].map(({ key }) => tokenOf(accounts, key)!.token)
      const callers = tokens.map((token) => accounts.authenticate(token)!)
      expect(callers.map(accounts.isInForce)).toEqual([true, true, true])
      const { projectId } = callers[2]!
      yield* engine.askDirectory({ kind: "archiveProject", by: "operator", projectId })
      yield* keys.revoke(revoked.id)
      const successor = yield* keys.rotate(replaced.id, "1h")
      const known = () => tokens.map((token) => accounts.authenticate(token) !== undefined)
      expect(known()).toEqual([false, true, false])
      yield* TestClock.adjust("59 minutes")
      expect(known()).toEqual([false, true, false])
      const later = tokenOf(accounts, successor.key)!.token
      yield* TestClock.adjust("1 minute")
      expect(known()).toEqual([false, false, false])
      expect(accounts.authenticate(later)).toBeDefined()
      expect(callers.map(accounts.isInForce)).toEqual([false, false, false])
    }),
  )

  it.effect("are made only by secret keys in force", () =>
    Effect.gen(function* () {
      const { accounts, keys } = yield* startAccounts()
      const { id, key } = yield* keys.create(wish)
      const page = yield* keys.create({ ...wish, kind: "publishable", scope: "read" })
      expect(tokenOf(accounts, page.key)).toBeUndefined()
      const { token } = tokenOf(accounts, key)!
      expect(tokenOf(accounts, token)).toBeUndefined()
      const server = accounts.authenticate(key)!
      expect(accounts.makeToken({ ...server, kind: "account" }, "ada", 60)).toBeUndefined()
      yield* keys.revoke(id)
      expect(accounts.makeToken(server, "ada", 60)).toBeUndefined()
    }),
  )

  it.effect("survive a restart, and are unknown to servers with another directory", () =>
    Effect.gen(function* () {
      const first = yield* startAccounts()
      const { id, key } = yield* first.keys.create(wish)
      const { token } = tokenOf(first.accounts, key)!
      yield* first.close("kill")
      const second = yield* startAccounts(first.state)
      expect(second.accounts.authenticate(token)).toMatchObject({ keyId: id, userId: "ada" })
      const other = yield* startAccounts()
      expect(other.accounts.authenticate(token)).toBeUndefined()
      yield* other.keys.create(wish)
      expect(other.accounts.authenticate(token)).toBeUndefined()
    }),
  )
})

describe("The last use of a key", () => {
  const usesIn = (records: ReadonlyArray<JournalRecord>) =>
    records.flatMap(({ facts }) => facts).filter((fact) => fact.kind === "keys.used")

  it.effect("is known at once, and recorded once an hour for all keys together", () =>
    Effect.gen(function* () {
      const { accounts, committed, keys } = yield* startAccounts()
      const created = yield* Effect.all([keys.create(wish), keys.create(wish), keys.create(wish)])
      const [first, second] = created.map(({ key }) => accounts.authenticate(key)!)
      expect((yield* keys.list).map(({ lastUsedAt }) => lastUsedAt)).toEqual([null, null, null])
      yield* TestClock.adjust("10 minutes")
      accounts.consume(first!, 1)
      accounts.look(second!, 1)
      const at = new Date(10 * 60_000).toISOString()
      const shown = (yield* keys.list).map(({ lastUsedAt }) => lastUsedAt)
      expect(shown.sort()).toEqual([at, at, null])
      for (let minute = 10; minute < 59; minute++) {
        accounts.consume(first!, 1)
        yield* TestClock.adjust("1 minute")
      }
      expect(usesIn(committed)).toEqual([])
      yield* TestClock.adjust("1 minute")
      expect(usesIn(committed)).toHaveLength(1)
      expect(usesIn(committed)[0]?.used).toHaveLength(2)
      // A quarter of an hour of use is recorded at the next hour, and hours without use are not.
      accounts.consume(first!, 1)
      yield* TestClock.adjust("59 minutes")
      expect(usesIn(committed)).toHaveLength(1)
      yield* TestClock.adjust("1 minute")
      expect(usesIn(committed)).toHaveLength(2)
      yield* TestClock.adjust("5 hours")
      expect(usesIn(committed)).toHaveLength(2)
    }),
  )

  it.effect("is recorded at an orderly end, and known after the restart", () =>
    Effect.gen(function* () {
      const first = yield* startAccounts()
      const { key } = yield* first.keys.create(wish)
      yield* TestClock.adjust("7 seconds")
      first.accounts.consume(first.accounts.authenticate(key)!, 1)
      yield* first.end
      yield* first.close()
      const second = yield* startAccounts(first.state)
      const at = new Date(7_000).toISOString()
      expect((yield* second.keys.list).map(({ lastUsedAt }) => lastUsedAt)).toEqual([at])
      yield* second.end
      expect(usesIn(second.committed)).toEqual([])
    }),
  )

  it.effect("is recorded before another server takes over, once", () =>
    Effect.gen(function* () {
      const { accounts, committed, end, keys } = yield* startAccounts()
      const caller = accounts.authenticate((yield* keys.create(wish)).key)!
      accounts.consume(caller, 1)
      yield* keys.leave
      expect(usesIn(committed)).toHaveLength(1)
      yield* TestClock.adjust("1 second")
      accounts.consume(caller, 1)
      yield* end
      expect(usesIn(committed)).toHaveLength(1)
    }),
  )

  it.effect("is recorded as soon as the storage takes writes again", () =>
    Effect.gen(function* () {
      let full = true
      const { accounts, committed, keys } = yield* startAccounts(undefined, (engine) => ({
        ...engine,
        askDirectory: (command) =>
          full && command.kind === "useKeys"
            ? Effect.fail(laurelError("storage_unavailable", "The disk is full."))
            : engine.askDirectory(command),
      }))
      accounts.consume(accounts.authenticate((yield* keys.create(wish)).key)!, 1)
      yield* TestClock.adjust("2 hours")
      expect(usesIn(committed)).toEqual([])
      full = false
      yield* TestClock.adjust("1 second")
      expect(usesIn(committed)).toHaveLength(1)
    }),
  )

  it.effect("delays neither revocations nor the end while it cannot be recorded", () =>
    Effect.gen(function* () {
      const recording = Latch.makeUnsafe(false)
      const { accounts, end, keys } = yield* startAccounts(undefined, (engine) => ({
        ...engine,
        // The directory's owner is far away, and does not answer.
        askDirectory: (command) =>
          command.kind === "useKeys"
            ? Effect.andThen(recording.open, Effect.never)
            : engine.askDirectory(command),
      }))
      const { id, key } = yield* keys.create(wish)
      accounts.consume(accounts.authenticate(key)!, 1)
      yield* TestClock.adjust("2 hours")
      yield* recording.await
      yield* keys.revoke(id)
      expect(accounts.authenticate(key)).toBeUndefined()
      const leaving = yield* Effect.forkChild(keys.leave)
      yield* TestClock.adjust(limits.keyUseLastFlushMs - 1)
      expect(leaving.pollUnsafe()).toBeUndefined()
      yield* TestClock.adjust(1)
      yield* Fiber.join(leaving)
      // It was tried for the last time.
      yield* end
    }),
  )

  it.effect("does not change the version while only sessions change", () =>
    Effect.gen(function* () {
      const { accounts, engine, keys } = yield* startAccounts()
      yield* keys.create(wish)
      const { version } = accounts
      const invitation = {
        id: "inv_1",
        purpose: "join",
        hash: "h",
        accountId: null,
        email: "bob@example.com",
        access: { owner: true, projects: [] },
      } as const
      yield* engine.askDirectory({ kind: "invite", by: "operator", invitation })
      yield* TestClock.adjust("2 seconds")
      expect(accounts.version).toBe(version)
    }),
  )
})

describe("A rotated key", () => {
  it.effect("works beside its successor until the overlap ends, and not after a revocation", () =>
    Effect.gen(function* () {
      const { accounts, keys } = yield* startAccounts()
      const old = yield* keys.create({ ...wish, name: "Backend", allowedCidrs: ["10.0.0.0/8"] })
      const oldCaller = accounts.authenticate(old.key)!
      const next = yield* keys.rotate(old.id, "1h")
      expect(next).toMatchObject({ name: "Backend", allowedCidrs: ["10.0.0.0/8"], scope: "full" })
      expect(accounts.authenticate(old.key)?.keyId).toBe(old.id)
      const caller = accounts.authenticate(next.key)!
      expect(caller.restrictions?.addresses?.includes("10.1.2.3")).toBe(true)
      yield* TestClock.adjust("59 minutes")
      expect(accounts.isInForce(oldCaller)).toBe(true)
      yield* TestClock.adjust("1 minute")
      expect(accounts.authenticate(old.key)).toBeUndefined()
      expect(accounts.isInForce(oldCaller)).toBe(false)
      const third = yield* keys.rotate(next.id, "7d")
      yield* keys.revoke(next.id)
      expect(accounts.authenticate(next.key)).toBeUndefined()
      expect(accounts.isInForce(caller)).toBe(false)
      const list = yield* keys.list
      expect(list.map(({ id, replacedBy, status }) => [id, status, replacedBy])).toEqual([
        [old.id, "expired", next.id],
        [next.id, "revoked", third.id],
        [third.id, "in_force", null],
      ])
      expect((yield* Effect.flip(keys.rotate("key_x", "0"))).code).toBe("key_not_found")
    }),
  )
})

describe("Accounts of a partition", () => {
  it.effect(
    "know only the keys of its own projects, in a directory that another runner changes",
    () =>
      Effect.gen(function* () {
        const { keys, engine } = yield* startAccounts()
        const create = (name: string) =>
          engine.askDirectory({
            kind: "createProject",
            by: "operator",
            project: { id: `prj_${name}`, name },
            partitions: 2,
          })
        yield* create("one")
        yield* create("two")
        const first = yield* keys.create({ ...wish, project: "one" })
        const state = { directory: yield* engine.readDirectory }
        const copied = { ...engine, directoryNow: () => state.directory }
        const accountsOf = (number: number) =>
          Effect.map(
            make.pipe(
              Effect.provideService(Engine, copied),
              Effect.provideService(OwnPartition, number),
            ),
            (context) => Context.get(context, Accounts),
          )
        const [one, two] = [yield* accountsOf(1), yield* accountsOf(2)]
        const known = (key: string) =>
          [one, two].map((accounts) => accounts.authenticate(key) !== undefined)
        expect(known(first.key)).toEqual([true, false])
        const second = yield* keys.create({ ...wish, project: "two" })
        expect(known(second.key)).toEqual([false, false])
        state.directory = yield* engine.readDirectory
        expect(known(second.key)).toEqual([false, true])
      }).pipe(Effect.scoped),
  )
})
