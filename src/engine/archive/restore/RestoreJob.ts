/**
 * Builds the replacement of a data directory in `restore.draft` (`ArchiveSwap`), durable and
 * checked: an archive, and the records after it up to a given one. The directory itself stays
 * unchanged.
 *
 * 1. `live/` is a copy of the archive's database; without an archive it is empty, and the journal
 *    begins with the first record.
 * 2. The journal is the archive's, and the directory's records after it up to the given record; a
 *    batch that extends beyond is cut. The archive's segments are linked, or copied where the file
 *    system has no links; the batches of the last one are copied. The next start folds the journal
 *    into the snapshot, as after a crash, up to exactly the given record; a journal longer than a
 *    start should hold in memory is folded here (`FoldJob`). For the restore of one project, the
 *    journal extends to its end, with empty records for that project (`ProjectHistory`), and the
 *    tables of webhooks stay as they are (`WebhookTables`).
 * 3. Everything is checked like an archive. A draft with a fault is removed.
 */

import path from "node:path"
import { Effect, type Scope } from "effect"
import { limits } from "../../../Limits.ts"
import { bytesOf, roomFor } from "../../../storage/archive/ArchiveCatalog.ts"
import {
  decodeManifestText,
  type Manifest,
  manifestBytesMax,
  manifestName,
} from "../../../storage/archive/ArchiveManifest.ts"
import { inDraft } from "../../../storage/archive/ArchiveSwap.ts"
import { copyFile, linkFile, pathsIn, segmentFilesIn } from "../../../storage/archive/Files.ts"
import { gatheredIn, gatheredName } from "../../../storage/archive/GatheredJournals.ts"
import { type DiskError, readSmallFile } from "../../../storage/disk/Disk.ts"
import { nodeDisk } from "../../../storage/disk/NodeDisk.ts"
import { batchOfRecords, batchRecords } from "../../../storage/Frames.ts"
import { faultText, type JournalEnd, scanJournal } from "../../../storage/journal/JournalScan.ts"
import type { JournalPosition, SegmentBatch } from "../../../storage/journal/SegmentFormat.ts"
import { SegmentWriter } from "../../../storage/journal/SegmentWriter.ts"
import { compositeKey } from "../../../storage/Keys.ts"
import { openLmdbStore } from "../../../storage/lmdb/LmdbStore.ts"
import { type JournalBatch, type StoredRecord, Unavailable } from "../../../storage/Storage.ts"
import { encodeValue } from "../../../storage/Values.ts"
import { foldRecords } from "../../recovery/Fold.ts"
import { readWatermark } from "../check/SavedState.ts"
import { verifyDraft } from "../check/Verification.ts"
import type { Findings } from "../jobs/Findings.ts"
import {
  damaged,
  type Input,
  type JobCode,
  type JobContext,
  type JobFailed,
  type ProjectGoesBack,
} from "../jobs/Jobs.ts"
import { without } from "./ProjectHistory.ts"
import { keepWebhooks } from "./WebhookTables.ts"

