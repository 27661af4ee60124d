/**
 * Builds the replacement of a data directory in `restore.draft` (`ArchiveSwap`), durable and checked: an archive, and the
 * records after it up to a given one. The directory itself stays unchanged.
 *
 * 1. `live/` is the archive's snapshot, put together from its database and its parts once their checksums were found right.
 * 2. The journal is the directory's up to the given record, if that journal is whole and of the archive's history; a batch that
 *    extends beyond is cut. Segments before the archive's own journal are linked, not copied: streams, pending
 *    deliveries and other archives need them. Otherwise the journal is the archive's own and the records after it.
 *    The next start folds the journal into the snapshot, as after a crash, up to exactly the given record; a journal longer
 *    than a start should hold in memory is folded here (`FoldJob`).
 *    For the restore of one project, the journal extends to its end, with empty records for that project (`ProjectHistory`),
 *    and the tables of webhooks stay as they are (`WebhookTables`).
 * 3. Everything is checked like an archive. A draft with a fault is removed.
 */

import fs from "node:fs/promises"
import path from "node:path"
import { Effect, Result, type Scope } from "effect"
import { limits } from "../../Limits.ts"
import { bytesOf, roomFor } from "../../storage/archive/ArchiveCatalog.ts"
import { checkFiles, restoreLive } from "../../storage/archive/ArchiveContents.ts"
import {
  decodeManifestText,
  type Manifest,
  manifestBytesMax,
  manifestName,
} from "../../storage/archive/ArchiveManifest.ts"
import { draftIn } from "../../storage/archive/ArchiveSwap.ts"
import { archivedFolder } from "../../storage/archive/ArchiveTables.ts"
import { copyFile } from "../../storage/archive/Files.ts"
import { type DiskError, readSmallFile, removeTree } from "../../storage/disk/Disk.ts"
import { nodeDisk } from "../../storage/disk/NodeDisk.ts"
import { batchOfRecords, batchRecords } from "../../storage/Frames.ts"
import {
  faultText,
  type JournalEnd,
  scanJournal,
  segmentFileIn,
  segmentsIn,
} from "../../storage/journal/JournalScan.ts"
import type { JournalPosition, SegmentBatch } from "../../storage/journal/SegmentFormat.ts"
import { SegmentWriter } from "../../storage/journal/SegmentWriter.ts"
import { openLmdbStore } from "../../storage/lmdb/LmdbStore.ts"
import { type JournalBatch, type StoredRecord, Unavailable } from "../../storage/Storage.ts"
import { foldRecords } from "../recovery/Fold.ts"
import { FaultList, type Findings } from "./Findings.ts"
import { damaged, type Input, type JobCode, type JobContext, type JobFailed } from "./Jobs.ts"
import { type ProjectGoesBack, without } from "./ProjectHistory.ts"
import { readWatermark } from "./SavedState.ts"
import { verify } from "./Verification.ts"
import { keepWebhooks } from "./WebhookCheck.ts"

/*
 * Folds the journal of a draft into its snapshot, slice by slice (`Fold`), so that the check and the next start need
 * memory for one slice only, however long the journal is.
 */

export interface FoldOptions {
  /** A data directory, or a draft of one. */
  readonly folder: string
  /** The last record of its journal. */
  readonly until: number
  readonly progress: JobContext["progress"]
  /** Records in a slice; the next start folds a smaller rest. */
  readonly recordsMax?: number
}

export const foldJournal = Effect.fnUntraced(function* ({
  folder,
  progress,
  recordsMax = limits.foldRecordsMax,
  until,
}: FoldOptions): Effect.fn.Return<void, unknown, Scope.Scope> {
  const watermark = yield* readWatermark(folder)
  const total = until - watermark
  if (total <= recordsMax) return
  const store = yield* openLmdbStore({ folder: path.join(folder, "live") })
  let slice: Array<StoredRecord> = []
  const from = watermark + 1
  yield* scanJournal({ disk: nodeDisk, folder: path.join(folder, "journal"), from }, (batches) =>
    Effect.gen(function* () {
      for (const batch of batches) {
        for (const record of batchRecords(batch, from) ?? []) {
          slice.push({ ...record, body: Buffer.from(record.body) })
        }
        if (slice.length < recordsMax) continue
        const folded = slice
        slice = []
        yield* foldRecords(store, folded)
        progress({ activity: "Replaying", done: folded.at(-1)!.sequence - watermark, total })
      }
    }),
  )
})

type RestoreInput = Input<"restore">

export const restoreDraft: JobCode<"restore"> = Effect.fnUntraced(function* (input, context) {
  const draft = draftIn(input.directory)
  yield* removeTree(nodeDisk, draft)
  return yield* Effect.onError(fill(input, draft, context), () =>
    Effect.ignore(removeTree(nodeDisk, draft)),
  )
})

