/**
 * Archives in a bucket. Under the bucket's prefix:
 *
 *     archives/<id>.<reason>.json   an archive: its manifest, and which pieces make up each of its files
 *     removed/<id>.<reason>.json    an archive that the retention removed: its pieces stay for `bucketKeptMs`
 *     pieces/<sha256>-<attempt>     a file, or `bucketPieceBytes` of a larger one, named after its checksum and the attempt that sent it
 *
 * One object lists an archive, and it is put last: an interrupted upload is no archive. Archives
 * share pieces. Several servers may ship to one prefix at the same time, including a server that
 * does not know that another took over, since these rules hold for any writer:
 *
 * - No object is ever overwritten with other bytes: the name of a piece has the checksum of its
 *   content, and each attempt uses its own names.
 * - A shipper uses an existing piece only if a listed archive names the piece, or the piece is
 *   younger than `bucketSendMs`. It lists its own archive within `bucketSendMs` after that check.
 *   The server refuses requests that were signed more than a quarter of an hour ago, so a process
 *   that was suspended in between does no harm.
 * - A piece is deleted if it is older than `bucketKeptMs` (twice `bucketSendMs`) and no archive
 *   that was listed within that time names it. From then on no shipper will use the piece, so the
 *   deletion may be late, interrupted or repeated.
 */
import { Effect, Result, Schema } from "effect"
import { limits } from "../../Limits.ts"
import {
  byAge,
  decodeManifestText,
  type Manifest,
  parseArchiveId,
} from "../archive/ArchiveManifest.ts"
import { expiredArchives, type Retention } from "../archive/ArchiveRetention.ts"
import { openSealedJson, sealJson, sha256Of } from "../archive/SealedJson.ts"
import type { Bucket } from "./Bucket.ts"
import type { BucketError } from "./bucketErrors.ts"

const archivesPrefix = "archives/"
const removedPrefix = "removed/"
export const piecesPrefix = "pieces/"

type Reason = Manifest["reason"]

/** An archive, decoded from its key. */
export interface BucketArchive {
  readonly id: string
  /** Epoch milliseconds. */
  readonly at: number
  readonly sequence: number
  readonly reason: Reason
}

export const archiveKey = ({ id, reason }: Pick<BucketArchive, "id" | "reason">): string =>
  `${archivesPrefix}${id}.${reason}.json`

const removedKey = ({ id, reason }: Pick<BucketArchive, "id" | "reason">): string =>
  `${removedPrefix}${id}.${reason}.json`

const archivePattern = /^(?:archives|removed)\/(.+)\.(schedule|request)\.json$/

/** The archive of a key; `undefined` for other keys. */
export const parseArchiveKey = (key: string): BucketArchive | undefined => {
  const [, id = "", reason] = archivePattern.exec(key) ?? []
  const parsed = parseArchiveId(id)
  return parsed === undefined ? undefined : { id, ...parsed, reason: reason as Reason }
}

const piecePattern = /^[0-9a-f]{64}-[0-9a-z]{1,32}$/

export const pieceName = (sha256: string, attempt: string): string => `${sha256}-${attempt}`

/** The SHA-256 in the name of a piece; `undefined` if the name is not that of a piece. */
export const pieceSum = (name: string): string | undefined =>
  piecePattern.test(name) ? name.slice(0, 64) : undefined

/** The archives of a bucket, oldest first. */
export const listBucketArchives = (
  bucket: Bucket,
): Effect.Effect<ReadonlyArray<BucketArchive>, BucketError> =>
  Effect.map(bucket.list(archivesPrefix), (objects) =>
    objects.flatMap(({ key }) => parseArchiveKey(key) ?? []).sort(byAge),
  )

const piece = Schema.String.check(Schema.isPattern(piecePattern))
// The names come from the bucket and become paths, so they are restricted.
const filePath = Schema.String.check(
  Schema.isPattern(/^(?:live|journal|gathered\/\d+)\/[A-Za-z0-9_-][A-Za-z0-9._-]*$/),
)

const Content = Schema.Struct({
  format: Schema.Literal(1),
  /** The text of `manifest.json`. */
  manifest: Schema.String,
  files: Schema.Array(Schema.Struct({ path: filePath, pieces: Schema.Array(piece) })),
})
type Content = typeof Content.Type

const decodeContent = Schema.decodeUnknownOption(Content)

/** An archive's files and the pieces of each. */
export interface BucketIndex extends Pick<Content, "files"> {
  /** The text of `manifest.json`, and its content. */
  readonly text: string
  readonly manifest: Manifest
}

/** The object that lists an archive. */
export const encodeIndex = ({ files, text }: Pick<BucketIndex, "files" | "text">): Buffer => {
  const archive: Content = { format: 1, manifest: text, files }
  return Buffer.from(JSON.stringify(sealJson("archive", archive)))
}

