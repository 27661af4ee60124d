/** `laurel snapshots create` */
import { Clock, Console, Effect, Schema, Semaphore } from "effect"
import { Command } from "effect/cli"
import type { Config } from "../../config/Config.ts"
import { partitionNumber } from "../../config/PartitionConfig.ts"
import { firstPartition } from "../../domain/project/Directory.ts"
import { JobFailed, type JobFailureKind, type JobProgress } from "../../engine/archive/Jobs.ts"
import { makeWorkerHost } from "../../engine/archive/WorkerHost.ts"
import { limits } from "../../Limits.ts"
import { bytesOf, pruneArchives } from "../../storage/archive/ArchiveCatalog.ts"
import { type Manifest, Manifest as ManifestSchema } from "../../storage/archive/ArchiveManifest.ts"
import { nodeDisk } from "../../storage/disk/NodeDisk.ts"
import { amountOf, bytesText, countText } from "../output/Amounts.ts"
import { diskFailure, jobFailure, withProgressBar } from "../output/JobWords.ts"
import {
  type Asked,
  decoded,
  partitionQuery,
  strange,
  streamAdmin,
} from "../process/AdminRequest.ts"
import { type ArchiveSettings, archiveSettings } from "../process/ArchiveSettings.ts"
import { besideOrAlone } from "../process/DataDirectory.ts"
import { loadConfig } from "../process/LoadConfig.ts"
import { loggingLayer } from "../process/Logging.ts"
import type { ServerFile } from "../process/ServerFile.ts"
import {
  forEachPartition,
  partitionFlag,
  partitionMember,
  partitionPrefix,
  partitionsOf,
} from "./partitionFlag.ts"
import { json } from "./SnapshotFlags.ts"

type Progress = (progress: JobProgress) => void

const Line = Schema.Struct({
  progress: Schema.optionalKey(
    Schema.Struct({
      activity: Schema.Literals(["Copying", "Checking", "Hashing"]),
      done: Schema.Finite,
      total: Schema.Finite,
    }),
  ),
  archive: Schema.optionalKey(ManifestSchema),
  failed: Schema.optionalKey(
    Schema.Struct({
      kind: Schema.Literals(["damaged", "noSpace", "failed", "died", "refused"]),
      detail: Schema.String,
    }),
  ),
})

/** Asks the running server for an archive; `JobFailed` is a value, since the server did answer. */
const createBeside = (
  server: ServerFile,
  config: Config,
  progress: Progress,
): Asked<Manifest | JobFailed> =>
  Effect.gen(function* () {
    const lines: Array<unknown> = []
    const path = `/admin/archives${partitionQuery(config)}`
    yield* streamAdmin(server, "POST", path, (line) => {
      const told = Schema.is(Line)(line) ? line.progress : undefined
      if (told === undefined) lines.push(line)
      else progress(told)
    })
    const { archive, failed } = yield* decoded(Line, lines.at(-1))
    if (failed !== undefined) {
      return new JobFailed({ kind: failed.kind satisfies JobFailureKind, detail: failed.detail })
    }
    return archive ?? (yield* strange("the reply ended before the archive was complete"))
  })

const createAlone = Effect.fnUntraced(function* (
  config: Config,
  { folder: archives, retention }: ArchiveSettings,
  progress: Progress,
) {
  const host = yield* makeWorkerHost({ background: false })
  const at = yield* Clock.currentTimeMillis
  const directory = config.dataDirectory
  const wish = { directory, archives, at, reason: "request", throttled: false } as const
  const manifest = yield* Effect.mapError(host.run("archive", wish, { progress }), jobFailure)
  yield* Effect.mapError(pruneArchives(nodeDisk, archives, retention), diskFailure)
  return manifest
})

/** Without a server, one archive at a time: each may need much memory. */
const alone = Semaphore.makeUnsafe(1)

const create = Effect.fnUntraced(function* (config: Config, json: boolean, isOnly: boolean) {
  const settings = yield* archiveSettings(config)
  const make = (progress: Progress) =>
    besideOrAlone<Manifest | JobFailed>(
      config,
      (server) => createBeside(server, config, progress),
      Semaphore.withPermit(alone, createAlone(config, settings, progress)),
    )
  // The bars of several would be drawn over each other.
  const manifest = yield* isOnly ? withProgressBar(make) : make(() => {})
  if (manifest instanceof JobFailed) return yield* jobFailure(manifest)
  if (json) return yield* Console.log(JSON.stringify({ ...partitionMember(config), ...manifest }))
  // Standard output has the id alone, for scripts; messages go to standard error.
  yield* Console.log(manifest.id)
  yield* Console.error(
    `${partitionPrefix(config)}Archive created and verified: ${amountOf(manifest.counts.users ?? 0, "user")}, up to record ${countText(manifest.sequence)}, ${bytesText(bytesOf(manifest))}.`,
  )
})

/**
 * The first partition comes last: its archive then knows the project of all that is in those of the others, and every revocation
 * of a key up to then.
 */
const firstLast = (configs: ReadonlyArray<Config>): ReadonlyArray<Config> =>
  configs.toSorted((a, b) => Number(isFirst(a)) - Number(isFirst(b)))

const isFirst = (config: Config): boolean => partitionNumber(config) === firstPartition

export const createSnapshot = Command.make(
  "create",
  {
    json,
    partition: partitionFlag("archive this partition. Default: all of them, the first one last"),
  },
  Effect.fnUntraced(
    function* ({ json, partition }) {
      const configs = yield* partitionsOf(yield* loadConfig, partition)
      const isOnly = configs.length === 1
      yield* forEachPartition(
        firstLast(configs),
        "failure",
        (config) => create(config, json, isOnly),
        limits.archivesAskedAtOnce,
      )
    },
    (effect) => Effect.provide(effect, loggingLayer()),
  ),
).pipe(
  Command.withDescription(
    "Create an archive, verify it and print its id; through the running server or directly from the data directory. In a cluster, one of each partition",
  ),
)
