/**
 * Makes one archive, in a child process beside the server that continues to write.
 *
 * 1. Copy the database as of one moment (`TableCopy`, `begun` → `copied`). A periodic snapshot may
 *    be in progress, so some values may be ahead of the watermark.
 * 2. Only then ask the server for the end of its durable journal (`position`), which is after
 *    everything in the copy. Link the journal's segments up to that end, and copy the batches of
 *    the last one (`SegmentCopy`). So an archive equals the data after a crash at that moment: the
 *    state of exactly that record.
 * 3. Flush, read back and check what is not the previous archive's (`Base`, `Verification`); a
 *    draft with a fault is removed.
 * 4. Write the manifest and rename the draft, which publishes the archive.
 */
import path from "node:path"
import { Effect, type Scope } from "effect"
import {
  makeDraft,
  publishArchive,
  roomFor,
  sweepArchives,
} from "../../../storage/archive/ArchiveCatalog.ts"
import {
  archiveId,
  encodeManifest,
  type Manifest,
  manifestName,
} from "../../../storage/archive/ArchiveManifest.ts"
import {
  archivedFolders,
  copyFile,
  describeFiles,
  pathsIn,
  statFile,
} from "../../../storage/archive/Files.ts"
import { descriptionName, gatheredIn } from "../../../storage/archive/GatheredJournals.ts"
import { type DiskError, removeTree, replaceFile } from "../../../storage/disk/Disk.ts"
import { nodeDisk } from "../../../storage/disk/NodeDisk.ts"
import { dataFormat } from "../../../storage/format.ts"
import { openReader } from "../../../storage/lmdb/LmdbReader.ts"
import { Unavailable } from "../../../storage/Storage.ts"
import { openBase } from "../check/Base.ts"
import { insistWhole } from "../check/SavedState.ts"
import { type Verified, verify, withoutLock } from "../check/Verification.ts"
import {
  damaged,
  type Input,
  type JobCode,
  type JobContext,
  type PositionAnswer,
} from "../jobs/Jobs.ts"
import { type CopiedSegments, copySegments, type SegmentCopyOptions } from "./SegmentCopy.ts"
import { copyRestMs, copyTables, throttledRest } from "./TableCopy.ts"

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
  const { archives, at, directory, throttled } = input
  yield* context.ask("begun")
  const journal = path.join(directory, "journal")
  const base = yield* openBase(archives, journal, context.progress)
  yield* context.ask("based")
  yield* Effect.scoped(copyDatabase(input, draft, context))
  yield* insistWhole(draft)
  yield* context.ask("copied")
  const position = (yield* context.ask("position")) as PositionAnswer
  const rested = throttled ? paced() : () => Effect.void
  const shared = { directory, draft, at, base, rested }
  const segments = yield* copySegments({ ...shared, folder: "journal", position })
  const gathered = yield* copyGathered(shared)
  yield* context.ask("journal")
  const verified = yield* Effect.scoped(verify({ folder: draft, isScanned: true, base }, context))
  if (verified.faults.count > 0) {
    return yield* damaged(`The copied data fails its check: ${verified.faults.summary}`)
  }
  yield* context.ask("verified")
  const manifest = yield* describe(
    input,
    draft,
    { segments: [segments, ...gathered], verified },
    context,
  )
  for (const folder of [...(yield* archivedFolders(draft)), "."])
    yield* nodeDisk.syncFolder(path.join(draft, folder))
  yield* replaceFile(nodeDisk, draft, manifestName, encodeManifest(manifest))
  yield* context.ask("described")
  yield* publishArchive(nodeDisk, archives, draft, manifest.id)
  yield* context.ask("published")
  return manifest
})

/** Copies the database as of one moment. */
const copyDatabase = Effect.fnUntraced(function* (
  { archives, directory, throttled }: ArchiveInput,
  draft: string,
  { progress }: JobContext,
): Effect.fn.Return<void, unknown, Scope.Scope> {
  const live = path.join(directory, "live")
  const { bytes } = yield* statFile(path.join(live, "data.mdb"))
  if ((yield* nodeDisk.freeBytes(archives)) < roomFor(bytes)) {
    return yield* new Unavailable({ operation: "archive", reason: "disk_full" })
  }
  yield* copyTables(yield* openReader(live), bytes, {
    draft,
    rest: throttled ? throttledRest : () => Effect.void,
    progress: (done, total) => progress({ activity: "Copying", done, total }),
  })
})

/** Puts the gathered journals into the draft. */
const copyGathered = Effect.fnUntraced(function* (
  shared: Omit<SegmentCopyOptions, "folder" | "position">,
) {
  const { directory, draft } = shared
  const copied: Array<CopiedSegments> = []
  for (const folder of yield* gatheredIn(nodeDisk, directory)) {
    copied.push(yield* copySegments({ ...shared, folder, position: undefined }))
    const name = `${folder}/${descriptionName}`
    yield* copyFile(path.join(directory, name), path.join(draft, name), name, () => {})
  }
  return copied
})

/** Rests so that a copy beside a server is no faster than `archiveCopyBytesPerSecond`. */
const paced = () => {
  const startedAt = performance.now()
  let done = 0
  return (bytes: number) =>
    Effect.suspend(() => {
      done += bytes
      return Effect.sleep(copyRestMs(done, 0, performance.now() - startedAt))
    })
}

interface Contents {
  readonly segments: ReadonlyArray<CopiedSegments>
  readonly verified: Verified
}

/** The manifest of the draft. */
const describe = Effect.fnUntraced(function* (
  { at, reason }: ArchiveInput,
  draft: string,
  { segments, verified: { findings, saved } }: Contents,
  { progress }: JobContext,
): Effect.fn.Return<Manifest, DiskError> {
  yield* withoutLock(draft)
  const shared = segments.flatMap((each) => each.files)
  const known = new Set(shared.map((file) => file.path))
  const paths = yield* pathsIn(draft, yield* archivedFolders(draft))
  const described = yield* describeFiles(
    draft,
    paths.filter((name) => !known.has(name)),
    (done, total) => progress({ activity: "Hashing", done, total }),
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
    files: [...shared, ...described],
    segments: {
      linked: segments.reduce((sum, { linked }) => sum + linked, 0),
      copied: segments.reduce((sum, { copied }) => sum + copied, 0),
    },
  }
})
