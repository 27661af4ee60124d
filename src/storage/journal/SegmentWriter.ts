/**
 * Writes existing batches as segments of a journal in a new folder, for archives and restores. Each
 * batch has the checksum of the previous batch, so unchanged batches give the same bytes, and the
 * last checksum identifies a copy.
 *
 * Nothing is durable before `end`, which also writes the clean mark: a later loss is damage, not an
 * interrupted write. Cost: one write per `journalReadBytes`, one flush per segment.
 */
import { Effect } from "effect"
import { limits } from "../../Limits.ts"
import type { Disk, DiskError, DiskFile, OnDisk } from "../disk/Disk.ts"
import { batchFault } from "../Frames.ts"
import type { JournalBatch } from "../Storage.ts"
import { writeCleanMark } from "./FlushedMark.ts"
import { encodeBatch, encodeSegmentHeader, type JournalPosition, Segment } from "./SegmentFormat.ts"

export interface SegmentWriterOptions {
  readonly disk: Disk
  /** An existing folder without segments after `after`. */
  readonly folder: string
  /** The position before the first batch. */
  readonly after: JournalPosition
  readonly segmentBytes?: number
}

interface Current {
  readonly file: DiskFile
  /** Bytes in the file, then the pieces and their bytes that are not written yet. */
  written: number
  pieces: Array<Uint8Array>
  waiting: number
}

export class SegmentWriter {
  readonly #options: SegmentWriterOptions
  readonly #segmentBytes: number
  #position: JournalPosition
  #current: Current | undefined

  constructor(options: SegmentWriterOptions) {
    this.#options = options
    this.#segmentBytes = options.segmentBytes ?? limits.segmentBytes
    this.#position = options.after
  }

  get position(): JournalPosition {
    return this.#position
  }

  /**
   * Takes a copy of the next batch; dies if the batch does not follow the last one. Uses only
   * `firstSequence`, `count`, `frames` and `keptChecksum`.
   */
  readonly write = Effect.fnUntraced(function* (
    this: SegmentWriter,
    batch: JournalBatch,
  ): Effect.fn.Return<void, DiskError> {
    const fault = batchFault(batch, this.#position.lastSequence)
    if (fault !== undefined) return yield* Effect.die(new Error(fault))
    const { checksum, pieces, size } = encodeBatch(batch, this.#position.checksum)
    let current = this.#current
    if (current === undefined || current.written + current.waiting + size > this.#segmentBytes) {
      current = yield* this.#next(batch.firstSequence)
    }
    for (const piece of pieces) current.pieces.push(Uint8Array.from(piece))
    current.waiting += size
    this.#position = { lastSequence: batch.firstSequence + batch.count - 1, checksum }
    if (current.waiting >= limits.journalReadBytes) yield* this.#flush(current)
  }).bind(this)

  /** Makes everything durable; returns the end of the journal. */
  readonly end: Effect.Effect<JournalPosition, DiskError> = Effect.suspend(() =>
    Effect.gen({ self: this }, function* () {
      const { disk, folder } = this.#options
      yield* this.#finish
      yield* writeCleanMark(disk, folder, { format: 1, ...this.#position })
      return this.#position
    }),
  )

  /** Closes the open file, also of a journal that is not completed. */
  readonly abandon: Effect.Effect<void> = Effect.suspend(() => {
    const current = this.#current
    this.#current = undefined
    return current === undefined ? Effect.void : Effect.ignore(current.file.close)
  })

  readonly #next = Effect.fnUntraced(function* (
    this: SegmentWriter,
    firstSequence: number,
  ): Effect.fn.Return<Current, DiskError> {
    yield* this.#finish
    const { disk, folder } = this.#options
    const file = yield* disk.open(new Segment(folder, firstSequence).path, "create")
    const header = encodeSegmentHeader({ firstSequence, previous: this.#position.checksum })
    this.#current = { file, written: 0, pieces: [header], waiting: header.length }
    return this.#current
  }).bind(this)

  readonly #flush = (current: Current): OnDisk<void> =>
    Effect.map(current.file.write(current.written, current.pieces), () => {
      current.written += current.waiting
      current.pieces = []
      current.waiting = 0
    })

  readonly #finish: OnDisk<void> = Effect.suspend(() => {
    const current = this.#current
    if (current === undefined) return Effect.void
    return Effect.gen({ self: this }, function* () {
      yield* this.#flush(current)
      yield* current.file.sync
      yield* this.abandon
    })
  })
}
