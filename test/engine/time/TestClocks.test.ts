import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Scope } from "effect"
import { TestClock } from "effect/testing"
import { messageAt, messageKindAt } from "../../../src/domain/message/Message.ts"
import { emptyProject, isAdvancing } from "../../../src/domain/project/Project.ts"
import { applyProject } from "../../../src/domain/record/applyProject.ts"
import { decidedAt, type JournalRecord } from "../../../src/domain/record/Record.ts"
import type { Engine } from "../../../src/engine/Engine.ts"
import { recoverEngine } from "../../../src/engine/EngineLive.ts"
import { limits } from "../../../src/Limits.ts"
import { Storage } from "../../../src/storage/Storage.ts"
import { yieldToEventLoop } from "../../../src/storage/yieldToEventLoop.ts"
import { questWith, streakWith } from "../../domain/definitions.ts"
import * as MemoryStorage from "../../storage/MemoryStorage.ts"
import {
  event,
  type Fixture,
  once,
  production,
  recordsOf,
  reward,
  rule,
  sandbox,
  start,
  startInMemory,
} from "../fixture.ts"

const quiet = { clockCheckMs: 3_600_000, snapshotIntervalMs: 3_600_000 }
const otherSandbox = "prj_2:sandbox"
const day = 86_400_000
const beginning = "2026-11-04T12:00:00.000Z"

const at = (time: string) => TestClock.setTime(Date.parse(time))
const isoOf = (ms: number) => new Date(ms).toISOString()

const daily = { kind: "createStreak", streak: streakWith({}) } as const

const settings = ({ engine }: Fixture, environment = sandbox) =>
  engine.askProject(environment, daily)

const tap = ({ engine }: Fixture, userId: string, environment = sandbox) =>
  engine.askUser(environment, event(userId, "TAP"))

const begin = ({ engine }: Fixture, to: string) =>
  engine.askProject(sandbox, { kind: "advanceClock", to: Date.parse(to) })

/** Lets the server's time pass by a millisecond at a time, until the advance has ended. */
const finish = Effect.fnUntraced(function* ({ engine }: { readonly engine: Engine["Service"] }) {
  const ended = yield* Effect.forkChild(engine.testClockReady(sandbox), { startImmediately: true })
  for (let turn = 0; ended.pollUnsafe() === undefined; turn++) {
    expect(turn).toBeLessThan(10_000)
    yield* TestClock.adjust(1)
    yield* yieldToEventLoop
  }
})

const advance = (fixture: Fixture, to: string) =>
  Effect.andThen(begin(fixture, to), finish(fixture))

/** The facts that time caused, as messages: `["2026-11-06T00:00", "streak.broken", "ada"]`. */
const caused = (records: ReadonlyArray<JournalRecord>) =>
  records.flatMap((record) => {
    const { facts, subject } = record
    if (record.cause.kind !== "tick" && subject.actor !== "project") return []
    return facts.flatMap((fact, index) => {
      if (messageKindAt(record, index) === undefined) return []
      const { timestamp, type } = messageAt(record, index)
      const who = subject.actor === "user" ? subject.userId : "window" in fact ? fact.window : ""
      return [[timestamp.slice(0, 16), type, who]]
    })
  })

const begun = Effect.gen(function* () {
  yield* at(beginning)
  return yield* startInMemory({}, quiet)
})