/** Decodes the object of `encodeIndex`, or returns its fault, in words that follow "It". */
export const decodeIndex = (bytes: Buffer): Result.Result<BucketIndex, string> =>
  Result.flatMap(
    openSealedJson(bytes.toString(), "archive", 1, decodeContent),
    ({ files, manifest: text }) =>
      Result.map(decodeManifestText(text), (manifest) => ({ files, text, manifest })),
  )

/**
 * Reads the index of an archive. A damaged index is a failed result; a failed request is an error.
 */
export const readIndex = (
  bucket: Bucket,
  archive: BucketArchive,
  key: string = archiveKey(archive),
): Effect.Effect<Result.Result<BucketIndex, string>, BucketError> =>
  Effect.map(bucket.get(key), (bytes) =>
    Result.flatMap(decodeIndex(bytes), (index) =>
      index.manifest.id === archive.id
        ? Result.succeed(index)
        : Result.fail(`is that of ${index.manifest.id}`),
    ),
  )

/**
 * Reads a piece. A missing piece, or a piece with other bytes than its name says, is a failed
 * result.
 */
export const readPiece = (
  bucket: Bucket,
  name: string,
): Effect.Effect<Result.Result<Buffer, string>, BucketError> =>
  bucket.get(`${piecesPrefix}${name}`).pipe(
    Effect.map((bytes) =>
      sha256Of(bytes) === pieceSum(name)
        ? Result.succeed(bytes)
        : Result.fail(`the object ${piecesPrefix}${name} has changed`),
    ),
    Effect.catchIf(
      ({ kind }) => kind === "missing",
      () => Effect.succeed(Result.fail(`the object ${piecesPrefix}${name} is missing`)),
    ),
  )

/*
 * Removal from a bucket: archives that the retention removes, and pieces that no archive names any
 * more.
 */

/** The archives among `archives` that the retention removes, oldest first. */
export const expiredInBucket = (
  archives: ReadonlyArray<BucketArchive>,
  retention: Retention,
): ReadonlyArray<BucketArchive> => {
  const expired = new Set(
    expiredArchives(
      archives.map((archive) => ({ ...archive, good: true })),
      retention,
    ),
  )
  return archives.filter(({ id }) => expired.has(id))
}

/**
 * Removes an archive. Its pieces stay for shippers that have begun to use them. Another server may
 * remove the archive at the same time.
 */
export const removeFromBucket = Effect.fnUntraced(function* (
  bucket: Bucket,
  archive: BucketArchive,
): Effect.fn.Return<void, BucketError> {
  const listed = yield* getIfThere(bucket, archiveKey(archive))
  if (listed === undefined) return
  yield* bucket.put(removedKey(archive), listed)
  yield* bucket.remove(archiveKey(archive))
})

const getIfThere = (bucket: Bucket, key: string): Effect.Effect<Buffer | undefined, BucketError> =>
  Effect.catchIf(
    bucket.get(key),
    ({ kind }) => kind === "missing",
    () => Effect.succeed(undefined),
  )

/**
 * Deletes the pieces that no archive needs. Returns their number, or the key of an archive that
 * cannot be read: then nothing is deleted, since that archive may need any piece. `progress` is
 * called before each request.
 */
export const collectPieces = Effect.fnUntraced(function* (
  bucket: Bucket,
  /** Epoch milliseconds. */
  now: number,
  progress: () => void,
): Effect.fn.Return<Result.Result<number, string>, BucketError> {
  const isOld = ({ modifiedAt }: { readonly modifiedAt: number }) =>
    modifiedAt < now - limits.bucketKeptMs
  // In this order, so that an archive that is removed meanwhile is at least in the second list.
  const listed = yield* bucket.list(archivesPrefix)
  const removed = yield* bucket.list(removedPrefix)
  const needed = new Set<string>()
  for (const { key } of [...listed, ...removed.filter((object) => !isOld(object))]) {
    progress()
    const archive = parseArchiveKey(key)
    const bytes =
      (yield* getIfThere(bucket, key)) ??
      (archive && (yield* getIfThere(bucket, removedKey(archive))))
    const index = bytes === undefined ? Result.fail("is missing") : decodeIndex(bytes)
    if (Result.isFailure(index)) return Result.fail(key)
    for (const { pieces } of index.success.files) for (const name of pieces) needed.add(name)
  }
  let count = 0
  for (const object of yield* bucket.list(piecesPrefix)) {
    if (!isOld(object) || needed.has(object.key.slice(piecesPrefix.length))) continue
    progress()
    yield* bucket.remove(object.key)
    count++
  }
  for (const object of removed) if (isOld(object)) yield* bucket.remove(object.key)
  return Result.succeed(count)
})
