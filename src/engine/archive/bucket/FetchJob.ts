/**
 * Brings an archive from a bucket into the folder of archives, or checks one in the bucket without
 * storing it.
 *
 * What is fetched grows in `<id>.fetched`: a file that is there with its checksum is not fetched
 * again, nor are the pieces at the beginning of a file that is incomplete, so an interrupted fetch
 * goes on. The folder gets the name of an archive when all files are durable and as the manifest
 * says.
 */
import { createHash } from "node:crypto"
import path from "node:path"
import { Effect, Result } from "effect"
import { limits } from "../../../Limits.ts"
import {
  bytesOf,
  fetchedSuffix,
  publishArchive,
  roomFor,
} from "../../../storage/archive/ArchiveCatalog.ts"
import { manifestName } from "../../../storage/archive/ArchiveManifest.ts"
import { sha256Of } from "../../../storage/archive/SealedJson.ts"
import type { Bucket } from "../../../storage/bucket/Bucket.ts"
import {
  type BucketArchive,
  type BucketIndex,
  listBucketArchives,
  pieceSum,
  readIndex,
  readPiece,
} from "../../../storage/bucket/BucketArchives.ts"
import type { BucketError } from "../../../storage/bucket/bucketErrors.ts"
import {
  type DiskError,
  type DiskFile,
  isMissing,
  replaceFile,
} from "../../../storage/disk/Disk.ts"
import { nodeDisk } from "../../../storage/disk/NodeDisk.ts"
import { Unavailable } from "../../../storage/Storage.ts"
import { FaultList } from "../jobs/Findings.ts"
import { damaged, type JobCode, JobFailed } from "../jobs/Jobs.ts"
import { openShipped } from "./ShipJob.ts"

interface RemoteFile {
  readonly path: string
  readonly bytes: number
  readonly sha256: string
  readonly pieces: ReadonlyArray<string>
}

export const fetchArchive: JobCode<"fetch"> = Effect.fnUntraced(function* (input, context) {
  const { archives, id } = input
  const bucket = yield* openShipped(context)
  const index = yield* insistIndex(bucket, id)
  const { manifest, text } = index
  const faults = new FaultList()
  const files = filesIn(index, faults)
  if (faults.count > 0) return yield* damaged(`Archive ${id} of the bucket: ${faults.summary}`)
  yield* nodeDisk.makeFolder(archives)
  const free = yield* nodeDisk.freeBytes(archives)
  const draft = path.join(archives, `${id}${fetchedSuffix}`)
  const folders = new Set(files.map((file) => path.dirname(file.path)))
  for (const folder of folders) yield* nodeDisk.makeFolder(path.join(draft, folder))
  if (free < roomFor(bytesOf(manifest)))
    return yield* new Unavailable({ operation: "fetch", reason: "disk_full" })
  yield* context.ask("begun")
  let done = 0
  const total = files.reduce((sum, { bytes }) => sum + bytes, 0)
  const passed = (bytes: number) => {
    done += bytes
    context.progress({ activity: "Fetching", done, total })
  }
  yield* Effect.forEach(files, (file) => fetchFile(bucket, draft, file, passed), {
    concurrency: limits.bucketRequestsMax,
    discard: true,
  })
  for (const folder of folders) yield* nodeDisk.syncFolder(path.join(draft, folder))
  yield* replaceFile(nodeDisk, draft, manifestName, text)
  yield* context.ask("copied")
  yield* publishArchive(nodeDisk, archives, draft, id)
  return manifest
})

/**
 * Reads all of an archive in a bucket: every piece, and that they make up the files of its
 * manifest.
 */
export const verifyInBucket: JobCode<"verifyBucket"> = Effect.fnUntraced(function* (
  { id },
  context,
) {
  const bucket = yield* openShipped(context)
  const index = yield* insistIndex(bucket, id)
  const faults = new FaultList()
  const files = filesIn(index, faults)
  let done = 0
  const total = files.reduce((sum, { bytes }) => sum + bytes, 0)
  yield* Effect.forEach(
    files,
    Effect.fnUntraced(function* (file: RemoteFile) {
      const hash = createHash("sha256")
      let position = 0
      for (const name of file.pieces) {
        const piece = yield* readPiece(bucket, name)
        if (Result.isFailure(piece)) return faults.add(`Of ${file.path} ${piece.failure}`)
        hash.update(piece.success)
        position += piece.success.length
        // An index may name the same piece for ever.
        if (position > file.bytes) break
        done += piece.success.length
        context.progress({ activity: "Fetching", done, total })
      }
      if (hash.digest("hex") !== file.sha256) faults.add(`The file ${file.path} has changed`)
    }),
    { concurrency: limits.bucketRequestsMax, discard: true },
  )
  const { counts, sums } = index.manifest
  return { counts, sums, faults: faults.shown, faultCount: faults.count }
})

