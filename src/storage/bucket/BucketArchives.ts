/**
 * Archives in a bucket. Under the bucket's prefix:
 *
 *     archives/<id>.<reason>.json   an archive: its manifest, and which pieces make up each of its files
 *     removed/<id>.<reason>.json    an archive that the retention removed: its pieces stay for `bucketKeptMs`
 *     pieces/<sha256>-<attempt>     a file, or `bucketPieceBytes` of a larger one, named after its checksum and the attempt that sent it
 *
 * An archive is listed by one object, put last: an interrupted upload is no archive. Archives share
 * pieces. Several servers may ship to one prefix at once, also one that does not know that another
 * took over, since nothing depends on who writes:
 *
 * - No object is ever overwritten with other bytes: pieces are named after their content, and each
 *   attempt has names of its own.
 * - A shipper uses a piece that is there only if an archive that it finds listed names the piece,
 *   or the piece is younger than `bucketSendMs`; and lists its archive within `bucketSendMs` after
 *   that look. The server refuses requests that were signed a quarter of an hour ago, so a process
 *   that stood still in between does no harm.
 * - A piece is deleted if it is older than `bucketKeptMs`, twice as long, and is named by no
 *   archive that was listed within that time. From then on no shipper will use the piece, so the
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

/** An archive as its key tells. */
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

/** `undefined`: the key is of something else. */
export const parseArchiveKey = (key: string): BucketArchive | undefined => {
  const [, id = "", reason] = archivePattern.exec(key) ?? []
  const parsed = parseArchiveId(id)
  return parsed === undefined ? undefined : { id, ...parsed, reason: reason as Reason }
}

const piecePattern = /^[0-9a-f]{64}-[0-9a-z]{1,32}$/

export const pieceName = (sha256: string, attempt: string): string => `${sha256}-${attempt}`

/** The SHA-256 in the name of a piece; `undefined`: no piece has such a name. */
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
// Names come from the bucket, and become paths.
const filePath = Schema.String.check(
  Schema.isPattern(/^(?:snapshot|live|parts|journal)\/[A-Za-z0-9_-][A-Za-z0-9._-]*$/),
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

/** Decodes such an object, or returns its fault, in words that follow "It". */
export const decodeIndex = (bytes: Buffer): Result.Result<BucketIndex, string> =>
  Result.flatMap(
    openSealedJson(bytes.toString(), "archive", 1, decodeContent),
    ({ files, manifest: text }) =>
      Result.map(decodeManifestText(text), (manifest) => ({ files, text, manifest })),
  )

/** Reads the index of an archive; its fault is a result, a failed request a failure. */
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

/** Reads a piece; one that is missing or has other bytes than its name says is a result, too. */
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
 * What leaves a bucket: archives by the retention, and the pieces that no archive names any longer
 * (`BucketArchives.ts`).
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
 * Removes an archive; its pieces stay for those who began to use them. Another server may be
 * removing the archive, too.
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
 * Deletes the pieces that no archive needs; returns their number, or the key of an archive that
 * cannot be read: then nothing is deleted, for that archive may need anything. `progress` is called
 * before each request.
 */
export const collectPieces = Effect.fnUntraced(function* (
  bucket: Bucket,
  /** Epoch milliseconds. */
  now: number,
  progress: () => void,
): Effect.fn.Return<Result.Result<number, string>, BucketError> {
  const isOld = ({ modifiedAt }: { readonly modifiedAt: number }) =>
    modifiedAt < now - limits.bucketKeptMs
  // In this order: an archive that is removed meanwhile is in the second list at the latest.
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
