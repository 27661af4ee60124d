/**
 * Flags that commands share: `--partition` names the partitions of a cluster, `--json` the output
 * for scripts.
 */
import { Console, Effect, Option, Result } from "effect"
import { Flag } from "effect/cli"
import { type Config, clusterDirectory, ofPartition, partitionNumber } from "../../config/Config.ts"
import { limits } from "../../Limits.ts"
import { type CommandFailed, commandFailed, exitCodes, noData } from "../output/ExitCode.ts"
import { archiveSettings, archivesHere } from "../process/ArchiveSettings.ts"
import { idsInBucket } from "../process/BucketAccess.ts"
import { archiveElsewhere, hereOrElsewhere } from "../process/OwnerArchives.ts"

type PartitionWish = number | "all"

const numberOrAll = (text: string): Option.Option<PartitionWish> => {
  if (text === "all") return Option.some("all")
  return /^[1-9]\d{0,3}$/.test(text) ? Option.some(Number(text)) : Option.none()
}

/** `description` must end with the default. */
export const partitionFlag = (description: string) =>
  Flag.String("partition").pipe(
    Flag.withMetavar("N|all"),
    Flag.withDescription(`In a cluster: ${description}`),
    Flag.filterMap(numberOrAll, () => "a partition is a whole number from 1, or all"),
    Flag.optional,
  )

export type GivenPartition = Option.Option<PartitionWish>

/** The number of partitions that the data of `config` may be in. */
const partitionCountOf = ({ cluster }: Config): number =>
  cluster === undefined ? 1 : limits.clusterPartitions

/** Whether output must name the partition. */
export const isSpread = (config: Config): boolean => partitionCountOf(config) > 1

/** The configurations of all partitions; without a cluster the only configuration. */
const allPartitions = (config: Config): ReadonlyArray<Config> =>
  config.cluster === undefined
    ? [config]
    : Array.from({ length: partitionCountOf(config) }, (_, index) => ofPartition(config, index + 1))

/** The configurations of the named partitions, by default of all. */
export const partitionsOf = (
  config: Config,
  given: GivenPartition,
): Effect.Effect<ReadonlyArray<Config>, CommandFailed> =>
  Effect.suspend(() => {
    const wish = Option.getOrElse(given, () => "all" as const)
    if (config.cluster === undefined && Option.isSome(given)) {
      return Effect.fail(
        commandFailed(
          exitCodes.usage,
          "--partition needs LAUREL_CLUSTER: without a cluster, data has no partitions.",
        ),
      )
    }
    if (wish === "all") return Effect.succeed(allPartitions(config))
    const count = partitionCountOf(config)
    return wish <= count
      ? Effect.succeed([ofPartition(config, wish)])
      : Effect.fail(
          commandFailed(
            exitCodes.usage,
            `There is no partition ${wish}: a cluster has ${count === 1 ? "1" : `1 to ${count}`}.`,
          ),
        )
  })

/** As `partitionsOf`, without a default: with several partitions the option is required. */
export const namedPartitions = (
  config: Config,
  given: GivenPartition,
): Effect.Effect<ReadonlyArray<Config>, CommandFailed> =>
  isSpread(config) && Option.isNone(given)
    ? Effect.fail(
        commandFailed(
          exitCodes.usage,
          `The data of this cluster is in ${partitionCountOf(config)} partitions: name one by --partition N, or --partition all.`,
          "`laurel cluster status` shows the partition of each project.",
        ),
      )
    : partitionsOf(config, given)

/** As `namedPartitions`, for a command that takes one partition at a time. */
export const onePartition = (
  config: Config,
  given: GivenPartition,
): Effect.Effect<Config, CommandFailed> =>
  Effect.flatMap(namedPartitions(config, given), ([first, ...others]) =>
    others.length === 0
      ? Effect.succeed(first!)
      : Effect.fail(
          commandFailed(
            exitCodes.usage,
            "This command takes one partition at a time: name one by --partition N.",
          ),
        ),
  )