const fill = Effect.fnUntraced(function* (
  input: RestoreInput,
  draft: string,
  context: JobContext,
): Effect.fn.Return<Findings, unknown, Scope.Scope> {
  const { archive, directory, project, until } = input
  const text = yield* readSmallFile(nodeDisk, path.join(archive, manifestName), manifestBytesMax)
  const manifest = yield* Effect.mapError(Effect.fromResult(decodeManifestText(text)), (words) =>
    damaged(`The manifest of ${archive} ${words}`),
  )
  const free = yield* nodeDisk.freeBytes(directory)
  if (free < roomFor(bytesOf(manifest)))
    return yield* new Unavailable({ operation: "restore", reason: "disk_full" })
  yield* context.ask("begun")
  yield* copyLive(archive, draft, manifest, context)
  yield* context.ask("copied")
  yield* writeJournal(input, draft, manifest)
  yield* Effect.scoped(foldJournal({ folder: draft, until, progress: context.progress }))
  if (project !== null) yield* Effect.scoped(keepWebhooks(directory, draft, project))
  for (const folder of ["live", "journal"]) yield* nodeDisk.syncFolder(path.join(draft, folder))
  yield* nodeDisk.syncFolder(draft)
  yield* context.ask("journal")
  const { faults, findings, saved } = yield* Effect.scoped(verify({ folder: draft }, context))
  if (saved.lastSequence !== until) {
    faults.add(`It ends with record ${saved.lastSequence}, not ${until}`)
  }
  if (faults.count > 0) {
    return yield* damaged(`The restored data would fail its check: ${faults.summary}`)
  }
  // LMDB leaves it beside an opened database.
  yield* removeTree(nodeDisk, path.join(draft, "live", "lock.mdb"))
  yield* context.ask("verified")
  return findings
})

const sizeOf = (files: Manifest["files"]): number =>
  files.reduce((sum, { bytes }) => sum + bytes, 0)

const copyLive = Effect.fnUntraced(function* (
  archive: string,
  draft: string,
  manifest: Manifest,
  { progress }: JobContext,
): Effect.fn.Return<void, unknown, Scope.Scope> {
  const live = path.join(draft, "live")
  const copying = (done: number, total: number) => progress({ activity: "Copying", done, total })
  const changed = (name: string) =>
    damaged(`The file ${name} of the archive has changed: choose another archive`)
  if (manifest.parts !== undefined) {
    const faults = new FaultList()
    yield* checkFiles(archive, manifest, faults.add, (done, total) =>
      progress({ activity: "Hashing", done, total }),
    )
    if (faults.count > 0) return yield* damaged(`${faults.summary}: choose another archive`)
    const inDatabase = manifest.files.filter((file) => file.path.startsWith(`${archivedFolder}/`))
    const total = sizeOf(inDatabase) + manifest.parts.bytes
    let done = 0
    const copied = (bytes: number) => {
      // The database of an archive has its own pages around the entries.
      done = Math.min(total, done + bytes)
      copying(done, total)
    }
    yield* Effect.scoped(restoreLive(archive, live, copied))
    copying(total, total)
    // LMDB leaves it beside an opened database.
    return yield* Effect.ignore(
      removeTree(nodeDisk, path.join(archive, archivedFolder, "lock.mdb")),
    )
  }
  yield* nodeDisk.makeFolder(live)
  const parts = manifest.files.filter((file) => file.path.startsWith("live/"))
  const total = sizeOf(parts)
  let done = 0
  for (const part of parts) {
    const name = part.path
    // Names come from the manifest, whose checksum does not authenticate its author.
    if (path.dirname(name) !== "live") return yield* damaged(`The manifest names a file ${name}`)
    const { sha256 } = yield* copyFile(
      path.join(archive, name),
      path.join(draft, name),
      name,
      (bytes) => {
        done += bytes
        copying(done, total)
      },
    )
    if (sha256 !== part.sha256) return yield* changed(name)
  }
})

/** Writes the journal up to record `until`, and links the directory's older segments. */
const writeJournal = Effect.fnUntraced(function* (
  { archive, directory, project, until }: RestoreInput,
  draft: string,
  manifest: Manifest,
): Effect.fn.Return<void, DiskError | JobFailed> {
  const folder = path.join(draft, "journal")
  const from = path.join(directory, "journal")
  const own = path.join(archive, "journal")
  yield* nodeDisk.makeFolder(folder)
  const output = new JournalOutput(folder, manifest, until, project)
  const { older, start } = yield* wholeSegments(from, own, manifest)
  if (start === undefined) {
    const end = yield* scanJournal({ disk: nodeDisk, folder: own }, output.write)
    yield* whole(end)
    if (end.lastSequence !== manifest.sequence || end.checksum !== manifest.checksum) {
      return yield* damaged(`The journal of the archive ends with record ${end.lastSequence}`)
    }
  }
  if (start !== undefined || until > manifest.sequence) {
    const first = start ?? Math.max(1, manifest.sequence)
    const scanned = { disk: nodeDisk, folder: from, from: first, until }
    const end = yield* scanJournal(scanned, output.write)
    if (end.lastSequence < until) yield* whole(end)
  }
  yield* output.end
  for (const segment of older.toReversed()) {
    const name = yield* segmentFileIn(nodeDisk, from, segment)
    const linked = yield* Effect.result(
      Effect.tryPromise(() => fs.link(path.join(from, name), path.join(folder, name))),
    )
    // Some file systems have no links; segments must follow one another.
    if (Result.isFailure(linked)) break
  }
})

