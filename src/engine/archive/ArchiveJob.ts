/**
 * Makes one archive, in a child process beside the server that continues to write.
 *
 * 1. Copy the snapshot as of one moment (`TableCopy`, `begun` → `copied`). A periodic snapshot may be in progress, so some
 *    values may be ahead of the watermark. History that changes no more is linked from an earlier archive (`ArchiveBase`).
 * 2. Only then ask the server for the end of its durable journal (`position`), which is after everything in the copy. Copy the
 *    journal's batches from the copy's watermark to that end, unchanged.
 *    So an archive equals the data after a crash at that moment: the state of exactly that record.
 * 3. Flush, read back and check what is not linked (`Verification.ts`); a draft with a fault is removed.
 * 4. Write the manifest and rename the draft, which publishes the archive.
 */
import fs from "node:fs/promises"
import path from "node:path"
import { Effect, type Scope } from "effect"
import {
  makeDraft,
  publishArchive,
  roomFor,
  sweepArchives,
} from "../../storage/archive/ArchiveCatalog.ts"
import {
  archiveId,
  encodeManifest,
  type Manifest,
  manifestName,
} from "../../storage/archive/ArchiveManifest.ts"
import { archivedFolder } from "../../storage/archive/ArchiveTables.ts"
import { describeFiles, pathsIn } from "../../storage/archive/Files.ts"
import { partListPath, partsFolder } from "../../storage/archive/PartFile.ts"
import { type DiskError, removeTree, replaceFile } from "../../storage/disk/Disk.ts"
import { nodeDisk } from "../../storage/disk/NodeDisk.ts"
import { dataFormat } from "../../storage/format.ts"
import { damageOf, faultText, scanJournal } from "../../storage/journal/JournalScan.ts"
import { SegmentWriter } from "../../storage/journal/SegmentWriter.ts"
import { openReader } from "../../storage/lmdb/LmdbReader.ts"
import { Unavailable } from "../../storage/Storage.ts"
import { type ArchiveBase, erasedSince, openBase } from "./ArchiveBase.ts"
import {
  damaged,
  type Input,
  type JobCode,
  type JobContext,
  type JobFailed,
  type PositionAnswer,
} from "./Jobs.ts"
import { insistWhole, watermarkOf } from "./SavedState.ts"
import { type CopiedTables, copyTables, throttledRest } from "./TableCopy.ts"
import { sinceOf, type Verified, verify } from "./Verification.ts"

type ArchiveInput = Input<"archive">

export const makeArchive: JobCode<"archive"> = Effect.fnUntraced(function* (input, context) {
  const { archives, at } = input
  yield* nodeDisk.makeFolder(archives)
  yield* sweepArchives(nodeDisk, archives, { drafts: true })
  const draft = yield* makeDraft(nodeDisk, archives, archiveId(at, 0))
  return yield* Effect.onError(fill(input, draft, context), () =>
    Effect.ignore(removeTree(nodeDisk, draft)),
  )
})

const fill = Effect.fnUntraced(function* (
  input: ArchiveInput,
  draft: string,
  context: JobContext,
): Effect.fn.Return<Manifest, unknown, Scope.Scope> {
  const { archives, directory } = input
  yield* context.ask("begun")
  const journal = path.join(directory, "journal")
  const base = yield* openBase(archives, journal, context.progress)
  yield* context.ask("based")
  const { copied, watermark } = yield* copySnapshot(input, draft, base, context)
  yield* context.ask("linked")
  yield* insistWhole(draft)
  yield* context.ask("copied")
  const position = (yield* context.ask("position")) as PositionAnswer
  yield* copyTail(journal, draft, watermark, position)
  yield* context.ask("journal")
  const verified = yield* Effect.scoped(
    verify({ folder: draft, isScanned: true, since: sinceOf(copied, base) }, context),
  )
  if (verified.faults.count > 0) {
    return yield* damaged(`The copied data fails its check: ${verified.faults.summary}`)
  }
  yield* context.ask("verified")
  const manifest = yield* describe(input, draft, { copied, verified }, context)
  for (const folder of [archivedFolder, partsFolder, "journal", "."])
    yield* nodeDisk.syncFolder(path.join(draft, folder))
  yield* replaceFile(nodeDisk, draft, manifestName, encodeManifest(manifest))
  yield* context.ask("described")
  yield* publishArchive(nodeDisk, archives, draft, manifest.id)
  yield* context.ask("published")
  return manifest
})

