import { crc32 } from "node:zlib"
import { describe, expect, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber, Latch } from "effect"
import { TestClock } from "effect/testing"
import type { JournalRecord } from "../../../src/domain/record/Record.ts"
import { hashText } from "../../../src/engine/dedupe/IdIndex.ts"
import { EngineMetrics } from "../../../src/engine/metrics/EngineMetrics.ts"
import { Snapshotter } from "../../../src/engine/snapshot/Snapshotter.ts"
import { openState } from "../../../src/engine/state/EngineState.ts"
import { limits } from "../../../src/Limits.ts"
import { Metrics } from "../../../src/metrics/Metrics.ts"
import { EntrySlice } from "../../../src/storage/EntryBlock.ts"
import { rangeOf } from "../../../src/storage/Keys.ts"
import { type Storage, Unavailable } from "../../../src/storage/Storage.ts"
import { yieldToEventLoop } from "../../../src/storage/yieldToEventLoop.ts"
import * as MemoryStorage from "../../storage/MemoryStorage.ts"
import { sandbox } from "../fixture.ts"

/** Long, so that few users fill a slice. */
const idOf = (n: number): string => `u${n}${"-".repeat(100)}`

/**
 * A snapshotter over `storage`, and the actors of users, whose records `reward` makes durable: the
 * last record is that of `actor`.
 */
const world = Effect.fnUntraced(function* (
  storage: Storage["Service"],
  users = 1,
  sliceEntriesMax: number = limits.snapshotSliceEntriesMax,
) {
  const mark = { watermark: 0, at: 0 }
  const state = yield* openState({ storage, mark, now: () => 0 }, { idFilterBytes: 64 })
  const snapshotter = new Snapshotter({
    state,
    written: Effect.void,
    onEnded: () => {},
    sliceEntriesMax,
    metrics: new EngineMetrics(new Metrics()),
  })
  const { changed, erasures, ids, pending } = state
  const environment = state.environments.of(sandbox)
  const actors = Array.from({ length: users }, (_, n) => state.actorCache.add(environment, idOf(n)))
  const amount = 1
  const reward = (sequence: number, hash?: number) => {
    const actor = actors[sequence % users]!
    const record: JournalRecord = {
      sequence,
      at: 0,
      subject: actor.subject,
      cause: { kind: "reward", type: "xp", amount },
      facts: [
        { kind: "user.created" },
        { kind: "xp.earned", amount, total: sequence, source: "reward" },
      ],
    }
    const next = actor.kind.apply(actor.durable, record)
    // In the order of the commit stages: the last record asks for a snapshot before its state is
    // durable.
    pending.texts.keep(Buffer.from(JSON.stringify(record)), actor.lastAppended)
    pending.link(actor, hash)
    changed.committed(actor, sequence)
    environment.changed(actor)
    actor.lastDurable = sequence
    actor.durable = next
  }
  return {
    actor: actors[0]!,
    ...{ changed, environment, erasures, ids, pending, reward, snapshotter, state },
  }
})

