import { describe, expect, it } from "@effect/vitest"
import { Clock, Effect, Exit, Latch, Stream } from "effect"
import { TestClock } from "effect/testing"
import { vi } from "vitest"
import { BoardBuilder } from "../../../src/domain/board/Leaderboard.ts"
import type { RecoveryReport } from "../../../src/engine/recovery/Recovery.ts"
import { limits } from "../../../src/Limits.ts"
import { Damaged, Unavailable } from "../../../src/storage/Storage.ts"
import { DamagedValue } from "../../../src/storage/Values.ts"
import { yieldToEventLoop } from "../../../src/storage/yieldToEventLoop.ts"
import * as MemoryStorage from "../../storage/MemoryStorage.ts"
import { event, production, reward, sandbox, start, startInMemory } from "../fixture.ts"

const reporting = () => {
  const reports: Array<RecoveryReport> = []
  return { reports, onRecovered: (report: RecoveryReport) => reports.push(report) }
}

const buckets = {
  table: "buckets",
  from: new Uint8Array(),
  until: new Uint8Array([255]),
} as const

describe("Recovery", () => {
  it.effect("replays the records that the snapshot lacks, and reports their number", () =>
    Effect.gen(function* () {
      const state = new MemoryStorage.MemoryState()
      const first = yield* startInMemory({ state }, { snapshotIntervalMs: 1_000 })
      for (const user of ["u1", "u2", "u3"]) yield* first.engine.askUser(sandbox, reward(user, 5))
      yield* TestClock.adjust(1_000)
      yield* first.engine.askUser(sandbox, reward("u1", 5))
      yield* first.engine.askUser(production, reward("u9", 5))
      yield* first.close("kill")
      const { onRecovered, reports } = reporting()
      const second = yield* startInMemory({ state }, { onRecovered })
      expect(reports).toMatchObject([
        { watermark: 3, lastSequence: 5, users: 3, recordsReplayed: 2 },
      ])
      const board = yield* second.engine.readBoard(sandbox, { limit: 10, offset: 0 })
      expect(board.entries.map(({ rank, userId }) => [rank, userId])).toEqual([
        [1, "u1"],
        [2, "u2"],
        [2, "u3"],
      ])
      expect((yield* second.engine.readBoard(production, { limit: 10, offset: 0 })).total).toBe(1)
    }),
  )

  it.effect("lists each environment's users on its own boards", () =>
    Effect.gen(function* () {
      const state = new MemoryStorage.MemoryState()
      const first = yield* startInMemory({ state })
      const users = {
        [`${sandbox}-longer`]: ["u1"],
        [sandbox]: ["u1", "u2"],
        [production]: ["u2", "u3", "u4"],
      }
      for (const [environment, ids] of Object.entries(users)) {
        for (const id of ids) yield* first.engine.askUser(environment, reward(id, 5))
      }
      yield* first.close()
      const { onRecovered, reports } = reporting()
      const second = yield* startInMemory({ state }, { onRecovered })
      expect(reports).toMatchObject([{ users: 6, recordsReplayed: 0 }])
      for (const [environment, ids] of Object.entries(users)) {
        for (const window of [undefined, "daily"] as const) {
          const query = { limit: 10, offset: 0, ...(window && { window }) }
          const { entries } = yield* second.engine.readBoard(environment, query)
          expect(entries.map(({ userId }) => userId)).toEqual(ids)
        }
      }
    }),
  )

  it.effect("continues with the next sequence, and never lets time go back", () =>
    Effect.gen(function* () {
      const state = new MemoryStorage.MemoryState()
      yield* TestClock.setTime(1_000_000)
      const first = yield* startInMemory({ state })
      yield* first.engine.askUser(sandbox, reward("u1", 5))
      yield* first.close("kill")
      yield* TestClock.setTime(500_000)
      const second = yield* startInMemory({ state })
      yield* second.engine.askUser(sandbox, reward("u1", 5))
      expect(second.committed).toMatchObject([{ sequence: 2, at: 1_000_000 }])
    }),
  )

  it.effect("refuses a journal that ends before the snapshot, and names what is missing", () =>
    Effect.gen(function* () {
      const state = new MemoryStorage.MemoryState()
      const first = yield* startInMemory({ state })
      yield* first.engine.askUser(sandbox, reward("u1", 5))
      yield* first.close()
      state.records = []
      const error = yield* Effect.flip(startInMemory({ state }))
      expect(String(error._tag === "Broken" && error.cause)).toContain("segments are missing")
    }),
  )

  it.effect("refuses a journal with a record out of sequence as damage", () =>
    Effect.gen(function* () {
      const state = new MemoryStorage.MemoryState()
      const first = yield* startInMemory({ state })
      for (const amount of [1, 2, 3]) yield* first.engine.askUser(sandbox, reward("u1", amount))
      yield* first.close("kill")
      const [one, two, three] = state.records
      state.records = [one!, { ...two!, body: three!.body }, three!]
      const error = yield* Effect.flip(startInMemory({ state }))
      const cause = error._tag === "Broken" ? error.cause : undefined
      expect(cause).toBeInstanceOf(Damaged)
      expect(String(cause)).toContain("The journal has record 3 in the place of record 2")
    }),
  )

  it.effect("refuses a damaged value, and names it", () =>
    Effect.gen(function* () {
      const state = new MemoryStorage.MemoryState()
      const first = yield* startInMemory({ state })
      yield* first.engine.askUser(sandbox, reward("u1", 5))
      yield* first.close()
      const [key, value] = [...state.table("buckets").entries(buckets)][0]!
      value[12]! ^= 1
      state.table("buckets").set(key, value)
      const error = yield* Effect.flip(startInMemory({ state }))
      const cause = String(error._tag === "Broken" && error.cause)
      expect(cause).toContain(`The value ["${sandbox}",0] of table buckets is damaged`)
    }),
  )

  it.effect("reports a bucket that the store has twice as damage", () =>
    Effect.gen(function* () {
      const state = new MemoryStorage.MemoryState()
      const first = yield* startInMemory({ state })
      yield* first.engine.askUser(sandbox, reward("u1", 5))
      yield* first.close()
      const storage = MemoryStorage.make({ state })
      // As if two pointers in a page led to the same entry.
      const readBlocks: typeof storage.readBlocks = (range) =>
        Stream.concat(storage.readBlocks(range), storage.readBlocks(range))
      const error = yield* Effect.flip(start({ ...storage, readBlocks }))
      expect(error._tag === "Broken" && error.cause).toBeInstanceOf(DamagedValue)
      expect(String(error)).toContain("a bucket is stored twice")
    }),
  )

  it.effect("does not report another failure of a board as damage", () =>
    Effect.gen(function* () {
      const state = new MemoryStorage.MemoryState()
      const first = yield* startInMemory({ state })
      yield* first.engine.askUser(sandbox, reward("u1", 5))
      yield* first.close()
      const defect = new RangeError("Invalid typed array length")
      const building = vi.spyOn(BoardBuilder.prototype, "build").mockImplementation(() => {
        throw defect
      })
      const failed = yield* Effect.exit(startInMemory({ state }))
      building.mockRestore()
      expect(failed).toEqual(Exit.die(defect))
    }),
  )
})

