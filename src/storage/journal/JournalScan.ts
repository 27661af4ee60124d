/**
 * Reads a journal without changing it: at a start (`JournalRecovery`), and for archives, restores
 * and checks, also while a server appends to it. The scan verifies the checksum of each batch, its
 * link to the previous batch, and its frames. A fault ends the scan and is part of its result, not
 * an error.
 *
 * The bytes after the last whole batch decide how the journal ends:
 *
 * - zeros or no bytes: a regular end;
 * - other bytes without a valid batch, in the last segment: `interrupted`. Usually a crash
 *   interrupted a write before its flush, so the write was not acknowledged. An acknowledged batch
 *   that was damaged later looks the same;
 * - anything else: `damaged`. So are such bytes after a clean shutdown, and an end before the
 *   flushed mark (`FlushedMark`).
 *
 * Of sealed segments the scan reads either all blocks or only the ends (`onSealed`).
 *
 * Cost: one read of the files; memory for a few pieces of `journalReadBytes`.
 */
import { Effect } from "effect"
import { countUpTo } from "../../domain/values/countUpTo.ts"
import { limits } from "../../Limits.ts"
import { type Disk, DiskError, type DiskFile, isMissing, namesIn, withFile } from "../disk/Disk.ts"
import { batchFault } from "../Frames.ts"
import { otherFormat } from "../format.ts"
import { acknowledgedMissing, type CleanMark, readCleanMark, readFlushed } from "./FlushedMark.ts"
import {
  openSealed,
  readIndex,
  SealedFault,
  SealedReader,
  type SealedSegment,
} from "./SealedFile.ts"
import { sequenceOfSealed } from "./SealedFormat.ts"
import {
  batchHeaderBytes,
  batchMagic,
  decodeSegmentHeader,
  type JournalPosition,
  Segment,
  type SegmentBatch,
  type SegmentHeader,
  segmentHeaderBytes,
  segmentName,
  sequenceOfName,
} from "./SegmentFormat.ts"
import { SegmentReader } from "./SegmentReader.ts"

/*
 * Inspects the bytes after the last good batch of a segment: zeros, an interrupted write, or
 * evidence of damage.
 */

export interface Tail {
  /** The end of the last byte that is not zero. */
  readonly end: number
  readonly holdsBatch: boolean
}

const lastNonZero = (bytes: Buffer): number => {
  let at = bytes.length - 1
  while (at >= 0 && bytes[at] === 0) at--
  return at
}

/** Inspects the file from `start` to its end, a piece at a time. */
const inspectTail = Effect.fnUntraced(function* (
  file: DiskFile,
  start: number,
  size: number,
): Effect.fn.Return<Tail, DiskError> {
  let end = start
  for (let position = start; position < size; position += limits.journalReadBytes) {
    // Pieces overlap, so that a magic on a border is found.
    const bytes = Buffer.alloc(
      Math.min(limits.journalReadBytes + batchMagic.length - 1, size - position),
    )
    const filled = bytes.subarray(0, yield* file.read(position, bytes))
    const last = lastNonZero(filled)
    if (last < 0) continue
    end = position + last + 1
    for (let at = filled.indexOf(batchMagic); at >= 0; at = filled.indexOf(batchMagic, at + 1)) {
      if (size - position - at < batchHeaderBytes) continue
      const reader = new SegmentReader(file, position + at, size)
      if ((yield* reader.next).length > 0) return { end, holdsBatch: true }
    }
  }
  return { end, holdsBatch: false }
})

/** Copies the bytes from `from` to `to` of one file to the beginning of another file, durably. */
export const copyBytes = Effect.fnUntraced(function* (
  source: DiskFile,
  copy: DiskFile,
  from: number,
  to: number,
): Effect.fn.Return<void, DiskError> {
  for (let position = from; position < to; ) {
    const bytes = Buffer.alloc(Math.min(limits.journalReadBytes, to - position))
    const count = yield* source.read(position, bytes)
    yield* copy.write(position - from, [bytes.subarray(0, count)])
    position += count
  }
  yield* copy.sync
})

