/**
 * Reads a sealed segment (`SealedFormat.ts`): its end by the trailer, a block by the index, or all
 * batches in order. Each block has a checksum, so damage to one block fails only the reads that
 * need it.
 *
 * Cost of a block: one read of about a tenth of `sealedBlockBytes`, and unpacking in the pool of
 * threads.
 */
import { crc32, zstdDecompress } from "node:zlib"
import { Data, Effect } from "effect"
import { type Disk, type DiskError, type DiskFile, withFile } from "../disk/Disk.ts"
import { batchFault, framesEnd, holdsTombstone } from "../Frames.ts"
import { otherFormat } from "../format.ts"
import {
  type Block,
  type BlockHead,
  BlockIndex,
  blockHeadBytes,
  decodeBlock,
  decodeTrailer,
  indexEntryBytes,
  openBlock,
  sealedMagic,
  sealedPath,
  type Trailer,
  trailerBytes,
} from "./SealedFormat.ts"
import {
  batchChecksum,
  decodeSegmentHeader,
  type JournalPosition,
  type SegmentBatch,
  type SegmentHeader,
  segmentHeaderBytes,
} from "./SegmentFormat.ts"

/** A sealed segment cannot be read at a position. */
export class SealedFault extends Data.TaggedError("SealedFault")<{
  readonly path: string
  readonly position: number
  readonly words: string
  /** The file has another format: it is not damaged. */
  readonly isOther: boolean
}> {
  override get message(): string {
    return `The journal is damaged at byte ${this.position} of ${this.path}: ${this.words}`
  }
}

/** A sealed segment whose header and trailer are right. */
export class SealedSegment {
  readonly path: string
  readonly firstSequence: number
  readonly lastSequence: number
  /** The checksums of the batch before, and of the last batch. */
  readonly previous: number
  readonly checksum: number
  readonly trailer: Trailer

  constructor(path: string, { firstSequence, previous }: SegmentHeader, trailer: Trailer) {
    this.path = path
    this.firstSequence = firstSequence
    this.previous = previous
    this.lastSequence = trailer.lastSequence
    this.checksum = trailer.checksum
    this.trailer = trailer
  }

  /** The size of the file. */
  get bytes(): number {
    return this.trailer.indexAt + this.trailer.blocks * indexEntryBytes + trailerBytes
  }

  get end(): JournalPosition {
    return { lastSequence: this.lastSequence, checksum: this.checksum }
  }

  /** The same under another name. */
  at(path: string): SealedSegment {
    return new SealedSegment(path, this, this.trailer)
  }

  fault(position: number, words: string): SealedFault {
    return new SealedFault({ path: this.path, position, words, isOther: false })
  }
}

type Fault = DiskError | SealedFault

/** Opens the sealed segment at `path`, which begins with this record. */
export const openSealedAt = (
  disk: Disk,
  path: string,
  firstSequence: number,
): Effect.Effect<SealedSegment, Fault> => {
  const fault = (position: number, words: string, isOther = false) =>
    new SealedFault({ path, position, words, isOther })
  return withFile(disk, path, "read", (file) =>
    Effect.gen(function* () {
      const head = Buffer.alloc(segmentHeaderBytes)
      yield* file.read(0, head)
      const header = decodeSegmentHeader(head, sealedMagic)
      if (typeof header === "number") return yield* fault(0, otherFormat(header), true)
      if (header === "damaged") return yield* fault(0, "its header is damaged")
      if (header.firstSequence !== firstSequence) {
        return yield* fault(0, `its first record is ${header.firstSequence}`)
      }
      const trailerAt = Math.max(0, (yield* file.size) - trailerBytes)
      const tail = Buffer.alloc(trailerBytes)
      yield* file.read(trailerAt, tail)
      const trailer = decodeTrailer(tail)
      if (
        trailer === undefined ||
        trailer.lastSequence < firstSequence ||
        trailer.indexAt + trailer.blocks * indexEntryBytes !== trailerAt
      ) {
        return yield* fault(trailerAt, "its trailer is damaged")
      }
      return new SealedSegment(path, header, trailer)
    }),
  )
}

export const openSealed = (
  disk: Disk,
  folder: string,
  firstSequence: number,
): Effect.Effect<SealedSegment, Fault> =>
  openSealedAt(disk, sealedPath(folder, firstSequence), firstSequence)

export const readIndex = Effect.fnUntraced(function* (
  file: DiskFile,
  segment: SealedSegment,
): Effect.fn.Return<BlockIndex, Fault> {
  const { blocks, indexAt, indexChecksum } = segment.trailer
  const bytes = Buffer.alloc(blocks * indexEntryBytes)
  yield* file.read(indexAt, bytes)
  if (blocks === 0 || crc32(bytes) !== indexChecksum) {
    return yield* segment.fault(indexAt, "its index is damaged")
  }
  return new BlockIndex(bytes, segment.firstSequence, indexAt)
})

