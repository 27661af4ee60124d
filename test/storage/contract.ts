/** The contract of every storage, tested of each implementation. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber, type Scope, Stream } from "effect"
import { batchOf } from "../../src/storage/Frames.ts"
import { entriesContract } from "./entriesContract.ts"
import { over, type Place } from "./place.ts"
import {
  appendAll,
  expectEach,
  expectNumbered,
  expectRecords,
  numbered,
  previousOf,
  recordsFrom,
} from "./records.ts"

export const storageContract = (
  name: string,
  makePlace: Effect.Effect<Place, never, Scope.Scope>,
): void => {
  const withStore = over(makePlace)

  describe(`${name}: records`, () => {
    it.effect(
      "an empty storage has no records",
      withStore((store) =>
        Effect.gen(function* () {
          expect(store.lastSequence).toBe(0)
          expect(yield* store.firstSequence).toBe(1)
          yield* expectRecords(store, 1, 0)
        }),
      ),
    )

    it.effect(
      "a read returns appended records in order, from any sequence on",
      withStore((store) =>
        Effect.gen(function* () {
          const last = yield* appendAll(store, [1, 3, 1, 10, 2])
          for (let from = 1; from <= last + 1; from++) yield* expectRecords(store, from, last)
        }),
      ),
    )

    it.effect(
      "each record can be read by itself, and one that is not there yet is undefined",
      withStore((store) =>
        Effect.gen(function* () {
          const padding = "x".repeat(1_000)
          expect(yield* store.readRecord(1)).toBeUndefined()
          const last = yield* appendAll(store, [1, 3, 1, 10, 2, 40, 1, 1, 1], padding)
          yield* expectEach(store, 1, last, padding)
          expect(yield* store.readRecord(last + 1)).toBeUndefined()
          yield* store.append(numbered(last + 1, 1))
          yield* expectEach(store, last + 1, last + 1)
        }),
      ),
    )

    it.effect(
      "erased records become tombstones, unless their segment is not sealed yet",
      withStore((store) =>
        Effect.gen(function* () {
          const last = yield* appendAll(store, [3, 2, 1])
          expect(yield* store.eraseRecords([last + 1])).toBeUndefined()
          const erased = [2, 4]
          const done = yield* store.eraseRecords(erased)
          const records = yield* recordsFrom(store, 1)
          for (const record of records) {
            const { previous, sequence } = record
            const isGone = done !== undefined && erased.includes(sequence)
            if (!isGone) expectNumbered(record, sequence)
            else expect([previous, record.body.length]).toEqual([previousOf(sequence), 0])
            expect((yield* store.readRecord(sequence))?.body.length).toBe(record.body.length)
          }
          expect(records.length).toBe(last)
          if (done !== undefined) expect(done.lastSequence).toBe(last)
          expect(yield* store.eraseRecords(erased)).toEqual(done)
        }),
      ),
    )

    it.effect(
      "the caller may keep and change the body of a record that was read by itself",
      withStore((store) =>
        Effect.gen(function* () {
          yield* appendAll(store, [2])
          const [one, other] = [yield* store.readRecord(1), yield* store.readRecord(1)]
          one?.body.fill(0)
          expectNumbered(other, 1)
          yield* expectEach(store, 1, 2)
        }),
      ),
    )

    it.effect(
      "a body may be empty and may have any byte",
      withStore((store) =>
        Effect.gen(function* () {
          const bodies = [new Uint8Array(0), Uint8Array.from({ length: 256 }, (_, byte) => byte)]
          yield* store.append(batchOf(1, bodies))
          const records = yield* recordsFrom(store, 1)
          expect(records.map((record) => [...record.body])).toEqual(bodies.map((body) => [...body]))
        }),
      ),
    )

    it.effect(
      "a batch that leaves a gap or repeats a record is refused, and changes nothing",
      withStore((store) =>
        Effect.gen(function* () {
          yield* appendAll(store, [2])
          for (const first of [1, 2, 4]) {
            const error = yield* Effect.flip(store.append(numbered(first, 1)))
            expect(error._tag).toBe("Broken")
          }
          yield* store.append(numbered(3, 1))
          yield* expectRecords(store, 1, 3)
        }),
      ),
    )

    it.effect(
      "the caller may change the memory of a batch after the append has ended",
      withStore((store) =>
        Effect.gen(function* () {
          const batch = numbered(1, 2)
          yield* store.append(batch)
          batch.frames.fill(0)
          yield* expectRecords(store, 1, 2)
        }),
      ),
    )

    it.effect(
      "a reader sees the records that were durable when it began, while appends continue",
      withStore((store) =>
        Effect.gen(function* () {
          const padding = "x".repeat(50_000)
          yield* appendAll(
            store,
            Array.from({ length: 60 }, () => 1),
            padding,
          )
          let next = 61
          const seen: Array<number> = []
          yield* Stream.runForEach(store.readRecords(1), (chunk) => {
            seen.push(...chunk.map((record) => record.sequence))
            return store.append(numbered(next++, 1, padding))
          })
          expect(seen).toEqual(Array.from({ length: 60 }, (_, index) => index + 1))
          yield* expectRecords(store, 61, next - 1, padding)
        }),
      ),
    )

    it.effect(
      "an append completes although its caller was interrupted",
      withStore((store) =>
        Effect.gen(function* () {
          const caller = yield* Effect.forkChild(store.append(numbered(1, 1)), {
            startImmediately: true,
          })
          yield* Fiber.interrupt(caller)
          yield* store.append(numbered(2, 1))
          yield* expectRecords(store, 1, 2)
        }),
      ),
    )

    it.effect("appended records exist after a restart, and numbering continues", () =>
      Effect.gen(function* () {
        const place = yield* makePlace
        for (let round = 0; round < 3; round++) {
          yield* Effect.scoped(
            Effect.gen(function* () {
              const store = yield* place.open
              expect(store.lastSequence).toBe(round * 4)
              expect(yield* appendAll(store, [1, 3])).toBe(round * 4 + 4)
              yield* expectRecords(store, 1, round * 4 + 4)
              yield* expectEach(store, 1, round * 4 + 4)
            }),
          )
        }
      }),
    )

    it.effect(
      "pruning keeps all records from the given sequence on",
      withStore((store) =>
        Effect.gen(function* () {
          const last = yield* appendAll(
            store,
            Array.from({ length: 50 }, () => 2),
          )
          for (const sequence of [0, 1, 30, last, last + 10]) {
            yield* store.prune(sequence)
            const first = yield* store.firstSequence
            expect(first).toBeLessThanOrEqual(Math.min(Math.max(sequence, 1), last))
            yield* expectRecords(store, first, last)
            yield* expectEach(store, first, last)
            if (first > 1) expect(yield* store.readRecord(first - 1)).toBeUndefined()
            yield* expectRecords(store, Math.min(Math.max(sequence, 1), last), last)
          }
          yield* store.append(numbered(last + 1, 1))
          yield* expectRecords(store, last + 1, last + 1)
        }),
      ),
    )
  })

  entriesContract(name, makePlace)
}
