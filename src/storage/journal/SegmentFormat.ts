/**
 * The format of the journal. All numbers are little-endian. Checksums are the CRC-32 of
 * `node:zlib`: native, no dependency, and as good as CRC-32C at finding damage.
 *
 * The name of a segment file is its first sequence in 20 digits. The file has a header, batches
 * without gaps, and zeros that were allocated in advance:
 *
 *     header   8 magic · 4 format (`../format.ts`) · 8 first sequence · 4 checksum of the batch before · 4 checksum of this
 *     batch    4 magic · 4 checksum of the rest · 4 bytes of frames · 4 records · 8 first sequence
 *              · 4 checksum of the batch before · frames
 *
 * A batch from which records were erased has the highest bit in the number of records. After the
 * frames it has the checksum that it had before the erasure, to which the next batch refers; a copy
 * of a journal gets such batches from PostgreSQL.
 *
 * A batch has the checksum of the previous batch, also across segments, so that a lost or swapped
 * batch is found. Its magic has bytes that never occur in UTF-8, so text in records never looks
 * like a batch.
 */

import path from "node:path"
import { crc32 } from "node:zlib"
import { countUpTo } from "../../domain/values/countUpTo.ts"
import { limits } from "../../Limits.ts"
import { dataFormat } from "../format.ts"
import type { JournalBatch } from "../Storage.ts"

export const segmentHeaderBytes = 28
export const batchHeaderBytes = 28

const segmentMagic = Buffer.from([0x89, 0x4c, 0x41, 0x55, 0x52, 0x45, 0x4c, 0x0a])
export const batchMagic = Buffer.from([0xff, 0x4c, 0x42, 0xfe])
const batchMagicNumber = batchMagic.readUInt32LE(0)
/** The checksum of a batch skips the magic and itself. */
const checkedFrom = 8
const wordValues = 0x1_0000_0000
const keptBit = 0x8000_0000
const keptChecksumBytes = 4

export const writeSequence = (bytes: Buffer, sequence: number, at: number): void => {
  bytes.writeUInt32LE(sequence % wordValues, at)
  bytes.writeUInt32LE(Math.floor(sequence / wordValues), at + 4)
}
export const readSequence = (bytes: Buffer, at: number): number =>
  bytes.readUInt32LE(at) + bytes.readUInt32LE(at + 4) * wordValues

export const segmentName = (firstSequence: number): string =>
  `${String(firstSequence).padStart(20, "0")}.segment`

/** The first sequence in a file's name; `undefined` for other files. */
export const sequenceOfName = (name: string): number | undefined =>
  /^\d{20}\.segment$/.test(name) ? Number(name.slice(0, 20)) : undefined

/**
 * The end of a journal: its last record, and the checksum of that record's batch. Both are 0 for an
 * empty journal.
 */
export interface JournalPosition {
  readonly lastSequence: number
  readonly checksum: number
}

/** The header of a segment, plain or sealed: the two differ in the magic. */
export interface SegmentHeader {
  readonly firstSequence: number
  /** The checksum of the batch before the first batch of this segment; 0 if there is none. */
  readonly previous: number
}

export const encodeSegmentHeader = (header: SegmentHeader, magic = segmentMagic): Buffer => {
  const bytes = Buffer.alloc(segmentHeaderBytes)
  magic.copy(bytes)
  bytes.writeUInt32LE(dataFormat, 8)
  writeSequence(bytes, header.firstSequence, 12)
  bytes.writeUInt32LE(header.previous, 20)
  bytes.writeUInt32LE(crc32(bytes.subarray(0, 24)), 24)
  return bytes
}

/** A number: the format of a segment of another format. */
export const decodeSegmentHeader = (
  bytes: Buffer,
  magic = segmentMagic,
): SegmentHeader | number | "damaged" => {
  if (bytes.length < segmentHeaderBytes) return "damaged"
  if (!bytes.subarray(0, magic.length).equals(magic)) return "damaged"
  if (bytes.readUInt32LE(24) !== crc32(bytes.subarray(0, 24))) return "damaged"
  const format = bytes.readUInt32LE(8)
  if (format !== dataFormat) return format
  return { firstSequence: readSequence(bytes, 12), previous: bytes.readUInt32LE(20) }
}

/** The checksum of a batch that follows the batch with checksum `previous`. */
export const batchChecksum = (batch: JournalBatch, previous: number): number =>
  batch.keptChecksum ?? encodeBatch(batch, previous).checksum

