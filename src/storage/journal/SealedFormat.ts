/**
 * The format of a sealed segment: a full segment, compressed by block. All numbers are
 * little-endian. The name of the file is the first sequence in 20 digits:
 *
 *     header   that of a plain segment (`SegmentFormat.ts`) with another magic
 *     blocks   4 checksum of the rest · 4 bytes of the body · 4 bytes when unpacked · 4 records
 *              · 8 first sequence · body: zstd of the ends of batches, and of frames (`../Frames.ts`)
 *     ends     4 number of ends · each: 4 records of the block up to the end, with the highest bit if
 *              the batch has an erased record · 4 checksum of the batch
 *     index    for each block: 4 first sequence less that of the segment · 4 position
 *     trailer  8 magic · 8 last sequence · 4 checksum of the last batch · 4 blocks
 *              · 8 position of the index · 4 checksum of the index · 4 checksum of this
 *
 * A block ends with the record that fills `sealedBlockBytes`; a batch may go on in the next block.
 * Of a batch's header the sealed segment keeps the checksum: all else follows from the frames and
 * from the batch before. So the batches of a sealed segment are those of the plain segment, with
 * the same checksums.
 *
 * An erased record becomes a tombstone (`Frames.ts`). Its batch keeps the checksum, to which the
 * next batch refers, and is marked: its frames do not have that checksum any more.
 *
 * Example: segment 201 has the batches 201–204 and 205–206, and record 203 fills the first block.
 * Sealing gives block 201 (records 201–203, no end) and block 204 (204–206; ends: 1 record, the
 * checksum of 201–204; 3 records, the checksum of 205–206). The index is (0, 28), (3, …), and the
 * trailer has 206 and the checksum of 205–206. An erasure of record 202 writes block 201 again,
 * with an empty body in the frame of record 202, and marks the first end of block 204. Nothing else
 * changes.
 */
import path from "node:path"
import { constants, crc32, zstdCompressSync } from "node:zlib"
import { countWhile } from "../../domain/values/countUpTo.ts"
import { readSequence, writeSequence } from "./SegmentFormat.ts"

export const blockHeadBytes = 24
export const indexEntryBytes = 8
export const trailerBytes = 40

export const sealedMagic = Buffer.from([0x89, 0x4c, 0x53, 0x45, 0x41, 0x4c, 0x45, 0x0a])
const trailerMagic = Buffer.from([0x89, 0x4c, 0x45, 0x4e, 0x44, 0x53, 0x45, 0x0a])
const erasedBit = 0x8000_0000
/** zstd's level 1 packs records of events as well as level 3, for less work than any other. */
const compressionLevel = 1

export const sealedName = (firstSequence: number): string =>
  `${String(firstSequence).padStart(20, "0")}.sealed`

export const sealedPath = (folder: string, firstSequence: number): string =>
  path.join(folder, sealedName(firstSequence))

/** A sealed segment that is being written. */
export const draftSuffix = ".sealed.draft"
export const draftPath = (folder: string, firstSequence: number): string =>
  `${sealedPath(folder, firstSequence)}.draft`

/** The first sequence in a file's name; `undefined` for other files. */
export const sequenceOfSealed = (name: string): number | undefined =>
  /^\d{20}\.sealed$/.test(name) ? Number(name.slice(0, 20)) : undefined

/** The end of a batch in a block. */
export interface BatchEnd {
  /** How many records of the block are up to the end. */
  readonly records: number
  readonly checksum: number
  /** The batch has an erased record: its frames do not have its checksum. */
  readonly isErased: boolean
}

/** A block of a sealed segment, unpacked. */
export interface Block {
  readonly firstSequence: number
  readonly count: number
  readonly ends: ReadonlyArray<BatchEnd>
  readonly frames: Buffer
}

/** The bytes of a block in its file. */
export const encodeBlock = ({ count, ends, firstSequence, frames }: Block): Buffer => {
  const raw = Buffer.allocUnsafe(4 + 8 * ends.length + frames.length)
  let at = raw.writeUInt32LE(ends.length, 0)
  for (const { checksum, isErased, records } of ends) {
    at = raw.writeUInt32LE(isErased ? records + erasedBit : records, at)
    at = raw.writeUInt32LE(checksum, at)
  }
  frames.copy(raw, at)
  const body = zstdCompressSync(raw, {
    params: { [constants.ZSTD_c_compressionLevel]: compressionLevel },
  })
  const head = Buffer.allocUnsafe(blockHeadBytes)
  head.writeUInt32LE(body.length, 4)
  head.writeUInt32LE(raw.length, 8)
  head.writeUInt32LE(count, 12)
  writeSequence(head, firstSequence, 16)
  head.writeUInt32LE(crc32(body, crc32(head.subarray(4))), 0)
  return Buffer.concat([head, body])
}

