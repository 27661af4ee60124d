/**
 * Puts the journal of a data directory into the draft of an archive: all segments up to a stated
 * record.
 *
 * - A segment that ends before that record, or is sealed and ends with it, takes no more records.
 *   It is linked, or copied where the file system has no links. A server that is started on the
 *   archive appends to a plain last segment, so its batches are copied.
 * - The previous archive, the base, has most of them: a segment with the size and the time of
 *   writing that the base's manifest says is linked from there, unread. A file that archives share
 *   is damaged in all of them, so each archive reads some of the files again, another share of them
 *   each hour (`isDueAt`).
 * - What is not the base's is scanned: every batch, and its link to the one before.
 * - The server may seal or remove a segment meanwhile, and the base may be removed. Then a file is
 *   missing, and the copy begins again without the base.
 */
import path from "node:path"
import { Effect } from "effect"
import { limits } from "../../../Limits.ts"
import type { Manifest } from "../../../storage/archive/ArchiveManifest.ts"
import {
  copyFile,
  describeFiles,
  linkFile,
  type SegmentFile,
  segmentFilesIn,
  statFile,
} from "../../../storage/archive/Files.ts"
import { DiskError, isMissing, type OnDisk, removeTree } from "../../../storage/disk/Disk.ts"
import { nodeDisk } from "../../../storage/disk/NodeDisk.ts"
import { damageOf, faultText, scanJournal } from "../../../storage/journal/JournalScan.ts"
import { openSealed } from "../../../storage/journal/SealedFile.ts"
import type { JournalPosition } from "../../../storage/journal/SegmentFormat.ts"
import { SegmentWriter } from "../../../storage/journal/SegmentWriter.ts"
import { damaged, JobFailed, type PositionAnswer } from "../jobs/Jobs.ts"

type ArchivedFile = Manifest["files"][number]

export interface SegmentCopyOptions {
  readonly directory: string
  /** The folder of a journal in the data directory, and in the draft. */
  readonly folder: string
  /** The draft of the archive. */
  readonly draft: string
  /** When the archive is made, epoch milliseconds. */
  readonly at: number
  /** The previous archive of the same history. */
  readonly base: { readonly folder: string; readonly manifest: Manifest } | undefined
  /** The end; `undefined`: that of the files. */
  readonly position: PositionAnswer
  /** Runs after each file that was read, with its bytes. */
  readonly rested: (bytes: number) => Effect.Effect<void>
}

export interface CopiedSegments {
  /** The segments that are whole files of the journal. */
  readonly files: ReadonlyArray<ArchivedFile>
  readonly linked: number
  /** Copies for want of links. */
  readonly copied: number
}

const hourMs = 3_600_000

/**
 * Whether an archive made at `at` (epoch milliseconds) reads a shared file again: in one of
 * `archiveRereadHours`.
 */
export const isDueAt = ({ sha256 }: Pick<ArchivedFile, "sha256">, at: number): boolean =>
  (Number.parseInt(sha256.slice(0, 8), 16) + Math.floor(at / hourMs)) %
    limits.archiveRereadHours ===
  0

const triesMax = 10

export const copySegments = (
  options: SegmentCopyOptions,
  tries = triesMax,
): Effect.Effect<CopiedSegments, DiskError | JobFailed> =>
  Effect.catchIf(
    new SegmentCopy(options).run,
    (error) => error instanceof DiskError && isMissing(error) && tries > 1,
    // The file may have been the base's.
    () => copySegments({ ...options, base: undefined }, tries - 1),
  )

class SegmentCopy {
  readonly #options: SegmentCopyOptions
  readonly #from: string
  readonly #folder: string
  readonly #known: ReadonlyMap<string, ArchivedFile>
  readonly #files: Array<ArchivedFile> = []
  /** The first segment that is not the base's. */
  #unchecked: number | undefined
  #linked = 0
  #copied = 0

  constructor(options: SegmentCopyOptions) {
    this.#options = options
    this.#from = path.join(options.directory, options.folder)
    this.#folder = path.join(options.draft, options.folder)
    this.#known = new Map(options.base?.manifest.files.map((file) => [file.path, file]))
  }

