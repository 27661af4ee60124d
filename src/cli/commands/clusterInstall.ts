/** `laurel cluster install` */
import path from "node:path"
import { Console, Context, Effect } from "effect"
import { Command, Flag } from "effect/cli"
import type { PartitionStatus } from "../../cluster/status.ts"
import type { Config } from "../../config/Config.ts"
import {
  clusterDirectory,
  firstPartition,
  ofPartition,
  partitionNumber,
} from "../../config/PartitionConfig.ts"
import { type Project, partitionOf } from "../../domain/project/Directory.ts"
import { limits } from "../../Limits.ts"
import type { DiskError } from "../../storage/disk/Disk.ts"
import type { Refused } from "../../storage/postgres/Patience.ts"
import type { PgFailure } from "../../storage/postgres/PgConnection.ts"
import type { StorageError } from "../../storage/Storage.ts"
import { amountOf, countText } from "../output/Amounts.ts"
import { confirmation } from "../output/confirmation.ts"
import { type CommandFailed, commandFailed, exitCodes, noData } from "../output/ExitCode.ts"
import { diskFailure } from "../output/JobWords.ts"
import { AuditSessions } from "../process/AuditSessions.ts"
import { clusterDirectoryOf } from "../process/ClusterProjects.ts"
import { requireData } from "../process/DataDirectory.ts"
import { loadConfig } from "../process/LoadConfig.ts"
import { loggingLayer } from "../process/Logging.ts"
import { projectsIn } from "../process/ProjectsIn.ts"
import { readStopped } from "../process/StoppedCluster.ts"
import {
  forEachPartition,
  type GivenPartition,
  isSpread,
  namedPartitions,
  partitionFlag,
  partitionPrefix,
} from "./partitionFlag.ts"

const yes = Flag.Boolean("yes").pipe(
  Flag.withDescription("Replace without asking"),
  Flag.withDefault(false),
)

/** The partitions whose data is here, and those that PostgreSQL keeps as it has them. */
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

/** The projects that PostgreSQL knows and the data directory of the first partition does not. */
const forgotten = Effect.fnUntraced(function* (url: string, { dataDirectory }: Config) {
  const { projects } = yield* clusterDirectoryOf(url)
  if (projects.size === 0) return []
  const known = new Set((yield* projectsIn(dataDirectory)).map(({ id }) => id))
  return [...projects.values()].filter(({ id }) => !known.has(id))
})

/** The next owner of partition 1 adds those again whose data stays (`cluster/ForgottenProjects.ts`). */
const becomes = (project: Project): string => {
  const partition = partitionOf(project)
  return partition === firstPartition
    ? "lost with its data"
    : `stays with its data in partition ${partition}, archived and without keys`
}

const forgottenWords = (projects: ReadonlyArray<Project>): ReadonlyArray<string> => {
  if (projects.length === 0) return []
  const named = projects
    .slice(0, limits.restoreToldMax)
    .map((project) => `  ${project.name}  (${becomes(project)})`)
  const more = projects.length - named.length
  return [
    `${amountOf(projects.length, "project")} of the cluster ${projects.length === 1 ? "is" : "are"} unknown to this data of partition 1:`,
    ...named,
    ...(more > 0 ? [`  and ${countText(more)} more`] : []),
  ]
}

const replacementWords = (config: Config, remote: PartitionStatus | undefined): string =>
  remote === undefined
    ? `${partitionPrefix(config)}PostgreSQL has no data yet. It will get those of ${config.dataDirectory}.`
    : `${partitionPrefix(config)}PostgreSQL has ${countText(remote.records)} records. All of them will be replaced by the data of ${config.dataDirectory}.`

const keptWords = (config: Config, remote: PartitionStatus | undefined): string =>
  `${partitionPrefix(config)}There is no data in ${config.dataDirectory}: PostgreSQL keeps what it has, ${amountOf(remote?.records ?? 0, "record")}.`

