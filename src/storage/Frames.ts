/**
 * Records within a batch: each a 32-bit little-endian length and that many bytes. Cost: one view a record,
 * no copy.
 */
import type { JournalBatch, StoredRecord } from "./Storage.ts"

export const frameLengthBytes = 4

/**
 * The records of a batch from sequence `from` on, as views of its frames; `undefined` when the frames do
 * not add up to the batch.
 */
export const batchRecords = (
  batch: JournalBatch,
  from: number,
): Array<StoredRecord> | undefined => {
  const { frames, firstSequence, count } = batch
  const view = new DataView(frames.buffer, frames.byteOffset, frames.byteLength)
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
