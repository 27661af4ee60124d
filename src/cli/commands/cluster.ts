/** `laurel cluster` */
import path from "node:path"
import { Clock, Console, Context, Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import type {
  ClusterStatus,
  FollowerStatus,
  PartitionStatus,
  RunnerStatus,
} from "../../cluster/status.ts"
import {
  type Config,
  clusterDirectory,
  ofPartition,
  partitionNumber,
  partitionsName,
} from "../../config/Config.ts"
import { firstPartition, type Project, partitionOf } from "../../domain/project/Directory.ts"
import { Engine } from "../../engine/Engine.ts"
import { limits } from "../../Limits.ts"
import { installDraft } from "../../storage/archive/ArchiveSwap.ts"
import { nodeDisk } from "../../storage/disk/NodeDisk.ts"
import { confirmation } from "../output/confirmation.ts"
import { commandFailed, exitCodes, noData } from "../output/ExitCode.ts"
import { diskFailure } from "../output/JobWords.ts"
import { amountOf, type Column, countText, formatTable, rangesText } from "../output/Table.ts"
import { clusterDirectoryOf, readRunning, readStopped } from "../process/ClusterAdmin.ts"
import { runJob } from "../process/CommandJob.ts"
import { holdDirectory, loadConfig, projectsIn, requireData } from "../process/DataDirectory.ts"
import { insistFillable, installPartition, recordsIn } from "../process/InstallPartition.ts"
import { loggingLayer } from "../process/Logging.ts"
import {
  forEachPartition,
  type GivenPartition,
  isSpread,
  namedPartitions,
  partitionFlag,
  partitionPrefix,
} from "./flags.ts"

/*
 * `laurel cluster gather`: makes one data directory of all partitions. The command claims the
 * partitions as an owner does, and writes only to the new directory otherwise. So it can be
 * repeated after any failure, and the servers of the cluster can be started again.
 */

const target = Argument.String("DIRECTORY").pipe(
  Argument.withDescription("Data directory to create: a new or empty folder"),
)

const dropPending = Flag.Boolean("drop-pending").pipe(
  Flag.withDescription("Drop messages to webhooks that were not sent yet"),
  Flag.withDefault(false),
)

/** The epoch of this command's claim on each partition. */
type Claims = Map<number, number>

/**
 * Claims a partition, replays the records from PostgreSQL that its directory lacks, and closes it
 * with a snapshot.
 */
const complete = Effect.fnUntraced(function* (config: Config, partition: number, claims: Claims) {
  // Other commands start sooner without it.
  const { openEngine } = yield* Effect.promise(() => import("../process/OpenEngine.ts"))
  const onClaimed = ({ epoch }: { readonly epoch: number }) => claims.set(partition, epoch)
  const opened = openEngine(ofPartition(config, partition), { onClaimed })
  return yield* Effect.scoped(
    Effect.flatMap(opened, ({ services }) => Context.get(services, Engine).readDirectory),
  )
})

const insistNew = Effect.fnUntraced(function* (directory: string) {
  yield* Effect.mapError(nodeDisk.makeFolder(directory), diskFailure)
  yield* holdDirectory(directory)
  const names = yield* Effect.mapError(nodeDisk.list(directory), diskFailure)
  if (["journal", "live", partitionsName].some((name) => names.includes(name))) {
    return yield* commandFailed(
      exitCodes.refused,
      `${directory} already has data. Name an empty or new folder.`,
    )
  }
})

const copyAudit = Effect.fnUntraced(function* (url: string, directory: string) {
  const [{ ClusterAuditStore }, { PgConnection }] = yield* Effect.promise(() =>
    Promise.all([
      import("../../accounts/audit/ClusterAuditStore.ts"),
      import("../../storage/postgres/PgConnection.ts"),
    ]),
  )
  const sessions = new PgConnection({ url })
  const audit = new ClusterAuditStore({ sessions, now: Date.now })
  yield* Effect.ensuring(audit.copyTo(nodeDisk, directory), sessions.close).pipe(
    Effect.mapError((error) =>
      error._tag === "DiskError"
        ? diskFailure(error)
        : commandFailed(exitCodes.unavailable, `The audit log cannot be copied: ${error.message}`),
    ),
  )
})

const gather = Effect.fnUntraced(function* (
  config: Config,
  url: string,
  input: { readonly directory: string; readonly dropPending: boolean },
) {
  const { directory } = input
  yield* readStopped(config, url)
  yield* insistNew(directory)
  const claims: Claims = new Map()
  const { projects } = yield* complete(config, firstPartition, claims)
  const partitions = new Set([firstPartition, ...[...projects.values()].map(partitionOf)])
  for (const partition of partitions) {
    if (partition !== firstPartition) yield* complete(config, partition, claims)
  }
  // No server of this machine starts meanwhile.
  yield* holdDirectory(clusterDirectory(config))
  const folders = [...partitions].map((partition) =>
    path.resolve(ofPartition(config, partition).dataDirectory),
  )
  const at = yield* Clock.currentTimeMillis
  const result = yield* runJob("gather", { ...input, folders, at })
  const now = yield* readStopped(config, url)
  for (const { epoch, partition } of now.partitions) {
    if ((claims.get(partition) ?? epoch) === epoch) continue
    return yield* commandFailed(
      exitCodes.inUse,
      `A server has claimed partition ${partition} since this command began. Stop all servers, and run the command again.`,
    )
  }
  yield* copyAudit(url, directory)
  yield* Effect.mapError(installDraft(nodeDisk, directory, at), diskFailure)
  return result
})

const gatherCluster = Command.make(
  "gather",
  { target, dropPending },
  Effect.fnUntraced(function* ({ dropPending, target }) {
    const config = yield* loadConfig
    const { cluster: url } = config
    if (url === undefined) {
      return yield* commandFailed(exitCodes.configuration, "LAUREL_CLUSTER is not set.")
    }
    const directory = path.resolve(target)
    const { counts, dropped, left } = yield* Effect.scoped(
      gather(config, url, { directory, dropPending }),
    ).pipe(Effect.provide(loggingLayer(config)))
    yield* Console.log(
      `Gathered and verified: ${amountOf(counts.projects ?? 0, "project")}, ${amountOf(counts.users ?? 0, "user")}. The cluster's data was not changed.`,
    )
    if (dropped > 0) yield* Console.log(`Dropped ${amountOf(dropped, "message")} to webhooks.`)
    if (left > 0) {
      yield* Console.log(`Skipped ${amountOf(left, "environment")} without a project.`)
    }
    yield* Console.log(`Start a server with LAUREL_DATA_DIR=${directory}, without LAUREL_CLUSTER.`)
  }),
).pipe(
  Command.withDescription(
    "Merge all projects of the cluster into one data directory, for a server without PostgreSQL; all servers must be stopped",
  ),
)

/* `laurel cluster install` */

const yes = Flag.Boolean("yes").pipe(
  Flag.withDescription("Replace without asking"),
  Flag.withDefault(false),
)

/** The partitions whose data is here, and those that stay unchanged in PostgreSQL. */
const findData = Effect.fnUntraced(function* (configs: ReadonlyArray<Config>) {
  const isHere = ({ dataDirectory }: Config) =>
    requireData(dataDirectory).pipe(
      Effect.as(true),
      Effect.catchIf(
        ({ exitCode }) => exitCode === exitCodes.noData,
        () => Effect.succeed(false),
      ),
    )
  const here = yield* Effect.filter(configs, isHere)
  if (here.length > 0) return { here, kept: configs.filter((config) => !here.includes(config)) }
  return yield* noData(
    configs.length === 1 ? configs[0]!.dataDirectory : clusterDirectory(configs[0]!),
  )
})

/** The projects that are in PostgreSQL and not in the data directory of partition 1. */
const forgotten = Effect.fnUntraced(function* (url: string, { dataDirectory }: Config) {
  const { projects } = yield* clusterDirectoryOf(url)
  if (projects.size === 0) return []
  const known = new Set((yield* projectsIn(dataDirectory)).map(({ id }) => id))
  return [...projects.values()].filter(({ id }) => !known.has(id))
})

/**
 * The next owner of partition 1 adds the projects whose data stays again
 * (`cluster/ForgottenProjects.ts`).
 */
const becomes = (project: Project): string => {
  const partition = partitionOf(project)
  return partition === firstPartition
    ? "lost with its data"
    : `stays with its data in partition ${partition}, archived and without keys`
}

const forgottenWords = (projects: ReadonlyArray<Project>): ReadonlyArray<string> => {
  if (projects.length === 0) return []
  const named = projects
    .slice(0, limits.restoreListedMax)
    .map((project) => `  ${project.name}  (${becomes(project)})`)
  const more = projects.length - named.length
  return [
    `${amountOf(projects.length, "project")} of the cluster ${projects.length === 1 ? "is" : "are"} missing in this data of partition 1:`,
    ...named,
    ...(more > 0 ? [`  and ${countText(more)} more`] : []),
  ]
}

const replacementWords = (
  config: Config,
  remote: PartitionStatus | undefined,
  last: number,
): string => {
  const { dataDirectory } = config
  if (remote === undefined) {
    return `${partitionPrefix(config)}PostgreSQL has no data yet. The data of ${dataDirectory} will be installed.`
  }
  return `${partitionPrefix(config)}PostgreSQL has ${countText(remote.records)} records. All of them will be replaced by the data of ${dataDirectory}, which ends with record ${countText(last)}.`
}

const runningWords = (running: ReadonlyArray<string>): string =>
  `Servers run: ${running.join(", ")}. Writes to this partition until it is replaced will be lost as well.`

const keptWords = (config: Config, remote: PartitionStatus | undefined): string =>
  `${partitionPrefix(config)}No data in ${config.dataDirectory}: the ${amountOf(remote?.records ?? 0, "record")} in PostgreSQL stay unchanged.`

/** The state in PostgreSQL. A single partition other than 1 may be replaced while servers run. */
const readCluster = Effect.fnUntraced(function* (
  config: Config,
  url: string,
  given: GivenPartition,
) {
  const isBeside = Option.exists(given, (wish) => wish !== "all" && wish !== firstPartition)
  return isBeside
    ? yield* readRunning(config, url)
    : { status: yield* readStopped(config, url), running: [], lockExpirationMs: 0 }
})

const install = Effect.fnUntraced(function* (given: GivenPartition, yes: boolean) {
  const config = yield* loadConfig
  const { cluster: url } = config
  if (url === undefined) {
    return yield* commandFailed(exitCodes.configuration, "LAUREL_CLUSTER is not set.")
  }
  const { here, kept } = yield* findData(yield* namedPartitions(config, given))
  const { lockExpirationMs, running, status } = yield* readCluster(config, url, given)
  const remoteOf = (each: Config) =>
    status.partitions.find(({ partition }) => partition === partitionNumber(each))
  for (const each of here) {
    if (running.length > 0) yield* insistFillable(each)
    const { last } = yield* recordsIn(each)
    yield* Console.error(replacementWords(each, remoteOf(each), last))
  }
  if (running.length > 0) yield* Console.error(runningWords(running))
  for (const each of kept) yield* Console.error(keptWords(each, remoteOf(each)))
  const first = here.find((each) => partitionNumber(each) === firstPartition)
  if (first !== undefined && isSpread(config)) {
    for (const line of forgottenWords(yield* forgotten(url, first))) yield* Console.error(line)
  }
  if (!yes) yield* confirmation
  yield* forEachPartition(here, "failure", (each) =>
    Effect.flatMap(installPartition(each, url), (last) =>
      Console.log(`${partitionPrefix(each)}Installed ${countText(last)} records.`),
    ),
  )
  // The former owner answers reads for this time after its last confirmation.
  if (running.length > 0) yield* Effect.sleep(lockExpirationMs / 3)
  yield* Console.log(
    running.length > 0
      ? "The servers now load the installed data: `laurel cluster status` shows the owner. They move their copies of the replaced data aside."
      : "Start the servers: they move their copies of the replaced data aside.",
  )
})

const installCluster = Command.make(
  "install",
  {
    partition: partitionFlag("replace this partition, or all whose data is on this machine"),
    yes,
  },
  Effect.fnUntraced(function* ({ partition, yes }) {
    yield* install(partition, yes)
  }),
).pipe(
  Command.withDescription(
    "Replace the data in PostgreSQL with the restored data directory of this machine. Partition 1, or all: only while all servers are stopped",
  ),
)

const json = Flag.Boolean("json").pipe(
  Flag.withDescription("Print a JSON object"),
  Flag.withDefault(false),
)

const countOrUnknown = (count: number | undefined): string =>
  count === undefined ? "unknown" : countText(count)

/** "3" for a single partition, "16: 1-4, 6" for several. */
const partitionsText = (numbers: ReadonlyArray<number>): string =>
  numbers.length < 2 ? numbers.join() : `${numbers.length}: ${rangesText(numbers)}`

const runnerColumns = ({
  followers,
  partitions,
}: ClusterStatus): ReadonlyArray<Column<RunnerStatus>> => [
  { title: "SERVER", align: "left", text: ({ address }) => address },
  {
    title: "LAST HEARTBEAT",
    align: "right",
    text: ({ silentSeconds }) => `${silentSeconds.toFixed(1)} s ago`,
  },
  {
    title: "OWNS",
    align: "left",
    text: ({ address }) =>
      partitionsText(
        partitions.filter(({ owner }) => owner === address).map(({ partition }) => partition),
      ),
  },
  {
    title: "LOAD",
    align: "right",
    text: ({ address }) => {
      const own = partitions.filter(({ owner }) => owner === address)
      return loadText(own.reduce((sum, { load }) => sum + load, 0))
    },
  },
  {
    title: "FOLLOWS",
    align: "left",
    text: ({ address }) =>
      partitionsText(
        followers.filter((each) => each.address === address).map(({ partition }) => partition),
      ),
  },
  { title: "VERSION", align: "left", text: ({ version }) => version ?? "unknown" },
  { title: "ANSWERED IN 60 S", align: "right", text: ({ answered }) => countOrUnknown(answered) },
  {
    title: "FORWARDED IN 60 S",
    align: "right",
    text: ({ forwarded }) => countOrUnknown(forwarded),
  },
]

const partitionColumns = ({ followers }: ClusterStatus): ReadonlyArray<Column<PartitionStatus>> => [
  { title: "PARTITION", align: "right", text: ({ partition }) => String(partition) },
  { title: "OWNER", align: "left", text: ({ owner }) => (owner === "" ? "none" : owner) },
  { title: "EPOCH", align: "right", text: ({ epoch }) => countText(epoch) },
  { title: "SINCE", align: "left", text: ({ since }) => since },
  { title: "LOAD", align: "right", text: ({ load }) => loadText(load) },
  { title: "RECORDS", align: "right", text: ({ records }) => countText(records) },
  {
    title: "FOLLOWERS (RECORDS BEHIND, LAG)",
    align: "left",
    text: ({ partition }) =>
      followers
        .filter((each) => each.partition === partition)
        .map(followerText)
        .join(", ") || "none",
  },
  { title: "PROJECTS", align: "left", text: ({ projects }) => namesText(projects) },
]

/** Requests and records in a second. */
const loadText = (load: number): string => `${load.toFixed(1)}/s`

const followerText = ({ address, behindRecords, lagSeconds }: FollowerStatus): string =>
  `${address} (${countText(behindRecords)}, ${lagSeconds.toFixed(1)} s)`

const namesMax = 4

const namesText = (names: ReadonlyArray<string> | undefined): string => {
  if (names === undefined) return "unknown"
  const more = names.length - namesMax
  return `${names.slice(0, namesMax).join(", ")}${more > 0 ? ` and ${countText(more)} more` : ""}`
}

/** Partitions that no server has opened yet have no row. */
const unopenedText = ({ partitions, runners }: ClusterStatus): ReadonlyArray<string> => {
  const opened = new Set(partitions.map(({ partition }) => partition))
  const all = Array.from({ length: limits.clusterPartitions }, (_, index) => index + 1)
  const unopened = all.filter((number) => !opened.has(number))
  return runners.length === 0 || unopened.length === 0
    ? []
    : [`Partitions that no server has opened yet: ${rangesText(unopened)}.`]
}

export const statusText = (status: ClusterStatus): string => {
  const { forwardedShare: share, partitions, runners } = status
  return [
    formatTable(runnerColumns(status), runners),
    `Forwarded in 60 s: ${share === undefined ? "no requests" : `${(100 * share).toFixed(1)} % of the requests`}`,
    formatTable(partitionColumns(status), partitions),
    ...unopenedText(status),
  ].join("\n\n")
}

const status = Command.make(
  "status",
  { json },
  Effect.fnUntraced(function* ({ json }) {
    const { cluster: url } = yield* loadConfig
    if (url === undefined) {
      return yield* commandFailed(exitCodes.configuration, "LAUREL_CLUSTER is not set.")
    }
    // Other commands start sooner without these modules.
    const { clusterStatusAt } = yield* Effect.promise(() => import("../../cluster/status.ts"))
    const read = yield* clusterStatusAt(url).pipe(
      Effect.mapError(({ words }) => commandFailed(exitCodes.unavailable, words)),
    )
    yield* Console.log(json ? JSON.stringify(read) : statusText(read))
  }),
).pipe(
  Command.withDescription(
    "List the servers of the cluster, and the owner, followers and projects of each partition, as recorded in PostgreSQL",
  ),
)

export const cluster = Command.make("cluster").pipe(
  Command.withDescription(
    "Inspect a cluster, replace its data, or export it to a server without PostgreSQL",
  ),
  Command.withSubcommands([status, installCluster, gatherCluster]),
)