/** Unpacks in the pool of threads; `undefined` if the bytes are damaged. */
const unpacked = (body: Buffer, rawBytes: number): Effect.Effect<Buffer | undefined> =>
  Effect.callback((resume) => {
    const options = { chunkSize: Math.max(64, rawBytes), maxOutputLength: Math.max(1, rawBytes) }
    zstdDecompress(body, options, (error, raw) =>
      resume(Effect.succeed(error === null ? raw : undefined)),
    )
  })

/** The bytes of block `number` in the file. */
export const readPacked = Effect.fnUntraced(function* (
  file: DiskFile,
  segment: SealedSegment,
  index: BlockIndex,
  number: number,
): Effect.fn.Return<{ readonly bytes: Buffer; readonly head: BlockHead }, Fault> {
  const start = index.startOf(number)
  const length = index.startOf(number + 1) - start
  if (!(length >= blockHeadBytes)) return yield* segment.fault(start, "its index is damaged")
  const bytes = Buffer.allocUnsafe(length)
  const count = yield* file.read(start, bytes)
  const head = count === length ? openBlock(bytes) : undefined
  const first = index.firstSequenceOf(number)
  const next =
    number + 1 < index.length ? index.firstSequenceOf(number + 1) : segment.lastSequence + 1
  if (head === undefined || head.firstSequence !== first || head.count !== next - first) {
    return yield* segment.fault(start, `the block of records ${first} to ${next - 1} is damaged`)
  }
  return { bytes, head }
})

/** Block `number`, unpacked. */
export const readBlock = Effect.fnUntraced(function* (
  file: DiskFile,
  segment: SealedSegment,
  index: BlockIndex,
  number: number,
): Effect.fn.Return<Block, Fault> {
  const { bytes, head } = yield* readPacked(file, segment, index, number)
  const raw = yield* unpacked(bytes.subarray(blockHeadBytes), head.rawBytes)
  const block = raw && decodeBlock(head, raw)
  if (block === undefined || batchFault(block, block.firstSequence - 1) !== undefined) {
    const words = `the block of records ${head.firstSequence} to ${head.firstSequence + head.count - 1} is damaged`
    return yield* segment.fault(index.startOf(number), words)
  }
  return block
})

/** The batches of a sealed segment in order, with the checksums that they had when written. */
export class SealedReader {
  readonly #file: DiskFile
  readonly #segment: SealedSegment
  readonly #index: BlockIndex
  #block = 0
  #previous: number
  /** The frames of the batch that goes on in the next block, and its first record. */
  #begun: Array<Buffer> = []
  #firstSequence: number

  constructor(file: DiskFile, segment: SealedSegment, index: BlockIndex) {
    this.#file = file
    this.#segment = segment
    this.#index = index
    this.#previous = segment.previous
    this.#firstSequence = segment.firstSequence
  }

  /** The batches that end in the next blocks; empty at the end of the segment. */
  readonly next: Effect.Effect<ReadonlyArray<SegmentBatch>, Fault> = Effect.suspend(() =>
    this.#next(),
  )

  readonly #next = Effect.fnUntraced(function* (
    this: SealedReader,
  ): Effect.fn.Return<ReadonlyArray<SegmentBatch>, Fault> {
    while (this.#block < this.#index.length) {
      const number = this.#block++
      const position = this.#index.startOf(number)
      const block = yield* readBlock(this.#file, this.#segment, this.#index, number)
      const batches: Array<SegmentBatch> = []
      let at = 0
      let records = 0
      for (const end of block.ends) {
        const to = framesEnd(block.frames, at, end.records - records)
        const frames = Buffer.concat([...this.#begun, block.frames.subarray(at, to)])
        const firstSequence = this.#firstSequence
        const next = block.firstSequence + end.records
        const { checksum } = end
        const kept = end.isErased ? { keptChecksum: checksum } : undefined
        const batch = { firstSequence, count: next - firstSequence, frames, ...kept }
        const isRight = end.isErased
          ? holdsTombstone(batch)
          : batchChecksum(batch, this.#previous) === checksum
        if (!isRight) {
          const words = `the batch from record ${firstSequence} on is not as it was written`
          return yield* this.#segment.fault(position, words)
        }
        batches.push({ ...batch, previous: this.#previous, checksum, position, size: 0 })
        this.#previous = checksum
        this.#begun = []
        this.#firstSequence = next
        at = to
        records = end.records
      }
      if (at < block.frames.length) this.#begun.push(block.frames.subarray(at))
      if (batches.length > 0) return batches
    }
    const { checksum, lastSequence } = this.#segment
    if (this.#firstSequence !== lastSequence + 1 || this.#previous !== checksum) {
      return yield* this.#segment.fault(this.#index.startOf(this.#block), "its end is missing")
    }
    return []
  }).bind(this)
}

/** Reads all of a sealed segment, and fails if any of it is damaged. */
export const verifySealed = (
  disk: Disk,
  segment: SealedSegment,
): Effect.Effect<JournalPosition, Fault> =>
  withFile(disk, segment.path, "read", (file) =>
    Effect.gen(function* () {
      const reader = new SealedReader(file, segment, yield* readIndex(file, segment))
      while ((yield* reader.next).length > 0);
      return segment.end
    }),
  )
