/**
 * The records of a batch as frames. A frame is a 32-bit little-endian length of the body, the
 * 48-bit little-endian sequence of the same actor's previous record (0: there is none), and the
 * body. A record whose body is empty is a tombstone: it was erased, and still names its previous
 * record. A tombstone of a sale, of a contribution to a goal or of a score of a team has what is left of
 * it (`Remains.ts`): the highest bit of its length is set, and its bytes are the JSON of the remains, not a body.
 *
 * `batchFault` states the invariant of all journals: a batch begins with the record after the last
 * one, has at least one record, its frames hold exactly its records, and each record's previous
 * record is an earlier one. Each journal checks the invariant before it writes a batch and after it
 * reads one. A batch with a fault is never acknowledged and never applied.
 *
 * Cost: one view per record without a copy; the check reads the head of each frame.
 */
import { type Remains, remainsOf } from "../domain/record/Remains.ts"
import { asBuffer, dataViewOf } from "./Keys.ts"
import type { JournalBatch, StoredRecord } from "./Storage.ts"

/** The bytes before the body of a frame. */
export const frameHeadBytes = 10
const previousAt = 4
const wordValues = 0x1_0000_0000
/** In the length of a frame: its bytes are remains. */
const remainsBit = 0x8000_0000

/**
 * Writes the head of the frame at `at`, whose body has `bodyBytes`; returns where the body begins.
 */
export const writeFrameHead = (
  frames: Buffer,
  at: number,
  bodyBytes: number,
  previous: number,
): number => {
  frames.writeUInt32LE(bodyBytes, at)
  return frames.writeUIntLE(previous, at + previousAt, 6)
}

/** The previous record that the head of a frame names, whose body begins at `bodyAt`. */
export const previousBefore = (frames: Buffer, bodyAt: number): number =>
  frames.readUIntLE(bodyAt - frameHeadBytes + previousAt, 6)

/** The number of bytes after the head of the frame at `at`. */
const contentBytes = (view: DataView, at: number): number => view.getUint32(at, true) & ~remainsBit

const recordAt = (
  batch: JournalBatch,
  view: DataView,
  at: number,
  sequence: number,
): StoredRecord => {
  const start = at + frameHeadBytes
  const content = batch.frames.subarray(start, start + contentBytes(view, at))
  const previous = previousIn(view, at)
  return view.getUint32(at, true) >= remainsBit
    ? { sequence, previous, body: nothing, remains: content }
    : { sequence, previous, body: content }
}

const previousIn = (view: DataView, frameAt: number): number =>
  view.getUint32(frameAt + previousAt, true) +
  view.getUint16(frameAt + previousAt + 4, true) * wordValues

/**
 * The records of a batch from sequence `from` on, as views of its frames; `undefined` if the frames
 * are not those of the batch.
 */
export const batchRecords = (
  batch: JournalBatch,
  from: number,
): Array<StoredRecord> | undefined => {
  const { frames, firstSequence, count } = batch
  const view = dataViewOf(frames)
  const records: Array<StoredRecord> = []
  let at = 0
  for (let index = 0; index < count; index++) {
    const start = at + frameHeadBytes
    if (start > frames.length) return undefined
    const previous = previousIn(view, at)
    const end = start + contentBytes(view, at)
    if (end > frames.length) return undefined
    const sequence = firstSequence + index
    if (previous >= sequence) return undefined
    if (sequence >= from) records.push(recordAt(batch, view, at, sequence))
    at = end
  }
  return at === frames.length ? records : undefined
}

/**
 * One record of a batch that `batchFault` has accepted, as a view; `undefined`: it is not there.
 */
export const recordIn = (batch: JournalBatch, sequence: number): StoredRecord | undefined => {
  const { frames, firstSequence, count } = batch
  if (sequence < firstSequence || sequence >= firstSequence + count) return undefined
  const view = dataViewOf(frames)
  let at = 0
  for (let skip = sequence - firstSequence; skip > 0; skip--) {
    at += frameHeadBytes + contentBytes(view, at)
  }
  return recordAt(batch, view, at, sequence)
}

