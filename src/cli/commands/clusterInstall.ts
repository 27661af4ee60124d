/** `laurel cluster install` */
import { Console, Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import type { PartitionStatus } from "../../cluster/status.ts"
import type { Config } from "../../config/Config.ts"
import { clusterDirectory, partitionNumber } from "../../config/PartitionConfig.ts"
import { firstPartition, type Project, partitionOf } from "../../domain/project/Directory.ts"
import { limits } from "../../Limits.ts"
import { amountOf, countText } from "../output/Amounts.ts"
import { confirmation } from "../output/confirmation.ts"
import { commandFailed, exitCodes, noData } from "../output/ExitCode.ts"
import { clusterDirectoryOf } from "../process/ClusterProjects.ts"
import { requireData } from "../process/DataDirectory.ts"
import { insistFillable, installPartition, recordsIn } from "../process/InstallPartition.ts"
import { loadConfig } from "../process/LoadConfig.ts"
import { projectsIn } from "../process/ProjectsIn.ts"
import { readRunning, readStopped } from "../process/StoppedCluster.ts"
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
  `Servers run: ${running.join(", ")}. Writes to this partition until it is replaced will be lost, too.`

const keptWords = (config: Config, remote: PartitionStatus | undefined): string =>
  `${partitionPrefix(config)}No data in ${config.dataDirectory}: the ${amountOf(remote?.records ?? 0, "record")} in PostgreSQL stay unchanged.`

/** What PostgreSQL has. One partition that is not the first may be replaced beside servers. */
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
  // The former owner reads from memory for so long after it last heard that it is the owner.
  if (running.length > 0) yield* Effect.sleep(lockExpirationMs / 3)
  yield* Console.log(
    running.length > 0
      ? "The servers now load the installed data: `laurel cluster status` shows the owner. They move their copies of the replaced data aside."
      : "Start the servers: they move their copies of the replaced data aside.",
  )
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
    "Replace the data in PostgreSQL with the restored data directory of this machine. Partition 1, or all: only while all servers are stopped",
  ),
)