describe("An environment whose test clock was advanced", () => {
  it.effect("has a time ahead of the server's, which goes on with the server's", () =>
    Effect.gen(function* () {
      const fixture = yield* begun
      const { engine } = fixture
      expect(engine.timeIn(sandbox)).toBe(engine.now())
      yield* advance(fixture, "2026-12-01T00:00:00.000Z")
      const now = engine.timeIn(sandbox)
      expect(isoOf(now).slice(0, 19)).toBe("2026-12-01T00:00:00")
      expect(isoOf(engine.now()).slice(0, 19)).toBe("2026-11-04T12:00:00")
      yield* TestClock.adjust(5_000)
      expect(engine.timeIn(sandbox)).toBe(now + 5_000)
    }),
  )

  it.effect("decides events and definitions at its time, in records of the server's time", () =>
    Effect.gen(function* () {
      const fixture = yield* begun
      const { engine } = fixture
      yield* advance(fixture, "2026-12-01T00:00:00.000Z")
      const { reply } = yield* tap(fixture, "ada")
      expect(reply).toMatchObject({
        receivedAt: engine.timeIn(sandbox),
        occurredAt: engine.timeIn(sandbox),
      })
      const record = fixture.committed.at(-1)!
      expect([record.at, decidedAt(record)]).toEqual([engine.now(), engine.timeIn(sandbox)])
      const ada = yield* engine.readUser(sandbox, "ada")
      expect([ada?.createdAt, ada?.updatedAt]).toEqual([
        engine.timeIn(sandbox),
        engine.timeIn(sandbox),
      ])
      yield* engine.askProject(sandbox, rule("TAP", 5))
      const [made] = (yield* engine.readProject(sandbox)).rules.values()
      expect(made?.createdAt).toBe(engine.timeIn(sandbox))
    }),
  )

  it.effect("bounds `occurredAt` by its time, on both sides", () =>
    Effect.gen(function* () {
      const fixture = yield* begun
      const { engine } = fixture
      yield* advance(fixture, "2026-12-24T00:00:00.000Z")
      const now = engine.timeIn(sandbox)
      const sent = (occurredAt: number) =>
        Effect.map(
          Effect.result(
            engine.askUser(sandbox, {
              userId: "ada",
              command: { kind: "event", action: "TAP", occurredAt },
            }),
          ),
          ({ _tag }) => _tag,
        )
      expect(yield* sent(now - limits.occurredAtPastMs)).toBe("Success")
      expect(yield* sent(now - limits.occurredAtPastMs - 1)).toBe("Failure")
      expect(yield* sent(now + limits.occurredAtFutureMs)).toBe("Success")
      expect(yield* sent(now + limits.occurredAtFutureMs + 1)).toBe("Failure")
    }),
  )

  it.effect("leaves the server's time to idempotency keys and secrets of webhooks", () =>
    Effect.gen(function* () {
      const fixture = yield* begun
      const { engine } = fixture
      const grant = engine.askUser(sandbox, reward("ada", 5), once("k"))
      expect((yield* grant).replayed).toBe(false)
      const webhook = {
        id: "whk_1",
        url: "https://example.com",
        events: ["*"],
        description: null,
        secret: "whsec_1",
      }
      yield* engine.askProject(sandbox, { kind: "createWebhook", webhook, webhooksMax: 1 })
      yield* advance(fixture, "2027-11-04T12:00:00.000Z")
      expect((yield* grant).replayed).toBe(true)
      yield* engine.askProject(sandbox, {
        kind: "rotateWebhookSecret",
        webhookId: "whk_1",
        secret: "whsec_2",
        graceSeconds: 60,
      })
      const made = (yield* engine.readProject(sandbox)).webhooks.get("whk_1")
      expect([made?.previousSecret?.until, made?.updatedAt]).toEqual([
        engine.now() + 60_000,
        engine.now(),
      ])
    }),
  )

  it.effect("counts a day of a streak by its time", () =>
    Effect.gen(function* () {
      const fixture = yield* begun
      yield* settings(fixture)
      for (const date of ["05", "06", "07"]) {
        yield* tap(fixture, "ada")
        yield* advance(fixture, `2026-11-${date}T12:00:00.000Z`)
      }
      const { reply } = yield* tap(fixture, "ada")
      expect(reply.streaks).toEqual([{ key: "daily", current: 4, best: 4 }])
      expect(new Set(caused(fixture.committed).map(([, type]) => type))).toEqual(
        new Set(["test_clock.advanced"]),
      )
    }),
  )

  it.effect("has no effect on production or on other sandboxes", () =>
    Effect.gen(function* () {
      const fixture = yield* begun
      const { engine } = fixture
      for (const environment of [sandbox, otherSandbox, production]) {
        yield* settings(fixture, environment)
        yield* tap(fixture, "ada", environment)
      }
      yield* advance(fixture, "2026-12-01T00:00:00.000Z")
      for (const environment of [otherSandbox, production]) {
        expect(engine.timeIn(environment)).toBe(engine.now())
        const { reply } = yield* tap(fixture, "ada", environment)
        expect(reply.receivedAt).toBe(engine.now())
        const ada = yield* engine.readUser(environment, "ada")
        expect(ada?.streaks.get("daily")?.broken).toBe(false)
      }
      const others = fixture.committed.filter(
        ({ subject }) => subject.actor !== "directory" && subject.environment !== sandbox,
      )
      expect(others.length).toBe(6)
      expect(others.every(({ aheadMs }) => aheadMs === undefined)).toBe(true)
    }),
  )
})