const replace = (config: Config, url: string) =>
  Effect.gen(function* () {
    const { replacePartition } = yield* Effect.promise(
      () => import("../../storage/postgres/ReplacePartition.ts"),
    )
    const directory = path.resolve(config.dataDirectory)
    return yield* replacePartition({ url, partition: partitionNumber(config), directory })
  }).pipe(Effect.scoped, Effect.mapError(failureOf))

/** Holds the lock of the cluster's directory for the scope. */
const enter = (config: Config) =>
  Effect.gen(function* () {
    const { enterPartition } = yield* Effect.promise(
      () => import("../../storage/postgres/EnterPartition.ts"),
    )
    const directory = path.resolve(ofPartition(config, firstPartition).dataDirectory)
    yield* enterPartition(clusterDirectory(config), directory)
  }).pipe(Effect.mapError(failureOf))

const failureOf = (error: Refused | PgFailure | DiskError | StorageError): CommandFailed => {
  switch (error._tag) {
    case "Refused":
      return commandFailed(exitCodes.configuration, error.words)
    case "PgFailure":
      return commandFailed(exitCodes.unavailable, error.words)
    case "DiskError":
      return diskFailure(error)
    default:
      return commandFailed(
        exitCodes.damagedData,
        `The data directory cannot be opened: ${error.message}`,
      )
  }
}

/** Opens the engine, and writes the restore to the audit log. */
const openAsOwner = Effect.fnUntraced(function* (config: Config, url: string) {
  const [{ openEngine }, { openAudit }, { PgConnection }] = yield* Effect.promise(() =>
    Promise.all([
      import("../process/OpenEngine.ts"),
      import("../process/OpenAudit.ts"),
      import("../../storage/postgres/PgConnection.ts"),
    ]),
  )
  const { services } = yield* openEngine(config)
  const sessions = yield* Effect.acquireRelease(
    Effect.sync(() => new PgConnection({ url })),
    (connection) => connection.close,
  )
  yield* Effect.provide(openAudit(config), Context.add(services, AuditSessions, sessions))
})

const installPartition = Effect.fnUntraced(function* (config: Config, url: string) {
  const { lastSequence } = yield* Effect.scoped(Effect.andThen(enter(config), replace(config, url)))
  // As an owner: it ends sessions that the restore has brought back, and uploads the deliveries of webhooks.
  yield* Effect.scoped(openAsOwner(config, url)).pipe(Effect.provide(loggingLayer(config)))
  yield* Console.log(`${partitionPrefix(config)}Installed ${countText(lastSequence)} records.`)
})

const install = Effect.fnUntraced(function* (given: GivenPartition, yes: boolean) {
  const config = yield* loadConfig
  const { cluster: url } = config
  if (url === undefined) {
    return yield* commandFailed(exitCodes.configuration, "LAUREL_CLUSTER is not set.")
  }
  const { here, kept } = yield* findData(yield* namedPartitions(config, given))
  const { partitions: inPostgres } = yield* readStopped(config, url)
  const remoteOf = (each: Config) =>
    inPostgres.find(({ partition }) => partition === partitionNumber(each))
  for (const each of here) yield* Console.error(replacementWords(each, remoteOf(each)))
  for (const each of kept) yield* Console.error(keptWords(each, remoteOf(each)))
  const first = here.find((each) => partitionNumber(each) === firstPartition)
  if (first !== undefined && isSpread(config)) {
    for (const line of forgottenWords(yield* forgotten(url, first))) yield* Console.error(line)
  }
  if (!yes) yield* confirmation
  yield* forEachPartition(here, "failure", (each) => installPartition(each, url))
  yield* Console.log("Start the servers: their copies of what was replaced are moved aside.")
})

export const installCluster = Command.make(
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
    "Replace what PostgreSQL has by the data directory of this machine, as a restore has left it; all servers must be stopped",
  ),
)
