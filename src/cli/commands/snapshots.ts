/** `laurel snapshots` */

import path from "node:path"
import { Clock, Console, Effect, Result, Schema, Semaphore } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { bucketOf } from "../../config/BucketSettings.ts"
import { type Config, partitionNumber } from "../../config/Config.ts"
import { firstPartition } from "../../domain/project/Directory.ts"
import { isoTime } from "../../domain/values/isoTime.ts"
import type { Findings } from "../../engine/archive/jobs/Findings.ts"
import {
  JobFailed,
  type JobFailureKind,
  type JobProgress,
  type LiveFindings,
  type PositionAnswer,
} from "../../engine/archive/jobs/Jobs.ts"
import { makeWorkerHost } from "../../engine/archive/jobs/WorkerHost.ts"
import { limits } from "../../Limits.ts"
import {
  type ArchiveDetails,
  bytesOf,
  detailsOf,
  expiredOf,
  type ListedArchive,
  pruneArchives,
  writeVerification,
} from "../../storage/archive/ArchiveCatalog.ts"
import { type Manifest, Manifest as ManifestSchema } from "../../storage/archive/ArchiveManifest.ts"
import type { Retention } from "../../storage/archive/ArchiveRetention.ts"
import { replacedIn } from "../../storage/archive/ArchiveSwap.ts"
import { nodeDisk } from "../../storage/disk/NodeDisk.ts"
import { type CommandFailed, commandFailed, exitCodes } from "../output/ExitCode.ts"
import { diskFailure, jobFailure, withProgressBar } from "../output/JobWords.ts"
import { amountOf, bytesText, type Column, countText, formatTable } from "../output/Table.ts"
import {
  type Asked,
  askPosition,
  decoded,
  partitionQuery,
  type ServerFile,
  streamAdmin,
  unusableReply,
} from "../process/AdminRequest.ts"
import {
  type ArchiveSettings,
  archiveSettings,
  archivesHere,
  archivesOf,
  archivesOfBoth,
} from "../process/ArchiveSettings.ts"
import { archivesInBucket, runWithBucket } from "../process/BucketAccess.ts"
import { runJob } from "../process/CommandJob.ts"
import {
  loadConfig,
  printDirectory,
  serverFileFolder,
  viaServerOrLocked,
} from "../process/DataDirectory.ts"
import { loggingLayer } from "../process/Logging.ts"
import {
  type AtOwner,
  archiveElsewhere,
  askOwners,
  hereOrElsewhere,
  withOwners,
} from "../process/OwnerArchives.ts"
import {
  forEachPartition,
  isSpread,
  json,
  partitionFlag,
  partitionMember,
  partitionOfArchive,
  partitionPrefix,
  partitionsOf,
} from "./flags.ts"
import { exportSnapshot, importSnapshot } from "./snapshotsExport.ts"
import { restoreSnapshot } from "./snapshotsRestore.ts"

/* `laurel snapshots create` */

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

