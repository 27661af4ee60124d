/**
 * The work on sealed segments that takes long, for a thread of its own (`SealThread.ts`): seals a
 * plain segment, erases records of a sealed segment, and verifies a sealed segment.
 *
 * Sealing and erasing write a draft, flush it, read it back and compare it with its source, batch
 * by batch. The journal then gives the draft its name (`Journal.ts`). Until then nothing is
 * changed, and a draft that a crash leaves is removed by the next start.
 *
 * Cost: the segment is read twice and the draft is written and read once, with one flush for each
 * `sealFlushBytes`: larger writes would delay the flushes of the journal. An erasure unpacks only
 * the blocks that have erased records or the ends of their batches; the comparison unpacks all.
 */
import { crc32 } from "node:zlib"
import { Effect } from "effect"
import { limits } from "../../Limits.ts"
import { type Disk, type DiskError, type DiskFile, type OnDisk, withFile } from "../disk/Disk.ts"
import {
  batchFault,
  checkedRecords,
  framesEnd,
  isSameRecord,
  tombstoneOf,
  withTombstones,
} from "../Frames.ts"
import {
  openSealed,
  openSealedAt,
  readBlock,
  readIndex,
  readPacked,
  SealedFault,
  SealedReader,
  type SealedSegment,
  verifySealed,
} from "./SealedFile.ts"
import {
  type BatchEnd,
  type Block,
  draftPath,
  encodeBlock,
  encodeIndex,
  encodeTrailer,
  sealedMagic,
} from "./SealedFormat.ts"
import {
  decodeSegmentHeader,
  encodeSegmentHeader,
  type JournalPosition,
  Segment,
  type SegmentBatch,
  type SegmentHeader,
  segmentHeaderBytes,
} from "./SegmentFormat.ts"
import { SegmentReader } from "./SegmentReader.ts"

type Fault = DiskError | SealedFault

/** Batches in order, valid until the next are read; no batches at the end. */
interface Batches {
  readonly next: Effect.Effect<ReadonlyArray<SegmentBatch>, Fault>
}

/** Writes a sealed segment: batches, or blocks that are ready. Nothing is durable before `end`. */
class SealedWriter {
  readonly #file: DiskFile
  readonly #firstSequence: number
  /** The bytes written, then the pieces and their bytes that are not. */
  #written = 0
  #pieces: Array<Buffer> = []
  #waiting = 0
  readonly #blocks: Array<{ readonly firstSequence: number; readonly position: number }> = []
  /** The block that is filled. */
  #next: number
  #count = 0
  #bytes = 0
  #ends: Array<BatchEnd> = []
  #frames: Array<Uint8Array> = []

  constructor(file: DiskFile, header: SegmentHeader) {
    this.#file = file
    this.#firstSequence = header.firstSequence
    this.#next = header.firstSequence
    this.#put(encodeSegmentHeader(header, sealedMagic))
  }

  /** Adds the next batch of a plain segment. */
  readonly add = Effect.fnUntraced(function* (
    this: SealedWriter,
    { checksum, count, frames, keptChecksum }: SegmentBatch,
  ): Effect.fn.Return<void, DiskError> {
    const bytes = Buffer.from(frames.buffer, frames.byteOffset, frames.byteLength)
    let from = 0
    let at = 0
    const take = () => {
      // The memory of the batch is used again.
      if (at > from) this.#frames.push(Buffer.from(bytes.subarray(from, at)))
      this.#bytes += at - from
      from = at
    }
    for (let record = 1; record <= count; record++) {
      at = framesEnd(bytes, at, 1)
      this.#count++
      if (record === count) {
        take()
        const isErased = keptChecksum !== undefined
        this.#ends.push({ records: this.#count, checksum, isErased })
      }
      if (this.#bytes + at - from < limits.sealedBlockBytes) continue
      take()
      yield* this.#cut
    }
  }).bind(this)

  /** Ends the block that is filled. */
  readonly #cut = Effect.suspend((): OnDisk<void> => {
    if (this.#count === 0) return Effect.void
    const frames = Buffer.concat(this.#frames)
    const block = { firstSequence: this.#next, count: this.#count, ends: this.#ends, frames }
    this.#next += this.#count
    this.#count = 0
    this.#bytes = 0
    this.#ends = []
    this.#frames = []
    return this.addBlock(block.firstSequence, encodeBlock(block))
  })

  /** Adds the next block, encoded. */
  addBlock(firstSequence: number, bytes: Buffer): OnDisk<void> {
    this.#blocks.push({ firstSequence, position: this.#written + this.#waiting })
    this.#put(bytes)
    return this.#waiting < limits.sealFlushBytes ? Effect.void : this.#flush
  }

  /** Completes the segment, whose last batch is at this position, durably. */
  readonly end = Effect.fnUntraced(function* (
    this: SealedWriter,
    { checksum, lastSequence }: JournalPosition,
  ): Effect.fn.Return<void, DiskError> {
    yield* this.#cut
    const index = encodeIndex(this.#firstSequence, this.#blocks)
    const trailer = encodeTrailer({
      lastSequence,
      checksum,
      blocks: this.#blocks.length,
      indexAt: this.#written + this.#waiting,
      indexChecksum: crc32(index),
    })
    this.#put(index)
    this.#put(trailer)
    yield* this.#flush
  }).bind(this)

  #put(bytes: Buffer): void {
    this.#pieces.push(bytes)
    this.#waiting += bytes.length
  }

  readonly #flush = Effect.suspend((): OnDisk<void> => {
    const { length } = this.#pieces
    return Effect.andThen(
      Effect.map(this.#file.write(this.#written, this.#pieces), () => {
        this.#written += this.#waiting
        this.#pieces.splice(0, length)
        this.#waiting = 0
      }),
      this.#file.sync,
    )
  })
}

