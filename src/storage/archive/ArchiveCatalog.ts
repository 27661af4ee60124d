/**
 * The folder of archives: lists, publishes and removes them. One rename publishes or removes an
 * archive, so a listing finds only whole archives, also after a crash.
 */
import path from "node:path"
import { Effect, Option, Result, Schema } from "effect"
import { isoTime } from "../../domain/values/isoTime.ts"
import { limits } from "../../Limits.ts"
import {
  type Disk,
  type DiskError,
  ifThere,
  isMissing,
  namesIn,
  type OnDisk,
  readSmallFile,
  removeTree,
  replaceFile,
} from "../disk/Disk.ts"
import {
  byAge,
  decodeManifestText,
  decodeVerification,
  encodeVerification,
  Manifest,
  manifestBytesMax,
  manifestName,
  parseArchiveId,
  type Verification,
  verificationName,
} from "./ArchiveManifest.ts"
import { expiredArchives, type Retention } from "./ArchiveRetention.ts"

/** A listed archive. */
export interface ListedArchive {
  readonly id: string
  readonly folder: string
  /** Creation time (epoch milliseconds) and last record, from the name. */
  readonly at: number
  readonly sequence: number
  /** The manifest, or its fault, in words that follow "The manifest". */
  readonly manifest: Result.Result<Manifest, string>
  /** The last check after the one at creation; `undefined`: none. */
  readonly verification: Verification | undefined
}

const removedSuffix = ".removed"
export const draftSuffix = ".draft"
/** An archive that is fetched from a bucket. */
export const fetchedSuffix = ".fetched"

/** The archives in `folder`, oldest first; none if the folder does not exist. */
export const listArchives = Effect.fnUntraced(function* (
  disk: Disk,
  folder: string,
): Effect.fn.Return<ReadonlyArray<ListedArchive>, DiskError> {
  const names = yield* namesIn(disk, folder)
  const archives: Array<ListedArchive> = []
  for (const name of names) {
    const parsed = parseArchiveId(name)
    if (parsed === undefined) continue
    const where = path.join(folder, name)
    const manifest = yield* readManifest(disk, where)
    const verification = yield* readVerification(disk, where)
    archives.push({ id: name, folder: where, ...parsed, manifest, verification })
  }
  return archives.sort(byAge)
})

const readManifest = (disk: Disk, where: string): Effect.Effect<Result.Result<Manifest, string>> =>
  readSmallFile(disk, path.join(where, manifestName), manifestBytesMax).pipe(
    Effect.map(decodeManifestText),
    Effect.map((manifest) =>
      Result.isSuccess(manifest) && manifest.success.id !== path.basename(where)
        ? Result.fail(`is that of ${manifest.success.id}`)
        : manifest,
    ),
    Effect.catch((error) =>
      Effect.succeed(
        Result.fail(isMissing(error) ? "is missing" : `cannot be read (${error.code})`),
      ),
    ),
  )

const readVerification = (disk: Disk, where: string): Effect.Effect<Verification | undefined> =>
  readSmallFile(disk, path.join(where, verificationName), manifestBytesMax).pipe(
    Effect.map((text) => Option.getOrUndefined(decodeVerification(text))),
    Effect.orElseSucceed(() => undefined),
  )

/** Stores the result of a check of the archive in `where`. */
export const writeVerification = (
  disk: Disk,
  where: string,
  verification: Verification,
): OnDisk<void> => replaceFile(disk, where, verificationName, encodeVerification(verification))

/** Whether an archive's manifest can be read and no check of it has failed. */
export const isGood = ({ manifest, verification }: ListedArchive): boolean =>
  Result.isSuccess(manifest) && (verification?.faultCount ?? 0) === 0

/** Makes an empty draft folder for a new archive. */
export const makeDraft = Effect.fnUntraced(function* (
  disk: Disk,
  folder: string,
  name: string,
): Effect.fn.Return<string, DiskError> {
  const draft = path.join(folder, `${name}${draftSuffix}`)
  yield* disk.makeFolder(draft)
  return draft
})

/** Publishes a durable draft as archive `id`. */
export const publishArchive = Effect.fnUntraced(function* (
  disk: Disk,
  folder: string,
  draft: string,
  id: string,
): Effect.fn.Return<string, DiskError> {
  const where = path.join(folder, id)
  yield* disk.rename(draft, where)
  yield* disk.syncFolder(folder)
  return where
})

