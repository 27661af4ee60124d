/**
 * Reads durable records of a journal: in order, or one by its sequence, from plain and from sealed
 * segments.
 *
 * - The start of a stream fixes its end, so appends may continue. Each segment is looked up when
 *   the stream reaches it, and again if its file is missing: it may be sealed or erased from
 *   meanwhile. A stream fails with `Broken` if the segment that it reads is pruned.
 * - Damage fails only the reads that need the damaged batch or block.
 *
 * Cost of a stream: a seek to within `journalIndexBytes` or to the block of the first record, then
 * one pass. Memory: one piece of `journalReadBytes`, or one block. Cost of a single record: one
 * read of `journalIndexBytes` or of a block, unless the block is in the cache.
 */
import { Effect, Option, type Scope, Stream } from "effect"
import { limits } from "../../Limits.ts"
import { type Disk, type DiskError, type DiskFile, isMissing } from "../disk/Disk.ts"
import { ReadFiles } from "../disk/ReadFiles.ts"
import { batchRecords, checkedRecords, recordIn } from "../Frames.ts"
import {
  Broken,
  Damaged,
  OtherFormat,
  type ReadWork,
  type StoredRecord,
  toBroken,
} from "../Storage.ts"
import { readBlock, readIndex, SealedFault, type SealedSegment } from "./SealedFile.ts"
import type { Block, BlockIndex } from "./SealedFormat.ts"
import {
  batchCountAt,
  batchHeaderBytes,
  batchSizeAt,
  decodeBatch,
  firstSequenceAt,
  type Segment,
} from "./SegmentFormat.ts"
import { SegmentReader } from "./SegmentReader.ts"

/** A plain segment, and the end of its durable part. */
export interface PlainExtent {
  readonly segment: Segment
  readonly end: number
  readonly lastSequence: number
}

export type Extent = PlainExtent | SealedSegment

const isSealed = (extent: Extent): extent is SealedSegment => !("segment" in extent)

const pathOf = (extent: Extent): string => (isSealed(extent) ? extent.path : extent.segment.path)

type Chunk = ReadonlyArray<StoredRecord>
type Fault = DiskError | SealedFault | Broken

/** The error of a read as a `Broken`. */
export const brokenRead = (error: unknown): Broken => {
  if (!(error instanceof SealedFault)) return toBroken("read", error)
  const cause = error.isOther
    ? new OtherFormat(`${error.path} ${error.words}`)
    : new Damaged(error.message)
  return new Broken({ operation: "read", cause })
}

const damaged = (segment: Segment, position: number): Broken =>
  brokenRead(new Damaged(`The journal is damaged at byte ${position} of ${segment.path}`))

/** Unpacked blocks and indexes, shared by all journals of the process, the least used first. */
class BlockCache {
  readonly #kept = new Map<string, { readonly bytes: number; readonly value: Block | BlockIndex }>()
  readonly #ids = new WeakMap<SealedSegment, number>()
  #id = 0
  #bytes = 0

  get<A extends Block | BlockIndex>(segment: SealedSegment, what: string): A | undefined {
    const key = this.#key(segment, what)
    const found = this.#kept.get(key)
    if (found === undefined) return undefined
    this.#kept.delete(key)
    this.#kept.set(key, found)
    return found.value as A
  }

  set(segment: SealedSegment, what: string, value: Block | BlockIndex, bytes: number): void {
    const key = this.#key(segment, what)
    if (this.#kept.has(key)) return
    this.#kept.set(key, { value, bytes })
    this.#bytes += bytes
    for (const [oldest, { bytes: freed }] of this.#kept) {
      if (this.#bytes <= limits.historyCacheBytesMax) break
      this.#kept.delete(oldest)
      this.#bytes -= freed
    }
  }

  clear(): void {
    this.#kept.clear()
    this.#bytes = 0
  }

  /** A segment that was erased from is another object. */
  #key(segment: SealedSegment, what: string): string {
    let id = this.#ids.get(segment)
    if (id === undefined) {
      id = this.#id++
      this.#ids.set(segment, id)
    }
    return `${id} ${what}`
  }
}

const cache = new BlockCache()

const indexOf = (file: DiskFile, segment: SealedSegment): Effect.Effect<BlockIndex, Fault> =>
  Effect.suspend(() => {
    const kept = cache.get<BlockIndex>(segment, "index")
    if (kept !== undefined) return Effect.succeed(kept)
    return Effect.tap(readIndex(file, segment), (index) =>
      Effect.sync(() => cache.set(segment, "index", index, index.bytes)),
    )
  })

export interface JournalReaderOptions {
  readonly disk: Disk
  /** The segment with this record; `undefined` if it was pruned. */
  readonly extentOf: (sequence: number) => Extent | undefined
  /** The first and the last record of the journal; without records, the next and the last. */
  readonly firstSequence: () => number
  readonly lastSequence: () => number
}

export class JournalReader {
  readonly #options: JournalReaderOptions
  readonly #files: ReadFiles

