/** What leaves a bucket: archives by the retention, and the pieces that no archive names any longer (`BucketArchives.ts`). */
import { Effect, Result } from "effect"
import { limits } from "../../Limits.ts"
import { expiredArchives, type Retention } from "../archive/ArchiveRetention.ts"
import type { Bucket } from "./Bucket.ts"
import {
  archiveKey,
  archivesPrefix,
  type BucketArchive,
  decodeIndex,
  parseArchiveKey,
  piecesPrefix,
  removedKey,
  removedPrefix,
} from "./BucketArchives.ts"
import type { BucketError } from "./bucketErrors.ts"

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

/** Removes an archive; its pieces stay for those who began to use them. Another server may be removing the archive, too. */
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
 * Deletes the pieces that no archive needs; returns their number, or the key of an archive that cannot be read: then nothing
 * is deleted, for that archive may need anything. `progress` is called before each request.
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
