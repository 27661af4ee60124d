/** Each reader reports a value that is damaged under a running engine, by the name of the value. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { limits } from "../../src/Limits.ts"
import { rangeOf } from "../../src/storage/Keys.ts"
import * as MemoryStorage from "../../src/storage/MemoryStorage.ts"
import { Damaged, type Table } from "../../src/storage/Storage.ts"
import { yieldToEventLoop } from "../../src/storage/yieldToEventLoop.ts"
import { event, type Fixture, once, reward, sandbox, startInMemory } from "./fixture.ts"

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
      damage(running.state, "history")
      yield* Effect.forkChild(running.engine.askUser(sandbox, event("u1", "TAP", { id: "e1" })))
      const { cause } = yield* reported(running)
      expect(cause).toBeInstanceOf(Damaged)
      expect(String(cause)).toMatch(/The value \S+ of table history is damaged/)
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