/** The frames of a batch with tombstones in place of the records `erased`. */
export const withTombstones = (batch: JournalBatch, erased: ReadonlySet<number>): Buffer => {
  const { frames } = batchOfRecords(
    checkedRecords(batch, 0).map((stored) =>
      erased.has(stored.sequence) ? tombstoneOf(stored) : stored,
    ),
  )
  return Buffer.from(frames.buffer, frames.byteOffset, frames.byteLength)
}

const nothing = new Uint8Array(0)

/** The tombstone of a record. That of a tombstone is itself. */
export const tombstoneOf = (stored: StoredRecord): StoredRecord => {
  const { body, previous, sequence } = stored
  if (body.length === 0) return stored
  const bytes = asBuffer(body)
  // Few records leave something; all others are not decoded.
  const isRead = remainsMarks.some((mark) => bytes.includes(mark))
  const remains = isRead ? remainsOf(JSON.parse(bytes.toString())) : undefined
  const left = remains && { remains: remainsBytes(remains) }
  return { sequence, previous, body: nothing, ...left }
}

export const remainsBytes = (remains: Pick<Remains, "environment">): Uint8Array =>
  Buffer.from(JSON.stringify(remains))

/** Every record that leaves something has one of these. */
const remainsMarks = ['"kind":"item.', '"kind":"goal.', '"team":{"id":']

/** Whether two records with the same sequence are the same. */
export const isSameRecord = (one: StoredRecord, other: StoredRecord): boolean =>
  one.previous === other.previous &&
  Buffer.compare(one.body, other.body) === 0 &&
  Buffer.compare(one.remains ?? nothing, other.remains ?? nothing) === 0

/** What is left of an erased record; `undefined`: nothing is. */
export const remainsIn = ({ remains }: StoredRecord): Remains | undefined =>
  remains && JSON.parse(asBuffer(remains).toString())

/** Whether a record of the batch was erased. */
export const holdsTombstone = (batch: JournalBatch): boolean =>
  batchRecords(batch, 0)?.some(({ body }) => body.length === 0) ?? false

/** The end of `count` frames from `at` on in `frames`, which `batchRecords` has accepted. */
export const framesEnd = (frames: Buffer, at: number, count: number): number => {
  let end = at
  for (let n = 0; n < count; n++) {
    end += frameHeadBytes + (frames.readUInt32LE(end) & ~remainsBit)
  }
  return end
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

/** Whether the frames are exactly `count` records, each after its previous one. */
const holdsRecords = ({ count, firstSequence, frames }: JournalBatch): boolean => {
  const view = dataViewOf(frames)
  let at = 0
  for (let index = 0; index < count; index++) {
    if (at + frameHeadBytes > frames.length) return false
    if (previousIn(view, at) >= firstSequence + index) return false
    at += frameHeadBytes + contentBytes(view, at)
  }
  return at === frames.length
}

/**
 * The batch that holds `bodies`, numbered from `firstSequence`. `previous` has the previous record
 * of each; absent: none has one.
 */
export const batchOf = (
  firstSequence: number,
  bodies: ReadonlyArray<Uint8Array>,
  previous: ReadonlyArray<number> = [],
): JournalBatch => {
  let size = 0
  for (const body of bodies) size += frameHeadBytes + body.length
  const frames = Buffer.allocUnsafe(size)
  let at = 0
  for (const [index, body] of bodies.entries()) {
    at = writeFrameHead(frames, at, body.length, previous[index] ?? 0)
    frames.set(body, at)
    at += body.length
  }
  return { firstSequence, count: bodies.length, frames }
}

/** The batch that holds these consecutive records, of which there is at least one. */
export const batchOfRecords = (records: ReadonlyArray<StoredRecord>): JournalBatch => {
  const batch = batchOf(
    records[0]!.sequence,
    records.map(({ body, remains = body }) => remains),
    records.map(({ previous }) => previous),
  )
  const view = dataViewOf(batch.frames)
  let at = 0
  for (const { body, remains } of records) {
    const { length } = remains ?? body
    if (remains !== undefined) view.setUint32(at, length + remainsBit, true)
    at += frameHeadBytes + length
  }
  return batch
}
