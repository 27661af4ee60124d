import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber, Stream } from "effect"
import { TestClock } from "effect/testing"
import type { EventReply } from "../../../src/domain/message/UserReply.ts"
import type { Badge, Criterion } from "../../../src/domain/project/Definition.ts"
import { isSilent } from "../../../src/domain/record/Record.ts"
import { laurelError } from "../../../src/domain/values/Errors.ts"
import { recordNameOf } from "../../../src/domain/values/Ids.ts"
import { insist } from "../../../src/engine/badges/BackfillRun.ts"
import type { BackfillProgress } from "../../../src/engine/badges/Backfills.ts"
import type { Engine } from "../../../src/engine/Engine.ts"
import { limits } from "../../../src/Limits.ts"
import { yieldToEventLoop } from "../../../src/storage/yieldToEventLoop.ts"
import { badgeWith } from "../../domain/definitions.ts"
import * as MemoryStorage from "../../storage/MemoryStorage.ts"
import { event, production, recordsOf, reward, sandbox, start, startInMemory } from "../fixture.ts"

type Verbs = Engine["Service"]

const createBadge = (engine: Verbs, criteria: Criterion, id = "b") =>
  engine.askProject(sandbox, { kind: "createBadge", badge: badgeWith({ id, criteria }) as Badge })

const startBackfill = (engine: Verbs, badgeId = "b", notify = false) =>
  engine.askProject(sandbox, { kind: "startBackfill", badgeId, notify })

/** Ends when the run is finished. */
const finished = Effect.fnUntraced(function* (engine: Verbs, badgeId = "b") {
  while (true) {
    const progress = yield* engine.readBackfill(sandbox, badgeId)
    if (progress?.status === "finished") return progress
    yield* yieldToEventLoop
  }
})

const grant = (engine: Verbs, xpOf: Record<string, number>) =>
  engine.askUsers(
    sandbox,
    Object.entries(xpOf).map(([userId, xp]) => reward(userId, xp)),
  )

const badgesOf = (engine: Verbs, userId: string) =>
  Effect.map(engine.readUser(sandbox, userId), (user) => [...(user?.badges.keys() ?? [])])

const countOf = (engine: Verbs, userId: string) =>
  Effect.map(engine.readUser(sandbox, userId), (user) => user?.badgeCounts.get("b"))

const taps = (engine: Verbs, userId: string, count: number, metadata: object = {}) =>
  engine.askUsers(
    sandbox,
    Array.from({ length: count }, () => event(userId, "TAP", { metadata })),
  )

/** An engine whose backfill of a badge for 500 users has just begun. */
const startedForFiveHundred = Effect.gen(function* () {
  const state = new MemoryStorage.MemoryState()
  const before = yield* start(MemoryStorage.make({ state }))
  yield* grant(
    before.engine,
    Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`u${index}`, 5])),
  )
  yield* createBadge(before.engine, { kind: "xp", target: 5 })
  yield* startBackfill(before.engine)
  return { state, before }
})

/** How often each user got the badge. */
const awards = (state: MemoryStorage.MemoryState): ReadonlyMap<string, number> => {
  const given = new Map<string, number>()
  for (const { facts, subject } of recordsOf(state)) {
    if (subject.actor !== "user" || !facts.some(({ kind }) => kind === "badge.earned")) continue
    given.set(subject.userId, (given.get(subject.userId) ?? 0) + 1)
  }
  return given
}

const tapCount = (target: number, where: Extract<Criterion, { where: unknown }>["where"] = []) =>
  ({ kind: "action_count", action: "TAP", where, target }) as const

