import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber, Latch } from "effect"
import { TestClock } from "effect/testing"
import type { MetricAggregate } from "../../../src/domain/project/Metric.ts"
import type { FactOf, JournalRecord } from "../../../src/domain/record/Record.ts"
import type { Engine } from "../../../src/engine/Engine.ts"
import { limits } from "../../../src/Limits.ts"
import { yieldToEventLoop } from "../../../src/storage/yieldToEventLoop.ts"
import { badgeWith, metricWith } from "../../domain/definitions.ts"
import { limitedInFile } from "../../limited.ts"
import * as MemoryStorage from "../../storage/MemoryStorage.ts"
import { event, recordsOf, sandbox, startInMemory } from "../fixture.ts"

limitedInFile({ metricUndoRecordsMax: 5 })

type Verbs = Engine["Service"]

const define = Effect.fnUntraced(function* (engine: Verbs, aggregate: MetricAggregate) {
  const value = aggregate === "distinct_days" ? null : "amount"
  const metric = metricWith({ id: "m", key: "m", aggregate, value })
  yield* engine.askProject(sandbox, { kind: "createMetric", metric })
  const criteria = { kind: "metric", metric: "m", target: 9 } as const
  const badge = badgeWith({ id: "b", criteria })
  yield* engine.askProject(sandbox, { kind: "createBadge", badge })
})

/** Events with these amounts, and the undo of the first one. */
const trackedAndUndone = Effect.fnUntraced(function* (
  engine: Verbs,
  state: MemoryStorage.MemoryState,
  amounts: ReadonlyArray<number>,
) {
  for (const amount of amounts) {
    yield* engine.askUser(sandbox, event("u1", "TAP", { metadata: { amount } }))
  }
  const first = recordsOf(state).find(
    ({ cause, subject }) =>
      cause.kind === "event" && subject.actor === "user" && subject.userId === "u1",
  )!
  const { at, sequence } = first
  const command = { kind: "revocation", of: "event", sequence, at } as const
  yield* engine.askUser(sandbox, { userId: "u1", command })
})

const metricOf = (engine: Verbs) =>
  Effect.map(engine.readUser(sandbox, "u1"), (user) => user?.metrics.get("m"))

/** Passes time until no recount is under way. */
const recounted = Effect.fnUntraced(function* (engine: Verbs) {
  for (let turn = 0; turn < 1_000; turn++) {
    if ((yield* metricOf(engine))?.recalculating !== true) return
    yield* TestClock.adjust(100)
    yield* yieldToEventLoop
  }
  throw new Error("The recount does not end")
})

/** The causes of the changes of the metric by no event, each with the total. */
const changes = (records: ReadonlyArray<JournalRecord>) =>
  records.flatMap(({ cause, facts }) =>
    facts
      .filter((fact): fact is FactOf<"metric.changed"> => fact.kind === "metric.changed")
      .filter(({ counted }) => counted === undefined)
      .map(({ state, total }) => [cause.kind, total, state?.recalculating === true]),
  )

describe("The undo of a largest value", () => {
  it.effect("reads as many records as the limit says, and has the next value at once", () =>
    Effect.gen(function* () {
      const state = new MemoryStorage.MemoryState()
      const { engine } = yield* startInMemory({ state })
      yield* define(engine, "max")
      yield* trackedAndUndone(engine, state, [9, ...Array(limits.metricUndoRecordsMax - 2).fill(3)])
      expect(changes(recordsOf(state))).toEqual([["revocation", 3, false]])
      expect((yield* engine.readUser(sandbox, "u1"))?.badges.size).toBe(0)
    }),
  )

  it.effect("recounts a longer history in the background, and revokes the badge by it", () =>
    Effect.gen(function* () {
      const state = new MemoryStorage.MemoryState()
      const { engine } = yield* startInMemory({ state })
      yield* define(engine, "max")
      yield* trackedAndUndone(engine, state, [9, 2, 3, 3, 1, 2, 2, 1])
      yield* recounted(engine)
      expect(changes(recordsOf(state))).toEqual([
        ["revocation", 9, true],
        ["tick", 3, false],
      ])
      const user = yield* engine.readUser(sandbox, "u1")
      expect(user?.badges.size).toBe(0)
      expect(user?.metrics.get("m")?.values[0]).toBe(3)
    }),
  )

  it.effect("does not read a longer history if a late record replaces the value", () =>
    Effect.gen(function* () {
      const state = new MemoryStorage.MemoryState()
      const { engine } = yield* startInMemory({ state })
      yield* define(engine, "max")
      yield* trackedAndUndone(engine, state, [9, 2, 3, 3, 1, 2, 2, 9])
      expect(changes(recordsOf(state))).toEqual([["revocation", 9, false]])
      expect((yield* engine.readUser(sandbox, "u1"))?.badges.size).toBe(1)
    }),
  )

  it.effect("is recounted after the next start if the server ends before", () =>
    Effect.gen(function* () {
      const state = new MemoryStorage.MemoryState()
      const gate = Latch.makeUnsafe(true)
      const first = yield* startInMemory(
        { state, onAppend: () => Latch.await(gate) },
        {
          onCommitted: ({ cause }) => {
            if (cause.kind === "revocation") gate.closeUnsafe()
          },
        },
      )
      yield* define(first.engine, "last")
      yield* trackedAndUndone(first.engine, state, [9, 2, 3, 3, 1, 2, 2, 1])
      yield* first.close("kill")
      const { engine } = yield* startInMemory({ state })
      yield* recounted(engine)
      expect(changes(recordsOf(state))).toEqual([
        ["revocation", 1, true],
        ["tick", 1, false],
      ])
      expect((yield* metricOf(engine))?.values[0]).toBe(1)
    }),
  )

  it.effect("is recounted with the events of a user who is merged during the recount", () =>
    Effect.gen(function* () {
      const state = new MemoryStorage.MemoryState()
      const gate = Latch.makeUnsafe(true)
      const { engine } = yield* startInMemory({ state, onAppend: () => Latch.await(gate) })
      yield* define(engine, "max")
      const other = event("u2", "TAP", { metadata: { amount: 7 } })
      yield* engine.askUser(sandbox, other)
      yield* trackedAndUndone(engine, state, [9, 2, 3, 3, 1, 2, 2, 1])
      expect((yield* metricOf(engine))?.recalculating).toBe(true)
      // The recount reads the history before the merge is durable, and ends after it.
      gate.closeUnsafe()
      const command = { kind: "merge", into: "u1" } as const
      const merged = yield* Effect.forkChild(engine.askUser(sandbox, { userId: "u2", command }), {
        startImmediately: true,
      })
      for (let turn = 0; turn < 20; turn++) {
        yield* Effect.andThen(TestClock.adjust(100), yieldToEventLoop)
      }
      gate.openUnsafe()
      yield* Fiber.join(merged)
      yield* recounted(engine)
      expect((yield* metricOf(engine))?.values[0]).toBe(7)
    }),
  )
})