describe("An advance of a test clock", () => {
  it.effect("decides what becomes due in the order of its times, at these times", () =>
    Effect.gen(function* () {
      const fixture = yield* begun
      const { engine } = fixture
      yield* settings(fixture)
      yield* engine.askProject(sandbox, rule("TAP", 5))
      yield* engine.askProject(sandbox, {
        kind: "createQuest",
        quest: questWith({
          id: "qst_1",
          endsAt: Date.parse("2026-11-08T09:30:00Z"),
          steps: [{ key: "taps", action: "TAP", where: [], target: 5 }],
        }),
      })
      yield* engine.askUser(sandbox, {
        userId: "far",
        command: { kind: "profile", change: { timezone: "Asia/Tokyo" } },
      })
      yield* tap(fixture, "ada")
      yield* tap(fixture, "far")
      fixture.committed.length = 0
      yield* advance(fixture, "2026-12-02T00:00:00.000Z")
      expect(caused(fixture.committed)).toEqual([
        ["2026-11-05T00:00", "leaderboard.window_closed", "daily"],
        ["2026-11-05T15:00", "streak.broken", "far"],
        ["2026-11-06T00:00", "streak.broken", "ada"],
        ["2026-11-08T09:30", "quest.expired", "ada"],
        ["2026-11-08T09:30", "quest.expired", "far"],
        ["2026-11-09T00:00", "leaderboard.window_closed", "weekly"],
        ["2026-12-01T00:00", "leaderboard.window_closed", "monthly"],
        ["2026-12-02T00:00", "test_clock.advanced", ""],
      ])
      const times = fixture.committed.map(decidedAt)
      expect(times.toSorted((one, other) => one - other)).toEqual(times)
      expect(fixture.committed.every((record) => record.at < Date.parse(beginning) + day)).toBe(
        true,
      )
    }),
  )

  it.effect("reaches the latest time that is allowed, and no later one", () =>
    Effect.gen(function* () {
      const fixture = yield* begun
      const latest = fixture.engine.now() + limits.testClockAheadMsMax
      const refused = yield* Effect.flip(begin(fixture, isoOf(latest + 1)))
      expect(refused).toMatchObject({
        code: "invalid_request",
        errors: [{ pointer: "/advanceTo", code: "out_of_range" }],
      })
      yield* advance(fixture, isoOf(latest))
      expect(fixture.engine.timeIn(sandbox)).toBeGreaterThanOrEqual(latest)
    }),
  )

  it.effect("is refused for a time that is not ahead, and changes nothing", () =>
    Effect.gen(function* () {
      const fixture = yield* begun
      yield* advance(fixture, "2026-12-01T00:00:00.000Z")
      const before = fixture.committed.length
      const now = fixture.engine.timeIn(sandbox)
      expect((yield* Effect.flip(begin(fixture, isoOf(now)))).code).toBe("invalid_request")
      expect((yield* Effect.flip(begin(fixture, beginning))).code).toBe("invalid_request")
      expect(fixture.committed.length).toBe(before)
      yield* advance(fixture, isoOf(now + 1))
    }),
  )

  it.effect("is refused while another one runs, unless it has the same target", () =>
    Effect.gen(function* () {
      const fixture = yield* begun
      yield* begin(fixture, "2026-12-01T00:00:00.000Z")
      const refused = yield* Effect.flip(begin(fixture, "2026-12-02T00:00:00.000Z"))
      expect(refused.code).toBe("conflict")
      yield* begin(fixture, "2026-12-01T00:00:00.000Z")
      yield* finish(fixture)
      // A client that did not get the reply repeats its request.
      yield* begin(fixture, "2026-12-01T00:00:00.000Z")
      expect(isAdvancing(fixture.engine.projectNow(sandbox))).toBe(false)
      yield* advance(fixture, "2026-12-02T00:00:00.000Z")
    }),
  )

  it.effect("lets events in, at the times between its steps", () =>
    Effect.gen(function* () {
      const fixture = yield* begun
      const { engine } = fixture
      yield* settings(fixture)
      for (let n = 0; n < 30; n++) yield* tap(fixture, `u${n}`)
      yield* begin(fixture, "2026-11-20T00:00:00.000Z")
      const sent = yield* Effect.forkChild(
        Effect.forEach(Array.from({ length: 40 }), () =>
          Effect.andThen(yieldToEventLoop, tap(fixture, "late")),
        ),
      )
      yield* finish(fixture)
      yield* Fiber.join(sent)
      const times = fixture.committed.map(decidedAt)
      expect(times.toSorted((one, other) => one - other)).toEqual(times)
      expect(yield* engine.readUser(sandbox, "late")).toMatchObject({ id: "late" })
    }),
  )

  it.effect("goes on after a kill at any of its steps, and does nothing twice", () =>
    Effect.gen(function* () {
      for (let kept = 0; kept < 12; kept++) {
        yield* at(beginning)
        const state = new MemoryStorage.MemoryState()
        const first = yield* startInMemory({ state }, quiet)
        yield* settings(first)
        yield* first.engine.askProject(sandbox, rule("TAP", 5))
        yield* tap(first, "ada")
        const before = recordsOf(state).length
        yield* begin(first, "2026-12-02T00:00:00.000Z")
        while (
          recordsOf(state).length - before < kept &&
          isAdvancing(first.engine.projectNow(sandbox))
        ) {
          yield* TestClock.adjust(1)
          yield* yieldToEventLoop
        }
        yield* first.close("kill")
        const reached = Math.max(...recordsOf(state).map(decidedAt))
        const second = yield* startInMemory({ state }, quiet)
        expect(second.engine.timeIn(sandbox)).toBeGreaterThanOrEqual(reached)
        yield* finish(second)
        const records = recordsOf(state).filter(({ sequence }) => sequence > before)
        expect(caused(records)).toEqual([
          ["2026-11-05T00:00", "leaderboard.window_closed", "daily"],
          ["2026-11-06T00:00", "streak.broken", "ada"],
          ["2026-11-09T00:00", "leaderboard.window_closed", "weekly"],
          ["2026-12-01T00:00", "leaderboard.window_closed", "monthly"],
          ["2026-12-02T00:00", "test_clock.advanced", ""],
        ])
        yield* second.close()
        // The snapshot has the clock too.
        const third = yield* startInMemory({ state }, quiet)
        expect(isoOf(third.engine.timeIn(sandbox)).slice(0, 10)).toBe("2026-12-02")
        yield* third.close()
      }
    }),
  )

  it.effect("is finished by a follower that takes over", () =>
    Effect.gen(function* () {
      yield* at(beginning)
      const state = new MemoryStorage.MemoryState()
      const owner = yield* startInMemory({ state }, quiet)
      yield* settings(owner)
      yield* tap(owner, "ada")
      yield* begin(owner, "2026-11-10T00:00:00.000Z")
      yield* TestClock.adjust(1)
      yield* yieldToEventLoop
      yield* owner.close("kill")
      const reached = Math.max(...recordsOf(state).map(decidedAt))
      const scope = yield* Scope.make()
      const storage = MemoryStorage.make({ state })
      const follower = yield* recoverEngine({ ...quiet, onBroken: () => {} }).pipe(
        Effect.provideService(Storage, storage),
        Scope.provide(scope),
      )
      const engine = yield* Scope.provide(follower.serve, scope)
      expect(engine.timeIn(sandbox)).toBeGreaterThanOrEqual(reached)
      yield* finish({ engine })
      const ada = yield* engine.readUser(sandbox, "ada")
      expect(ada?.streaks.get("daily")?.broken).toBe(true)
      yield* Scope.close(scope, Exit.void)
    }),
  )
})