/**
 * `interrupted`: the journal ends with an incomplete write, which a start truncates. `other`: the
 * file has another format.
 */
export interface JournalFault {
  readonly kind: "interrupted" | "damaged" | "other"
  readonly path: string
  /** The end of the valid batches of `path`. */
  readonly position: number
  readonly words: string
  /** Of an interrupted write: the end of its last byte that is not zero. */
  readonly end?: number
}

/** A fault as a sentence, without the full stop. */
export const faultText = ({ path, position, words }: JournalFault, after = ""): string =>
  `The journal is damaged at byte ${position} of ${path}${after}: ${words}`

/** The fault of a scan that found damage. An interrupted write is no damage. */
export const damageOf = ({ fault }: JournalEnd): JournalFault | undefined =>
  fault?.kind === "interrupted" ? undefined : fault

/** Where a scan ended. */
export interface JournalEnd extends JournalPosition {
  /** The first record that was read; `undefined` if no record was read. */
  readonly firstSequence: number | undefined
  /**
   * Why the scan ended early; `undefined` if it reached the end of the journal or of the requested
   * range.
   */
  readonly fault: JournalFault | undefined
  /** The clean mark exists. */
  readonly wasClosed: boolean
  /** The last record that was certainly flushed; 0 if unknown. */
  readonly flushed: number
}

export interface ScanOptions {
  readonly disk: Disk
  readonly folder: string
  /** The scan begins with the segment that has this record. */
  readonly from?: number
  /** The scan ends with the batch that has this record. */
  readonly until?: number
  /**
   * Of sealed segments, only the ends are read, and given here in the order of the journal; absent:
   * their batches are read.
   */
  readonly onSealed?: (segment: SealedSegment) => void
}

/**
 * Calls `visit` with the batches in order. The batches are views that are valid until `visit` ends.
 */
export const scanJournal = <E>(
  options: ScanOptions,
  visit: (batches: ReadonlyArray<SegmentBatch>) => Effect.Effect<void, E>,
): Effect.Effect<JournalEnd, DiskError | E> =>
  Effect.suspend(() => new Scan<E>(options, visit).run())

/**
 * The first sequences of the segments in a folder, plain or sealed, in order; empty if there is no
 * folder.
 */
export const segmentsIn = (
  disk: Disk,
  folder: string,
): Effect.Effect<ReadonlyArray<number>, DiskError> =>
  Effect.map(namesIn(disk, folder), (names) => {
    const firsts = names.map((name) => sequenceOfName(name) ?? sequenceOfSealed(name))
    return [...new Set(firsts)]
      .filter((first) => first !== undefined)
      .sort((left, right) => left - right)
  })

class Scan<E> {
  readonly #options: ScanOptions
  readonly #visit: (batches: ReadonlyArray<SegmentBatch>) => Effect.Effect<void, E>
  readonly #until: number
  /**
   * Memory for the pieces of all segments. It grows as needed, since a server opens many short
   * journals.
   */
  #memory = Buffer.alloc(0)
  #mark: CleanMark | undefined
  #flushed = 0
  /** The segment that is read, and the end of its valid batches. */
  #path: string
  #position = 0
  #firstSequence: number | undefined
  #lastSequence = 0
  #checksum = 0

  constructor(
    options: ScanOptions,
    visit: (batches: ReadonlyArray<SegmentBatch>) => Effect.Effect<void, E>,
  ) {
    this.#options = options
    this.#visit = visit
    this.#until = options.until ?? Number.POSITIVE_INFINITY
    this.#path = options.folder
  }