  constructor(options: JournalReaderOptions) {
    this.#options = options
    this.#files = new ReadFiles(options.disk)
  }

  /** Implements `Storage.readRecords`. */
  readonly records = (sequence: number): Stream.Stream<Chunk, Broken> =>
    Stream.suspend(() => {
      const first = this.#options.firstSequence()
      if (sequence < first && first > 1) return Stream.fail(this.#gone(sequence))
      const last = this.#options.lastSequence()
      return Stream.paginate(Math.max(1, sequence), (next) =>
        Effect.sync(() => {
          if (next > last) return [[], Option.none<number>()] as const
          const extent = this.#options.extentOf(next)
          if (extent === undefined) return [[Stream.fail(this.#gone(next))], Option.none()] as const
          const through = Math.min(last, extent.lastSequence)
          return [[this.#part(extent, next, through)], Option.some(through + 1)] as const
        }),
      ).pipe(
        Stream.flatten(),
        Stream.map((records) =>
          records.length > 0 && records.at(-1)!.sequence > last
            ? records.filter((record) => record.sequence <= last)
            : records,
        ),
        Stream.filter((records) => records.length > 0),
      )
    })

  /** Implements `Storage.readRecord`. */
  readonly record = (
    sequence: number,
    work: ReadWork = { blocks: 0 },
  ): Effect.Effect<StoredRecord | undefined, Broken> =>
    Effect.suspend(() => {
      if (sequence > this.#options.lastSequence()) return Effect.undefined
      const extent = this.#options.extentOf(sequence)
      if (extent === undefined) return Effect.undefined
      const read: Effect.Effect<StoredRecord | undefined, Fault> = isSealed(extent)
        ? Effect.map(this.#block(extent, sequence, work), (block) => recordIn(block, sequence))
        : this.#files.use(extent.segment.path, (file) => {
            work.blocks++
            return readPoint(file, extent.segment, sequence)
          })
      return read.pipe(
        // Blocks are shared.
        Effect.map((record) => record && { ...record, body: Uint8Array.from(record.body) }),
        Effect.catch((error) =>
          this.#again(extent, sequence, error, () => this.record(sequence, work)),
        ),
      )
    })

  /** Changes files that are read, while nobody reads them. */
  readonly whileUnread = <A, E>(change: Effect.Effect<A, E>): Effect.Effect<A, E> =>
    this.#files.alone(Effect.tap(change, () => Effect.sync(() => cache.clear())))

  /** Closes files that were removed. */
  get forget(): Effect.Effect<void> {
    return this.#files.forget
  }

  get close(): Effect.Effect<void> {
    return this.#files.close
  }

  #gone(sequence: number): Broken {
    const first = this.#options.firstSequence()
    return brokenRead(new Error(`The journal begins at ${first}: ${sequence} is gone`))
  }

  /** Reads again if the segment was sealed, erased from or pruned during the read. */
  #again<A, E>(
    extent: Extent,
    sequence: number,
    error: Fault,
    read: () => Effect.Effect<A, E>,
  ): Effect.Effect<A, E | Broken> {
    const mayBeOld =
      error._tag === "SealedFault" || (error._tag === "DiskError" && isMissing(error))
    const now = mayBeOld ? this.#options.extentOf(sequence) : extent
    const isSame =
      now !== undefined && (isSealed(now) ? now === extent : pathOf(now) === pathOf(extent))
    return isSame || !mayBeOld ? Effect.fail(brokenRead(error)) : read()
  }

  /** The records from `from` up to `through` of one segment, or a few more of a plain segment. */
  #part(extent: Extent, from: number, through: number): Stream.Stream<Chunk, Broken> {
    if (isSealed(extent)) return this.#blocks(from, through)
    return Stream.unwrap(
      readPlain(this.#options.disk, extent, from).pipe(
        Effect.catch((error) =>
          this.#again(extent, from, error, () => {
            const now = this.#options.extentOf(from)
            return Effect.succeed(
              now === undefined ? Stream.fail(this.#gone(from)) : this.#part(now, from, through),
            )
          }),
        ),
      ),
    )
  }

  #blocks(from: number, through: number): Stream.Stream<Chunk, Broken> {
    const blockOf = (sequence: number): Effect.Effect<Block, Broken> =>
      Effect.suspend(() => {
        const extent = this.#options.extentOf(sequence)
        if (extent === undefined || !isSealed(extent)) return Effect.fail(this.#gone(sequence))
        return Effect.catch(this.#block(extent, sequence), (error) =>
          this.#again(extent, sequence, error, () => blockOf(sequence)),
        )
      })
    return Stream.paginate(from, (next) =>
      Effect.map(blockOf(next), (block) => {
        const end = block.firstSequence + block.count
        const more = end > through ? Option.none<number>() : Option.some(end)
        return [[checkedRecords(block, next)], more] as const
      }),
    )
  }

  /** The block with record `sequence`; with `work` it is kept in the cache. */
  #block(segment: SealedSegment, sequence: number, work?: ReadWork): Effect.Effect<Block, Fault> {
    const kept = (index: BlockIndex | undefined) =>
      index && cache.get<Block>(segment, `${index.blockOf(sequence)}`)
    const found = kept(cache.get<BlockIndex>(segment, "index"))
    if (found !== undefined) return Effect.succeed(found)
    return this.#files.use(segment.path, (file) =>
      Effect.gen(function* () {
        const index = yield* indexOf(file, segment)
        // Another reader may have read the block meanwhile.
        const block = kept(index)
        if (block !== undefined) return block
        if (work !== undefined) work.blocks++
        const number = index.blockOf(sequence)
        const read = yield* readBlock(file, segment, index, number)
        if (work !== undefined) cache.set(segment, `${number}`, read, read.frames.length)
        return read
      }),
    )
  }
}

/** The records of a plain segment from `from` on. */
const readPlain = Effect.fnUntraced(function* (
  disk: Disk,
  { end, lastSequence, segment }: PlainExtent,
  from: number,
): Effect.fn.Return<Stream.Stream<Chunk, Broken>, DiskError, Scope.Scope> {
  const file = yield* Effect.acquireRelease(disk.open(segment.path, "read"), (opened) =>
    Effect.ignore(opened.close),
  )
  const reader = new SegmentReader(file, segment.rangeOf(from).start, end)
  let expected: number | undefined
  const next = Effect.gen(function* () {
    const batches = yield* reader.next
    const records: Array<StoredRecord> = []
    for (const batch of batches) {
      const follows =
        expected === undefined
          ? batch.firstSequence <= Math.max(from, segment.firstSequence)
          : batch.firstSequence === expected
      const found = batchRecords(batch, from)
      if (!follows || found === undefined) return yield* damaged(segment, batch.position)
      for (const record of found) records.push(record)
      expected = batch.firstSequence + batch.count
    }
    const ended = reader.position === end
    if (batches.length === 0 || (ended && expected !== lastSequence + 1)) {
      return yield* damaged(segment, reader.position)
    }
    return [[records], ended ? Option.none<number>() : Option.some(0)] as const
  })
  return Stream.paginate(0, () => Effect.mapError(next, brokenRead))
})

/** Reads one record, which is in the plain segment. */
const readPoint = Effect.fnUntraced(function* (
  file: DiskFile,
  segment: Segment,
  sequence: number,
): Effect.fn.Return<StoredRecord, DiskError | Broken> {
  const { end, start } = segment.rangeOf(sequence)
  const bytes = Buffer.allocUnsafe(end - start)
  const count = yield* file.read(start, bytes)
  for (let at = 0; at + batchHeaderBytes <= count; ) {
    const size = batchSizeAt(bytes, at)
    if (size === 0 || at + size > count) return yield* damaged(segment, start + at)
    if (firstSequenceAt(bytes, at) + batchCountAt(bytes, at) > sequence) {
      const batch = decodeBatch(bytes, at, size, start + at)
      const record = batch && recordIn(batch, sequence)
      return record ?? (yield* damaged(segment, start + at))
    }
    at += size
  }
  return yield* damaged(segment, start)
})