describe("A snapshot", () => {
  it.effect(
    "that a commit requests has all records of the commit, in slices of a bounded size",
    () =>
      Effect.gen(function* () {
        const memory = MemoryStorage.make()
        const slices: Array<number> = []
        const storage: Storage["Service"] = {
          ...memory,
          writeEntries: (entries) => {
            slices.push(EntrySlice.of(entries).bytes)
            return memory.writeEntries(entries)
          },
        }
        const { changed, environment, pending, reward, snapshotter } = yield* world(
          storage,
          limits.snapshotRecordsMax,
          Number.POSITIVE_INFINITY,
        )
        const taken = yield* Effect.forkChild(Effect.andThen(changed.requested, snapshotter.take), {
          startImmediately: true,
        })
        for (let sequence = 1; sequence <= limits.snapshotRecordsMax; sequence++) reward(sequence)
        yield* Fiber.join(taken)
        expect(pending.watermark).toBe(limits.snapshotRecordsMax)
        expect(environment.states.sequenceOf(idOf(0))).toBe(limits.snapshotRecordsMax)
        // The slices have fewer than `sliceEntriesMax` entries, but many bytes.
        expect(slices.length).toBeGreaterThan(1)
        for (const bytes of slices.slice(0, -1)) {
          expect(bytes).toBeGreaterThanOrEqual(limits.snapshotSliceBytesMax)
          expect(bytes).toBeLessThan(1.01 * limits.snapshotSliceBytesMax)
        }
      }),
  )

  it.effect("that is due at the interval is not paced if the end waits behind it", () =>
    Effect.gen(function* () {
      const { pending, reward, snapshotter } = yield* world(MemoryStorage.make(), 1, 1)
      const intervalMs = limits.snapshotIntervalMs
      // Both wait for other work, the one at the interval first.
      const worked = Latch.makeUnsafe(false)
      yield* Effect.forkChild(snapshotter.alone(worked.await), { startImmediately: true })
      const running = snapshotter.run(intervalMs, Number.POSITIVE_INFINITY, () => {})
      yield* Effect.forkChild(running, { startImmediately: true })
      reward(1)
      yield* TestClock.adjust(intervalMs)
      const taken = yield* Effect.forkChild(snapshotter.take, { startImmediately: true })
      yield* Latch.open(worked)
      for (let turn = 0; turn < 100; turn++) yield* yieldToEventLoop
      expect(taken.pollUnsafe()).toEqual(Exit.void)
      expect(pending.watermark).toBe(1)
    }),
  )

  it.effect(
    "that is interrupted while a slice is written does not wait for the disk, and leaves it the slice",
    () =>
      Effect.gen(function* () {
        const memory = MemoryStorage.make()
        let sum: (() => number) | undefined
        const { pending, reward, snapshotter } = yield* world({
          ...memory,
          writeEntries: (entries) => {
            if (sum !== undefined) return memory.writeEntries(entries)
            const { memory: shared, used } = EntrySlice.of(entries).shared
            sum = () => crc32(Buffer.from(shared, 0, used))
            return Effect.never
          },
        })
        for (let sequence = 1; sequence <= limits.snapshotRecordsMax; sequence++) reward(sequence)
        const taken = yield* Effect.forkChild(snapshotter.take, { startImmediately: true })
        while (sum === undefined) yield* yieldToEventLoop
        const written = sum()
        const interrupted = yield* Effect.forkChild(Fiber.interrupt(taken), {
          startImmediately: true,
        })
        for (let turn = 0; turn < 5; turn++) yield* yieldToEventLoop
        expect(interrupted.pollUnsafe()).toEqual(Exit.void)
        expect(pending.watermark).toBe(0)
        yield* snapshotter.take
        expect(pending.watermark).toBe(limits.snapshotRecordsMax)
        expect(sum()).toBe(written)
      }),
  )

  it.effect("packs a slice while the one before is written, and writes a failed slice again", () =>
    Effect.gen(function* () {
      const memory = MemoryStorage.make()
      const { add } = EntrySlice.prototype
      let adds = 0
      let handed = 0
      let underWay = 0
      let writes = 0
      const { environment, pending, reward, snapshotter } = yield* world(
        {
          ...memory,
          writeEntries: Effect.fnUntraced(function* (entries) {
            handed += EntrySlice.of(entries).count
            const { memory: shared, used } = EntrySlice.of(entries).shared
            const packed = crc32(Buffer.from(shared, 0, used))
            expect(underWay++).toBe(0)
            if (writes++ < 2) while (adds <= handed) yield* yieldToEventLoop
            yield* yieldToEventLoop
            expect(crc32(Buffer.from(shared, 0, used))).toBe(packed)
            underWay--
            if (writes === 2)
              return yield* new Unavailable({ operation: "write", reason: "disk_full" })
            yield* memory.writeEntries(entries)
          }),
        },
        50_000,
        20,
      )
      const records = 100_000
      for (let sequence = 1; sequence <= records; sequence++) reward(sequence)
      EntrySlice.prototype.add = function (entry) {
        adds++
        add.call(this, entry)
      }
      try {
        expect((yield* Effect.flip(snapshotter.take))._tag).toBe("Unavailable")
        expect(pending.watermark).toBe(0)
        expect(writes).toBe(2)
        yield* snapshotter.take
      } finally {
        EntrySlice.prototype.add = add
      }
      expect(pending.watermark).toBe(records)
      expect(environment.states.sequenceOf(idOf(0))).toBe(records)
    }),
  )

  it.effect("names the value that a bucket's value replaces, except after a failure", () =>
    Effect.gen(function* () {
      const memory = MemoryStorage.make()
      const named: Array<boolean> = []
      let full = false
      const { actor, erasures, reward, snapshotter } = yield* world({
        ...memory,
        writeEntries: (entries) => {
          for (const { replaces, table, value } of entries) {
            if (table === "buckets" && value !== null) named.push(replaces !== undefined)
          }
          // The storage in memory refuses a wrong name.
          const written = memory.writeEntries(entries)
          const noSpace = new Unavailable({ operation: "write", reason: "disk_full" })
          return full ? Effect.andThen(written, Effect.fail(noSpace)) : written
        },
      })
      const take = (sequence: number) => {
        reward(sequence)
        return snapshotter.take
      }
      yield* take(1)
      yield* take(2)
      full = true
      yield* Effect.flip(take(3))
      full = false
      yield* take(4)
      reward(5)
      erasures.committed({
        sequence: 5,
        at: 0,
        subject: actor.subject,
        cause: { kind: "erasure" },
        facts: [],
      })
      yield* take(6)
      yield* take(7)
      expect(named).toEqual([true, true, true, false, true, true])
    }),
  )

  it.effect("indexes the ids of a user whose actor is not loaded", () =>
    Effect.gen(function* () {
      const memory = MemoryStorage.make()
      const { actor, environment, ids, pending, snapshotter, state, reward } = yield* world(memory)
      const hash = hashText("an id")
      reward(1, hash)
      environment.settle(actor)
      // The user was evicted and is addressed again: the new actor waits to be loaded.
      environment.users.delete(idOf(0))
      expect(state.actorCache.add(environment, idOf(0)).loaded).toBe(false)
      yield* snapshotter.take
      expect(pending.watermark).toBe(1)
      expect(yield* ids.candidates(sandbox, hash)).toEqual([1])
    }),
  )

  it.effect("is not taken of a state beyond the last durable record", () =>
    Effect.gen(function* () {
      const state = new MemoryStorage.MemoryState()
      const { actor, reward, snapshotter } = yield* world(MemoryStorage.make({ state }))
      reward(1)
      actor.durable = { ...actor.durable!, sequence: 2 }
      const exit = yield* Effect.exit(snapshotter.take)
      const words = "A state as of record 2 is beyond the last durable record, 1"
      expect(Exit.isFailure(exit) && Cause.pretty(exit.cause)).toContain(words)
      const buckets = { table: "buckets", ...rangeOf(new Uint8Array()) } as const
      expect([...state.table("buckets").entries(buckets)]).toEqual([])
    }),
  )
})
