/**
 * The journal: append-only segment files of checksummed, chained batches (`SegmentFormat`).
 *
 * - An append is a write and a flush in one system call, so that a commit wakes one thread once. It
 *   succeeds only after the flush.
 * - The file grows in steps of `journalAllocationBytes`: the batch that reaches the allocated end
 *   also writes the zeros of the next step. All other batches overwrite zeros, so their flush has
 *   no metadata to write. The next segment is prepared while the current segment fills.
 * - One append at a time. An append completes even if its caller is interrupted.
 * - Full disk: the file is truncated to the last good batch, and the append can be repeated. That
 *   holds also if the flush found the disk full: the truncation drops the cached part of the batch,
 *   and the repeated append writes all of it. Any other error leaves an unknown outcome, and so
 *   does an append that takes longer than `commitDeadlineMs` of running time: from then on
 *   everything fails with `Broken`. After a failed flush the page cache cannot be trusted, so a
 *   flush is never repeated.
 * - A new segment's name is durable before its first batch counts.
 *
 * The journal owns its folder; the directory lock keeps other processes out.
 */

import path from "node:path"
import { Effect, Exit, Fiber, type Scope, Semaphore, type Stream } from "effect"
import { limits } from "../../Limits.ts"
import { detached, withDeadline } from "../disk/Deadline.ts"
import { type Disk, type DiskError, type DiskFile, isFull, type OnDisk } from "../disk/Disk.ts"
import { batchFault } from "../Frames.ts"
import {
  Broken,
  type JournalBatch,
  type ReadWork,
  type StorageError,
  type StoredRecord,
  Unavailable,
} from "../Storage.ts"
import { FlushedMark, removeCleanMark, writeCleanMark } from "./FlushedMark.ts"
import { JournalReader } from "./JournalReader.ts"
import { preparedName, type RecoveredJournal, recoverJournal } from "./JournalRecovery.ts"
import { type DoSegmentWork, segmentWorkOn } from "./Seal.ts"
import { Sealer } from "./Sealer.ts"
import {
  encodeBatch,
  encodedBytes,
  encodeSegmentHeader,
  type JournalPosition,
  Segment,
  segmentHeaderBytes,
} from "./SegmentFormat.ts"
import { type AnySegment, SegmentList } from "./SegmentList.ts"

export interface JournalOptions {
  readonly disk: Disk
  readonly folder: string
  readonly segmentBytes: number
  readonly freeSpaceBytesMin: number
  /**
   * Makes all ended writes durable; only for a `disk` whose durable writes are not durable at once.
   */
  readonly flush?: OnDisk<void>
  /** Works on sealed segments; absent: in this thread. */
  readonly workOnSegment?: DoSegmentWork | undefined
  /** A batch was written and flushed. */
  readonly onFlushed?: ((durationMs: number) => void) | undefined
}

/** The segment that takes appends. It is added to `segments` after its first durable batch. */
export interface Current {
  readonly file: DiskFile
  readonly segment: Segment
  /** The end of the last good batch; 0 while the file has no header. */
  end: number
  /** The size of the file, including the zeros. */
  allocated: number
}

/** Shared by all journals of the process. */
const zeros = Buffer.alloc(limits.journalAllocationBytes)

export class Journal {
  readonly #options: JournalOptions
  readonly #disk: Disk
  readonly #writing = Semaphore.makeUnsafe(1)
  readonly #segments: SegmentList
  readonly #zeros: Buffer
  #lastSequence: number
  #checksum: number
  #marked: boolean
  readonly #reader: JournalReader
  /** Seals full segments, and erases from them. */
  readonly sealer: Sealer
  /** The last shutdown was clean: the opening found its mark. */
  readonly wasClosed: boolean
  readonly #flushedMark: FlushedMark
  #current: Current | undefined
  /** A segment that takes no more batches although it is not full. */
  #closed: AnySegment | undefined
  #preparing: Fiber.Fiber<DiskFile, DiskError> | undefined
  #broken: Broken | undefined

