/**
 * The journal's bytes. All numbers are little-endian; checksums are CRC-32 (that of `node:zlib`:
 * native, as good as CRC-32C at finding damage, and no dependency).
 *
 * A segment file is named after its first sequence, in 20 digits. It holds a header of 32 bytes,
 * batches without gaps, and zeros allocated ahead:
 *
 *     header   8 magic · 4 format version · 8 first sequence · 4 checksum of the batch before · 4 checksum of this
 *     batch    4 magic · 4 checksum of the rest · 4 bytes of frames · 4 records · 8 first sequence
 *              · 4 checksum of the batch before · frames
 *
 * A batch names the checksum of the one before it, over segments too, so that a lost or swapped
 * batch shows. Its magic holds bytes that UTF-8 never has, so text in records never looks like a
 * batch.
 */

import path from "node:path"
import { crc32 } from "node:zlib"
import { limits } from "../../Limits.ts"
import type { JournalBatch } from "../Storage.ts"

const formatVersion = 1
export const segmentHeaderBytes = 32
export const batchHeaderBytes = 28

const segmentMagic = Buffer.from([0x89, 0x4c, 0x41, 0x55, 0x52, 0x45, 0x4c, 0x0a])
export const batchMagic = Buffer.from([0xff, 0x4c, 0x42, 0xfe])
const batchMagicNumber = batchMagic.readUInt32LE(0)
/** The checksum of a batch skips the magic and itself. */
const checkedFrom = 8
const wordValues = 0x1_0000_0000

const writeSequence = (bytes: Buffer, sequence: number, at: number): void => {
  bytes.writeUInt32LE(sequence % wordValues, at)
  bytes.writeUInt32LE(Math.floor(sequence / wordValues), at + 4)
}
const readSequence = (bytes: Buffer, at: number): number =>
  bytes.readUInt32LE(at) + bytes.readUInt32LE(at + 4) * wordValues

export const segmentName = (firstSequence: number): string =>
  `${String(firstSequence).padStart(20, "0")}.segment`

/** The first sequence in a file's name; `undefined` for other files. */
export const sequenceOfName = (name: string): number | undefined =>
  /^\d{20}\.segment$/.test(name) ? Number(name.slice(0, 20)) : undefined

/**
 * The end of a journal: its last record, and the checksum of the batch that holds it. 0 and 0 for
 * none.
 */
export interface JournalPosition {
  readonly lastSequence: number
  readonly checksum: number
}

export interface SegmentHeader {
  readonly firstSequence: number
  /** The checksum of the batch before this segment's first; 0 when there is none. */
  readonly previous: number
}

export const encodeSegmentHeader = (header: SegmentHeader): Buffer => {
  const bytes = Buffer.alloc(segmentHeaderBytes)
  segmentMagic.copy(bytes)
  bytes.writeUInt32LE(formatVersion, 8)
  writeSequence(bytes, header.firstSequence, 12)
  bytes.writeUInt32LE(header.previous, 20)
  bytes.writeUInt32LE(crc32(bytes.subarray(0, 24)), 24)
  return bytes
}

export const decodeSegmentHeader = (bytes: Buffer): SegmentHeader | "newer" | "damaged" => {
  if (bytes.length < segmentHeaderBytes) return "damaged"
  if (!bytes.subarray(0, segmentMagic.length).equals(segmentMagic)) return "damaged"
  if (bytes.readUInt32LE(24) !== crc32(bytes.subarray(0, 24))) return "damaged"
  const version = bytes.readUInt32LE(8)
  switch (version) {
    // Every released format is read here.
    case formatVersion:
      return { firstSequence: readSequence(bytes, 12), previous: bytes.readUInt32LE(20) }
    default:
      return version > formatVersion ? "newer" : "damaged"
  }
}

/** The header of a batch that follows the one with checksum `previous`, and its own checksum. */
export const encodeBatchHeader = (
  batch: JournalBatch,
  previous: number,
): { readonly header: Buffer; readonly checksum: number } => {
  const header = Buffer.allocUnsafe(batchHeaderBytes)
  header.writeUInt32LE(batchMagicNumber, 0)
  header.writeUInt32LE(batch.frames.length, 8)
  header.writeUInt32LE(batch.count, 12)
  writeSequence(header, batch.firstSequence, 16)
  header.writeUInt32LE(previous, 24)
  const checksum = crc32(batch.frames, crc32(header.subarray(checkedFrom)))
  header.writeUInt32LE(checksum, 4)
  return { header, checksum }
}

export interface SegmentBatch extends JournalBatch {
  readonly previous: number
  readonly checksum: number
  /** Where it begins in its segment, and how long it is with its header. */
  readonly position: number
  readonly size: number
}

/** The bytes that a batch at `at` takes, judged by its header; 0 when there is none. */
export const batchSizeAt = (bytes: Buffer, at: number): number =>
  bytes.readUInt32LE(at) === batchMagicNumber ? batchHeaderBytes + bytes.readUInt32LE(at + 8) : 0

/** The batch of `size` bytes at `at`, as a view; `undefined` when its checksum does not hold. */
export const decodeBatch = (
  bytes: Buffer,
  at: number,
  size: number,
  position: number,
): SegmentBatch | undefined => {
  const checksum = bytes.readUInt32LE(at + 4)
  if (crc32(bytes.subarray(at + checkedFrom, at + size)) !== checksum) return undefined
  return {
    firstSequence: readSequence(bytes, at + 16),
    count: bytes.readUInt32LE(at + 12),
    frames: bytes.subarray(at + batchHeaderBytes, at + size),
    previous: bytes.readUInt32LE(at + 24),
    checksum,
    position,
    size,
  }
}

/* The index of one segment file. Cost: two numbers per `journalIndexBytes`. */

export class Segment {
  readonly path: string
  readonly firstSequence: number
  /** Where the last durable batch ends. */
  end = segmentHeaderBytes
  /** Some batches, in order: the first sequence of each and where it begins. */
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

  /**
   * Where to start reading for `sequence`: at the last indexed batch that does not begin after it.
   */
  positionBefore(sequence: number): number {
    let low = 0
    let high = this.#sequences.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#sequences[middle]! <= sequence) low = middle + 1
      else high = middle
    }
    return this.#positions[low - 1] ?? segmentHeaderBytes
  }
}
