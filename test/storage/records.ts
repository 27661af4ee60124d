/** Records whose bodies tell their sequence, and how to check that they are all there. */
import { expect } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { batchOf } from "../../src/storage/Frames.ts"
import type { Storage } from "../../src/storage/Storage.ts"

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
  )

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
    for (const record of records) {
      expect(text(record.body)).toBe(`record ${record.sequence}${padding}`)
    }
  })
