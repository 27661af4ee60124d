/**
 * The records of a batch: each is a 32-bit little-endian length and that many bytes.
 *
 * `batchFault` states the invariant of all journals: a batch begins with the record after the last
 * one, has at least one record, and its frames hold exactly its records. Each journal checks the
 * invariant before it writes a batch and after it reads one. A batch with a fault is never
 * acknowledged and never applied.
 *
 * Cost: one view per record without a copy; the check reads one length per record.
 */
import type { JournalBatch, StoredRecord } from "./Storage.ts"

export const frameLengthBytes = 4

const viewOf = ({ buffer, byteLength, byteOffset }: Uint8Array): DataView =>
  new DataView(buffer, byteOffset, byteLength)

/**
 * The records of a batch from sequence `from` on, as views of its frames; `undefined` if the frames
 * do not add up to the batch.
 */
export const batchRecords = (
  batch: JournalBatch,
  from: number,
): Array<StoredRecord> | undefined => {
  const { frames, firstSequence, count } = batch
  const view = viewOf(frames)
  const records: Array<StoredRecord> = []
  let at = 0
  for (let index = 0; index < count; index++) {
    if (at + frameLengthBytes > frames.length) return undefined
    const start = at + frameLengthBytes
    at = start + view.getUint32(at, true)
    if (at > frames.length) return undefined
    const sequence = firstSequence + index
    if (sequence >= from) records.push({ sequence, body: frames.subarray(start, at) })
  }
  return at === frames.length ? records : undefined
}

/** `batchRecords` of a batch that `batchFault` has accepted before. */
export const checkedRecords = (batch: JournalBatch, from: number): Array<StoredRecord> => {
  const records = batchRecords(batch, from)
  if (records === undefined) throw new Error(framesFault(batch))
  return records
}

/** Why `batch` cannot follow record `last`; `undefined` if it can. */
export const batchFault = (batch: JournalBatch, last: number): string | undefined => {
  const { count, firstSequence } = batch
  if (firstSequence !== last + 1 || !(count >= 1) || !Number.isSafeInteger(last + count)) {
    return `expected a batch from record ${last + 1} on, got ${count} from ${firstSequence} on`
  }
  return holdsRecords(batch) ? undefined : framesFault(batch)
}

const framesFault = ({ count, firstSequence, frames }: JournalBatch): string =>
  `the ${frames.length} bytes of the batch from record ${firstSequence} on do not hold ${count} records`

/** Whether the frames are exactly `count` records. */
const holdsRecords = ({ count, frames }: JournalBatch): boolean => {
  const view = viewOf(frames)
  let at = 0
  for (let index = 0; index < count; index++) {
    if (at + frameLengthBytes > frames.length) return false
    at += frameLengthBytes + view.getUint32(at, true)
  }
  return at === frames.length
}

/** The batch that holds `bodies`, numbered from `firstSequence`. */
export const batchOf = (firstSequence: number, bodies: ReadonlyArray<Uint8Array>): JournalBatch => {
  let size = 0
  for (const body of bodies) size += frameLengthBytes + body.length
  const frames = Buffer.allocUnsafe(size)
  let at = 0
  for (const body of bodies) {
    at = frames.writeUInt32LE(body.length, at)
    frames.set(body, at)
    at += body.length
  }
  return { firstSequence, count: bodies.length, frames }
}