describe("The periodic snapshot", () => {
  it.effect(
    "without space loses nothing, lets writes continue, and is taken once there is space",
    () =>
      Effect.gen(function* () {
        const state = new MemoryStorage.MemoryState()
        const memory = MemoryStorage.make({ state })
        const disk = { full: true, refused: 0 }
        const { broken, close, engine } = yield* start(
          {
            ...memory,
            writeEntries: (entries) =>
              Effect.suspend(() => {
                if (!disk.full) return memory.writeEntries(entries)
                disk.refused++
                return Effect.fail(new Unavailable({ operation: "write", reason: "disk_full" }))
              }),
          },
          { snapshotIntervalMs: 1_000 },
        )
        yield* engine.askUser(sandbox, reward("u1", 5, "r1"))
        yield* TestClock.adjust(5_000)
        expect(disk.refused).toBeGreaterThan(1)
        yield* engine.askUser(sandbox, reward("u1", 5, "r2"))
        disk.full = false
        yield* TestClock.adjust(2_000)
        yield* close("kill")
        expect(broken).toEqual([])
        const { onRecovered, reports } = reporting()
        const second = yield* startInMemory({ state }, { onRecovered })
        expect(reports).toMatchObject([{ watermark: 2, recordsReplayed: 0 }])
        const again = yield* second.engine.askUser(sandbox, reward("u1", 5, "r1"))
        expect(again.reply).toMatchObject({ duplicate: true, xp: { total: 5 } })
      }),
  )

  it.effect("keeps the journal for the days of history, and prunes what is older", () =>
    Effect.gen(function* () {
      const memory = MemoryStorage.make()
      let pruned = 0
      const { committed, engine } = yield* start(
        {
          ...memory,
          prune: (sequence) => {
            pruned = Math.max(pruned, sequence)
            return memory.prune(sequence)
          },
        },
        { snapshotIntervalMs: 60_000, historyMs: 7 * 86_400_000 },
      )
      const dayMs = 86_400_000
      const { journalHeartbeatMs, journalUpkeepMs } = limits
      const days = 7
      const historyMs = days * dayMs
      for (let day = 0; day <= days + 2; day++) {
        yield* engine.askUser(sandbox, event("u1", "TAP"))
        yield* TestClock.adjust(60_000 + journalUpkeepMs)
        const now = yield* Clock.currentTimeMillis
        const age = ({ at }: { readonly at: number }) => now - at
        for (const record of committed) {
          if (record.sequence < pruned) expect(age(record)).toBeGreaterThan(historyMs)
          else expect(age(record)).toBeLessThan(historyMs + 2 * journalHeartbeatMs)
        }
        yield* TestClock.adjust(dayMs - 60_000 - journalUpkeepMs)
      }
      expect(pruned).toBeGreaterThan(1)
    }),
  )

  it.effect("without writes appends a heartbeat after heartbeatMs, not before", () =>
    Effect.gen(function* () {
      const [heartbeatMs, snapshotIntervalMs] = [3_600_000, 60_000]
      const { committed, engine } = yield* start(MemoryStorage.make(), {
        ...{ heartbeatMs, snapshotIntervalMs },
      })
      yield* engine.askUser(sandbox, event("u1", "TAP"))
      const records = committed.length
      // The interval begins with the snapshot that has the event.
      yield* TestClock.adjust(heartbeatMs)
      expect(committed).toHaveLength(records)
      yield* TestClock.adjust(2 * snapshotIntervalMs)
      expect(committed.slice(records)).toMatchObject([
        { subject: { actor: "directory" }, facts: [] },
      ])
    }),
  )

  // Timers that fire every second of a year would take most of the test.
  const never = 1_000 * 86_400_000
  const rare = { clockCheckMs: never, heartbeatMs: never }

  it.effect("keeps all records unless history is kept for some days only", () =>
    Effect.gen(function* () {
      const memory = MemoryStorage.make()
      const pruned: Array<number> = []
      const { engine } = yield* start(
        { ...memory, prune: (sequence) => Effect.sync(() => pruned.push(sequence)) },
        { ...rare, journalUpkeepMs: 86_400_000, snapshotIntervalMs: 86_400_000 },
      )
      yield* engine.askUser(sandbox, event("u1", "TAP"))
      yield* TestClock.adjust(400 * 86_400_000)
      expect(new Set(pruned)).toEqual(new Set([0]))
    }),
  )

  it.effect("keeps records that a reader needs beyond the days of history", () =>
    Effect.gen(function* () {
      const memory = MemoryStorage.make()
      const pruned: Array<number> = []
      const { engine } = yield* start(
        { ...memory, prune: (sequence) => Effect.sync(() => pruned.push(sequence)) },
        { snapshotIntervalMs: 60_000, historyMs: 7 * 86_400_000 },
      )
      let needed = 3
      yield* engine.feed.hold(Effect.sync(() => needed))
      const dayMs = 86_400_000
      const days = 7
      for (let day = 0; day <= days + 5; day++) {
        yield* engine.askUser(sandbox, event("u1", "TAP"))
        yield* TestClock.adjust(60_000)
        if (day === days + 4) needed = 5
        yield* TestClock.adjust(dayMs - 60_000)
      }
      expect([...new Set(pruned)]).toEqual([0, 2, 3, 5])
    }),
  )

  it.effect("in relaxed durability never has more than the journal", () =>
    Effect.gen(function* () {
      const state = new MemoryStorage.MemoryState()
      const gate = yield* Latch.make(false)
      const { engine } = yield* startInMemory(
        { state, onAppend: () => Latch.await(gate) },
        { durability: "relaxed", snapshotIntervalMs: 1_000 },
      )
      yield* engine.askUser(sandbox, reward("u1", 5))
      yield* TestClock.adjust(5_000)
      for (let turn = 0; turn < 20; turn++) yield* yieldToEventLoop
      expect(state.records).toEqual([])
      expect(state.table("buckets").entries(buckets)).toEqual([])
      yield* Latch.open(gate)
      while (state.table("buckets").entries(buckets).length === 0) yield* yieldToEventLoop
      expect(state.records).toHaveLength(1)
    }),
  )

  it.effect(
    "that could not prune is complete nevertheless, and the next one continues from it",
    () =>
      Effect.gen(function* () {
        const state = new MemoryStorage.MemoryState()
        const memory = MemoryStorage.make({ state })
        const disk = { full: true }
        const { close, engine } = yield* start(
          {
            ...memory,
            prune: (sequence) =>
              Effect.suspend(() =>
                disk.full
                  ? Effect.fail(new Unavailable({ operation: "prune", reason: "disk_full" }))
                  : memory.prune(sequence),
              ),
          },
          { snapshotIntervalMs: 1_000 },
        )
        const first = yield* engine.askUser(sandbox, reward("u1", 5, "r1"))
        yield* TestClock.adjust(1_000)
        yield* engine.askUser(sandbox, reward("u2", 7, "r2"))
        yield* TestClock.adjust(1_000)
        disk.full = false
        yield* TestClock.adjust(2_000)
        yield* close()
        const second = yield* startInMemory({ state })
        const again = yield* second.engine.askUser(sandbox, reward("u1", 5, "r1"))
        expect(again.reply).toEqual({ ...first.reply, duplicate: true })
      }),
  )
})