/** The pieces of a batch that follows the batch with checksum `previous`, and its checksum. */
export const encodeBatch = (batch: JournalBatch, previous: number): EncodedBatch => {
  const { count, firstSequence, frames, keptChecksum } = batch
  const header = Buffer.allocUnsafe(batchHeaderBytes)
  const isKept = keptChecksum !== undefined
  header.writeUInt32LE(batchMagicNumber, 0)
  header.writeUInt32LE(isKept ? frames.length + keptChecksumBytes : frames.length, 8)
  header.writeUInt32LE(isKept ? count + keptBit : count, 12)
  writeSequence(header, firstSequence, 16)
  header.writeUInt32LE(previous, 24)
  let checksum = crc32(frames, crc32(header.subarray(checkedFrom)))
  const pieces = [header, frames]
  if (isKept) {
    const kept = Buffer.allocUnsafe(keptChecksumBytes)
    kept.writeUInt32LE(keptChecksum)
    pieces.push(kept)
    checksum = crc32(kept, checksum)
  }
  header.writeUInt32LE(checksum, 4)
  return { pieces, checksum: keptChecksum ?? checksum, size: encodedBytes(batch) }
}

interface EncodedBatch {
  readonly pieces: ReadonlyArray<Uint8Array>
  readonly checksum: number
  /** The bytes of the pieces. */
  readonly size: number
}

/** The bytes that a batch takes in a segment. */
export const encodedBytes = ({ frames, keptChecksum }: JournalBatch): number =>
  batchHeaderBytes + frames.length + (keptChecksum === undefined ? 0 : keptChecksumBytes)

export interface SegmentBatch extends JournalBatch {
  readonly previous: number
  readonly checksum: number
  /** Where the batch begins in its segment, and its size with its header. */
  readonly position: number
  readonly size: number
}

/** The size of the batch at `at` according to its header; 0 if there is no batch. */
export const batchSizeAt = (bytes: Buffer, at: number): number =>
  bytes.readUInt32LE(at) === batchMagicNumber ? batchHeaderBytes + bytes.readUInt32LE(at + 8) : 0

/** The first sequence and the number of records of the batch at `at` according to its header. */
export const firstSequenceAt = (bytes: Buffer, at: number): number => readSequence(bytes, at + 16)
export const batchCountAt = (bytes: Buffer, at: number): number =>
  bytes.readUInt32LE(at + 12) % keptBit

/** The batch of `size` bytes at `at`, as a view; `undefined` if its checksum is wrong. */
export const decodeBatch = (
  bytes: Buffer,
  at: number,
  size: number,
  position: number,
): SegmentBatch | undefined => {
  const checksum = bytes.readUInt32LE(at + 4)
  if (crc32(bytes.subarray(at + checkedFrom, at + size)) !== checksum) return undefined
  const isKept = bytes.readUInt32LE(at + 12) >= keptBit
  const end = isKept ? at + size - keptChecksumBytes : at + size
  const kept = isKept ? { keptChecksum: bytes.readUInt32LE(end) } : undefined
  return {
    firstSequence: firstSequenceAt(bytes, at),
    count: batchCountAt(bytes, at),
    frames: bytes.subarray(at + batchHeaderBytes, end),
    ...kept,
    previous: bytes.readUInt32LE(at + 24),
    checksum: kept?.keptChecksum ?? checksum,
    position,
    size,
  }
}

/* The index of one segment file. Cost: two numbers per `journalIndexBytes`. */

export class Segment {
  readonly path: string
  readonly firstSequence: number
  /** The end of the last durable batch. */
  end = segmentHeaderBytes
  /** The first sequence and the position of some batches, in order. */
  readonly #sequences: Array<number> = []
  readonly #positions: Array<number> = []

  constructor(folder: string, firstSequence: number) {
    this.path = path.join(folder, segmentName(firstSequence))
    this.firstSequence = firstSequence
  }

  /** Adds a batch at the end. */
  add(firstSequence: number, size: number): void {
    const indexed = this.#positions[this.#positions.length - 1]
    if (indexed === undefined || this.end - indexed >= limits.journalIndexBytes) {
      this.#sequences.push(firstSequence)
      this.#positions.push(this.end)
    }
    this.end += size
  }

  /** The bytes in which the batch with record `sequence` is. */
  rangeOf(sequence: number): { readonly start: number; readonly end: number } {
    const after = countUpTo(this.#sequences, sequence)
    const start = this.#positions[after - 1] ?? segmentHeaderBytes
    return { start, end: this.#positions[after] ?? this.end }
  }
}