describe("The record of a test clock", () => {
  const moved = (environment: string, aheadMs: number): JournalRecord => ({
    sequence: 2,
    at: 0,
    subject: { actor: "project", environment },
    cause: { kind: "request" },
    facts: [{ kind: "testClock.moved", aheadMs, target: 9, status: "ready" }],
  })
  const before = {
    ...emptyProject,
    sequence: 1,
    testClock: { aheadMs: 5, target: 5, status: "ready" as const },
  }

  it("is applied in a sandbox if the time does not go back, and nowhere else", () => {
    expect(applyProject(before, moved(sandbox, 5)).testClock?.aheadMs).toBe(5)
    expect(() => applyProject(before, moved(sandbox, 4))).toThrow("4 ms ahead, after 5 ms")
    expect(() => applyProject(before, moved(production, 6))).toThrow("prj_1:production")
  })

  it.effect("is never written for production", () =>
    Effect.gen(function* () {
      yield* at(beginning)
      const state = new MemoryStorage.MemoryState()
      const { engine } = yield* start(MemoryStorage.make({ state }), quiet)
      const to = Date.parse("2026-12-01T00:00:00Z")
      const asked = engine.askProject(production, { kind: "advanceClock", to })
      expect((yield* Effect.flip(asked)).code).toBe("internal_error")
      expect(recordsOf(state)).toEqual([])
      expect(engine.timeIn(production)).toBe(engine.now())
    }),
  )
})
