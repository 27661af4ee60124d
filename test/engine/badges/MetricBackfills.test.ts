/** Backfills of metrics: the events of before a metric was created. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import type { MetricAggregate } from "../../../src/domain/project/Metric.ts"
import { metricTotal } from "../../../src/domain/user/MetricState.ts"
import { dateOf } from "../../../src/domain/values/Calendar.ts"
import type { Engine } from "../../../src/engine/Engine.ts"
import { limits } from "../../../src/Limits.ts"
import { yieldToEventLoop } from "../../../src/storage/yieldToEventLoop.ts"
import { metricWith } from "../../domain/definitions.ts"
import { limited } from "../../limited.ts"
import * as MemoryStorage from "../../storage/MemoryStorage.ts"
import { event, recordsOf, sandbox, start as startEngine, startInMemory } from "../fixture.ts"

type Verbs = Engine["Service"]

const define = (engine: Verbs, aggregate: MetricAggregate) => {
  const isCounted = aggregate === "count" || aggregate === "distinct_days"
  const value = isCounted ? null : "amount"
  const metric = metricWith({ id: "m", key: "m", aggregate, value, actions: ["TAP"] })
  return engine.askProject(sandbox, { kind: "createMetric", metric })
}

const start = (engine: Verbs) =>
  engine.askProject(sandbox, { kind: "startMetricBackfill", metricId: "m" })

const finished = Effect.fnUntraced(function* (engine: Verbs) {
  for (let turn = 0; turn < 1_000; turn++) {
    const run = yield* engine.readBackfill(sandbox, "m")
    if (run?.status === "finished") return run
    yield* TestClock.adjust(100)
    yield* yieldToEventLoop
  }
  throw new Error("The backfill does not end")
})

const track = (engine: Verbs, userId: string, amount: number) =>
  engine.askUser(sandbox, event(userId, "TAP", { metadata: { amount } }))

const totalOf = (engine: Verbs, userId: string) =>
  Effect.map(engine.readUser(sandbox, userId), (user) => metricTotal(user?.metrics.get("m")))

const undo = (engine: Verbs, state: MemoryStorage.MemoryState, amount: number) => {
  const found = recordsOf(state).find(
    ({ cause }) => cause.kind === "event" && cause.metadata?.amount === amount,
  )!
  const { at, sequence } = found
  const command = { kind: "revocation", of: "event", sequence, at } as const
  return engine.askUser(sandbox, { userId: "ann", command })
}

describe("A backfill of a metric", () => {
  it.effect.each([
    ["count", 4, 3],
    ["sum", 16, 12],
    ["max", 9, 9],
    ["min", 1, 1],
    ["last", 2, 2],
    ["distinct_days", 1, 1],
  ] as const)(
    "counts a %s of old and new events once, and an undo takes an old one back",
    ([aggregate, total, left]) =>
      Effect.gen(function* () {
        const state = new MemoryStorage.MemoryState()
        const { engine } = yield* startInMemory({ state })
        for (const amount of [4, 1]) yield* track(engine, "ann", amount)
        yield* track(engine, "ann", 7)
        yield* undo(engine, state, 7)
        yield* engine.askUser(sandbox, event("bob", "SWIPE"))
        yield* TestClock.adjust(1)
        yield* define(engine, aggregate)
        yield* track(engine, "ann", 9)
        yield* track(engine, "cem", 3)
        yield* start(engine)
        // Arrives while the backfill runs.
        yield* track(engine, "ann", 2)
        expect(yield* finished(engine)).toMatchObject({ awarded: 1 })
        expect(yield* totalOf(engine, "ann")).toBe(total)
        expect(yield* totalOf(engine, "bob")).toBe(null)
        yield* undo(engine, state, 4)
        expect(yield* totalOf(engine, "ann")).toBe(left)
        // A second run finds nothing more.
        yield* start(engine)
        expect(yield* finished(engine)).toMatchObject({ awarded: 0 })
        expect(yield* totalOf(engine, "ann")).toBe(left)
      }),
  )

  it.effect("goes on after a kill, and counts nobody twice", () =>
    Effect.gen(function* () {
      const state = new MemoryStorage.MemoryState()
      const before = yield* startEngine(MemoryStorage.make({ state }))
      const users = Array.from({ length: 300 }, (_, index) => `u${index}`)
      for (const userId of users) yield* track(before.engine, userId, 4)
      yield* TestClock.adjust(1)
      yield* define(before.engine, "sum")
      yield* start(before.engine)
      const counted = () => recordsOf(state).filter(({ cause }) => cause.kind === "tick").length
      while (counted() === 0) yield* yieldToEventLoop
      yield* before.close("kill")
      expect(counted()).toBeLessThan(users.length)
      const after = yield* startEngine(MemoryStorage.make({ state }))
      yield* finished(after.engine)
      for (const userId of users) expect(yield* totalOf(after.engine, userId)).toBe(4)
      expect(counted()).toBe(users.length)
      yield* after.close()
    }),
  )

  it.effect("is recounted after an undo if the zone of the event is forgotten", () =>
    Effect.gen(function* () {
      yield* limited({ pastZonesMax: 1 })
      yield* TestClock.setTime(Date.parse("2026-11-27T20:00:00Z"))
      const state = new MemoryStorage.MemoryState()
      const { engine } = yield* startInMemory({ state })
      const move = (timezone: string) => {
        const command = { kind: "profile", change: { timezone } } as const
        return engine.askUser(sandbox, { userId: "ann", command })
      }
      yield* move("Pacific/Auckland")
      yield* track(engine, "ann", 4)
      yield* TestClock.adjust(1)
      yield* define(engine, "distinct_days")
      yield* start(engine)
      yield* finished(engine)
      const days = (yield* engine.readUser(sandbox, "ann"))?.metrics.get("m")?.days
      expect(days?.map(([day]) => dateOf(day))).toEqual(["2026-11-28"])
      for (const zone of ["UTC", "America/Los_Angeles", "UTC"]) {
        yield* TestClock.adjust(1)
        yield* move(zone)
      }
      yield* undo(engine, state, 4)
      const metric = Effect.map(engine.readUser(sandbox, "ann"), (user) => user?.metrics.get("m"))
      while ((yield* metric)?.recalculating === true) {
        yield* Effect.andThen(TestClock.adjust(100), yieldToEventLoop)
      }
      expect(yield* metric).toBe(undefined)
    }),
  )

  it.effect("of a sum stops at the largest exact integer, and an undo counts it again", () =>
    Effect.gen(function* () {
      const state = new MemoryStorage.MemoryState()
      const { engine } = yield* startInMemory({ state })
      const most = limits.metricScaledMax
      const count = Math.ceil(Number.MAX_SAFE_INTEGER / most)
      yield* track(engine, "ann", 1)
      for (let events = 0; events < count; events++) yield* track(engine, "ann", most)
      yield* TestClock.adjust(1)
      yield* define(engine, "sum")
      yield* start(engine)
      yield* finished(engine)
      expect(yield* totalOf(engine, "ann")).toBe(Number.MAX_SAFE_INTEGER)
      yield* undo(engine, state, most)
      const user = engine.readUser(sandbox, "ann")
      while ((yield* user)?.metrics.get("m")?.recalculating === true) {
        yield* Effect.andThen(TestClock.adjust(100), yieldToEventLoop)
      }
      expect(yield* totalOf(engine, "ann")).toBe(1 + (count - 1) * most)
    }),
  )
})