  /** `current` is the newest recovered segment, opened for writing. */
  constructor(options: JournalOptions, recovered: RecoveredJournal, current: Current | undefined) {
    this.#options = options
    this.#disk = options.disk
    this.#zeros = zeros.subarray(0, options.segmentBytes)
    this.#segments = new SegmentList(recovered.segments)
    this.#lastSequence = recovered.lastSequence
    this.#checksum = recovered.checksum
    this.#marked = recovered.marked
    this.wasClosed = recovered.marked
    this.#flushedMark = new FlushedMark(options.disk, options.folder)
    this.#current = current
    const { disk, folder, workOnSegment = segmentWorkOn(disk) } = options
    this.#reader = new JournalReader({
      disk,
      extentOf: (sequence) => this.#segments.extentOf(sequence, this.#lastSequence),
      firstSequence: () => this.firstSequence,
      lastSequence: () => this.#lastSequence,
    })
    this.sealer = new Sealer({
      disk,
      folder,
      segments: this.#segments,
      reader: this.#reader,
      work: workOnSegment,
    })
  }

  /** The sequence of the last durable record. */
  get lastSequence(): number {
    return this.#lastSequence
  }

  /** The sequence of the oldest record that is kept; without records, the next sequence. */
  get firstSequence(): number {
    return this.#segments.oldest?.firstSequence ?? this.#lastSequence + 1
  }

  /** The first records of the segments, oldest first. */
  get segments(): ReadonlyArray<number> {
    return this.#segments.firstSequences
  }

  /** The end of the durable journal. */
  get position(): JournalPosition {
    return { lastSequence: this.#lastSequence, checksum: this.#checksum }
  }

  readonly append = (batch: JournalBatch): Effect.Effect<void, StorageError> =>
    this.#alone("append", this.#append(batch))

  /** Implements `Storage.readRecords`. */
  readonly readRecords = (sequence: number): Stream.Stream<ReadonlyArray<StoredRecord>, Broken> =>
    this.#reader.records(sequence)

  /** Implements `Storage.readRecord`. */
  readonly readRecord = (
    sequence: number,
    work?: ReadWork,
  ): Effect.Effect<StoredRecord | undefined, Broken> => this.#reader.record(sequence, work)

  /**
   * Removes segments that hold only records below `sequence`, oldest first, but never the newest
   * segment. If the newest segment has a record up to `closeThrough`, the next append begins
   * another segment.
   */
  readonly prune = (sequence: number, closeThrough = 0): Effect.Effect<void, StorageError> =>
    Effect.gen({ self: this }, function* () {
      if (this.#broken !== undefined) return yield* this.#broken
      const { newest } = this.#segments
      if (newest !== undefined && newest.firstSequence <= closeThrough) this.#closed = newest
      while (true) {
        const oldest = this.#segments.takeBelow(sequence)
        if (oldest === undefined) return
        yield* this.#reader.forget
        yield* this.#known("prune", this.#disk.remove(oldest.path))
        // One at a time: a crash must not leave a gap.
        yield* this.#settled("prune", this.#disk.syncFolder(this.#options.folder))
      }
    }).pipe(this.sealer.whileNamesStay, Effect.uninterruptible)

  /** Writes the flushed mark. A failure loses nothing. */
  readonly markFlushed: OnDisk<void> = Effect.suspend(() => {
    const mark = this.#flushedMark.write(this.#lastSequence)
    const { flush } = this.#options
    return flush === undefined ? mark : Effect.andThen(flush, mark)
  })

  /**
   * Closes the journal: waits for the append in flight and, unless the journal is broken, writes
   * the clean mark.
   */
  readonly close: Effect.Effect<void> = Effect.suspend(() =>
    this.#alone(
      "close",
      Effect.mapError(this.#close, (cause) => new Broken({ operation: "close", cause })),
    ),
  ).pipe(Effect.catch((error) => Effect.logWarning("The journal was not closed cleanly", error)))

  readonly #close = Effect.gen({ self: this }, function* () {
    const unbroken = this.#broken === undefined
    this.#broken ??= new Broken({ operation: "append", cause: new Error("the journal is closed") })
    yield* this.#reader.close
    if (this.#current !== undefined) yield* this.#current.file.close
    // A failed preparation leaves no open file.
    const prepared = this.#preparing && (yield* Fiber.await(this.#preparing))
    if (prepared !== undefined && Exit.isSuccess(prepared)) {
      yield* prepared.value.close
      yield* this.#disk.remove(prepared.value.path)
    }
    if (unbroken && !this.#marked) {
      const mark = {
        format: 1,
        lastSequence: this.#lastSequence,
        checksum: this.#checksum,
      } as const
      yield* writeCleanMark(this.#disk, this.#options.folder, mark)
    }
  })

  /** Starts to prepare the next segment in the background. */
  readonly prepare: Effect.Effect<void> = Effect.suspend(() =>
    Effect.map(detached(this.#prepared), (fiber) => {
      this.#preparing = fiber
    }),
  )

  readonly #prepared: OnDisk<DiskFile> = Effect.suspend(() => {
    const where = path.join(this.#options.folder, preparedName)
    return Effect.flatMap(this.#disk.open(where, "create", { durable: true }), (file) =>
      file.write(0, [this.#zeros]).pipe(
        Effect.as(file),
        Effect.onError(() =>
          Effect.andThen(Effect.ignore(file.close), Effect.ignore(this.#disk.remove(where))),
        ),
      ),
    )
  })

  readonly #append = Effect.fnUntraced(function* (
    this: Journal,
    batch: JournalBatch,
  ): Effect.fn.Return<void, StorageError> {
    if (this.#broken !== undefined) return yield* this.#broken
    const size = encodedBytes(batch)
    const fault = batchFault(batch, this.#lastSequence)
    if (fault !== undefined) {
      return yield* new Broken({ operation: "append", cause: new Error(fault) })
    }
    if (segmentHeaderBytes + size > this.#options.segmentBytes) {
      const cause = new Error(`a batch of ${size} bytes is larger than a segment`)
      return yield* new Broken({ operation: "append", cause })
    }
    if (this.#marked) {
      yield* this.#settled("append", removeCleanMark(this.#disk, this.#options.folder))
      this.#marked = false
    }
    let current = this.#current
    if (current === undefined || current.end + size > this.#options.segmentBytes) {
      current = yield* this.#begin(yield* this.#ready, batch.firstSequence)
    } else if (current.segment === this.#closed) {
      const ready = yield* Effect.catchTag(this.#ready, "Unavailable", () => Effect.undefined)
      if (ready !== undefined) current = yield* this.#begin(ready, batch.firstSequence)
    }
    yield* this.#write(current, batch, size)
  }).bind(this)

  readonly #write = Effect.fnUntraced(function* (
    this: Journal,
    current: Current,
    batch: JournalBatch,
    size: number,
  ): Effect.fn.Return<void, StorageError> {
    const { file, segment } = current
    const first = current.end === 0
    const encoded = encodeBatch(batch, this.#checksum)
    const pieces = [...encoded.pieces]
    if (first) {
      const { firstSequence } = segment
      pieces.unshift(encodeSegmentHeader({ firstSequence, previous: this.#checksum }))
    }
    const end = current.end + size + (first ? segmentHeaderBytes : 0)
    let allocated = current.allocated
    if (end > allocated) {
      const step = Math.min(this.#zeros.length, this.#options.segmentBytes - end)
      allocated = end + step
      pieces.push(this.#zeros.subarray(0, step))
      yield* this.#spaceFor(allocated - current.end)
    }
    const startedAt = performance.now()
    yield* Effect.catch(file.write(current.end, pieces), (error) =>
      isFull(error) ? this.#repair(current) : this.#break("append", error),
    )
    this.#options.onFlushed?.(performance.now() - startedAt)
    if (first) {
      yield* this.#settled("append", this.#disk.syncFolder(this.#options.folder))
      this.#segments.add(segment)
      yield* this.prepare
    }
    // After the deadline no write is acknowledged, even if the disk has answered.
    if (this.#broken !== undefined) return yield* this.#broken
    segment.add(batch.firstSequence, size)
    current.end = end
    current.allocated = allocated
    this.#checksum = encoded.checksum
    this.#lastSequence += batch.count
  }).bind(this)

  /** Truncates the file to the last good batch after a write that found the disk full. */
  readonly #repair = (current: Current): Effect.Effect<never, StorageError> =>
    Effect.flatMap(this.#settled("append", current.file.truncate(current.end)), () => {
      current.allocated = current.end
      return Effect.fail(new Unavailable({ operation: "append", reason: "disk_full" }))
    })

  /** The file of the next segment. */
  readonly #ready: Effect.Effect<DiskFile, StorageError> = Effect.suspend(() =>
    Effect.andThen(
      this.#spaceFor(this.#zeros.length),
      Effect.suspend(() => {
        const ready = this.#preparing === undefined ? this.#prepared : Fiber.join(this.#preparing)
        this.#preparing = undefined
        return this.#known("append", ready)
      }),
    ),
  )

  /** Makes `file` the current segment. Its name becomes durable with its first batch. */
  readonly #begin = Effect.fnUntraced(function* (
    this: Journal,
    file: DiskFile,
    firstSequence: number,
  ): Effect.fn.Return<Current, StorageError> {
    const before = this.#current
    const { flush, folder } = this.#options
    // After a power cut, no segment may follow a torn segment.
    if (before !== undefined && flush !== undefined) yield* this.#known("append", flush)
    const segment = new Segment(folder, firstSequence)
    const renamed = this.#disk.rename(file.path, segment.path)
    yield* this.#known(
      "append",
      Effect.onError(renamed, () => Effect.ignore(file.close)),
    )
    // The new segment has its name, so the previous segment must not get another batch.
    this.#current = { file, segment, end: 0, allocated: this.#zeros.length }
    if (before !== undefined) yield* this.#known("append", before.file.close)
    return this.#current
  }).bind(this)

  readonly #alone = <A>(operation: string, work: Effect.Effect<A, StorageError>) =>
    withDeadline(operation, Semaphore.withPermit(this.#writing, work), (expired) => {
      this.#broken ??= expired
    })

  /** Fails if `bytes` more would use the disk space that is kept free for the operator. */
  readonly #spaceFor = (bytes: number): Effect.Effect<void, Unavailable> =>
    Effect.flatMap(
      Effect.orElseSucceed(
        this.#disk.freeBytes(this.#options.folder),
        () => Number.POSITIVE_INFINITY,
      ),
      (free) =>
        free < this.#options.freeSpaceBytesMin + bytes
          ? Effect.fail(new Unavailable({ operation: "append", reason: "disk_full" }))
          : Effect.void,
    )

  /** A call that changes nothing if it finds the disk full. */
  readonly #known = <A>(operation: string, call: OnDisk<A>): Effect.Effect<A, StorageError> =>
    Effect.catch(
      call,
      (error): Effect.Effect<never, StorageError> =>
        isFull(error)
          ? Effect.fail(new Unavailable({ operation, reason: "disk_full" }))
          : this.#break(operation, error),
    )

  /** A call whose failure leaves an unknown state. */
  readonly #settled = <A>(operation: string, call: OnDisk<A>): Effect.Effect<A, Broken> =>
    Effect.catch(call, (error) => this.#break(operation, error))

  readonly #break = (operation: string, cause: unknown): Effect.Effect<never, Broken> =>
    Effect.suspend(() => {
      this.#broken ??= new Broken({ operation, cause })
      return Effect.fail(this.#broken)
    })
}

/* Opening a journal: recovery first, then the newest segment is opened for writing. */

/** Opens the newest segment for writing; `undefined` if there is no segment. */
const openNewest = Effect.fnUntraced(function* (
  disk: Disk,
  { segments }: RecoveredJournal,
): Effect.fn.Return<Current | undefined, DiskError> {
  const segment = segments.at(-1)
  // After a sealed segment, the next batch begins another segment.
  if (!(segment instanceof Segment)) return undefined
  const file = yield* disk.open(segment.path, "write", { durable: true })
  const allocated = yield* Effect.onError(file.size, () => Effect.ignore(file.close))
  return { file, segment, end: segment.end, allocated }
})

/** Recovers the journal in `folder` and opens it. The end of the surrounding scope closes it. */
export const openJournal = Effect.fnUntraced(function* (
  options: JournalOptions,
): Effect.fn.Return<Journal, Broken, Scope.Scope> {
  const { disk, folder } = options
  const failed = (cause: DiskError) => new Broken({ operation: "open", cause })
  yield* Effect.mapError(disk.makeFolder(folder), failed)
  const recovered = yield* recoverJournal(disk, folder)
  const opened = Effect.gen(function* () {
    const current = yield* Effect.mapError(openNewest(disk, recovered), failed)
    const journal = new Journal(options, recovered, current)
    yield* journal.prepare
    return journal
  })
  return yield* Effect.acquireRelease(opened, (journal) => journal.close)
})