/**
 * The segments of the directory's journal that are whole up to the archive's last record and of its history:
 * `start` has the first record of the archive's own journal, `older` come before; none if no segment is.
 */
const wholeSegments = Effect.fnUntraced(function* (
  folder: string,
  own: string,
  { checksum, sequence }: Manifest,
): Effect.fn.Return<
  { readonly start: number | undefined; readonly older: ReadonlyArray<number> },
  DiskError
> {
  const none = { start: undefined, older: [] }
  const [first] = yield* segmentsIn(nodeDisk, own)
  const firsts = yield* segmentsIn(nodeDisk, folder)
  const index = first === undefined ? -1 : firsts.findLastIndex((each) => each <= first)
  if (index < 0) return none
  const leadsThere = Effect.fnUntraced(function* (from: number) {
    let found = false
    yield* scanJournal({ disk: nodeDisk, folder, from, until: sequence }, (batches) =>
      Effect.sync(() => {
        for (const batch of batches) {
          if (batch.firstSequence + batch.count - 1 !== sequence) continue
          found = batch.checksum === checksum
        }
      }),
    )
    return found
  })
  const start = firsts[index]!
  if (yield* leadsThere(firsts[0]!)) return { start, older: firsts.slice(0, index) }
  return (yield* leadsThere(start)) ? { start, older: [] } : none
})

/** Writes the new journal: consecutive batches up to a last record. */
class JournalOutput {
  readonly #folder: string
  readonly #manifest: Manifest
  readonly #until: number
  readonly #project: ProjectGoesBack | null
  #writer: SegmentWriter | undefined
  /** End of the batches read; the written ones may have other checksums. */
  #read: JournalPosition | undefined

  constructor(folder: string, manifest: Manifest, until: number, project: ProjectGoesBack | null) {
    this.#project = project
    this.#folder = folder
    this.#manifest = manifest
    this.#until = until
  }

  /** Takes the next batches; skips those it already has. */
  readonly write = Effect.fnUntraced(function* (
    this: JournalOutput,
    batches: ReadonlyArray<SegmentBatch>,
  ): Effect.fn.Return<void, DiskError | JobFailed> {
    for (const batch of batches) {
      const position = this.#read ?? this.#before(batch)
      if (batch.firstSequence <= position.lastSequence) continue
      if (
        batch.firstSequence !== position.lastSequence + 1 ||
        batch.previous !== position.checksum
      ) {
        return yield* damaged(`The journal does not continue after record ${position.lastSequence}`)
      }
      this.#writer ??= this.#open(position)
      const kept = upTo(batch, this.#until)
      yield* this.#writer.write(this.#project === null ? kept : without(kept, this.#project))
      const lastSequence = batch.firstSequence + batch.count - 1
      this.#read = { lastSequence, checksum: batch.checksum }
    }
  }).bind(this)

  readonly end: Effect.Effect<unknown, DiskError> = Effect.suspend(() => {
    this.#writer ??= this.#open(manifestEnd(this.#manifest))
    return this.#writer.end
  })

  /** The position before the first batch, at most the archive's last record. */
  #before({ firstSequence, previous }: SegmentBatch): JournalPosition {
    const { sequence } = this.#manifest
    return firstSequence <= sequence
      ? { lastSequence: firstSequence - 1, checksum: previous }
      : manifestEnd(this.#manifest)
  }

  #open(after: JournalPosition): SegmentWriter {
    return new SegmentWriter({ disk: nodeDisk, folder: this.#folder, after })
  }
}

const manifestEnd = ({ checksum, sequence }: Manifest) => ({ lastSequence: sequence, checksum })

const whole = ({ fault }: JournalEnd): Effect.Effect<void, JobFailed> =>
  fault === undefined ? Effect.void : damaged(faultText(fault))

/** The records of a batch up to `until`. */
const upTo = (batch: SegmentBatch, until: number): JournalBatch => {
  const { count, firstSequence } = batch
  if (firstSequence + count - 1 <= until) return batch
  const records = batchRecords(batch, firstSequence) ?? []
  return batchOfRecords(records.filter(({ sequence }) => sequence <= until))
}
