/** Records whose bodies tell their sequence, and how to check that they are all there. */
import { expect } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { batchOf } from "../../src/storage/Frames.ts"
import type { Storage, StoredRecord } from "../../src/storage/Storage.ts"

type Store = Storage["Service"]

export const text = (bytes: Uint8Array | undefined): string | undefined =>
  bytes === undefined ? undefined : Buffer.from(bytes).toString("utf8")

/** A batch of `count` records whose bodies tell their sequence. */
export const numbered = (firstSequence: number, count: number, padding = "") =>
  batchOf(
    firstSequence,
    Array.from({ length: count }, (_, index) =>
      Buffer.from(`record ${firstSequence + index}${padding}`),
    ),
    Array.from({ length: count }, (_, index) => previousOf(firstSequence + index)),
  )

/** The previous record of a numbered record: each has one among those shortly before it. */
export const previousOf = (sequence: number): number =>
  Math.max(0, sequence - 1 - ((sequence * 7) % 5))

export const appendAll = (store: Store, counts: ReadonlyArray<number>, padding = "") =>
  Effect.gen(function* () {
    let next = store.lastSequence + 1
    for (const count of counts) {
      yield* store.append(numbered(next, count, padding))
      next += count
    }
    return next - 1
  })

export const recordsFrom = (store: Pick<Store, "readRecords">, sequence: number) =>
  Effect.map(Stream.runCollect(store.readRecords(sequence)), (chunks) => chunks.flat())

/** Reads from `sequence` on and checks that every record is its own, none missing, none twice. */
export const expectRecords = (
  store: Pick<Store, "readRecords">,
  sequence: number,
  last: number,
  padding = "",
) =>
  Effect.map(recordsFrom(store, sequence), (records) => {
    expect(records.map((record) => record.sequence)).toEqual(
      Array.from({ length: Math.max(0, last - sequence + 1) }, (_, index) => sequence + index),
    )
    for (const record of records) expectNumbered(record, record.sequence, padding)
  })

/** Checks that a record is the numbered one with this sequence. */
export const expectNumbered = (
  record: StoredRecord | undefined,
  sequence: number,
  padding = "",
) => {
  expect(record?.sequence).toBe(sequence)
  expect(record?.previous).toBe(previousOf(sequence))
  expect(text(record?.body)).toBe(`record ${sequence}${padding}`)
}

/** Reads each record of a range by itself, in any order, several at once. */
export const expectEach = (
  store: Pick<Store, "readRecord">,
  first: number,
  last: number,
  padding = "",
) =>
  Effect.forEach(
    Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => last - index),
    (sequence) =>
      Effect.map(store.readRecord(sequence), (record) => expectNumbered(record, sequence, padding)),
    { concurrency: 8, discard: true },
  )
