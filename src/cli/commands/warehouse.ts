/** `laurel export`: tables for a warehouse. */
import { Clock, Console, Effect, Result } from "effect"
import { Command, Flag } from "effect/cli"
import { version } from "../../Build.ts"
import { bucketFaults, bucketOf } from "../../config/BucketSettings.ts"
import { bucketAddress } from "../../config/SettingForms.ts"
import { makeWorkerHost } from "../../engine/archive/jobs/WorkerHost.ts"
import type { BucketPlace } from "../../storage/bucket/bucketErrors.ts"
import { type CommandFailed, commandFailed, exitCodes } from "../output/ExitCode.ts"
import { amountOf, countText } from "../output/Table.ts"
import { loadConfig } from "../process/DataDirectory.ts"
import { loggingLayer } from "../process/Logging.ts"
import { json, partitionFlag } from "./flags.ts"
import { exportFlags, exportFrom, newPath } from "./snapshotsExport.ts"

const parquet = Flag.String("parquet").pipe(
  Flag.withMetavar("PLACE"),
  Flag.withDescription(
    "Folder to write, which must not exist, or s3://bucket/prefix, which must be empty; the credentials are those of AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION and AWS_ENDPOINT_URL",
  ),
)

/** The bucket that the place names, with the credentials of the environment. */
const bucketAt = Effect.fnUntraced(function* (
  place: string,
): Effect.fn.Return<BucketPlace, CommandFailed> {
  const archiveBucket = bucketAddress(place)
  if (Result.isFailure(archiveBucket)) {
    return yield* commandFailed(exitCodes.usage, `--parquet ${archiveBucket.failure}.`)
  }
  const config = { ...(yield* loadConfig), archiveBucket: archiveBucket.success }
  const faults = bucketFaults(config, "--parquet with a bucket")
  if (faults.length > 0) return yield* commandFailed(exitCodes.usage, ...faults)
  return bucketOf(config)!
})

export const exportTables = Command.make(
  "export",
  {
    parquet,
    ...exportFlags,
    json,
    partition: partitionFlag(
      "export this partition. Default: that of the project, or of the archive",
    ),
  },
  Effect.fnUntraced(
    function* ({ json, parquet, ...given }) {
      const bucket = parquet.startsWith("s3:") ? yield* bucketAt(parquet) : undefined
      const to = bucket === undefined ? yield* newPath(parquet) : null
      const at = yield* Clock.currentTimeMillis
      const exported = yield* exportFrom(
        given,
        (scope, progress) => (folder, background, position) =>
          Effect.gen(function* () {
            const host = yield* makeWorkerHost({ background })
            const input = { to, laurel: version, at, scope, folder }
            const asked = (step: string): Effect.Effect<unknown> =>
              step === "bucket" ? Effect.succeed(bucket) : position
            return yield* host.run("parquet", input, { progress, asked })
          }),
      )
      const place = to ?? parquet
      if (json) return yield* Console.log(JSON.stringify({ place, ...exported }))
      const { balances, facts, parts, sequence, users } = exported
      yield* Console.log(
        `${place}: ${amountOf(facts, "fact")}, ${amountOf(users, "user")} and ${amountOf(balances, "balance")} in ${amountOf(parts, "file")}, up to record ${countText(sequence)}.`,
      )
    },
    (effect) => Effect.provide(effect, loggingLayer()),
  ),
).pipe(
  Command.withShortDescription("Write facts, users and balances as Parquet files for a warehouse"),
  Command.withDescription(
    "Write the facts of all histories, the users and their balances as Parquet files, for DuckDB, BigQuery, Snowflake and others; also while the server runs. The files contain user data, and no keys or secrets",
  ),
)
