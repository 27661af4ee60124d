/**
 * Reads a journal without changing it, for archives, restores and checks: while a server appends to it, and
 * where it is damaged or ends in an interrupted write. Every batch is checked as at a start; what ends the
 * scan is told, not thrown.
 *
 * Memory stays within a few pieces of `journalReadBytes`; the time is that of reading the files once.
 */
import { Effect } from "effect"
import { type Disk, type DiskError, type DiskFile, isMissing, withFile } from "../disk/Disk.ts"
import { type CleanMark, readCleanMark } from "./CleanMark.ts"
import { acknowledgedMissing, readFlushed } from "./FlushedMark.ts"
import { Segment } from "./Segment.ts"
import {
  decodeSegmentHeader,
  type JournalPosition,
  type SegmentBatch,
  segmentHeaderBytes,
  segmentName,
  sequenceOfName,
} from "./SegmentFormat.ts"
import { SegmentReader } from "./SegmentReader.ts"
import { inspectTail } from "./SegmentTail.ts"

/** `interrupted`: at the very end, as a rule a write before it was acknowledged; a start cuts it off. */
export interface JournalFault {
  readonly kind: "interrupted" | "damaged" | "newer"
  readonly path: string
  readonly position: number
  readonly words: string
}

/** Where a scan ended. */
export interface JournalEnd extends JournalPosition {
  /** The first record that was read; `undefined`: none was. */
  readonly firstSequence: number | undefined
  /** What the first batch that was read follows. */
  readonly before: JournalPosition
  /** Why there is no more; `undefined`: the end of the journal, or of what was asked for. */
  readonly fault: JournalFault | undefined
}

export interface ScanOptions {
  readonly disk: Disk
  readonly folder: string
  /** Batches before the segment with this record are not read. */
  readonly from?: number
  /** The batch that has this record is the last that is read. */
  readonly until?: number
}

/** Calls `visit` with the batches in order; they are views that are good only until it ends. */
export const scanJournal = <E>(
  options: ScanOptions,
  visit: (batches: ReadonlyArray<SegmentBatch>) => Effect.Effect<void, E>,
): Effect.Effect<JournalEnd, DiskError | E> =>
  Effect.suspend(() => new Scan<E>(options, visit).run())

/** The first sequences of the segments in a folder, in order; none where there is no folder. */
export const segmentsIn = (
  disk: Disk,
  folder: string,
): Effect.Effect<ReadonlyArray<number>, DiskError> =>
  disk.list(folder).pipe(
    Effect.catchIf(isMissing, () => Effect.succeed([])),
    Effect.map((names) =>
      names
        .map(sequenceOfName)
        .filter((first) => first !== undefined)
        .sort((left, right) => left - right),
    ),
  )

class Scan<E> {
  readonly #options: ScanOptions
  readonly #visit: (batches: ReadonlyArray<SegmentBatch>) => Effect.Effect<void, E>
  readonly #until: number
  #firstSequence: number | undefined
  #before: JournalPosition = { lastSequence: 0, checksum: 0 }
  #lastSequence = 0
  #checksum = 0

  constructor(
    options: ScanOptions,
    visit: (batches: ReadonlyArray<SegmentBatch>) => Effect.Effect<void, E>,
  ) {
    this.#options = options
    this.#visit = visit
    this.#until = options.until ?? Number.POSITIVE_INFINITY
  }