/** Asks the running server for an archive. `JobFailed` is a value: the server has answered. */
const createBeside = (
  server: ServerFile,
  config: Config,
  progress: Progress,
): Asked<Manifest | JobFailed> =>
  Effect.gen(function* () {
    const lines: Array<unknown> = []
    const path = `/admin/archives${partitionQuery(config)}`
    yield* streamAdmin(server, "POST", path, (line) => {
      const step = Schema.is(Line)(line) ? line.progress : undefined
      if (step === undefined) lines.push(line)
      else progress(step)
    })
    const { archive, failed } = yield* decoded(Line, lines.at(-1))
    if (failed !== undefined) {
      return new JobFailed({ kind: failed.kind satisfies JobFailureKind, detail: failed.detail })
    }
    return archive ?? (yield* unusableReply("the reply ended before the archive was complete"))
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

/** Without a server, archives are made one at a time: each may need much memory. */
const alone = Semaphore.makeUnsafe(1)

const create = Effect.fnUntraced(function* (config: Config, json: boolean, isOnly: boolean) {
  const settings = yield* archiveSettings(config)
  const make = (progress: Progress) =>
    viaServerOrLocked<Manifest | JobFailed>(
      config,
      (server) => createBeside(server, config, progress),
      Semaphore.withPermit(alone, createAlone(config, settings, progress)),
    )
  // Several progress bars would overwrite each other.
  const manifest = yield* isOnly ? withProgressBar(make) : make(() => {})
  if (manifest instanceof JobFailed) return yield* jobFailure(manifest)
  if (json) return yield* Console.log(JSON.stringify({ ...partitionMember(config), ...manifest }))
  // Standard output has only the id, for scripts. Messages go to standard error.
  yield* Console.log(manifest.id)
  yield* Console.error(
    `${partitionPrefix(config)}Archive created and verified: ${amountOf(manifest.counts.users ?? 0, "user")}, up to record ${countText(manifest.sequence)}, ${bytesText(bytesOf(manifest))}.`,
  )
})

/**
 * Partition 1 comes last: its archive then has the projects of all data in the other archives, and
 * every revocation of a key up to then.
 */
const firstLast = (configs: ReadonlyArray<Config>): ReadonlyArray<Config> =>
  configs.toSorted((a, b) => Number(isFirst(a)) - Number(isFirst(b)))

const isFirst = (config: Config): boolean => partitionNumber(config) === firstPartition

const createSnapshot = Command.make(
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

/* `laurel snapshots list` */

const unknown = "?"

const columns: ReadonlyArray<Column<ArchiveDetails>> = [
  { title: "TIME", align: "left", text: ({ createdAt }) => createdAt },
  { title: "SEQUENCE", align: "right", text: ({ sequence }) => countText(sequence) },
  {
    title: "USERS",
    align: "right",
    text: ({ users }) => (users === null ? unknown : countText(users)),
  },
  {
    title: "SIZE",
    align: "right",
    text: ({ bytes }) => (bytes === null ? unknown : bytesText(bytes)),
  },
  { title: "MADE BY", align: "left", text: ({ reason }) => reason ?? unknown },
  {
    title: "VERIFIED",
    align: "left",
    text: ({ faults, verifiedAt }) =>
      faults.length > 0 ? `NO: ${faults[0]}` : (verifiedAt ?? unknown),
  },
  { title: "ID", align: "left", text: ({ id }) => id },
]

const placesOf = ({ archiveBucket }: Config): Column<ArchiveDetails> => ({
  title: "WHERE",
  align: "left",
  text: ({ folder, inBucket, server }) => {
    if (server !== undefined) return inBucket ? `${server}, bucket` : server
    if (inBucket === null) return archiveBucket === undefined ? "here" : unknown
    return folder === null ? "bucket" : inBucket ? "both" : "here"
  },
})

/**
 * The archives of both places, oldest first; `remote` is `undefined` if the bucket did not answer.
 */
const inBoth = (
  local: ReadonlyArray<ListedArchive>,
  remote: ReadonlyArray<ListedArchive> | undefined,
): ReadonlyArray<ArchiveDetails> => {
  const here = new Set(local.map(({ id }) => id))
  const there = new Set(remote?.map(({ id }) => id))
  return archivesOfBoth(local, remote ?? []).map((archive) =>
    detailsOf(archive, {
      isHere: here.has(archive.id),
      inBucket: remote === undefined ? null : there.has(archive.id),
    }),
  )
}

const folders = Flag.Boolean("folders").pipe(
  Flag.withDescription(
    "Print only the folder of each archive on this machine, for scripts; its last segment is the id",
  ),
  Flag.withDefault(false),
)

const partitionColumn: Column<ArchiveDetails> = {
  title: "PARTITION",
  align: "right",
  text: ({ partition }) => String(partition),
}

const columnsFor = (
  config: Config,
  archives: ReadonlyArray<ArchiveDetails>,
): ReadonlyArray<Column<ArchiveDetails>> => {
  const areHere = archives.every(({ server }) => server === undefined)
  return [
    ...(isSpread(config) ? [partitionColumn] : []),
    ...columns.slice(0, -1),
    ...(config.archiveBucket === undefined && areHere ? [] : [placesOf(config)]),
    ...columns.slice(-1),
  ]
}

const inPartition = (config: Config, { exitCode, lines }: CommandFailed): CommandFailed =>
  commandFailed(exitCode, ...lines.map((line) => `${partitionPrefix(config)}${line}`))

/**
 * The archives of a partition. With `failure`, archives that only the bucket or only the owner has
 * are missing.
 */
const listOf = Effect.fnUntraced(function* (config: Config, atOwner: AtOwner) {
  const settings = yield* archiveSettings(config)
  const isAlone = Result.isSuccess(atOwner) && atOwner.success === undefined
  const local = yield* Effect.catchIf(
    archivesHere(config, settings),
    ({ exitCode }) => exitCode === exitCodes.noData && !isAlone,
    () => Effect.succeed([]),
  )
  const remote =
    config.archiveBucket === undefined
      ? undefined
      : yield* Effect.result(archivesInBucket(config, settings.folder))
  const listed =
    remote === undefined
      ? local.map((archive) => detailsOf(archive))
      : inBoth(local, Result.getOrUndefined(remote))
  const bucketFailure =
    remote !== undefined && Result.isFailure(remote) ? remote.failure : undefined
  const ownerFailure = Result.isFailure(atOwner) ? inPartition(config, atOwner.failure) : undefined
  const failure = bucketFailure ?? ownerFailure
  const isInBucket = remote === undefined || bucketFailure !== undefined ? null : false
  const all = withOwners(listed, Result.getOrUndefined(atOwner), isInBucket)
  const archives = all.map((archive) => ({ ...partitionMember(config), ...archive }))
  return { config, folder: settings.folder, archives, failure }
})

const tellReplaced = ({ dataDirectory }: Config): Effect.Effect<void, CommandFailed> =>
  replacedIn(nodeDisk, dataDirectory).pipe(
    Effect.mapError(diskFailure),
    Effect.map((names) => names.map((name) => path.join(dataDirectory, name))),
    Effect.flatMap((folders) =>
      Effect.forEach(
        folders,
        (folder) => Console.error(`Kept data that a restore replaced: ${folder}`),
        { discard: true },
      ),
    ),
  )

const listSnapshots = Command.make(
  "list",
  { folders, json, partition: partitionFlag("list archives of this partition. Default: of all") },
  Effect.fnUntraced(
    function* ({ folders, json, partition }) {
      const config = yield* loadConfig
      const configs = yield* partitionsOf(config, partition)
      yield* printDirectory(serverFileFolder(config))
      if (folders) {
        const here = yield* forEachPartition(configs, "ignored", (each) =>
          Effect.flatMap(archiveSettings(each), (settings) => archivesHere(each, settings)),
        )
        for (const { folder } of here.flat()) yield* Console.log(folder)
        return
      }
      const atOwners = yield* askOwners(configs)
      const listed = yield* forEachPartition(configs, "ignored", (each) =>
        listOf(each, atOwners.get(each)!),
      )
      const archives = listed.flatMap((each) => each.archives)
      if (json) yield* Console.log(JSON.stringify(archives))
      else if (archives.length > 0) {
        yield* Console.log(formatTable(columnsFor(config, archives), archives))
      } else {
        for (const { folder } of listed) yield* Console.error(`No archives in ${folder}.`)
      }
      // The archives on this machine were listed before the failure.
      const failure = listed.find((each) => each.failure !== undefined)?.failure
      if (failure !== undefined) return yield* failure
      if (json) return
      for (const each of listed) yield* tellReplaced(each.config)
    },
    (effect) => Effect.provide(effect, loggingLayer()),
  ),
).pipe(
  Command.withDescription(
    "List archives, oldest first: creation time, last record, number of users, size, last successful check",
  ),
)

/* `laurel snapshots prune` */

const dryRun = Flag.Boolean("dry-run").pipe(
  Flag.withDescription("Print the archives to remove, without removing them"),
  Flag.withDefault(false),
)

const prune = Effect.fnUntraced(function* (config: Config, dryRun: boolean) {
  const settings = yield* archiveSettings(config)
  const { folder, retention } = settings
  const archives = yield* archivesOf(config, settings)
  const removed = dryRun
    ? expiredOf(archives, retention)
    : yield* Effect.mapError(pruneArchives(nodeDisk, folder, retention), diskFailure)
  return { config, removed, retention }
})

const retentionText = ({ daily, hourly }: Retention): string =>
  `${amountOf(hourly, "hourly archive")}, ${amountOf(daily, "daily archive")}`

const pruneSnapshots = Command.make(
  "prune",
  {
    dryRun,
    json,
    partition: partitionFlag("remove archives of this partition. Default: of all"),
  },
  Effect.fnUntraced(
    function* ({ dryRun, json, partition }) {
      const config = yield* loadConfig
      const configs = yield* partitionsOf(config, partition)
      yield* printDirectory(serverFileFolder(config))
      const pruned = yield* forEachPartition(configs, "ignored", (config) => prune(config, dryRun))
      // Outside a cluster an id is a string, in a cluster an object.
      const all = pruned.flatMap(({ config, removed }) =>
        removed.map((id) => (isSpread(config) ? { ...partitionMember(config), id } : id)),
      )
      if (json) return yield* Console.log(JSON.stringify(all))
      for (const { removed } of pruned) {
        for (const id of removed) yield* Console.log(id)
      }
      const retentions = new Set(pruned.map(({ retention }) => retentionText(retention)))
      yield* Console.error(
        `${dryRun ? "To remove" : "Removed"}: ${amountOf(all.length, "archive")}. Retention${pruned.length > 1 ? " of each partition" : ""}: ${[...retentions].join("; ")}.`,
      )
    },
    (effect) => Effect.provide(effect, loggingLayer()),
  ),
).pipe(
  Command.withDescription(
    "Remove archives beyond LAUREL_ARCHIVE_HOURLY and LAUREL_ARCHIVE_DAILY, as the server does after each new archive. Unset variables default to the server's settings. Archives that failed a check stay",
  ),
)

/* `laurel snapshots verify` */

const live = "live"
const newest = "newest"

const id = Argument.String("ID").pipe(
  Argument.withDescription(
    "Archive id, as `laurel snapshots list` shows it, or `live`. With --bucket the default is `newest`",
  ),
  Argument.withDefault(live),
)

const inBucket = Flag.Boolean("bucket").pipe(
  Flag.withDescription("Verify the copy in the bucket, also if the archive is on this machine"),
  Flag.withDefault(false),
)

/** Checks the data directory, up to the end of the journal that the running server reports. */
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
      // Asked once before, to make sure that the server is the one of this directory.
      return Effect.andThen(position, Effect.catch(checked, Effect.succeed))
    }
    const alone = Effect.mapError(check(Effect.undefined, false), jobFailure)
    return viaServerOrLocked<LiveFindings | JobFailed>(config, beside, alone)
  })
  return found instanceof JobFailed ? yield* jobFailure(found) : found
})

/** Checks the copy in the bucket; `id` may be `newest`. */
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

const verifySnapshot = Command.make(
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
      if (id !== live) yield* printDirectory(serverFileFolder(config))
      const isOfEach = id === live || id === newest
      const meant = isOfEach ? configs : [yield* partitionOfArchive(configs, id)]
      yield* forEachPartition(meant, "reported", (config) => verify(config, id, bucket, json))
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

export const snapshots = Command.make("snapshots").pipe(
  Command.withDescription(
    "List, create, verify, restore, prune, export and import archives of the data directory",
  ),
  Command.withSubcommands([
    listSnapshots,
    createSnapshot,
    verifySnapshot,
    restoreSnapshot,
    pruneSnapshots,
    exportSnapshot,
    importSnapshot,
  ]),
)
