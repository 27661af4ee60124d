/** Inspects the bytes after the last good batch of a segment: zeros, an interrupted write, or evidence of damage. */
import { Effect } from "effect"
import { limits } from "../../Limits.ts"
import type { DiskError, DiskFile } from "../disk/Disk.ts"
import { batchHeaderBytes, batchMagic } from "./SegmentFormat.ts"
import { SegmentReader } from "./SegmentReader.ts"

export interface Tail {
  /** Where the last byte that is not zero ends. */
  readonly end: number
  readonly holdsBatch: boolean
}

const lastNonZero = (bytes: Buffer): number => {
  let at = bytes.length - 1
  while (at >= 0 && bytes[at] === 0) at--
  return at
}

/** Inspects the file from `start` to its end, a piece at a time. */
export const inspectTail = Effect.fnUntraced(function* (
  file: DiskFile,
  start: number,
  size: number,
): Effect.fn.Return<Tail, DiskError> {
  let end = start
  for (let position = start; position < size; position += limits.journalReadBytes) {
    // Pieces overlap, so that no magic hides on a border.
    const bytes = Buffer.alloc(
      Math.min(limits.journalReadBytes + batchMagic.length - 1, size - position),
    )
    const filled = bytes.subarray(0, yield* file.read(position, bytes))
    const last = lastNonZero(filled)
    if (last < 0) continue
    end = position + last + 1
    for (let at = filled.indexOf(batchMagic); at >= 0; at = filled.indexOf(batchMagic, at + 1)) {
      if (size - position - at < batchHeaderBytes) continue
      const reader = new SegmentReader(file, position + at, size)
      if ((yield* reader.next).length > 0) return { end, holdsBatch: true }
    }
  }
  return { end, holdsBatch: false }
})

/** Copies `from` to `to` of one file to the beginning of another, durably. */
export const copyBytes = Effect.fnUntraced(function* (
  source: DiskFile,
  copy: DiskFile,
  from: number,
  to: number,
): Effect.fn.Return<void, DiskError> {
  for (let position = from; position < to; ) {
    const bytes = Buffer.alloc(Math.min(limits.journalReadBytes, to - position))
    const count = yield* source.read(position, bytes)
    yield* copy.write(position - from, [bytes.subarray(0, count)])
    position += count
  }
  yield* copy.sync
})