  readonly run = Effect.fnUntraced(function* (
    this: Scan<E>,
  ): Effect.fn.Return<JournalEnd, DiskError | E> {
    const { disk, folder, from = 1 } = this.#options
    const all = yield* segmentsIn(disk, folder)
    const firsts = all.slice(Math.max(0, countUpTo(all, from) - 1))
    this.#mark = yield* readCleanMark(disk, folder)
    this.#flushed = yield* readFlushed(disk, folder)
    for (const [index, first] of firsts.entries()) {
      if (first > this.#until) break
      const newest = index === firsts.length - 1
      this.#path = new Segment(folder, first).path
      this.#position = 0
      const plain = withFile(disk, this.#path, "read", (file) =>
        this.#segment(file, first, index === 0, newest),
      )
      const fault = yield* Effect.catchIf(
        plain as Effect.Effect<JournalFault | undefined, DiskError | E>,
        (error): error is DiskError & E => error instanceof DiskError && isMissing(error),
        // It is sealed.
        () => this.#sealed(first, index === 0),
      )
      if (fault?.kind === "interrupted" && this.#lastSequence < this.#flushed) {
        return this.#end(this.#lost())
      }
      if (fault !== undefined) return this.#end(fault)
      if (this.#lastSequence >= this.#until) break
    }
    return this.#end(this.#lastSequence < this.#until ? this.#unlike() : undefined)
  }).bind(this)

  #end(fault: JournalFault | undefined): JournalEnd {
    return {
      firstSequence: this.#firstSequence,
      lastSequence: this.#lastSequence,
      checksum: this.#checksum,
      fault,
      wasClosed: this.#mark !== undefined,
      flushed: this.#flushed,
    }
  }

  #fault(kind: JournalFault["kind"], words: string): JournalFault {
    return { kind, path: this.#path, position: this.#position, words }
  }

  /** The fault of a journal that lacks acknowledged records. */
  #lost(): JournalFault {
    return this.#fault("damaged", acknowledgedMissing(this.#lastSequence, this.#flushed))
  }

  /** The fault of an end that the marks beside the journal contradict. */
  #unlike(): JournalFault | undefined {
    const mark = this.#mark
    if (
      mark !== undefined &&
      (mark.lastSequence !== this.#lastSequence || mark.checksum !== this.#checksum)
    ) {
      const ends = `it was closed cleanly after record ${mark.lastSequence}, but ends with record ${this.#lastSequence}`
      return this.#fault("damaged", `${ends}: segments are missing or not its own`)
    }
    return this.#lastSequence < this.#flushed ? this.#lost() : undefined
  }