/** Removes an archive; a crash in between does not bring it back. */
export const removeArchive = Effect.fnUntraced(function* (
  disk: Disk,
  folder: string,
  id: string,
): Effect.fn.Return<void, DiskError> {
  const removed = path.join(folder, `${id}${removedSuffix}`)
  // Another process may be removing it too.
  yield* ifThere(disk.rename(path.join(folder, id), removed))
  yield* disk.syncFolder(folder)
  yield* removeTree(disk, removed)
})

/**
 * Completes removals that a crash interrupted; with `drafts` removes unfinished archives too, which
 * requires the lock of the data directory.
 */
export const sweepArchives = Effect.fnUntraced(function* (
  disk: Disk,
  folder: string,
  { drafts }: { readonly drafts: boolean },
): Effect.fn.Return<void, DiskError> {
  const names = yield* namesIn(disk, folder)
  for (const name of names) {
    const isDraft = name.endsWith(draftSuffix) || name.endsWith(fetchedSuffix)
    if (name.endsWith(removedSuffix) || (drafts && isDraft)) {
      yield* removeTree(disk, path.join(folder, name))
    }
  }
})

/** The archives that the retention prunes, oldest first. */
export const expiredOf = (
  archives: ReadonlyArray<ListedArchive>,
  retention: Retention,
): ReadonlyArray<string> =>
  expiredArchives(
    archives.map((archive) => ({
      id: archive.id,
      at: archive.at,
      reason: Result.isSuccess(archive.manifest) ? archive.manifest.success.reason : "schedule",
      good: isGood(archive),
    })),
    retention,
  )

/** Prunes by the retention; returns the removed ids, oldest first. */
export const pruneArchives = Effect.fnUntraced(function* (
  disk: Disk,
  folder: string,
  retention: Retention,
): Effect.fn.Return<ReadonlyArray<string>, DiskError> {
  yield* sweepArchives(disk, folder, { drafts: false })
  const expired = expiredOf(yield* listArchives(disk, folder), retention)
  for (const id of expired) yield* removeArchive(disk, folder, id)
  return expired
})

/** Size of an archive, by its manifest; it may share files with others. */
export const bytesOf = ({ files }: Pick<Manifest, "files">): number =>
  files.reduce((sum, { bytes }) => sum + bytes, 0)

/** Free space needed for an archive of `bytes` beside a server. */
export const roomFor = (bytes: number): number => bytes + 2 * limits.freeSpaceBytesMin

/* An archive as scripts and other servers of a cluster get it: from its manifest alone. Times are ISO 8601. */

export const ArchiveDetails = Schema.Struct({
  /** Where there are several. */
  partition: Schema.optionalKey(Schema.Int),
  id: Schema.String,
  /** `null`: the archive is not on this machine. */
  folder: Schema.NullOr(Schema.String),
  /** The server of the cluster that has the archive, where it is not on this machine. */
  server: Schema.optionalKey(Schema.String),
  /** Whether it is in the bucket; `null`: none is set, or it did not answer. */
  inBucket: Schema.NullOr(Schema.Boolean),
  createdAt: Schema.String,
  /** Time of its last record; `null`: it has no records, or its manifest cannot be read. */
  recordedAt: Schema.NullOr(Schema.String),
  sequence: Schema.Int,
  users: Schema.NullOr(Schema.Int),
  bytes: Schema.NullOr(Schema.Int),
  reason: Schema.NullOr(Manifest.fields.reason),
  /** Time of the last successful check, and the faults of a failed one. */
  verifiedAt: Schema.NullOr(Schema.String),
  faults: Schema.Array(Schema.String),
})
export type ArchiveDetails = typeof ArchiveDetails.Type

export const detailsOf = (
  { at, folder, id, manifest, sequence, verification }: ListedArchive,
  { isHere = true, inBucket = null as boolean | null } = {},
): ArchiveDetails => {
  const named = {
    ...{ id, folder: isHere ? folder : null, inBucket },
    ...{ createdAt: isoTime(at), sequence },
  }
  if (Result.isFailure(manifest)) {
    const unknown = { recordedAt: null, users: null, bytes: null, reason: null, verifiedAt: null }
    return { ...named, ...unknown, faults: [`The manifest ${manifest.failure}`] }
  }
  const { counts, recordedAt, reason } = manifest.success
  const faults = verification?.faults ?? []
  return {
    ...named,
    recordedAt,
    users: counts.users ?? null,
    bytes: bytesOf(manifest.success),
    reason,
    // An archive gets its name only after a first check.
    verifiedAt: faults.length > 0 ? null : (verification?.at ?? isoTime(at)),
    faults,
  }
}
