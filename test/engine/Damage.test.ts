/** Each reader reports a value that is damaged under a running engine, by the name of the value. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { TestClock } from "effect/testing"
import { limits } from "../../src/Limits.ts"
import { rangeOf } from "../../src/storage/Keys.ts"
import { Broken, Damaged, type Table } from "../../src/storage/Storage.ts"
import { yieldToEventLoop } from "../../src/storage/yieldToEventLoop.ts"
import * as MemoryStorage from "../storage/MemoryStorage.ts"
import { event, type Fixture, once, reward, sandbox, start, startInMemory } from "./fixture.ts"

const hour = 3_600_000
const seldom = { clockCheckMs: hour, snapshotIntervalMs: hour }

/** Flips a bit in the middle of each value of a table. */
const damage = (state: MemoryStorage.MemoryState, table: Table): void => {
  const values = state.table(table)
  for (const [key, value] of values.entries({ table, ...rangeOf(new Uint8Array()) })) {
    const damaged = Uint8Array.from(value)
    damaged[value.length >> 1]! ^= 1
    values.set(key, damaged)
  }
}

/** A new engine over the storage of an earlier one: a cold user with an id and a kept answer. */
const restarted = Effect.gen(function* () {
  const state = new MemoryStorage.MemoryState()
  const first = yield* startInMemory({ state }, seldom)
  yield* first.engine.askUser(sandbox, event("u1", "TAP", { id: "e1" }))
  yield* first.engine.askUser(sandbox, reward("u1", 1), once("k1"))
  yield* first.close()
  return { state, ...(yield* startInMemory({ state }, seldom)) }
})

const reported = Effect.fnUntraced(function* ({ broken }: Fixture) {
  while (broken.length === 0) yield* yieldToEventLoop
  return broken[0]!
})

describe("A value that is damaged after the start", () => {
  it.effect("is reported by its name when an id is looked up", () =>
    Effect.gen(function* () {
      const running = yield* restarted
      damage(running.state, "eventIds")
      yield* Effect.forkChild(running.engine.askUser(sandbox, event("u1", "TAP", { id: "e1" })))
      const { cause } = yield* reported(running)
      expect(cause).toBeInstanceOf(Damaged)
      expect(String(cause)).toMatch(/The value \S+ of table eventIds is damaged/)
    }),
  )

  it.effect("is reported by its name when background work reads it", () =>
    Effect.gen(function* () {
      const running = yield* restarted
      damage(running.state, "idempotency")
      yield* TestClock.adjust(limits.idempotencyRetentionMs + hour)
      const { cause } = yield* reported(running)
      expect(cause).toBeInstanceOf(Damaged)
      expect(String(cause)).toMatch(/The value \S+"k1"\S* of table idempotency is damaged/)
    }),
  )
})

describe("A record that is damaged in the journal", () => {
  it.effect("fails only what needs it, and the server goes on", () =>
    Effect.gen(function* () {
      const state = new MemoryStorage.MemoryState()
      const first = yield* startInMemory({ state }, seldom)
      yield* first.engine.askUser(sandbox, event("u1", "TAP", { id: "e1" }))
      yield* first.engine.askUser(sandbox, event("u1", "TAP", { id: "e2" }))
      yield* first.engine.askUser(sandbox, event("u2", "TAP", { id: "e3" }))
      yield* first.close()
      const memory = MemoryStorage.make({ state })
      const { broken, engine } = yield* start(
        {
          ...memory,
          readRecord: (sequence, work) =>
            sequence === 1
              ? Effect.fail(new Broken({ operation: "read", cause: new Damaged("a block") }))
              : memory.readRecord(sequence, work),
        },
        seldom,
      )
      const unavailable = { code: "storage_unavailable", retryAfterSeconds: 3_600 }
      // A repeat, an undo and a history that need the record.
      const repeat = engine.askUser(sandbox, event("u1", "TAP", { id: "e1" }))
      expect(yield* Effect.flip(repeat)).toMatchObject(unavailable)
      const command = { kind: "revocation", of: "event", sequence: 1, at: 0 } as const
      const undo = engine.askUser(sandbox, { userId: "u1", command })
      expect(yield* Effect.flip(undo)).toMatchObject(unavailable)
      const history = Stream.runCollect(engine.readHistory(sandbox, "u1"))
      expect(yield* Effect.flip(history)).toMatchObject(unavailable)
      // Everything else.
      const second = yield* engine.askUser(sandbox, event("u1", "TAP", { id: "e2" }))
      expect(second.reply.duplicate).toBe(true)
      yield* engine.askUser(sandbox, event("u1", "TAP"))
      const others = yield* Stream.runCollect(engine.readHistory(sandbox, "u2"))
      expect(others.flat()).toHaveLength(1)
      expect(broken).toEqual([])
    }),
  )
})