  readonly run: Effect.Effect<CopiedSegments, DiskError | JobFailed> = Effect.gen(
    { self: this },
    function* () {
      const from = this.#from
      const { position } = this.#options
      yield* removeTree(nodeDisk, this.#folder)
      yield* nodeDisk.makeFolder(this.#folder)
      const end = position?.lastSequence ?? Number.POSITIVE_INFINITY
      const files = (yield* segmentFilesIn(from)).filter(({ first }) => first <= end)
      const last = files.at(-1)
      for (const file of files.slice(0, -1)) yield* this.#take(file)
      const isWhole = last?.isSealed === true && (yield* isEndOf(from, last.first, end))
      if (isWhole) yield* this.#take(last)
      const reached = yield* this.#copyFrom(last?.first ?? 1, isWhole)
      yield* this.#check(this.#unchecked ?? last?.first ?? 1, reached)
      return { files: this.#files, linked: this.#linked, copied: this.#copied }
    },
  )

  /** Links a segment that takes no more records. */
  readonly #take = Effect.fnUntraced(function* (
    this: SegmentCopy,
    { first, name }: SegmentFile,
  ): Effect.fn.Return<void, DiskError> {
    const { base, folder } = this.#options
    const place = `${folder}/${name}`
    const source = path.join(this.#from, name)
    const { bytes, modifiedMs } = yield* statFile(source)
    const known = this.#known.get(place)
    const isAlike = known?.bytes === bytes && known.modifiedMs === modifiedMs
    const isKnown = isAlike && (yield* this.#isRight(known))
    if (!isKnown) this.#unchecked ??= first
    const where = isKnown ? path.join(base!.folder, place) : source
    const sha256 = yield* this.#put(where, name, isKnown ? known.sha256 : undefined)
    this.#files.push({ path: place, bytes, sha256, modifiedMs })
  }).bind(this)

  /** Whether the base's file may be used unread, or was read and has not changed. */
  readonly #isRight = Effect.fnUntraced(function* (
    this: SegmentCopy,
    known: ArchivedFile,
  ): Effect.fn.Return<boolean, DiskError> {
    const { at, base, rested } = this.#options
    if (!isDueAt(known, at)) return true
    const [found] = yield* describeFiles(base!.folder, [known.path], () => {})
    yield* rested(known.bytes)
    return found!.sha256 === known.sha256
  }).bind(this)

  /**
   * Links or copies a file into the draft; returns its checksum, which is computed unless it is
   * known.
   */
  readonly #put = Effect.fnUntraced(function* (
    this: SegmentCopy,
    source: string,
    name: string,
    known: string | undefined,
  ): Effect.fn.Return<string, DiskError> {
    const { rested } = this.#options
    const to = path.join(this.#folder, name)
    if (yield* linkFile(source, to)) {
      this.#linked++
      if (known !== undefined) return known
      const [described] = yield* describeFiles(this.#folder, [name], () => {})
      yield* rested(described!.bytes)
      return described!.sha256
    }
    this.#copied++
    const { bytes, sha256 } = yield* copyFile(source, to, name, () => {})
    yield* rested(bytes)
    return sha256
  }).bind(this)

  /**
   * Copies the batches from the segment `first` on up to the end, unless that segment is there;
   * returns where the draft's journal ends.
   */
  readonly #copyFrom = Effect.fnUntraced(function* (
    this: SegmentCopy,
    first: number,
    isThere: boolean,
  ): Effect.fn.Return<JournalPosition, DiskError | JobFailed> {
    const { position } = this.#options
    const disk = nodeDisk
    const until = position === undefined ? {} : { until: position.lastSequence }
    let writer: SegmentWriter | undefined
    const open = (after: JournalPosition) =>
      new SegmentWriter({ disk, folder: this.#folder, after })
    const end = yield* scanJournal({ disk, folder: this.#from, from: first, ...until }, (batches) =>
      Effect.gen(function* () {
        for (const batch of isThere ? [] : batches) {
          writer ??= open({ lastSequence: batch.firstSequence - 1, checksum: batch.previous })
          yield* writer.write(batch)
        }
      }),
    )
    const damage = damageOf(end)
    if (damage !== undefined) return yield* damaged(faultText(damage))
    if (position !== undefined && end.checksum !== position.checksum) {
      return yield* damaged(
        `The journal should end with record ${position.lastSequence}, but ends with another record ${end.lastSequence}`,
      )
    }
    writer ??= open({ lastSequence: end.lastSequence, checksum: end.checksum })
    const written = yield* writer.end
    // A batch keeps its checksum when records of it are erased, but is written with a new one.
    if (written.checksum === end.checksum) return written
    const detail = "A segment was sealed, and records of it erased, while it was copied"
    return yield* new JobFailed({ kind: "failed", detail })
  }).bind(this)

  /** Scans the draft's journal from the segment `first` on. */
  readonly #check = Effect.fnUntraced(function* (
    this: SegmentCopy,
    first: number,
    copied: JournalPosition,
  ): Effect.fn.Return<void, DiskError | JobFailed> {
    const folder = this.#folder
    const end = yield* scanJournal({ disk: nodeDisk, folder, from: first }, () => Effect.void)
    const damage = damageOf(end)
    if (damage !== undefined) return yield* damaged(faultText(damage))
    if (end.checksum !== copied.checksum || end.lastSequence !== copied.lastSequence) {
      return yield* damaged(`The copied journal ends with record ${end.lastSequence}`)
    }
  }).bind(this)
}

/** Whether a sealed segment ends with record `end`, or the end is that of the files. */
const isEndOf = (folder: string, first: number, end: number): OnDisk<boolean> =>
  openSealed(nodeDisk, folder, first).pipe(
    Effect.map(({ lastSequence }) => end === Number.POSITIVE_INFINITY || lastSequence === end),
    // The scan reports damage.
    Effect.catchTag("SealedFault", () => Effect.succeed(false)),
  )
