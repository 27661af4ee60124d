import { describe, expect, it } from "@effect/vitest"
import { Effect, Semaphore } from "effect"
import { TestClock } from "effect/testing"
import { AnswerExpiry, keptEntries } from "../../../src/engine/dedupe/KeptAnswers.ts"
import { limits } from "../../../src/Limits.ts"
import { rangeOf } from "../../../src/storage/Keys.ts"
import type { Entry } from "../../../src/storage/Storage.ts"
import { yieldToEventLoop } from "../../../src/storage/yieldToEventLoop.ts"
import * as MemoryStorage from "../../storage/MemoryStorage.ts"
import { once, reward, sandbox, startInMemory } from "../fixture.ts"

const hour = 3_600_000
const tables = ["idempotency", "expiry"] as const

/** The number of entries in each table of kept answers. */
const sizes = (state: MemoryStorage.MemoryState): ReadonlyArray<number> =>
  tables.map((table) => state.table(table).entries({ table, ...rangeOf(new Uint8Array()) }).length)

const until = Effect.fnUntraced(function* (isSo: () => boolean) {
  while (!isSo()) yield* yieldToEventLoop
})

/**
 * The entries of a kept answer to a reward, or to a batch whose answer fills about `pieces` pieces.
 */
const kept = (key: string, at: number, pieces = 0): ReadonlyArray<Entry> => {
  const result = { status: 404, detail: "u".repeat(100) }
  const count = Math.ceil(
    (pieces * limits.idempotencyPieceBytesMax) / JSON.stringify(result).length,
  )
  return keptEntries({
    sequence: 1,
    at,
    kept: { key, fingerprint: "f" },
    ...(pieces === 0
      ? {
          subject: { actor: "user", environment: sandbox, userId: "u1" },
          cause: { kind: "reward", type: "xp", amount: 1 },
          facts: [],
        }
      : {
          subject: { actor: "project", environment: sandbox },
          cause: { kind: "request" },
          facts: [
            {
              kind: "batch.answered",
              answer: { outcomes: Array.from({ length: count }, () => result) },
            },
          ],
        }),
  })
}

/**
 * An expiry at `now` over a storage with `entries`; `slices`: the entries that each write deleted.
 */
const expiryOver = (entries: ReadonlyArray<Entry>, now: number) =>
  Effect.gen(function* () {
    const state = new MemoryStorage.MemoryState()
    const storage = MemoryStorage.make({ state })
    yield* storage.writeEntries(entries)
    const slices: Array<number> = []
    const expiry = new AnswerExpiry({
      storage: {
        ...storage,
        writeEntries: (slice) => {
          slices.push([...slice].length)
          return storage.writeEntries(slice)
        },
      },
      now: () => now,
      alone: (slice) => slice,
    })
    return { expiry, slices, state }
  })

describe("Kept answers", () => {
  it.effect("are all deleted when their time is over, however many are due at once", () =>
    Effect.gen(function* () {
      const state = new MemoryStorage.MemoryState()
      const intervals = { snapshotIntervalMs: hour, clockCheckMs: hour }
      const { engine, close } = yield* startInMemory({ state }, intervals)
      const count = 2 * limits.expirySliceAnswersMax + 1
      for (let n = 0; n < count; n++) {
        yield* engine.askUser(sandbox, reward(`u${n % 10}`, 1), once(`k${n}`))
      }
      yield* TestClock.adjust(hour)
      yield* until(() => sizes(state)[1] === count)
      // Nothing is written after this, so no snapshot follows.
      yield* TestClock.adjust(limits.idempotencyRetentionMs)
      yield* until(() => sizes(state)[1] === 0)
      expect(sizes(state)).toEqual([0, 0])
      yield* close()
    }),
  )

  it.effect("are deleted in slices with a bounded number of answers", () =>
    Effect.gen(function* () {
      for (const [count, expected] of [
        [limits.expirySliceAnswersMax, [2 * limits.expirySliceAnswersMax]],
        [limits.expirySliceAnswersMax + 1, [2 * limits.expirySliceAnswersMax, 2]],
      ] as const) {
        const entries = Array.from({ length: count }, (_, n) => kept(`k${n}`, 0)).flat()
        const { expiry, slices, state } = yield* expiryOver(entries, limits.idempotencyRetentionMs)
        yield* expiry.sweep
        expect(slices).toEqual(expected)
        expect(sizes(state)).toEqual([0, 0])
      }
    }),
  )

  it.effect("are deleted in slices with a bounded number of entries, each answer whole", () =>
    Effect.gen(function* () {
      const entries = Array.from({ length: 12 }, (_, n) => kept(`k${n}`, 0, 1_000)).flat()
      const { expiry, slices, state } = yield* expiryOver(entries, limits.idempotencyRetentionMs)
      yield* expiry.sweep
      const answer = entries.length / 12
      expect(slices.length).toBeGreaterThan(1)
      for (const slice of slices.slice(0, -1)) {
        expect(slice).toBeGreaterThanOrEqual(limits.expirySliceEntriesMax)
        expect(slice).toBeLessThan(limits.expirySliceEntriesMax + answer)
      }
      expect(sizes(state)).toEqual([0, 0])
    }),
  )

  it.effect("stay until the millisecond at which their time is over", () =>
    Effect.gen(function* () {
      const entries = [...kept("old", 1_000), ...kept("young", 1_001)]
      const now = 1_000 + limits.idempotencyRetentionMs
      const { expiry, state } = yield* expiryOver(entries, now)
      yield* expiry.sweep
      expect(sizes(state)).toEqual([1, 1])
    }),
  )

  it.effect("of a key that was used again stay, and only the expired entry of it is deleted", () =>
    Effect.gen(function* () {
      const again = limits.idempotencyRetentionMs
      const entries = [...kept("k", 0), ...kept("k", again)]
      const { expiry, state } = yield* expiryOver(entries, again)
      expect(sizes(state)).toEqual([1, 2])
      yield* expiry.sweep
      expect(sizes(state)).toEqual([1, 1])
    }),
  )

  it.effect("let a waiting snapshot go before the next slice", () =>
    Effect.gen(function* () {
      const one = Semaphore.makeUnsafe(1)
      const order: Array<string> = []
      const storage = MemoryStorage.make()
      const count = limits.expirySliceAnswersMax + 1
      yield* storage.writeEntries(Array.from({ length: count }, (_, n) => kept(`k${n}`, 0)).flat())
      const snapshot = Semaphore.withPermit(
        one,
        Effect.sync(() => order.push("snapshot")),
      )
      const expiry = new AnswerExpiry({
        storage: {
          ...storage,
          writeEntries: (slice) =>
            Effect.gen(function* () {
              order.push("slice")
              if (order.length === 1) yield* Effect.forkDetach(snapshot, { startImmediately: true })
              yield* storage.writeEntries(slice)
            }),
        },
        now: () => limits.idempotencyRetentionMs,
        alone: (slice) => Semaphore.withPermit(one, slice),
      })
      yield* expiry.sweep
      expect(order).toEqual(["slice", "snapshot", "slice"])
    }),
  )
})
