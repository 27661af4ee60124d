import { describe, expect, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { TestClock } from "effect/testing"
import { limits } from "../../../src/Limits.ts"
import { tables } from "../../../src/storage/Storage.ts"
import { yieldToEventLoop } from "../../../src/storage/yieldToEventLoop.ts"
import { limitedInFile, smallBuckets } from "../../limited.ts"
import * as MemoryStorage from "../../storage/MemoryStorage.ts"
import { reward, sandbox, start, startInMemory } from "../fixture.ts"

// A slice has two buckets.
limitedInFile({ ...smallBuckets, snapshotPacedBytesMax: 8_000 })

const users = Array.from({ length: 300 }, (_, n) => `user-${n}`)
const intervalMs = 100_000

/** An engine whose users all changed, and the times at which their buckets are written. */
const paced = Effect.gen(function* () {
  const state = new MemoryStorage.MemoryState()
  const memory = MemoryStorage.make({ state })
  const times: Array<number> = []
  const { engine } = yield* start(
    {
      ...memory,
      writeEntries: (entries) =>
        Effect.flatMap(Clock.currentTimeMillis, (now) => {
          for (const { table } of entries) if (table === "buckets") times.push(now)
          return memory.writeEntries(entries)
        }),
    },
    { snapshotIntervalMs: intervalMs },
  )
  yield* engine.askUsers(
    sandbox,
    users.map((userId) => reward(userId, 1)),
  )
  return { engine, state, times }
})

/** Lets `ms` pass, in steps after which what is due is done. */
const pass = Effect.fnUntraced(function* (ms: number) {
  for (let passed = 0; passed < ms; passed += 1_000) {
    yield* TestClock.adjust(1_000)
    for (let turn = 0; turn < 30; turn++) yield* yieldToEventLoop
  }
})

/** What is stored now, as after a crash. */
const copyOf = (state: MemoryStorage.MemoryState): MemoryStorage.MemoryState => {
  const copy = new MemoryStorage.MemoryState()
  copy.records = [...state.records]
  copy.firstSequence = state.firstSequence
  for (const table of tables) {
    const range = { table, from: new Uint8Array(), until: Uint8Array.of(255) }
    for (const [key, value] of state.table(table).entries(range)) copy.table(table).set(key, value)
  }
  return copy
}

describe("The states of users in a snapshot", () => {
  it.effect("are written over snapshotPaceShare of the interval, a few buckets at a time", () =>
    Effect.gen(function* () {
      const { times } = yield* paced
      yield* pass(2 * intervalMs)
      const buckets = times.length
      expect(buckets).toBeGreaterThan(10)
      const [first, last] = [times[0]!, times.at(-1)!]
      const paceMs = intervalMs * limits.snapshotPaceShare
      expect(first).toBe(intervalMs)
      expect(last - first).toBeGreaterThan(paceMs * 0.8)
      expect(last - first).toBeLessThanOrEqual(paceMs)
      const early = times.filter((at) => at - first <= paceMs / 2).length
      expect(early).toBeGreaterThan(buckets * 0.3)
      expect(early).toBeLessThan(buckets * 0.7)
    }),
  )

  it.effect("are written at once when the engine ends meanwhile", () =>
    Effect.gen(function* () {
      const { engine, state, times } = yield* paced
      yield* pass(intervalMs)
      const before = times.length
      expect(before).toBeGreaterThan(0)
      yield* engine.drain
      expect(times.length).toBeGreaterThan(before)
      expect(times.at(-1)).toBeLessThanOrEqual(intervalMs)
      const again = yield* startInMemory({ state })
      for (const userId of users) {
        expect((yield* again.engine.readUser(sandbox, userId))?.xp).toBe(1)
      }
    }),
  )

  it.effect("wait for the board of a window that closes meanwhile", () =>
    Effect.gen(function* () {
      const dayMs = 86_400_000
      const midnight = 20_000 * dayMs
      yield* TestClock.setTime(midnight - intervalMs * (1 + limits.snapshotPaceShare / 2))
      const memory = MemoryStorage.make()
      const order: Array<"buckets" | "board" | "closed"> = []
      const { engine } = yield* start(
        {
          ...memory,
          writeEntries: (entries) => {
            for (const { table } of entries) {
              if (table === "buckets") order.push("buckets")
              if (table === "boards") order.push("board")
            }
            return memory.writeEntries(entries)
          },
        },
        {
          snapshotIntervalMs: intervalMs,
          onCommitted: ({ facts }) => {
            if (facts.some(({ kind }) => kind === "leaderboard.window_closed")) order.push("closed")
          },
        },
      )
      yield* engine.askUsers(
        sandbox,
        users.map((userId) => reward(userId, 1)),
      )
      yield* pass(2 * intervalMs)
      const closed = order.lastIndexOf("closed")
      expect(order.slice(0, closed)).toContain("buckets")
      expect(order.slice(0, closed)).not.toContain("board")
      expect(order.slice(closed + 1)).toContain("buckets")
      expect(order[closed + 1]).toBe("board")
    }),
  )

  it.effect("come back after a crash between any two slices, with the journal", () =>
    Effect.gen(function* () {
      const { engine, state, times } = yield* paced
      yield* pass(intervalMs)
      for (let round = 0; times.length < 20; round++) {
        yield* engine.askUsers(
          sandbox,
          users.slice(0, 5 * round).map((userId) => reward(userId, 1)),
        )
        yield* pass(2_000)
        const again = yield* startInMemory({ state: copyOf(state) })
        for (const userId of users) {
          const expected = yield* engine.readUser(sandbox, userId)
          expect(yield* again.engine.readUser(sandbox, userId)).toEqual(expected)
        }
        yield* again.close("kill")
      }
    }),
  )
})
