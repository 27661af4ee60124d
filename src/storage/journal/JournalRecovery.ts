/**
 * Finds the end of a journal and proves that everything before it is whole.
 *
 * Every batch is read and its checksum and its link to the one before are verified. What follows the last
 * good batch decides:
 *
 * - zeros, or nothing: the end;
 * - other bytes with no valid batch among them, in the last segment: as a rule a write that was interrupted before it was
 *   flushed, and so not acknowledged. It is cut with a warning and kept in `cut-<time>-<sequence>.bytes`. A batch that was
 *   acknowledged and damaged later looks the same;
 * - anything else, any such tail after a clean shutdown, and an end before what was flushed for certain (`FlushedMark`), is
 *   damage: the start stops and nothing is changed.
 *
 * Memory stays within a few pieces of `journalReadBytes`; the time is that of reading the files once.
 */
import path from "node:path"
import { Clock, Effect } from "effect"
import { limits } from "../../Limits.ts"
import { type Disk, type DiskError, type DiskFile, withFile } from "../disk/Disk.ts"
import { Broken } from "../Storage.ts"
import { readCleanMark } from "./CleanMark.ts"
import { acknowledgedMissing, readFlushed } from "./FlushedMark.ts"
import { Segment } from "./Segment.ts"
import {
  decodeSegmentHeader,
  segmentHeaderBytes,
  segmentName,
  sequenceOfName,
} from "./SegmentFormat.ts"
import { SegmentReader } from "./SegmentReader.ts"
import { copyBytes, inspectTail, type Tail } from "./SegmentTail.ts"

/** A tail that was cut: `path` holds its bytes. */
export interface Cut {
  readonly path: string
  readonly afterSequence: number
  readonly bytes: number
  /** The last record that was flushed for certain, and is there; 0: nothing is known. */
  readonly flushedSequence: number
}

export interface RecoveredJournal {
  readonly segments: Array<Segment>
  readonly lastSequence: number
  /** The checksum of the last batch; 0 for none. */
  readonly checksum: number
  /** The journal ends exactly where a clean shutdown left it, and its mark still stands. */
  readonly marked: boolean
  readonly cut: Cut | undefined
}

/** The file in which the next segment is prepared. */
export const preparedName = "next.segment"

class Recovery {
  readonly #disk: Disk
  readonly #folder: string
  readonly #segments: Array<Segment> = []
  readonly #memory = Buffer.allocUnsafe(limits.journalReadBytes)
  #lastSequence = 0
  #checksum = 0
  #cut: Cut | undefined
  #flushed = 0

  constructor(disk: Disk, folder: string) {
    this.#disk = disk
    this.#folder = folder
  }