describe("A backfill", () => {
  it.effect("awards the badge to users who qualify already, and to no user twice", () =>
    Effect.gen(function* () {
      const { committed, engine } = yield* startInMemory()
      yield* grant(engine, { ada: 500, bob: 99, cyd: 100 })
      yield* engine.askUser(production, reward("dan", 500))
      yield* createBadge(engine, { kind: "xp", target: 100 })
      expect(yield* badgesOf(engine, "ada")).toEqual([])
      yield* startBackfill(engine)
      const progress = yield* finished(engine)
      expect(progress).toMatchObject({ checked: 3, total: 3, awarded: 2, notify: false })
      for (const [userId, badges] of [
        ["ada", ["b"]],
        ["bob", []],
        ["cyd", ["b"]],
      ] as const) {
        expect(yield* badgesOf(engine, userId)).toEqual(badges)
      }
      expect((yield* engine.readUser(production, "dan"))?.badges.size).toBe(0)
      yield* startBackfill(engine)
      expect(yield* finished(engine)).toMatchObject({ checked: 3, awarded: 0 })
      const given = committed.filter(({ cause }) => cause.kind === "backfill")
      expect(given.map((record) => [record.facts.length, isSilent(record)])).toEqual([
        [1, true],
        [1, true],
      ])
    }),
  )

  it.effect("sends messages about its awards if asked to", () =>
    Effect.gen(function* () {
      const { committed, engine } = yield* startInMemory()
      yield* grant(engine, { ada: 500 })
      yield* createBadge(engine, { kind: "level", target: 2 })
      yield* startBackfill(engine, "b", true)
      expect((yield* finished(engine)).notify).toBe(true)
      const given = committed.find(({ cause }) => cause.kind === "backfill")!
      expect(isSilent(given)).toBe(false)
    }),
  )

  it.effect("looks at every user once, in memory or not", () =>
    Effect.gen(function* () {
      const state = new MemoryStorage.MemoryState()
      const options = { decodedUsersMax: 20 }
      const before = yield* start(MemoryStorage.make({ state }), options)
      const users = (from: number, to: number) =>
        Object.fromEntries(
          Array.from({ length: to - from }, (_, index) => [`u${from + index}`, from + index]),
        )
      yield* grant(before.engine, { ...users(1, 250) })
      yield* before.close()
      const { engine } = yield* start(MemoryStorage.make({ state }), options)
      yield* grant(engine, users(200, 300))
      yield* createBadge(engine, { kind: "xp", target: 150 })
      yield* startBackfill(engine)
      // Users 150 to 299; users 200 to 249 were granted twice.
      expect(yield* finished(engine)).toMatchObject({ checked: 299, total: 299, awarded: 150 })
      const given = awards(state)
      expect([given.size, Math.max(...given.values())]).toEqual([150, 1])
      expect(given.has("u149")).toBe(false)
    }),
  )

  it.effect("sums a number over a user's history, without events that were undone", () =>
    Effect.gen(function* () {
      const state = new MemoryStorage.MemoryState()
      const before = yield* start(MemoryStorage.make({ state }))
      const run = (userId: string, km: unknown) =>
        before.engine.askUser(sandbox, event(userId, "RUN", { metadata: { km } }))
      for (const km of [0.1, 0.2, "9", 9.7]) yield* run("ada", km)
      for (const km of [9.99, -5]) yield* run("bob", km)
      const { reply } = yield* run("bob", 4)
      const name = recordNameOf("evt", (reply as { readonly eventId: string }).eventId)!
      const command = { kind: "revocation", of: "event", ...name } as const
      yield* before.engine.askUser(sandbox, { userId: "bob", command })
      yield* before.close()
      const { engine } = yield* start(MemoryStorage.make({ state }))
      const criteria = { kind: "action_sum", action: "RUN", where: [], target: 10 } as const
      yield* createBadge(engine, { ...criteria, sumPath: "km" })
      yield* startBackfill(engine)
      expect(yield* finished(engine)).toMatchObject({ checked: 2, awarded: 1 })
      for (const [userId, sum] of [
        ["ada", 10],
        ["bob", 9.99],
      ] as const) {
        const user = yield* engine.readUser(sandbox, userId)
        expect([userId, user?.badgeCounts.get("b")]).toEqual([userId, sum])
      }
    }),
  )

  it.effect("counts the actions of a user's history, without events that were undone", () =>
    Effect.gen(function* () {
      const state = new MemoryStorage.MemoryState()
      const before = yield* start(MemoryStorage.make({ state }))
      yield* taps(before.engine, "ada", 5)
      yield* taps(before.engine, "bob", 3)
      yield* taps(before.engine, "cyd", 9, { easy: true })
      yield* before.engine.askUser(sandbox, event("cyd", "OTHER"))
      yield* before.close()
      const { engine } = yield* start(MemoryStorage.make({ state }))
      yield* taps(engine, "ada", 1)
      const undone = recordsOf(state).find(({ subject }) => "userId" in subject)!
      yield* engine.askUser(sandbox, {
        userId: "ada",
        command: { kind: "revocation", of: "event", sequence: undone.sequence, at: undone.at },
      })
      yield* createBadge(engine, tapCount(5, [{ path: "easy", op: "exists", value: false }]))
      yield* startBackfill(engine)
      expect(yield* finished(engine)).toMatchObject({ checked: 3, awarded: 1 })
      expect(yield* badgesOf(engine, "ada")).toEqual(["b"])
      expect(yield* countOf(engine, "bob")).toBe(3)
      expect(yield* countOf(engine, "cyd")).toBeUndefined()
      yield* taps(engine, "bob", 2)
      expect(yield* badgesOf(engine, "bob")).toEqual(["b"])
    }),
  )

  it.effect("counts right for a user who is active meanwhile", () =>
    Effect.gen(function* () {
      const { engine } = yield* startInMemory()
      yield* taps(engine, "ada", 50)
      yield* createBadge(engine, tapCount(1_000))
      const busy = yield* Effect.forkChild(
        Effect.forEach(Array.from({ length: 40 }), () =>
          Effect.andThen(taps(engine, "ada", 1), yieldToEventLoop),
        ),
        { startImmediately: true },
      )
      yield* startBackfill(engine)
      yield* finished(engine)
      yield* Fiber.join(busy)
      expect(yield* countOf(engine, "ada")).toBe(90)
    }),
  )

  it.effect("waits for earlier backfills of the same environment", () =>
    Effect.gen(function* () {
      const { committed, engine } = yield* startInMemory()
      yield* grant(engine, { ada: 500 })
      for (const id of ["one", "two"]) yield* createBadge(engine, { kind: "xp", target: 1 }, id)
      const seen: Array<BackfillProgress["status"] | undefined> = []
      yield* startBackfill(engine, "one")
      yield* startBackfill(engine, "two")
      for (const id of ["one", "two", "none"]) {
        seen.push((yield* engine.readBackfill(sandbox, id))?.status)
      }
      expect(seen[2]).toBeUndefined()
      expect(["running", "finished"]).toContain(seen[0])
      yield* finished(engine, "two")
      const ends = committed.flatMap(({ facts }) =>
        facts.flatMap((fact) => (fact.kind === "backfill.finished" ? [fact.definitionId] : [])),
      )
      expect(ends).toEqual(["one", "two"])
    }),
  )

  it.effect("that a crash interrupted begins again, and awards nothing twice", () =>
    Effect.gen(function* () {
      const { before, state } = yield* startedForFiveHundred
      while (awards(state).size === 0) yield* yieldToEventLoop
      yield* before.close("kill")
      expect(awards(state).size).toBeLessThan(500)
      const after = yield* start(MemoryStorage.make({ state }))
      const { awarded, checked } = yield* finished(after.engine)
      expect(checked).toBe(500)
      expect(awarded).toBeLessThan(500)
      const given = awards(state)
      expect([given.size, Math.max(...given.values())]).toEqual([500, 1])
      yield* after.close()
    }),
  )

  it.effect("that meets a defect begins again without a restart, and holds up no other", () =>
    Effect.gen(function* () {
      const state = new MemoryStorage.MemoryState()
      const memory = MemoryStorage.make({ state })
      let hasDefect = false
      let defects = 0
      const { broken, engine } = yield* start({
        ...memory,
        readRecords: (sequence) =>
          hasDefect && defects < 2
            ? Stream.die(new Error(`Defect ${++defects}`))
            : memory.readRecords(sequence),
      })
      yield* taps(engine, "ada", 3)
      yield* grant(engine, { bob: 500 })
      yield* createBadge(engine, tapCount(3))
      yield* createBadge(engine, { kind: "xp", target: 500 }, "other")
      hasDefect = true
      yield* startBackfill(engine)
      yield* startBackfill(engine, "other")
      expect((yield* finished(engine, "other")).awarded).toBe(1)
      expect((yield* engine.readBackfill(sandbox, "b"))?.status).not.toBe("finished")
      for (let turn = 0; turn < 1_000 && defects < 2; turn++) {
        yield* Effect.andThen(TestClock.adjust(limits.backfillCrashRetryMs), yieldToEventLoop)
      }
      yield* TestClock.adjust(limits.backfillCrashRetryMs)
      expect((yield* finished(engine)).awarded).toBe(1)
      expect(yield* badgesOf(engine, "ada")).toEqual(["b"])
      expect([defects, broken]).toEqual([2, []])
    }),
  )

  it.effect("that a shutdown interrupted begins again", () =>
    Effect.gen(function* () {
      const { before, state } = yield* startedForFiveHundred
      yield* before.close()
      expect(before.broken).toEqual([])
      const after = yield* start(MemoryStorage.make({ state }))
      yield* finished(after.engine)
      const given = awards(state)
      expect([given.size, Math.max(...given.values())]).toEqual([500, 1])
      yield* after.close()
    }),
  )

  it.effect("ends when its badge is archived", () =>
    Effect.gen(function* () {
      const state = new MemoryStorage.MemoryState()
      const { broken, engine } = yield* start(MemoryStorage.make({ state }))
      yield* grant(
        engine,
        Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`u${index}`, 5])),
      )
      yield* createBadge(engine, { kind: "xp", target: 5 })
      yield* createBadge(engine, { kind: "xp", target: 5 }, "next")
      yield* startBackfill(engine)
      while (awards(state).size === 0) yield* yieldToEventLoop
      yield* engine.askProject(sandbox, { kind: "deleteBadge", badgeId: "b" })
      yield* startBackfill(engine, "next")
      expect((yield* finished(engine, "next")).awarded).toBe(500)
      expect(yield* engine.readBackfill(sandbox, "b")).toBeUndefined()
      const given = [...awards(state).values()].reduce((sum, count) => sum + count, 0)
      expect(given).toBeLessThan(1_000)
      expect(broken).toEqual([])
    }),
  )

  it.effect(
    "is refused for a badge for which no user can qualify, or that has a backfill under way",
    () =>
      Effect.gen(function* () {
        const { engine } = yield* startInMemory()
        const refusal = (badgeId: string) =>
          Effect.map(Effect.flip(startBackfill(engine, badgeId)), ({ code }) => code)
        yield* createBadge(engine, { kind: "manual" }, "manual")
        yield* createBadge(engine, { kind: "xp", target: 1 }, "archived")
        yield* engine.askProject(sandbox, { kind: "deleteBadge", badgeId: "archived" })
        expect(yield* refusal("none")).toBe("badge_not_found")
        expect(yield* refusal("manual")).toBe("conflict")
        expect(yield* refusal("archived")).toBe("invalid_transition")
        yield* createBadge(engine, { kind: "xp", target: 1 })
        const both = yield* Effect.all(
          [startBackfill(engine), Effect.flip(startBackfill(engine))],
          {
            concurrency: "unbounded",
          },
        )
        expect(both[1].code).toBe("conflict")
        yield* finished(engine)
      }),
  )
})