/*
 * Folds the journal of a draft into its snapshot, slice by slice (`Fold`), so that the check and
 * the next start need memory for one slice only, however long the journal is.
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

export const restoreDraft: JobCode<"restore"> = (input, context) =>
  inDraft(nodeDisk, input.directory, (draft) => fill(input, draft, context))

const fill = Effect.fnUntraced(function* (
  input: RestoreInput,
  draft: string,
  context: JobContext,
): Effect.fn.Return<Findings, unknown, Scope.Scope> {
  const { archive, directory, project, until } = input
  const manifest = archive === null ? undefined : yield* manifestOf(archive)
  const free = yield* nodeDisk.freeBytes(directory)
  const database = { files: manifest?.files.filter(isOfDatabase) ?? [] }
  if (free < roomFor(bytesOf(database)))
    return yield* new Unavailable({ operation: "restore", reason: "disk_full" })
  yield* context.ask("begun")
  if (archive === null) yield* Effect.scoped(emptyLive(draft, until))
  else yield* copyLive(archive, draft, manifest!, context)
  yield* context.ask("copied")
  yield* writeJournal(input, draft, manifest)
  yield* putGathered(archive ?? directory, draft, manifest)
  yield* Effect.scoped(foldJournal({ folder: draft, until, progress: context.progress }))
  if (project !== null) yield* Effect.scoped(keepWebhooks(directory, draft, project))
  for (const folder of ["live", "journal"]) yield* nodeDisk.syncFolder(path.join(draft, folder))
  yield* nodeDisk.syncFolder(draft)
  yield* context.ask("journal")
  const { faults, findings, saved } = yield* verifyDraft(draft, context)
  if (saved.lastSequence !== until) {
    faults.add(`It ends with record ${saved.lastSequence}, not ${until}`)
  }
  if (faults.count > 0) {
    return yield* damaged(`The restored data would fail its check: ${faults.summary}`)
  }
  yield* context.ask("verified")
  return findings
})

const manifestOf = Effect.fnUntraced(function* (
  archive: string,
): Effect.fn.Return<Manifest, DiskError | JobFailed> {
  const text = yield* readSmallFile(nodeDisk, path.join(archive, manifestName), manifestBytesMax)
  return yield* Effect.mapError(Effect.fromResult(decodeManifestText(text)), (words) =>
    damaged(`The manifest of ${archive} ${words}`),
  )
})

/**
 * A database without records: the journal is folded from the beginning. Its messages to webhooks
 * were sent long ago.
 */
const emptyLive = Effect.fnUntraced(function* (
  draft: string,
  until: number,
): Effect.fn.Return<void, unknown, Scope.Scope> {
  const folder = path.join(draft, "live")
  const { writeEntries } = yield* openLmdbStore({ folder })
  const value = encodeValue(JSON.stringify(until))
  yield* writeEntries([{ table: "outbox", key: compositeKey("cursor"), value }])
})

const changed = (name: string) =>
  damaged(`The file ${name} of the archive has changed: choose another archive`)

const isOfDatabase = (file: Manifest["files"][number]): boolean => file.path.startsWith("live/")

const copyLive = Effect.fnUntraced(function* (
  archive: string,
  draft: string,
  { files }: Manifest,
  { progress }: JobContext,
): Effect.fn.Return<void, DiskError | JobFailed> {
  const parts = files.filter(isOfDatabase)
  const total = bytesOf({ files: parts })
  let done = 0
  for (const { path: name, sha256 } of parts) {
    // Names come from the manifest, whose checksum does not authenticate its author.
    if (path.dirname(name) !== "live") return yield* damaged(`The manifest names a file ${name}`)
    const copied = yield* copyFile(
      path.join(archive, name),
      path.join(draft, name),
      name,
      (bytes) => {
        done += bytes
        progress({ activity: "Copying", done, total })
      },
    )
    if (copied.sha256 !== sha256) return yield* changed(name)
  }
})

/**
 * Writes the journal up to record `until`: links the segments that stay as they are, and copies the
 * batches after them.
 */
const writeJournal = Effect.fnUntraced(function* (
  { archive, directory, project, until }: RestoreInput,
  draft: string,
  manifest: Manifest | undefined,
): Effect.fn.Return<void, DiskError | JobFailed> {
  const folder = path.join(draft, "journal")
  const own = path.join(archive ?? directory, "journal")
  const files = yield* segmentFilesIn(own)
  const last = project?.after ?? until
  // A start appends to the last one, unless it is sealed.
  const kept = files.filter(({ isSealed }, n) => {
    const next = files[n + 1]?.first
    return next === undefined ? isSealed && manifest !== undefined : next <= last + 1
  })
  for (const { name } of kept) yield* putFile(own, folder, name, manifest)
  const isAll = kept.length === files.length && manifest !== undefined
  const output = new JournalOutput(folder, until, project, isAll ? endOf(manifest) : undefined)
  const from = isAll ? manifest.sequence : (files[kept.length]?.first ?? 1)
  if (manifest !== undefined) {
    const end = yield* scanJournal({ disk: nodeDisk, folder: own, from }, output.write)
    yield* whole(end)
    if (end.lastSequence !== manifest.sequence || end.checksum !== manifest.checksum) {
      return yield* damaged(`The journal of the archive ends with record ${end.lastSequence}`)
    }
  }
  if (manifest === undefined || until > manifest.sequence) {
    const later = { from: manifest === undefined ? from : Math.max(1, manifest.sequence), until }
    const journal = { disk: nodeDisk, folder: path.join(directory, "journal"), ...later }
    const reached = yield* scanJournal(journal, output.write)
    if (reached.lastSequence < until) yield* whole(reached)
  }
  yield* output.end
})

