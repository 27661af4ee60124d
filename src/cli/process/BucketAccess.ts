/** The archives of the bucket that `LAUREL_ARCHIVE_BUCKET` names, for commands. */
import path from "node:path"
import { Effect, Result } from "effect"
import { bucketOf } from "../../config/BucketSettings.ts"
import type { Config } from "../../config/Config.ts"
import { bucketFailure } from "../../engine/archive/bucket/bucketFailure.ts"
import { askedFor } from "../../engine/archive/bucket/Shipments.ts"
import type { Input, JobName, ResultOf } from "../../engine/archive/jobs/Jobs.ts"
import { limits } from "../../Limits.ts"
import type { ListedArchive } from "../../storage/archive/ArchiveCatalog.ts"
import { openBucket } from "../../storage/bucket/Bucket.ts"
import { listBucketArchives, readIndex } from "../../storage/bucket/BucketArchives.ts"
import type { BucketPlace } from "../../storage/bucket/bucketErrors.ts"
import type { CommandFailed } from "../output/ExitCode.ts"
import { jobFailure } from "../output/JobWords.ts"
import { runJob } from "./CommandJob.ts"

const listedInBucket = (config: Config) =>
  Effect.gen(function* () {
    const place = bucketOf(config)
    if (place === undefined) return { bucket: undefined, archives: [] }
    const bucket = yield* openBucket(place, {
      requestMs: limits.bucketCommandMs,
      tries: limits.bucketCommandTries,
    })
    return { bucket, archives: yield* listBucketArchives(bucket) }
  }).pipe(Effect.mapError(asFailure))

const asFailure = (error: Parameters<typeof bucketFailure>[0]): CommandFailed =>
  jobFailure(bucketFailure(error))

/**
 * The archives in the bucket, oldest first, with paths as if they were in `folder`; none without a
 * bucket.
 */
export const archivesInBucket = (
  config: Config,
  folder: string,
): Effect.Effect<ReadonlyArray<ListedArchive>, CommandFailed> =>
  Effect.gen(function* () {
    const { archives, bucket } = yield* listedInBucket(config)
    if (bucket === undefined) return []
    return yield* Effect.forEach(
      archives,
      (archive) =>
        Effect.map(
          Effect.catchIf(
            readIndex(bucket, archive),
            ({ kind }) => kind === "missing",
            () => Effect.succeed(Result.fail("is missing")),
          ).pipe(Effect.mapError(asFailure)),
          (index): ListedArchive => ({
            ...{ id: archive.id, at: archive.at, sequence: archive.sequence },
            folder: path.join(folder, archive.id),
            manifest: Result.map(index, ({ manifest }) => manifest),
            verification: undefined,
          }),
        ),
      { concurrency: limits.bucketRequestsMax },
    )
  })

/** The ids of the archives in the bucket; none without a bucket. */
export const idsInBucket = (config: Config): Effect.Effect<ReadonlyArray<string>, CommandFailed> =>
  Effect.map(listedInBucket(config), ({ archives }) => archives.map(({ id }) => id))

/** Runs a job that reads the bucket of `place`. */
export const runWithBucket = <Name extends JobName>(
  place: BucketPlace,
  name: Name,
  input: Input<Name>,
): Effect.Effect<ResultOf<Name>, CommandFailed> => runJob(name, input, { asked: askedFor(place) })
