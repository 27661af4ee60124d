import { describe, expect, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { JournalUpkeep } from "../../src/engine/JournalUpkeep.ts"
import { limits } from "../../src/Limits.ts"
import { batchOf } from "../../src/storage/Frames.ts"
import { Broken, type Storage } from "../../src/storage/Storage.ts"
import * as MemoryStorage from "../storage/MemoryStorage.ts"

const day = 86_400_000

/** A journal whose record n was made at hour n; each record is a segment. */
const upkeepOf = Effect.fnUntraced(function* (
  hours: number,
  more: {
    readonly historyMs?: number
    readonly watermark?: number
    readonly held?: number
    readonly storage?: Partial<Storage["Service"]>
  } = {},
) {
  const memory = MemoryStorage.make()
  const bodies = Array.from({ length: hours }, (_, hour) =>
    Buffer.from(JSON.stringify({ sequence: hour + 1, at: (hour + 1) * 3_600_000 })),
  )
  yield* memory.append(batchOf(1, bodies))
  const prunes: Array<ReadonlyArray<number | undefined>> = []
  const prune = (...bounds: ReadonlyArray<number | undefined>) =>
    Effect.sync(() => void prunes.push(bounds))
  const time = { now: hours * 3_600_000 }
  const upkeep = new JournalUpkeep({
    storage: { ...memory, prune, ...more.storage },
    now: () => time.now,
    historyMs: more.historyMs,
    watermark: () => more.watermark ?? hours,
    held: Effect.succeed(more.held ?? Number.POSITIVE_INFINITY),
  })
  return { memory, prunes, time, upkeep }
})

describe("The upkeep of the journal", () => {
  it.effect("prunes nothing without a bound of history", () =>
    Effect.gen(function* () {
      const { prunes, upkeep } = yield* upkeepOf(200)
      yield* upkeep.keep
      expect(prunes).toEqual([[0, 0, 200]])
    }),
  )

  it.effect("prunes what is older than the bound, but not what a snapshot or a reader needs", () =>
    Effect.gen(function* () {
      const historyMs = 5 * day
      const wishes = [
        [{}, 200 - 120],
        [{ watermark: 50 }, 51],
        [{ held: 33 }, 33],
        [{ watermark: 50, held: 60 }, 51],
      ] as const
      for (const [more, below] of wishes) {
        const { prunes, upkeep } = yield* upkeepOf(200, { historyMs, ...more })
        yield* upkeep.keep
        expect(prunes[0]?.[0]).toBe(below)
      }
    }),
  )

  it.effect(
    "ends the newest segment when its first record is journalSegmentMs old, not before",
    () =>
      Effect.gen(function* () {
        const { prunes, time, upkeep } = yield* upkeepOf(10)
        time.now += limits.journalSegmentMs - 1
        yield* upkeep.keep
        time.now += 1
        yield* upkeep.keep
        expect(prunes.map(([, closeThrough]) => closeThrough)).toEqual([0, 10])
      }),
  )

  it.effect("takes the time of the next record where the first was erased", () =>
    Effect.gen(function* () {
      const { memory, prunes, upkeep } = yield* upkeepOf(200, { historyMs: 5 * day })
      yield* memory.eraseRecords(Array.from({ length: 60 }, (_, index) => 50 + index))
      yield* upkeep.keep
      expect(prunes[0]?.[0]).toBe(49)
    }),
  )

  it.effect("goes on although a segment is damaged, and does not prune it", () =>
    Effect.gen(function* () {
      const fault = new Broken({ operation: "read", cause: new Error("damaged") })
      const readRecords = () => Stream.fail(fault)
      const { prunes, upkeep } = yield* upkeepOf(200, {
        historyMs: 5 * day,
        storage: { readRecords },
      })
      yield* upkeep.keep
      expect(prunes).toEqual([[0, 0, 200]])
    }),
  )
})
