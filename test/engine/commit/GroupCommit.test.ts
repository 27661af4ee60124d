import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Latch, Scope } from "effect"
import { vi } from "vitest"
import {
  type CommitWaiter,
  type Durability,
  makeGroupCommit,
  type PendingBytes,
} from "../../../src/engine/commit/GroupCommit.ts"
import { RecordBuffer } from "../../../src/engine/records/RecordBuffer.ts"
import { limits } from "../../../src/Limits.ts"
import { type Broken, Storage } from "../../../src/storage/Storage.ts"
import { yieldToEventLoop } from "../../../src/storage/yieldToEventLoop.ts"
import * as MemoryStorage from "../../storage/MemoryStorage.ts"

interface Entry {
  readonly name: string
}

/** A waiter that also waits when the disk is full for long. */
const patient = (committed: () => void): CommitWaiter => ({ committed, stalled: () => true })

const open = Effect.fnUntraced(function* (
  durability: Durability = "fsync",
  shared: PendingBytes = { bytes: 0 },
) {
  const gate = yield* Latch.make(true)
  const slices: Array<number> = []
  const state = new MemoryStorage.MemoryState()
  const batches: Array<number> = []
  const committed: Array<string> = []
  const broken: Array<Broken> = []
  const texts = new RecordBuffer(0)
  const storage = MemoryStorage.make({
    state,
    onAppend: (batch) => {
      batches.push(batch.count)
      return Latch.await(gate)
    },
  })
  const commit = yield* makeGroupCommit<Entry>({
    durability,
    texts,
    shared,
    onCommitted: (entries) => {
      slices.push(entries.length)
      committed.push(...entries.map(({ name }) => name))
    },
    isUrgent: ({ name }) => name === "urgent",
    onStalled: () => {},
    onBroken: (cause) => broken.push(cause),
  }).pipe(Effect.provideService(Storage, storage))
  const settled = Effect.callback<void>((resume) => {
    commit.afterCommit(patient(() => resume(Effect.void)))
  })
  const append = (encoded: string, name: string) => commit.append(encoded, 0, { name })
  return { append, batches, broken, commit, committed, gate, settled, slices, state, texts }
})