export interface BlockHead {
  readonly firstSequence: number
  readonly count: number
  /** The bytes of the body when unpacked. */
  readonly rawBytes: number
}

/** The head of the block in `bytes`, which end with it; `undefined` if the block is damaged. */
export const openBlock = (bytes: Buffer): BlockHead | undefined => {
  if (bytes.length < blockHeadBytes) return undefined
  if (bytes.readUInt32LE(4) !== bytes.length - blockHeadBytes) return undefined
  if (crc32(bytes.subarray(4)) !== bytes.readUInt32LE(0)) return undefined
  return {
    firstSequence: readSequence(bytes, 16),
    count: bytes.readUInt32LE(12),
    rawBytes: bytes.readUInt32LE(8),
  }
}

/** The block whose body was unpacked to `raw`; `undefined` if it is not well formed. */
export const decodeBlock = (
  { count, firstSequence, rawBytes }: BlockHead,
  raw: Buffer,
): Block | undefined => {
  if (raw.length !== rawBytes || raw.length < 4) return undefined
  const length = raw.readUInt32LE(0)
  const framesAt = 4 + 8 * length
  if (framesAt > raw.length) return undefined
  const ends: Array<BatchEnd> = []
  let before = 0
  for (let at = 4; at < framesAt; at += 8) {
    const word = raw.readUInt32LE(at)
    const records = word % erasedBit
    if (records <= before || records > count) return undefined
    ends.push({ records, checksum: raw.readUInt32LE(at + 4), isErased: word >= erasedBit })
    before = records
  }
  return { firstSequence, count, ends, frames: raw.subarray(framesAt) }
}

/** Where the blocks of a sealed segment are. */
export class BlockIndex {
  readonly #bytes: Buffer
  readonly #firstSequence: number
  /** The end of the last block. */
  readonly #end: number

  constructor(bytes: Buffer, firstSequence: number, end: number) {
    this.#bytes = bytes
    this.#firstSequence = firstSequence
    this.#end = end
  }

  get length(): number {
    return this.#bytes.length / indexEntryBytes
  }

  /** The bytes of memory. */
  get bytes(): number {
    return this.#bytes.length
  }

  firstSequenceOf(block: number): number {
    return this.#firstSequence + this.#bytes.readUInt32LE(block * indexEntryBytes)
  }

  startOf(block: number): number {
    if (block === this.length) return this.#end
    return this.#bytes.readUInt32LE(block * indexEntryBytes + 4)
  }

  /** The number of the block that has record `sequence` of the segment. */
  blockOf(sequence: number): number {
    const begun = countWhile(this.length, (block) => this.firstSequenceOf(block) <= sequence)
    return Math.max(0, begun - 1)
  }
}

/** The index of blocks that begin at these sequences and positions. */
export const encodeIndex = (
  firstSequence: number,
  blocks: ReadonlyArray<{ readonly firstSequence: number; readonly position: number }>,
): Buffer => {
  const bytes = Buffer.allocUnsafe(indexEntryBytes * blocks.length)
  let at = 0
  for (const block of blocks) {
    at = bytes.writeUInt32LE(block.firstSequence - firstSequence, at)
    at = bytes.writeUInt32LE(block.position, at)
  }
  return bytes
}

export interface Trailer {
  readonly lastSequence: number
  /** The checksum of the last batch. */
  readonly checksum: number
  readonly blocks: number
  readonly indexAt: number
  readonly indexChecksum: number
}

export const encodeTrailer = (trailer: Trailer): Buffer => {
  const bytes = Buffer.alloc(trailerBytes)
  trailerMagic.copy(bytes)
  writeSequence(bytes, trailer.lastSequence, 8)
  bytes.writeUInt32LE(trailer.checksum, 16)
  bytes.writeUInt32LE(trailer.blocks, 20)
  writeSequence(bytes, trailer.indexAt, 24)
  bytes.writeUInt32LE(trailer.indexChecksum, 32)
  bytes.writeUInt32LE(crc32(bytes.subarray(0, 36)), 36)
  return bytes
}

export const decodeTrailer = (bytes: Buffer): Trailer | undefined => {
  if (bytes.length < trailerBytes) return undefined
  if (!bytes.subarray(0, trailerMagic.length).equals(trailerMagic)) return undefined
  if (bytes.readUInt32LE(36) !== crc32(bytes.subarray(0, 36))) return undefined
  return {
    lastSequence: readSequence(bytes, 8),
    checksum: bytes.readUInt32LE(16),
    blocks: bytes.readUInt32LE(20),
    indexAt: readSequence(bytes, 24),
    indexChecksum: bytes.readUInt32LE(32),
  }
}