  readonly #segment = Effect.fnUntraced(function* (
    this: Scan<E>,
    file: DiskFile,
    first: number,
    oldest: boolean,
    newest: boolean,
  ): Effect.fn.Return<JournalFault | undefined, DiskError | E> {
    const size = yield* file.size
    const bytes = Buffer.alloc(segmentHeaderBytes)
    yield* file.read(0, bytes)
    const header = decodeSegmentHeader(bytes)
    if (typeof header === "number") return this.#fault("other", otherFormat(header))
    if (header === "damaged") return yield* this.#tail(file, size, newest)
    if (header.firstSequence !== first) {
      const name = segmentName(header.firstSequence)
      const words = `its first record is ${header.firstSequence}, so its name should be ${name}`
      return this.#fault("damaged", words)
    }
    const foreign = this.#follow(header, oldest)
    if (foreign !== undefined) return foreign
    const pieceBytes = Math.min(size, limits.journalReadBytes)
    if (this.#memory.length < pieceBytes) this.#memory = Buffer.allocUnsafe(pieceBytes)
    const reader = new SegmentReader(file, segmentHeaderBytes, size, this.#memory)
    this.#position = segmentHeaderBytes
    while (true) {
      const found = yield* reader.next
      if (found.length === 0) return yield* this.#tail(file, size, newest)
      const misfit = yield* this.#batches(found)
      if (misfit !== undefined) return misfit
      if (this.#lastSequence >= this.#until) return undefined
    }
  }).bind(this)

  /** The fault of a segment that does not follow the one before it; `oldest`: it is the first. */
  #follow({ firstSequence, previous }: SegmentHeader, oldest: boolean): JournalFault | undefined {
    if (oldest) {
      this.#lastSequence = firstSequence - 1
      this.#checksum = previous
      return undefined
    }
    if (firstSequence !== this.#lastSequence + 1) {
      const words = `records ${this.#lastSequence + 1} to ${firstSequence - 1} are missing`
      return this.#fault("damaged", words)
    }
    if (previous === this.#checksum) return undefined
    return this.#fault("damaged", "it does not belong to the segment before it")
  }

  /** Visits the next batches of a segment up to a fault, which is returned. */
  readonly #batches = Effect.fnUntraced(function* (
    this: Scan<E>,
    found: ReadonlyArray<SegmentBatch>,
  ): Effect.fn.Return<JournalFault | undefined, E> {
    const batches: Array<SegmentBatch> = []
    let misfit: JournalFault | undefined
    for (const batch of found) {
      if (batch.firstSequence !== this.#lastSequence + 1 || batch.previous !== this.#checksum) {
        const words = `the batch from record ${batch.firstSequence} on does not follow it`
        misfit = this.#fault("damaged", words)
        break
      }
      const odd = batchFault(batch, this.#lastSequence)
      if (odd !== undefined) {
        misfit = this.#fault("damaged", odd)
        break
      }
      batches.push(batch)
      this.#position = batch.position + batch.size
      this.#firstSequence ??= batch.firstSequence
      this.#lastSequence += batch.count
      this.#checksum = batch.checksum
      if (this.#lastSequence >= this.#until) break
    }
    yield* this.#visit(batches)
    return misfit
  }).bind(this)

  readonly #sealed = (
    first: number,
    oldest: boolean,
  ): Effect.Effect<JournalFault | undefined, DiskError | E> =>
    Effect.catchIf(
      this.#sealedSegment(first, oldest) as Effect.Effect<
        JournalFault | undefined,
        DiskError | E | SealedFault
      >,
      (error): error is SealedFault & E => error instanceof SealedFault,
      ({ isOther, path, position, words }) =>
        Effect.succeed({ kind: isOther ? "other" : "damaged", path, position, words }),
    )

  readonly #sealedSegment = Effect.fnUntraced(function* (
    this: Scan<E>,
    first: number,
    oldest: boolean,
  ): Effect.fn.Return<JournalFault | undefined, DiskError | SealedFault | E> {
    const { disk, folder, onSealed } = this.#options
    const segment = yield* openSealed(disk, folder, first)
    this.#path = segment.path
    const foreign = this.#follow(segment, oldest)
    if (foreign !== undefined) return foreign
    if (onSealed !== undefined) {
      this.#firstSequence ??= first
      this.#lastSequence = segment.lastSequence
      this.#checksum = segment.checksum
      onSealed(segment)
      return undefined
    }
    return yield* withFile(disk, segment.path, "read", (file) =>
      Effect.gen({ self: this }, function* () {
        const reader = new SealedReader(file, segment, yield* readIndex(file, segment))
        while (true) {
          const found = yield* reader.next
          if (found.length === 0) return undefined
          const misfit = yield* this.#batches(found)
          if (misfit !== undefined) return misfit
          if (this.#lastSequence >= this.#until) return undefined
        }
      }),
    )
  }).bind(this)

  /** The fault of the bytes after the whole batches of a segment. */
  readonly #tail = Effect.fnUntraced(function* (
    this: Scan<E>,
    file: DiskFile,
    size: number,
    newest: boolean,
  ): Effect.fn.Return<JournalFault | undefined, DiskError> {
    const position = this.#position
    const { end, holdsBatch } = yield* inspectTail(file, position, size)
    if (end <= position && (position > segmentHeaderBytes || newest)) return undefined
    if (holdsBatch) return this.#fault("damaged", "valid batches follow")
    if (!newest) return this.#fault("damaged", "an acknowledged batch is missing")
    if (this.#mark !== undefined && end > position) {
      return this.#fault("damaged", "it was closed cleanly, and has changed since")
    }
    const words = `${end - position} bytes that are no whole batch, as a rule of a write before it was acknowledged`
    return { ...this.#fault("interrupted", words), end }
  }).bind(this)
}