describe("Group commit", () => {
  it.effect("writes the records of one turn of the event loop as one batch, in order", () =>
    Effect.gen(function* () {
      const { append, batches, commit, committed, settled, state } = yield* open()
      const sequences = ["a", "b", "ü🏆"].map((text) => append(text, text))
      expect(sequences).toEqual([1, 2, 3])
      expect(commit.durableSequence).toBe(0)
      yield* settled
      expect(batches).toEqual([3])
      expect(committed).toEqual(["a", "b", "ü🏆"])
      expect(state.records.map(({ body }) => Buffer.from(body).toString())).toEqual(committed)
      expect(commit.durableSequence).toBe(3)
    }),
  )

  it.effect("collects the next batch while one is flushed", () =>
    Effect.gen(function* () {
      const { append, batches, committed, gate, settled } = yield* open()
      yield* Latch.close(gate)
      append("first", "first")
      while (batches.length === 0) yield* yieldToEventLoop
      for (let record = 0; record < 5; record++) append("later", "later")
      yield* yieldToEventLoop
      expect(batches).toEqual([1])
      expect(committed).toEqual([])
      yield* Latch.open(gate)
      yield* settled
      expect(batches).toEqual([1, 5])
      expect(committed).toHaveLength(6)
    }),
  )

  it.effect(
    "lets a batch of few records wait for more, after commitDelaySkipsMax that did not",
    () =>
      Effect.gen(function* () {
        const ends: Array<() => void> = []
        const timer = vi.spyOn(globalThis, "setTimeout").mockImplementation(((
          end: () => void,
          ms: number,
        ) => {
          expect(ms).toBe(limits.commitDelayMs)
          ends.push(end)
        }) as never)
        yield* Effect.addFinalizer(() => Effect.sync(() => timer.mockRestore()))
        const { append, batches, settled } = yield* open()
        const least = limits.commitDelayRecordsMin
        const appendMany = (count: number): void => {
          for (let record = 0; record < count; record++) append("record", "record")
        }
        for (let commit = 0; commit < limits.commitDelaySkipsMax; commit++) {
          appendMany(least)
          yield* settled
        }
        expect(ends).toHaveLength(0)
        appendMany(least)
        while (ends.length === 0) yield* yieldToEventLoop
        expect(batches).toHaveLength(limits.commitDelaySkipsMax)
        appendMany(1)
        ends.pop()!()
        yield* settled
        expect(batches.at(-1)).toBe(least + 1)
        // A batch of one record fewer does not wait.
        appendMany(least - 1)
        yield* settled
        expect(ends).toHaveLength(0)
        // Nor does a batch with an urgent record, which does not count as a skipped wait.
        appendMany(least - 1)
        append("record", "urgent")
        yield* settled
        expect(ends).toHaveLength(0)
        // A batch with enough records does not wait; with one fewer it does.
        const many = limits.commitDelayRecordsMax
        appendMany(many)
        yield* settled
        expect(ends).toHaveLength(0)
        appendMany(many - 1)
        while (ends.length === 0) yield* yieldToEventLoop
        ends.pop()!()
        yield* settled
        expect(batches.slice(-2)).toEqual([many, many - 1])
      }),
  )

  it.effect(
    "announces at most commitTurnRecordsMax durable records in a turn of the event loop",
    () =>
      Effect.gen(function* () {
        for (const durability of ["fsync", "relaxed"] as const) {
          const { append, batches, commit, committed, gate, settled, slices, state } =
            yield* open(durability)
          const most = limits.commitTurnRecordsMax
          for (let record = 0; record < 2 * most + 1; record++) append("x", `${record}`)
          const seen: Array<readonly [durable: number, committed: number]> = []
          if (durability === "relaxed") yield* Latch.close(gate)
          const all = yield* Effect.forkChild(settled, { startImmediately: true })
          while (all.pollUnsafe() === undefined) {
            yield* yieldToEventLoop
            if (committed.length > 0) seen.push([commit.durableSequence, committed.length])
          }
          expect(slices).toEqual([most, most, 1])
          expect(seen.map(([, count]) => count)).toEqual([most, 2 * most, 2 * most + 1])
          // Exactly the announced records count as durable.
          expect(seen.every(([durable, count]) => durable === count)).toBe(true)
          expect(committed).toEqual(committed.map((_, record) => `${record}`))
          yield* Latch.open(gate)
          while (state.records.length === 0) yield* yieldToEventLoop
          expect(batches).toEqual([2 * most + 1])
        }
      }),
  )

  it.effect("collects the records of several turns, but no more after an urgent one", () =>
    Effect.gen(function* () {
      const clock = vi.spyOn(performance, "now").mockReturnValue(0)
      yield* Effect.addFinalizer(() => Effect.sync(() => clock.mockRestore()))
      const { append, batches, gate, settled } = yield* open()
      const appendEachTurn = Effect.fnUntraced(function* (names: ReadonlyArray<string>) {
        for (const name of names) {
          append("x", name)
          yield* yieldToEventLoop
        }
        yield* settled
        return batches.splice(0)
      })
      const ofTurns = (name: string) => new Array<string>(4 * limits.commitTurnsMax).fill(name)
      const usual = yield* appendEachTurn(ofTurns("usual"))
      // The record that wakes the loop, and one in each turn.
      expect(Math.max(...usual)).toBe(1 + limits.commitTurnsMax)
      const urgent = yield* appendEachTurn(ofTurns("urgent"))
      expect(Math.max(...urgent)).toBeLessThanOrEqual(2)
      // An urgent record that came while a batch was at the disk waits for no turn.
      yield* Latch.close(gate)
      append("x", "usual")
      while (batches.length === 0) yield* yieldToEventLoop
      append("x", "urgent")
      yield* Latch.open(gate)
      yield* settled
      expect(batches.slice(0, 2)).toEqual([1, 1])
    }),
  )

  it.effect("calls a waiter at once when every record is durable", () =>
    Effect.gen(function* () {
      const { commit } = yield* open()
      let called = false
      commit.afterCommit(
        patient(() => {
          called = true
        }),
      )
      expect(called).toBe(true)
    }),
  )

  it.effect("seals a batch at commitBatchBytesMax and accepts up to commitPendingBytesMax", () =>
    Effect.gen(function* () {
      const { append, batches, commit, gate, settled } = yield* open()
      yield* Latch.close(gate)
      const text = "x".repeat(limits.commitBatchBytesMax / 4)
      let appended = 0
      while (commit.accepting) {
        append(text, "x")
        appended++
      }
      expect(appended * (text.length + 4)).toBeGreaterThanOrEqual(limits.commitPendingBytesMax)
      expect((appended - 1) * (text.length + 4)).toBeLessThan(limits.commitPendingBytesMax)
      yield* Latch.open(gate)
      yield* settled
      expect(commit.accepting).toBe(true)
      expect(Math.max(...batches)).toBe(4)
    }),
  )

  it.effect("shares commitPendingBytesMax with other engines until it is closed", () =>
    Effect.gen(function* () {
      const shared = { bytes: 0 }
      const scope = yield* Scope.make()
      const one = yield* Scope.provide(open("fsync", shared), scope)
      const other = yield* open("fsync", shared)
      yield* Latch.close(one.gate)
      const text = "x".repeat(limits.commitBatchBytesMax / 4)
      while (one.commit.accepting) one.append(text, "x")
      expect(other.commit.accepting).toBe(false)
      expect([one.commit.pendingBytes, other.commit.pendingBytes]).toEqual([shared.bytes, 0])
      yield* Scope.close(scope, Exit.void)
      expect(shared.bytes).toBe(0)
      expect(other.commit.accepting).toBe(true)
      other.append(text, "x")
      expect(shared.bytes).toBe(other.commit.pendingBytes)
      yield* other.settled
      yield* yieldToEventLoop
      expect(shared.bytes).toBe(other.commit.pendingBytes)
    }),
  )

  it.effect("in relaxed durability announces a batch before the flush, and still flushes it", () =>
    Effect.gen(function* () {
      const { append, batches, committed, gate, settled, state } = yield* open("relaxed")
      yield* Latch.close(gate)
      append("a", "a")
      yield* settled
      expect(committed).toEqual(["a"])
      expect(state.records).toEqual([])
      while (batches.length === 0) yield* yieldToEventLoop
      yield* Latch.open(gate)
      while (state.records.length === 0) yield* yieldToEventLoop
    }),
  )

  it.effect("in relaxed durability calls a waiter at once for announced records", () =>
    Effect.gen(function* () {
      const { append, batches, commit, gate, settled } = yield* open("relaxed")
      yield* Latch.close(gate)
      append("a", "a")
      yield* settled
      while (batches.length === 0) yield* yieldToEventLoop
      let called = false
      commit.afterCommit(
        patient(() => {
          called = true
        }),
      )
      expect(called).toBe(true)
      yield* Latch.open(gate)
    }),
  )
})