  readonly run = Effect.suspend(() => this.#run())

  readonly #damage = (where: string, position: number, words: string) =>
    new Broken({
      operation: "open",
      cause: new Error(
        `The journal is damaged at byte ${position} of ${where}, after record ${this.#lastSequence}: ${words}. ` +
          "Nothing was changed. Restore the data directory from an archive; or, to give up every record after " +
          `${this.#lastSequence}, truncate that file to ${position} bytes and move all later segments and the ` +
          "files clean and flushed out of the folder.",
      ),
    })

  #run = Effect.fnUntraced(function* (
    this: Recovery,
  ): Effect.fn.Return<RecoveredJournal, Broken | DiskError> {
    const disk = this.#disk
    const names = yield* disk.list(this.#folder)
    const mark = yield* readCleanMark(disk, this.#folder)
    this.#flushed = yield* readFlushed(disk, this.#folder)
    const firsts = names.map(sequenceOfName).filter((first) => first !== undefined)
    firsts.sort((left, right) => left - right)
    for (const [index, first] of firsts.entries()) {
      yield* this.#segment(first, index === firsts.length - 1, mark !== undefined)
    }
    if (
      mark !== undefined &&
      (mark.lastSequence !== this.#lastSequence || mark.checksum !== this.#checksum)
    ) {
      return yield* new Broken({
        operation: "open",
        cause: new Error(
          `The journal was closed cleanly after record ${mark.lastSequence}, but ends with record ` +
            `${this.#lastSequence}: segments are missing or not its own. Restore the data directory from an ` +
            `archive; or, to go on with what is there, remove ${path.join(this.#folder, "clean")}.`,
        ),
      })
    }
    if (this.#lastSequence < this.#flushed) {
      const { end, path: where } = this.#segments.at(-1) ?? { end: 0, path: this.#folder }
      const words = acknowledgedMissing(this.#lastSequence, this.#flushed)
      return yield* this.#damage(where, end, words)
    }
    if (names.includes(preparedName)) yield* disk.remove(path.join(this.#folder, preparedName))
    // What the last run wrote may not have been flushed; from here on it counts as durable.
    const newest = this.#segments[this.#segments.length - 1]
    if (newest !== undefined) yield* withFile(disk, newest.path, "write", (file) => file.sync)
    yield* disk.syncFolder(this.#folder)
    return {
      segments: this.#segments,
      lastSequence: this.#lastSequence,
      checksum: this.#checksum,
      marked: mark !== undefined,
      cut: this.#cut,
    }
  }).bind(this)

  #segment = Effect.fnUntraced(function* (
    this: Recovery,
    firstSequence: number,
    newest: boolean,
    marked: boolean,
  ): Effect.fn.Return<void, Broken | DiskError> {
    const segment = new Segment(this.#folder, firstSequence)
    const where = segment.path
    const oldest = this.#segments.length === 0
    const found = yield* withFile(this.#disk, where, "read", (file) =>
      this.#scan(file, segment, oldest),
    )
    const { position, tail, size } = found
    const empty = position <= segmentHeaderBytes
    // The first segment of a journal may be empty only where the journal itself begins.
    const interrupted = newest && !tail.holdsBatch && !(empty && oldest && firstSequence !== 1)
    if (tail.end > position || empty) {
      if (!interrupted) {
        const words = tail.holdsBatch ? "valid batches follow" : "an acknowledged batch is missing"
        return yield* this.#damage(where, position, words)
      }
      if (marked && tail.end > position) {
        return yield* this.#damage(where, position, "it was closed cleanly, and has changed since")
      }
      if (this.#lastSequence < this.#flushed) {
        const words = acknowledgedMissing(this.#lastSequence, this.#flushed)
        return yield* this.#damage(where, position, words)
      }
      yield* this.#cutTail(segment, position, tail.end, size)
    }
    if (!empty) this.#segments.push(segment)
  }).bind(this)

  /** Follows the batches of a segment; tells where they end and what comes after. */
  #scan = Effect.fnUntraced(function* (
    this: Recovery,
    file: DiskFile,
    segment: Segment,
    oldest: boolean,
  ): Effect.fn.Return<
    { readonly position: number; readonly tail: Tail; readonly size: number },
    Broken | DiskError
  > {
    const size = yield* file.size
    const bytes = Buffer.alloc(segmentHeaderBytes)
    yield* file.read(0, bytes)
    const header = decodeSegmentHeader(bytes)
    if (header === "newer") {
      const cause = new Error(`${file.path} was written by a newer Laurel`)
      return yield* new Broken({ operation: "open", cause })
    }
    if (header === "damaged") {
      return { position: 0, tail: yield* inspectTail(file, 0, size), size }
    }
    if (header.firstSequence !== segment.firstSequence) {
      return yield* this.#damage(
        file.path,
        0,
        `its first record is ${header.firstSequence}, so its name should be ${segmentName(header.firstSequence)}`,
      )
    }
    if (oldest) {
      this.#lastSequence = header.firstSequence - 1
      this.#checksum = header.previous
    } else if (header.firstSequence !== this.#lastSequence + 1) {
      return yield* this.#damage(
        file.path,
        0,
        `records ${this.#lastSequence + 1} to ${header.firstSequence - 1} are missing`,
      )
    } else if (header.previous !== this.#checksum) {
      return yield* this.#damage(file.path, 0, "it does not belong to the segment before it")
    }
    const reader = new SegmentReader(file, segmentHeaderBytes, size, this.#memory)
    while (true) {
      const batches = yield* reader.next
      if (batches.length === 0) break
      for (const batch of batches) {
        const follows =
          batch.firstSequence === this.#lastSequence + 1 && batch.previous === this.#checksum
        if (!follows) {
          const words = `the batch from record ${batch.firstSequence} on does not follow it`
          return yield* this.#damage(file.path, batch.position, words)
        }
        segment.add(batch.firstSequence, batch.size)
        this.#lastSequence += batch.count
        this.#checksum = batch.checksum
      }
    }
    return {
      position: reader.position,
      tail: yield* inspectTail(file, reader.position, size),
      size,
    }
  }).bind(this)

  /** Keeps what lies between `from` and `to` aside, then takes it off; a segment without batches goes away. */
  #cutTail = Effect.fnUntraced(function* (
    this: Recovery,
    segment: Segment,
    from: number,
    to: number,
    size: number,
  ): Effect.fn.Return<void, DiskError> {
    const disk = this.#disk
    if (to > from) {
      const time = new Date(yield* Clock.currentTimeMillis).toISOString().replaceAll(":", "-")
      const name = `cut-${time}-${this.#lastSequence + 1}.bytes`
      this.#cut = {
        path: path.join(this.#folder, name),
        afterSequence: this.#lastSequence,
        bytes: to - from,
        flushedSequence: this.#flushed,
      }
      yield* withFile(disk, segment.path, "read", (source) =>
        withFile(disk, this.#cut!.path, "create", (copy) => copyBytes(source, copy, from, to)),
      )
      yield* disk.syncFolder(this.#folder)
      yield* Effect.logWarning(
        "The end of the journal was not whole and was cut off. As a rule that is a write which was interrupted before it was acknowledged. All records up to flushedSequence were acknowledged and are there; whether one after afterSequence was acknowledged and then damaged is not known",
      ).pipe(Effect.annotateLogs({ ...this.#cut }))
    }
    if (from <= segmentHeaderBytes) yield* disk.remove(segment.path)
    else if (size > from) {
      yield* withFile(disk, segment.path, "write", (file) =>
        Effect.andThen(file.truncate(from), file.sync),
      )
    }
  }).bind(this)
}

/** Opens what is there; an empty folder is an empty journal. */
export const recoverJournal = (
  disk: Disk,
  folder: string,
): Effect.Effect<RecoveredJournal, Broken> =>
  Effect.catchTag(new Recovery(disk, folder).run, "DiskError", (cause) =>
    Effect.fail(new Broken({ operation: "open", cause })),
  )