/** Copies the database as of one moment; what it shares with `base` is linked. */
const copySnapshot = Effect.fnUntraced(function* (
  { archives, at, directory, throttled }: ArchiveInput,
  draft: string,
  base: ArchiveBase | undefined,
  { progress }: JobContext,
): Effect.fn.Return<
  { readonly copied: CopiedTables; readonly watermark: number },
  unknown,
  Scope.Scope
> {
  const live = path.join(directory, "live")
  const { size } = yield* Effect.promise(() => fs.stat(path.join(live, "data.mdb")))
  const shared = base?.manifest.parts?.bytes ?? 0
  const free = yield* nodeDisk.freeBytes(archives)
  if (free < roomFor(Math.max(0, size - shared))) {
    return yield* new Unavailable({ operation: "archive", reason: "disk_full" })
  }
  const erased = base === undefined ? [] : yield* erasedSince(base, path.join(directory, "journal"))
  return yield* Effect.scoped(
    Effect.gen(function* () {
      const reader = yield* openReader(live)
      const watermark = yield* watermarkOf(reader)
      const copied = yield* copyTables(reader, size, {
        draft,
        at,
        watermark,
        base,
        erased,
        rest: throttled ? throttledRest : () => Effect.void,
        progress: (done, total) => progress({ activity: "Copying", done, total }),
      })
      return { copied, watermark }
    }),
  )
})

interface Contents {
  readonly copied: CopiedTables
  readonly verified: Verified
}

/** The manifest of the draft. */
const describe = Effect.fnUntraced(function* (
  { at, reason }: ArchiveInput,
  draft: string,
  { copied, verified: { findings, saved } }: Contents,
  { progress }: JobContext,
): Effect.fn.Return<Manifest, DiskError> {
  // LMDB leaves it beside an opened database.
  yield* removeTree(nodeDisk, path.join(draft, archivedFolder, "lock.mdb"))
  const paths = [...(yield* pathsIn(draft, [archivedFolder, "journal"])), partListPath]
  const files = yield* describeFiles(draft, paths, (done, total) =>
    progress({ activity: "Hashing", done, total }),
  )
  const { end, lastAt } = saved.tail
  return {
    format: dataFormat,
    id: archiveId(at, saved.lastSequence),
    createdAt: new Date(at).toISOString(),
    recordedAt: lastAt === undefined ? null : new Date(lastAt).toISOString(),
    reason,
    sequence: saved.lastSequence,
    checksum: end.checksum,
    watermark: saved.watermark,
    counts: findings.counts,
    sums: findings.sums,
    files,
    parts: {
      files: copied.parts.length,
      bytes: copied.parts.reduce((sum, { bytes }) => sum + bytes, 0),
      linked: copied.linked,
      copied: copied.copied,
    },
  }
})

/** Copies the journal from the copied snapshot's watermark on, that record included, up to `position`. */
const copyTail = Effect.fnUntraced(function* (
  from: string,
  draft: string,
  watermark: number,
  position: PositionAnswer,
): Effect.fn.Return<void, DiskError | JobFailed> {
  const folder = path.join(draft, "journal")
  yield* nodeDisk.makeFolder(folder)
  const first = Math.max(1, watermark)
  let writer: SegmentWriter | undefined
  const until = position === undefined ? {} : { until: position.lastSequence }
  const end = yield* scanJournal(
    { disk: nodeDisk, folder: from, from: first, ...until },
    (batches) =>
      Effect.gen(function* () {
        for (const batch of batches) {
          if (batch.firstSequence + batch.count <= first) continue
          writer ??= new SegmentWriter({
            disk: nodeDisk,
            folder,
            after: { lastSequence: batch.firstSequence - 1, checksum: batch.previous },
          })
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
  writer ??= new SegmentWriter({
    disk: nodeDisk,
    folder,
    after: { lastSequence: 0, checksum: 0 },
  })
  yield* writer.end
})
