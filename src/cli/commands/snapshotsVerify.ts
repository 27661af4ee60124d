/** `laurel snapshots verify` */
import { Clock, Console, Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { bucketOf } from "../../config/BucketSettings.ts"
import type { Config } from "../../config/Config.ts"
import { isoTime } from "../../domain/values/isoTime.ts"
import type { Findings } from "../../engine/archive/Findings.ts"
import { JobFailed, type LiveFindings, type PositionAnswer } from "../../engine/archive/Jobs.ts"
import { makeWorkerHost } from "../../engine/archive/WorkerHost.ts"
import { writeVerification } from "../../storage/archive/ArchiveCatalog.ts"
import { nodeDisk } from "../../storage/disk/NodeDisk.ts"
import { countText } from "../output/Amounts.ts"
import { commandFailed, exitCodes } from "../output/ExitCode.ts"
import { diskFailure, jobFailure, withProgressBar } from "../output/JobWords.ts"
import { type Asked, askPosition } from "../process/AdminRequest.ts"
import { archiveSettings, archivesHere } from "../process/ArchiveSettings.ts"
import { runWithBucket } from "../process/BucketAccess.ts"
import { besideOrAlone } from "../process/DataDirectory.ts"
import { loadConfig } from "../process/LoadConfig.ts"
import { loggingLayer } from "../process/Logging.ts"
import type { ServerFile } from "../process/ServerFile.ts"
import { json } from "./SnapshotFlags.ts"

const live = "live"
const newest = "newest"

const id = Argument.String("ID").pipe(
  Argument.withDescription(
    "Archive id, as `laurel snapshots list` shows it, or `live`. With --bucket the default is `newest`",
  ),
  Argument.withDefault(live),
)

const inBucket = Flag.Boolean("bucket").pipe(
  Flag.withDescription("Verify the copy in the bucket, also of an archive that is here"),
  Flag.withDefault(false),
)

/** Checks the data directory, up to where the running server says that its journal ends. */
const verifyLive = Effect.fnUntraced(function* (config: Config) {
  const found = yield* withProgressBar((progress) => {
    const check = (position: Effect.Effect<PositionAnswer>, background: boolean) =>
      Effect.gen(function* () {
        const host = yield* makeWorkerHost({ background })
        const wish = { directory: config.dataDirectory }
        return yield* host.run("verifyLive", wish, { progress, asked: () => position })
      })
    const beside = (server: ServerFile): Asked<LiveFindings | JobFailed> => {
      const position = askPosition(server)
      const checked = Effect.scoped(check(Effect.orDie(position), true))
      // Asked once beforehand, to know that it is the server of this directory.
      return Effect.andThen(position, Effect.catch(checked, Effect.succeed))
    }
    const alone = Effect.mapError(check(Effect.undefined, false), jobFailure)
    return besideOrAlone<LiveFindings | JobFailed>(config, beside, alone)
  })
  return found instanceof JobFailed ? yield* jobFailure(found) : found
})

const verifyArchive = Effect.fnUntraced(function* (config: Config, id: string, inBucket: boolean) {
  const place = bucketOf(config)
  if (inBucket && place === undefined) {
    return yield* commandFailed(exitCodes.usage, "--bucket needs LAUREL_ARCHIVE_BUCKET.")
  }
  const settings = yield* archiveSettings(config)
  const archives = inBucket ? [] : yield* archivesHere(config, settings)
  const archive = archives.find((listed) => listed.id === id)
  if (archive === undefined && place !== undefined) {
    return yield* runWithBucket(place, "verifyBucket", { id })
  }
  if (archive === undefined) {
    return yield* commandFailed(
      exitCodes.refused,
      `Archive ${id} not found. \`laurel snapshots list\` shows all.`,
    )
  }
  const { folder } = archive
  const findings = yield* withProgressBar((progress) =>
    Effect.scoped(
      Effect.gen(function* () {
        const host = yield* makeWorkerHost({ background: true })
        return yield* host.run("verifyArchive", { folder }, { progress })
      }),
    ),
  ).pipe(Effect.mapError(jobFailure))
  const at = isoTime(yield* Clock.currentTimeMillis)
  const { faultCount, faults } = findings
  yield* Effect.mapError(
    writeVerification(nodeDisk, folder, { format: 1, at, faults: [...faults], faultCount }),
    diskFailure,
  )
  return findings
})

export const verifySnapshot = Command.make(
  "verify",
  { id, bucket: inBucket, json },
  Effect.fnUntraced(
    function* ({ bucket, id, json }) {
      const config = yield* loadConfig
      const findings: Findings =
        id === live && !bucket
          ? yield* verifyLive(config)
          : yield* verifyArchive(config, bucket && id === live ? newest : id, bucket)
      if (json) yield* Console.log(JSON.stringify({ id, ...findings }))
      const { faultCount, faults } = findings
      if (faultCount > 0) {
        const more = faultCount > faults.length ? [`${faultCount - faults.length} more.`] : []
        const lines = faults.map((words) => `${words}.`)
        return yield* commandFailed(exitCodes.damagedData, ...lines, ...more)
      }
      if (!json) yield* Console.log(summaryOf(id, findings))
    },
    (effect) => Effect.provide(effect, loggingLayer()),
  ),
).pipe(
  Command.withDescription(
    "Verify an archive or the data directory (`live`, the default): checksums, references, users against their records, leaderboards against users, sums",
  ),
)

const summaryOf = (id: string, findings: Findings | LiveFindings): string => {
  const amounts = Object.entries(findings.counts).map(([name, n]) => `${name} ${countText(n)}`)
  const sums = Object.entries(findings.sums).map(([name, sum]) => `${name} ${sum}`)
  const lines = [`${id} is good: ${[...amounts, ...sums].join(", ")}.`]
  if ("sequence" in findings) {
    lines.push(`Its last record is ${countText(findings.sequence)}.`)
    if (findings.interrupted !== null) {
      lines.push(`After it follow ${findings.interrupted}; the next start removes them.`)
    }
  }
  return lines.join("\n")
}