  readonly run = Effect.fnUntraced(function* (
    this: Scan<E>,
  ): Effect.fn.Return<JournalEnd, DiskError | E> {
    const { disk, folder, from = 1 } = this.#options
    const firsts = yield* segmentsIn(disk, folder)
    const mark = yield* Effect.catchIf(
      readCleanMark(disk, folder),
      isMissing,
      () => Effect.undefined,
    )
    const flushed = yield* readFlushed(disk, folder)
    const start = Math.max(
      0,
      firsts.findLastIndex((first) => first <= from),
    )
    for (let index = start; index < firsts.length; index++) {
      const first = firsts[index]!
      if (first > this.#until) break
      const where = new Segment(folder, first).path
      const newest = index === firsts.length - 1
      const fault = yield* withFile(disk, where, "read", (file) =>
        this.#segment(file, first, index === start, newest, mark !== undefined),
      )
      if (fault?.kind === "interrupted" && this.#lastSequence < flushed) {
        const words = acknowledgedMissing(this.#lastSequence, flushed)
        return this.#end({ ...fault, kind: "damaged", words })
      }
      if (fault !== undefined) return this.#end(fault)
      if (this.#lastSequence >= this.#until) break
    }
    return this.#end(this.#lastSequence < this.#until ? this.#unlike(mark, flushed) : undefined)
  }).bind(this)

  #end(fault: JournalFault | undefined): JournalEnd {
    return {
      firstSequence: this.#firstSequence,
      before: this.#before,
      lastSequence: this.#lastSequence,
      checksum: this.#checksum,
      fault,
    }
  }

  #unlike(mark: CleanMark | undefined, flushed: number): JournalFault | undefined {
    const { folder } = this.#options
    if (this.#lastSequence < flushed) {
      const words = acknowledgedMissing(this.#lastSequence, flushed)
      return { kind: "damaged", path: folder, position: 0, words }
    }
    if (mark === undefined) return undefined
    if (mark.lastSequence === this.#lastSequence && mark.checksum === this.#checksum) {
      return undefined
    }
    const words = `it was closed cleanly after record ${mark.lastSequence}, but ends with record ${this.#lastSequence}`
    return { kind: "damaged", path: folder, position: 0, words }
  }

  readonly #segment = Effect.fnUntraced(function* (
    this: Scan<E>,
    file: DiskFile,
    first: number,
    oldest: boolean,
    newest: boolean,
    marked: boolean,
  ): Effect.fn.Return<JournalFault | undefined, DiskError | E> {
    const size = yield* file.size
    const bytes = Buffer.alloc(segmentHeaderBytes)
    yield* file.read(0, bytes)
    const header = decodeSegmentHeader(bytes)
    const fault = (kind: JournalFault["kind"], position: number, words: string) =>
      ({ kind, path: file.path, position, words }) as const
    if (header === "newer") return fault("newer", 0, "it was written by a newer Laurel")
    const atEnd = Effect.fnUntraced(function* (position: number) {
      const tail = yield* inspectTail(file, position, size)
      if (tail.end <= position && (position > segmentHeaderBytes || newest)) return undefined
      if (tail.holdsBatch) return fault("damaged", position, "valid batches follow")
      if (!newest) return fault("damaged", position, "an acknowledged batch is missing")
      if (marked && tail.end > position) {
        return fault("damaged", position, "it was closed cleanly, and has changed since")
      }
      return fault(
        "interrupted",
        position,
        `${tail.end - position} bytes that are no whole batch, as a rule of a write before it was acknowledged`,
      )
    })
    if (header === "damaged") return yield* atEnd(0)
    if (header.firstSequence !== first) {
      return fault("damaged", 0, `its name should be ${segmentName(header.firstSequence)}`)
    }
    if (oldest) {
      this.#lastSequence = first - 1
      this.#checksum = header.previous
      this.#before = { lastSequence: first - 1, checksum: header.previous }
    } else if (first !== this.#lastSequence + 1) {
      const words = `records ${this.#lastSequence + 1} to ${first - 1} are missing`
      return fault("damaged", 0, words)
    } else if (header.previous !== this.#checksum) {
      return fault("damaged", 0, "it does not belong to the segment before it")
    }
    const reader = new SegmentReader(file, segmentHeaderBytes, size)
    while (true) {
      const found = yield* reader.next
      if (found.length === 0) return yield* atEnd(reader.position)
      const batches: Array<SegmentBatch> = []
      let misfit: JournalFault | undefined
      for (const batch of found) {
        if (batch.firstSequence !== this.#lastSequence + 1 || batch.previous !== this.#checksum) {
          const words = `the batch from record ${batch.firstSequence} on does not follow it`
          misfit = fault("damaged", batch.position, words)
          break
        }
        batches.push(batch)
        this.#firstSequence ??= batch.firstSequence
        this.#lastSequence += batch.count
        this.#checksum = batch.checksum
        if (this.#lastSequence >= this.#until) break
      }
      yield* this.#visit(batches)
      if (misfit !== undefined) return misfit
      if (this.#lastSequence >= this.#until) return undefined
    }
  }).bind(this)
}