/** If the project determines the partition, the option may only repeat that partition. */
export const agreeOnPartition = (
  config: Config,
  given: GivenPartition,
  project: string,
): Effect.Effect<void, CommandFailed> => {
  const own = partitionNumber(config)
  return Option.isNone(given) || given.value === own
    ? Effect.void
    : Effect.fail(
        commandFailed(
          exitCodes.usage,
          `Project ${project} is in partition ${own}: omit --partition.`,
        ),
      )
}

/** "Partition 3: " if there are several partitions. */
export const partitionPrefix = (config: Config): string =>
  isSpread(config) ? `Partition ${partitionNumber(config)}: ` : ""

/** The same as a member of an object, for scripts. */
export const partitionMember = (config: Config): { readonly partition?: number } =>
  isSpread(config) ? { partition: partitionNumber(config) } : {}

/** How a command about several partitions handles one without data on this machine. */
type Missing =
  /** The command skips it, if another partition has data. */
  | "ignored"
  /** The command skips it, and prints that. */
  | "reported"
  | "failure"

/**
 * Runs `use` for each partition: `atOnce` at once, and the last partition after all others. A
 * failure does not stop the others. At the end the command fails with the exit code of the first
 * failure and the lines of all.
 */
export const forEachPartition = <A, R>(
  configs: ReadonlyArray<Config>,
  missing: Missing,
  use: (config: Config) => Effect.Effect<A, CommandFailed, R>,
  atOnce = 1,
): Effect.Effect<ReadonlyArray<A>, CommandFailed, R> =>
  Effect.gen(function* () {
    if (configs.length === 1) return [yield* use(configs[0]!)]
    const attempt = (config: Config) => Effect.result(use(config))
    const others = yield* Effect.forEach(configs.slice(0, -1), attempt, { concurrency: atOnce })
    const results = [...others, yield* attempt(configs.at(-1)!)]
    const done: Array<A> = []
    const failures: Array<CommandFailed> = []
    const passedOver: Array<string> = []
    for (const [index, ended] of results.entries()) {
      const config = configs[index]!
      if (Result.isSuccess(ended)) {
        done.push(ended.success)
        continue
      }
      const { exitCode, lines } = ended.failure
      const named = lines.map((line) => `${partitionPrefix(config)}${line}`)
      if (exitCode === exitCodes.noData && missing !== "failure") passedOver.push(...named)
      else failures.push(commandFailed(exitCode, ...named))
    }
    if (missing === "reported" && done.length > 0) {
      for (const line of passedOver) yield* Console.error(line)
    }
    const [first] = failures
    if (first !== undefined) {
      return yield* commandFailed(first.exitCode, ...failures.flatMap(({ lines }) => lines))
    }
    return done.length > 0 ? done : yield* noData(clusterDirectory(configs[0]!))
  })

/* Options shared by commands of `laurel snapshots`. */

export const json = Flag.Boolean("json").pipe(
  Flag.withDescription("Print JSON, for scripts"),
  Flag.withDefault(false),
)

/* The partition of an archive: the id of an archive does not name it. */

/**
 * The partition that has archive `id`, on this machine or in the bucket. A single partition is
 * returned unchecked.
 */
export const partitionOfArchive = Effect.fnUntraced(function* (
  configs: ReadonlyArray<Config>,
  id: string,
): Effect.fn.Return<Config, CommandFailed> {
  if (configs.length === 1) return configs[0]!
  const search = forEachPartition(configs, "ignored", (config) =>
    Effect.gen(function* () {
      const archives = yield* archivesHere(config, yield* archiveSettings(config))
      return archives.some((archive) => archive.id === id) ? [config] : []
    }),
  )
  const here = yield* hereOrElsewhere(configs, id, search)
  const found =
    here.flat().length > 0
      ? here.flat()
      : yield* Effect.filter(configs, (config) =>
          Effect.map(idsInBucket(config), (ids) => ids.includes(id)),
        )
  if (found.length === 1) return found[0]!
  return found.length === 0
    ? yield* archiveElsewhere(configs, id)
    : yield* commandFailed(
        exitCodes.usage,
        `Partitions ${found.map(partitionNumber).join(" and ")} have an archive ${id}: name one by --partition N.`,
      )
})