/** A plain segment that takes no more records: its durable end and its last record. */
export interface FullSegment {
  readonly folder: string
  readonly firstSequence: number
  readonly end: number
  readonly lastSequence: number
}

/** Reads the batches of a full segment, and checks that they are all there. */
class PlainBatches implements Batches {
  readonly #segment: FullSegment
  readonly #path: string
  readonly #reader: SegmentReader
  /** The position after the batches so far. */
  position: JournalPosition

  constructor(file: DiskFile, segment: FullSegment, previous: number) {
    this.#segment = segment
    this.#path = file.path
    const memory = Buffer.allocUnsafe(Math.min(limits.journalReadBytes, segment.end))
    this.#reader = new SegmentReader(file, segmentHeaderBytes, segment.end, memory)
    this.position = { lastSequence: segment.firstSequence - 1, checksum: previous }
  }

  readonly next: Batches["next"] = Effect.suspend(() =>
    Effect.flatMap(this.#reader.next, (batches) => this.#checked(batches)),
  )

  #checked(batches: ReadonlyArray<SegmentBatch>): Batches["next"] {
    const damaged = (position: number) => Effect.fail(plainFault(this.#path, position))
    for (const batch of batches) {
      const { checksum, lastSequence } = this.position
      const follows = batch.previous === checksum && batchFault(batch, lastSequence) === undefined
      if (!follows) return damaged(batch.position)
      this.position = { lastSequence: lastSequence + batch.count, checksum: batch.checksum }
    }
    if (batches.length > 0) return Effect.succeed(batches)
    const isWhole =
      this.#reader.position === this.#segment.end &&
      this.position.lastSequence === this.#segment.lastSequence
    return isWhole ? Effect.succeed([]) : damaged(this.#reader.position)
  }
}

const plainFault = (path: string, position: number): SealedFault =>
  new SealedFault({ path, position, words: "the batch there is damaged", isOther: false })

/** Opens a full segment for `use`. */
const withPlain = <A>(
  disk: Disk,
  segment: FullSegment,
  use: (batches: PlainBatches, header: SegmentHeader) => Effect.Effect<A, Fault>,
): Effect.Effect<A, Fault> =>
  withFile(disk, new Segment(segment.folder, segment.firstSequence).path, "read", (file) =>
    Effect.gen(function* () {
      const head = Buffer.alloc(segmentHeaderBytes)
      yield* file.read(0, head)
      const header = decodeSegmentHeader(head)
      if (typeof header !== "object" || header.firstSequence !== segment.firstSequence) {
        return yield* plainFault(file.path, 0)
      }
      return yield* use(new PlainBatches(file, segment, header.previous), header)
    }),
  )

/** Opens a sealed segment for `use`. */
const withSealed = <A>(
  disk: Disk,
  segment: SealedSegment,
  use: (batches: Batches) => Effect.Effect<A, Fault>,
): Effect.Effect<A, Fault> =>
  withFile(disk, segment.path, "read", (file) =>
    Effect.flatMap(readIndex(file, segment), (index) =>
      use(new SealedReader(file, segment, index)),
    ),
  )

/** Fails unless `draft` has the batches of `source`, with tombstones in place of `erased`. */
const compare = Effect.fnUntraced(function* (
  draft: SealedSegment,
  written: Batches,
  source: Batches,
  erased: ReadonlySet<number>,
): Effect.fn.Return<void, Fault> {
  let theirs: ReadonlyArray<SegmentBatch> = []
  let at = 0
  while (true) {
    const own = yield* written.next
    for (const batch of own) {
      if (at === theirs.length) {
        theirs = yield* source.next
        at = 0
      }
      const other = theirs[at++]
      if (other === undefined || !isSame(batch, other, erased)) {
        return yield* draft.fault(batch.position, "the draft is not like its source")
      }
    }
    if (own.length > 0) continue
    if (at === theirs.length && (yield* source.next).length === 0) return
    return yield* draft.fault(draft.trailer.indexAt, "the draft lacks the end of its source")
  }
})

const isSame = (own: SegmentBatch, other: SegmentBatch, erased: ReadonlySet<number>): boolean => {
  const { checksum, count, firstSequence, previous } = own
  if (firstSequence !== other.firstSequence || count !== other.count) return false
  if (checksum !== other.checksum || previous !== other.previous) return false
  if (erased.size === 0) return Buffer.compare(own.frames, other.frames) === 0
  const others = checkedRecords(other, 0)
  return checkedRecords(own, 0).every((record, index) => {
    const theirs = others[index]!
    return isSameRecord(record, erased.has(record.sequence) ? tombstoneOf(theirs) : theirs)
  })
}

/** Writes the draft of a sealed segment with `fill`; returns it. */
const draftOf = Effect.fnUntraced(function* (
  disk: Disk,
  folder: string,
  header: SegmentHeader,
  fill: (writer: SealedWriter) => Effect.Effect<JournalPosition, Fault>,
): Effect.fn.Return<SealedSegment, Fault> {
  const path = draftPath(folder, header.firstSequence)
  yield* withFile(disk, path, "create", (file) => {
    const writer = new SealedWriter(file, header)
    return Effect.flatMap(fill(writer), writer.end)
  })
  return yield* openSealedAt(disk, path, header.firstSequence)
})

const seal = Effect.fnUntraced(function* (
  disk: Disk,
  segment: FullSegment,
): Effect.fn.Return<JournalPosition, Fault> {
  const draft = yield* withPlain(disk, segment, (batches, header) =>
    draftOf(disk, segment.folder, header, (writer) =>
      Effect.gen(function* () {
        while (true) {
          const next = yield* batches.next
          if (next.length === 0) return batches.position
          for (const batch of next) yield* writer.add(batch)
        }
      }),
    ),
  )
  yield* withPlain(disk, segment, (source) =>
    withSealed(disk, draft, (written) => compare(draft, written, source, new Set())),
  )
  return draft.end
})

/**
 * The block with tombstones in place of `erased`; `goesOn`: its first batch has an erased record.
 */
const tombstoned = (block: Block, erased: ReadonlySet<number>, goesOn: boolean) => {
  let isErased = goesOn
  let at = 0
  const ends = block.ends.map((end) => {
    for (; at < end.records; at++) isErased ||= erased.has(block.firstSequence + at)
    const marked = { ...end, isErased: end.isErased || isErased }
    isErased = false
    return marked
  })
  for (; at < block.count; at++) isErased ||= erased.has(block.firstSequence + at)
  return { block: { ...block, ends, frames: withTombstones(block, erased) }, goesOn: isErased }
}

const erase = Effect.fnUntraced(function* (
  disk: Disk,
  folder: string,
  firstSequence: number,
  erased: ReadonlySet<number>,
): Effect.fn.Return<JournalPosition, Fault> {
  const source = yield* openSealed(disk, folder, firstSequence)
  const draft = yield* withFile(disk, source.path, "read", (file) =>
    draftOf(disk, folder, source, (writer) =>
      Effect.gen(function* () {
        const index = yield* readIndex(file, source)
        const touched = new Set([...erased].map((sequence) => index.blockOf(sequence)))
        let goesOn = false
        for (let number = 0; number < index.length; number++) {
          if (goesOn || touched.has(number)) {
            const block = yield* readBlock(file, source, index, number)
            const changed = tombstoned(block, erased, goesOn)
            goesOn = changed.goesOn
            yield* writer.addBlock(block.firstSequence, encodeBlock(changed.block))
          } else {
            const { bytes, head } = yield* readPacked(file, source, index, number)
            yield* writer.addBlock(head.firstSequence, bytes)
          }
        }
        return source.end
      }),
    ),
  )
  yield* withSealed(disk, source, (before) =>
    withSealed(disk, draft, (written) => compare(draft, written, before, erased)),
  )
  return draft.end
})

/**
 * `seal` and `erase` leave the draft of the sealed segment. `sequences` are records of the segment.
 */
export type SegmentWork =
  | { readonly kind: "seal"; readonly segment: FullSegment }
  | {
      readonly kind: "erase"
      readonly folder: string
      readonly firstSequence: number
      readonly sequences: ReadonlyArray<number>
    }
  | { readonly kind: "verify"; readonly folder: string; readonly firstSequence: number }

export type DoSegmentWork = (work: SegmentWork) => Effect.Effect<JournalPosition, Fault>

/** Does the work in this thread; returns the end of the sealed segment. */
export const segmentWorkOn =
  (disk: Disk): DoSegmentWork =>
  (work) => {
    switch (work.kind) {
      case "seal":
        return seal(disk, work.segment)
      case "erase":
        return erase(disk, work.folder, work.firstSequence, new Set(work.sequences))
      case "verify":
        return Effect.flatMap(openSealed(disk, work.folder, work.firstSequence), (segment) =>
          verifySealed(disk, segment),
        )
    }
  }