const endOf = ({ checksum, sequence }: Manifest): JournalPosition => ({
  lastSequence: sequence,
  checksum,
})

/** Links the gathered journals, which change no more. */
const putGathered = Effect.fnUntraced(function* (
  from: string,
  draft: string,
  manifest: Manifest | undefined,
): Effect.fn.Return<void, DiskError | JobFailed> {
  for (const folder of yield* gatheredIn(nodeDisk, from)) {
    yield* nodeDisk.makeFolder(path.join(draft, folder))
    for (const name of yield* pathsIn(from, [folder])) yield* putFile(from, draft, name, manifest)
    yield* nodeDisk.syncFolder(path.join(draft, folder))
    yield* nodeDisk.syncFolder(path.join(draft, gatheredName))
  }
})

/** Links a file, or copies it where the file system has no links. */
const putFile = Effect.fnUntraced(function* (
  from: string,
  to: string,
  name: string,
  manifest: Manifest | undefined,
): Effect.fn.Return<void, DiskError | JobFailed> {
  const [source, target] = [path.join(from, name), path.join(to, name)]
  if (yield* linkFile(source, target)) return
  const { sha256 } = yield* copyFile(source, target, name, () => {})
  const known = manifest?.files.find((file) => path.basename(file.path) === path.basename(name))
  if (known !== undefined && known.sha256 !== sha256) return yield* changed(name)
})

/** Writes the new journal: consecutive batches up to a last record. */
class JournalOutput {
  readonly #folder: string
  readonly #until: number
  readonly #project: ProjectGoesBack | null
  #writer: SegmentWriter | undefined
  /** End of the batches read; the written ones may have other checksums. */
  #read: JournalPosition | undefined

  /** `after`: where the journal in the folder ends; `undefined`: before the first batch. */
  constructor(
    folder: string,
    until: number,
    project: ProjectGoesBack | null,
    after: JournalPosition | undefined,
  ) {
    this.#read = after
    this.#project = project
    this.#folder = folder
    this.#until = until
  }

  /** Takes the next batches; skips those it already has. */
  readonly write = Effect.fnUntraced(function* (
    this: JournalOutput,
    batches: ReadonlyArray<SegmentBatch>,
  ): Effect.fn.Return<void, DiskError | JobFailed> {
    for (const batch of batches) {
      const position = this.#read ?? before(batch)
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
    this.#writer ??= this.#open(this.#read ?? { lastSequence: 0, checksum: 0 })
    return this.#writer.end
  })

  #open(after: JournalPosition): SegmentWriter {
    return new SegmentWriter({ disk: nodeDisk, folder: this.#folder, after })
  }
}

const before = ({ firstSequence, previous }: SegmentBatch): JournalPosition => ({
  lastSequence: firstSequence - 1,
  checksum: previous,
})

const whole = ({ fault }: JournalEnd): Effect.Effect<void, JobFailed> =>
  fault === undefined ? Effect.void : damaged(faultText(fault))

/** The records of a batch up to `until`. */
const upTo = (batch: SegmentBatch, until: number): JournalBatch => {
  const { count, firstSequence } = batch
  if (firstSequence + count - 1 <= until) return batch
  const records = batchRecords(batch, firstSequence) ?? []
  return batchOfRecords(records.filter(({ sequence }) => sequence <= until))
}