describe("A command of a backfill with a temporary refusal", () => {
  const refusing = (
    codes: ReadonlyArray<"overloaded" | "storage_unavailable" | "conflict" | "shutting_down">,
  ) => {
    const left = [...codes]
    return Effect.suspend(() => {
      const code = left.shift()
      return code === undefined ? Effect.succeed("done") : Effect.fail(laurelError(code, ""))
    })
  }

  it.effect("is asked again until it is accepted or refused for good", () =>
    Effect.gen(function* () {
      const insisting = (codes: Parameters<typeof refusing>[0]) =>
        Effect.gen(function* () {
          const fiber = yield* Effect.forkChild(Effect.result(insist(refusing(codes))), {
            startImmediately: true,
          })
          yield* TestClock.adjust("1 minute")
          return yield* Fiber.join(fiber)
        })
      expect(yield* insisting(["overloaded", "storage_unavailable"])).toMatchObject({
        _tag: "Success",
        success: undefined,
      })
      expect(yield* insisting(["overloaded", "conflict"])).toMatchObject({
        success: { code: "conflict" },
      })
      expect(yield* insisting(["shutting_down"])).toMatchObject({ failure: { _tag: "Ended" } })
    }),
  )
})

describe("A user who is active all the time during a backfill", () => {
  it.effect("has the right count, and gets the badge", () =>
    Effect.gen(function* () {
      const { engine } = yield* startInMemory()
      yield* taps(engine, "ada", 50)
      yield* createBadge(engine, tapCount(60))
      let done = false
      let tapped = 50
      // The next event is sent before the last is answered, and some are undone.
      const busy = Effect.gen(function* () {
        while (!done) {
          const [reply] = yield* taps(engine, "ada", 3)
          tapped += 3
          if (tapped % 2 === 0) continue
          const name = recordNameOf("evt", (reply as EventReply).eventId)!
          const command = { kind: "revocation", of: "event", ...name } as const
          yield* engine.askUser(sandbox, { userId: "ada", command })
          tapped--
        }
      })
      const fibers = [
        yield* Effect.forkChild(busy, { startImmediately: true }),
        yield* Effect.forkChild(busy, { startImmediately: true }),
      ]
      while (tapped < 70) yield* yieldToEventLoop
      yield* startBackfill(engine)
      const { awarded } = yield* finished(engine)
      expect(awarded).toBe(1)
      done = true
      for (const fiber of fibers) yield* Fiber.join(fiber)
      expect(yield* badgesOf(engine, "ada")).toEqual(["b"])
      expect(yield* countOf(engine, "ada")).toBe(tapped)
    }),
  )

  it.effect("and is erased and returns meanwhile is counted from the return on", () =>
    Effect.gen(function* () {
      for (let turns = 0; turns < 12; turns++) {
        const { engine } = yield* startInMemory()
        yield* TestClock.adjust(1)
        yield* taps(engine, "ada", 50)
        yield* TestClock.adjust(1)
        yield* createBadge(engine, tapCount(40))
        yield* startBackfill(engine)
        for (let turn = 0; turn < turns; turn++) yield* yieldToEventLoop
        yield* TestClock.adjust(1)
        const outcomes = yield* Effect.all(
          [
            engine.askUser(sandbox, { userId: "ada", command: { kind: "erasure" } }),
            taps(engine, "ada", 3),
          ],
          { concurrency: "unbounded" },
        )
        expect(outcomes).toHaveLength(2)
        yield* finished(engine)
        expect(yield* countOf(engine, "ada")).toBe(3)
        expect(yield* badgesOf(engine, "ada")).toEqual([])
      }
    }),
  )
})

describe("A user who has the badge", () => {
  it.effect("gets only the count of the history from a backfill", () =>
    Effect.gen(function* () {
      const { committed, engine } = yield* startInMemory()
      yield* taps(engine, "ada", 5)
      yield* createBadge(engine, tapCount(3))
      yield* taps(engine, "ada", 4)
      expect([yield* badgesOf(engine, "ada"), yield* countOf(engine, "ada")]).toEqual([["b"], 4])
      yield* startBackfill(engine)
      expect((yield* finished(engine)).awarded).toBe(0)
      expect(yield* countOf(engine, "ada")).toBe(9)
      const given = committed.filter(({ cause }) => cause.kind === "backfill")
      expect(given.map(({ facts }) => facts)).toEqual([
        [{ kind: "badge.counted", badgeId: "b", current: 9 }],
      ])
    }),
  )
})