/** The newest archive of the bucket, or the one of this id. */
const findInBucket = (
  archives: ReadonlyArray<BucketArchive>,
  id: string,
): BucketArchive | undefined =>
  id === "newest" ? archives.at(-1) : archives.find((archive) => archive.id === id)

const insistIndex = Effect.fnUntraced(function* (
  bucket: Bucket,
  id: string,
): Effect.fn.Return<BucketIndex, BucketError | JobFailed> {
  const archive = findInBucket(yield* listBucketArchives(bucket), id)
  if (archive === undefined) {
    const detail = `Archive ${id} not found in ${bucket.name}. \`laurel snapshots list\` shows all.`
    return yield* new JobFailed({ kind: "refused", detail })
  }
  const index = yield* readIndex(bucket, archive)
  return Result.isSuccess(index)
    ? index.success
    : yield* damaged(`The object that lists archive ${id} in ${bucket.name} ${index.failure}`)
})

/** The files that the manifest names, with their pieces; what does not agree is a fault. */
const filesIn = (
  { files, manifest }: BucketIndex,
  faults: FaultList,
): ReadonlyArray<RemoteFile> => {
  const piecesOf = new Map(files.map((file) => [file.path, file.pieces]))
  const known = new Set(manifest.files.map((file) => file.path))
  for (const { path } of files) {
    if (!known.has(path)) faults.add(`The file ${path} does not belong to the archive`)
  }
  return manifest.files.flatMap((file): ReadonlyArray<RemoteFile> => {
    const pieces = piecesOf.get(file.path)
    if (pieces !== undefined) return [{ ...file, pieces }]
    faults.add(`The file ${file.path} is missing`)
    return []
  })
}

const fetchFile = (
  bucket: Bucket,
  draft: string,
  file: RemoteFile,
  passed: (bytes: number) => void,
): Effect.Effect<void, BucketError | DiskError | JobFailed> =>
  Effect.acquireUseRelease(
    openOrCreate(path.join(draft, file.path)),
    Effect.fnUntraced(function* (opened) {
      const hash = createHash("sha256")
      let position = 0
      let isKept = true
      for (const name of file.pieces) {
        const kept: Buffer | undefined = isKept
          ? yield* keptPiece(opened, position, name)
          : undefined
        isKept = kept !== undefined
        const piece = kept ?? (yield* insistPiece(bucket, file.path, name))
        // An index may name the same piece for ever: the disk has room for what the manifest says.
        if (position + piece.length > file.bytes) return yield* changed(bucket, file)
        if (kept === undefined) yield* opened.write(position, [piece])
        hash.update(piece)
        position += piece.length
        passed(piece.length)
      }
      yield* opened.truncate(position)
      yield* opened.sync
      if (hash.digest("hex") !== file.sha256) return yield* changed(bucket, file)
    }),
    (opened) => opened.close,
  )

const changed = (bucket: Bucket, file: RemoteFile): Effect.Effect<never, JobFailed> =>
  damaged(`The file ${file.path} of the archive in ${bucket.name} has changed`)

const openOrCreate = (where: string): Effect.Effect<DiskFile, DiskError> =>
  Effect.catchIf(nodeDisk.open(where, "write"), isMissing, () => nodeDisk.open(where, "create"))

/**
 * A piece that an earlier attempt has fetched; a file of several pieces has all of
 * `bucketPieceBytes` but the last.
 */
const keptPiece = Effect.fnUntraced(function* (
  file: DiskFile,
  position: number,
  name: string,
): Effect.fn.Return<Buffer | undefined, DiskError> {
  const size = yield* file.size
  if (size <= position) return undefined
  const memory = Buffer.allocUnsafe(Math.min(limits.bucketPieceBytes, size - position))
  const bytes = memory.subarray(0, yield* file.read(position, memory))
  const isRight = sha256Of(bytes) === pieceSum(name)
  return isRight ? bytes : undefined
})

const insistPiece = Effect.fnUntraced(function* (
  bucket: Bucket,
  file: string,
  name: string,
): Effect.fn.Return<Buffer, BucketError | JobFailed> {
  const piece = yield* readPiece(bucket, name)
  return Result.isSuccess(piece)
    ? piece.success
    : yield* damaged(`Of ${file} in ${bucket.name} ${piece.failure}: choose another archive`)
})
