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
import { runJob } from "../process/CommandJob.ts"
import { besideOrAlone, tellDirectory } from "../process/DataDirectory.ts"
import { loadConfig, serverFileFolder } from "../process/LoadConfig.ts"
import { loggingLayer } from "../process/Logging.ts"
import { archiveElsewhere, hereOrElsewhere } from "../process/OwnerArchives.ts"
import type { ServerFile } from "../process/ServerFile.ts"
import { partitionOfArchive } from "./archivePartition.ts"
import {
  forEachPartition,
  partitionFlag,
  partitionMember,
  partitionPrefix,
  partitionsOf,
} from "./partitionFlag.ts"
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
      const position = askPosition(server, config)
      const checked = Effect.scoped(check(Effect.orDie(position), true))
      // Asked once beforehand, to know that it is the server of this directory.
      return Effect.andThen(position, Effect.catch(checked, Effect.succeed))
    }
    const alone = Effect.mapError(check(Effect.undefined, false), jobFailure)
    return besideOrAlone<LiveFindings | JobFailed>(config, beside, alone)
  })
  return found instanceof JobFailed ? yield* jobFailure(found) : found
})

/** Checks the copy in the bucket, of `newest` as well. */
const verifyBucket = Effect.fnUntraced(function* (config: Config, id: string) {
  const place = bucketOf(config)
  return place === undefined
    ? yield* commandFailed(exitCodes.usage, "--bucket needs LAUREL_ARCHIVE_BUCKET.")
    : yield* runWithBucket(place, "verifyBucket", { id })
})

const verifyFolder = Effect.fnUntraced(function* (folder: string) {
  const findings = yield* runJob("verifyArchive", { folder }, { background: true })
  const at = isoTime(yield* Clock.currentTimeMillis)
  const { faultCount, faults } = findings
  yield* Effect.mapError(
    writeVerification(nodeDisk, folder, { format: 1, at, faults: [...faults], faultCount }),
    diskFailure,
  )
  return findings
})

const verifyArchive = Effect.fnUntraced(function* (config: Config, id: string) {
  const settings = yield* archiveSettings(config)
  const archives = yield* hereOrElsewhere([config], id, archivesHere(config, settings))
  const archive = archives.find((listed) => listed.id === id)
  if (archive !== undefined) return yield* verifyFolder(archive.folder)
  return bucketOf(config) === undefined
    ? yield* archiveElsewhere([config], id)
    : yield* verifyBucket(config, id)
})

const verify = Effect.fnUntraced(function* (
  config: Config,
  id: string,
  inBucket: boolean,
  json: boolean,
) {
  const findings: Findings = inBucket
    ? yield* verifyBucket(config, id)
    : id === live
      ? yield* verifyLive(config)
      : yield* verifyArchive(config, id)
  if (json) yield* Console.log(JSON.stringify({ ...partitionMember(config), id, ...findings }))
  const { faultCount, faults } = findings
  if (faultCount > 0) {
    const more = faultCount > faults.length ? [`${faultCount - faults.length} more.`] : []
    const lines = faults.map((words) => `${words}.`)
    return yield* commandFailed(exitCodes.damagedData, ...lines, ...more)
  }
  if (!json) yield* Console.log(`${partitionPrefix(config)}${summaryOf(id, findings)}`)
})

export const verifySnapshot = Command.make(
  "verify",
  {
    id,
    bucket: inBucket,
    json,
    partition: partitionFlag(
      "verify the data of this partition, or its archive. Default: all data on this machine, the newest archive of each in the bucket, or the partition that has archive ID",
    ),
  },
  Effect.fnUntraced(
    function* ({ bucket, id: named, json, partition }) {
      const config = yield* loadConfig
      const configs = yield* partitionsOf(config, partition)
      const id = bucket && named === live ? newest : named
      if (id !== live) yield* tellDirectory(serverFileFolder(config))
      const isOfEach = id === live || id === newest
      const meant = isOfEach ? configs : [yield* partitionOfArchive(configs, id)]
      yield* forEachPartition(meant, "told", (config) => verify(config, id, bucket, json))
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
