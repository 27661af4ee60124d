/**
 * `laurel snapshots restore`. It holds the directory's lock throughout. The restored data is built and verified beside the
 * current data; then the two are swapped (`ArchiveSwap`). If the process dies, the next opener of the directory completes or
 * discards the swap.
 */
import { Console, Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import type { Config } from "../../config/Config.ts"
import { partitionNumber } from "../../config/PartitionConfig.ts"
import { firstPartition } from "../../domain/project/Directory.ts"
import { isoTime, parseIsoTime } from "../../domain/values/isoTime.ts"
import type { RestoreTarget } from "../../engine/archive/RestorePlan.ts"
import { replacedIn } from "../../storage/archive/ArchiveSwap.ts"
import { nodeDisk } from "../../storage/disk/NodeDisk.ts"
import { confirmation } from "../output/confirmation.ts"
import { commandFailed, exitCodes } from "../output/ExitCode.ts"
import { diskFailure } from "../output/JobWords.ts"
import { restoredWords } from "../output/RestoreWords.ts"
import { archiveSettings, archivesHere } from "../process/ArchiveSettings.ts"
import { idsInBucket } from "../process/BucketAccess.ts"
import { projectInCluster } from "../process/ClusterProjects.ts"
import { requireNoServer, tellDirectory } from "../process/DataDirectory.ts"
import { comparisonWords, type KeyComparison } from "../process/KeyComparison.ts"
import { loadConfig, serverFileFolder } from "../process/LoadConfig.ts"
import { loggingLayer } from "../process/Logging.ts"
import { planFor, type Restored, type RestoreWish, takeBack } from "../process/Restore.ts"
import { partitionOfArchive } from "./archivePartition.ts"
import {
  agreeOnPartition,
  forEachPartition,
  type GivenPartition,
  isSpread,
  namedPartitions,
  onePartition,
  partitionFlag,
  partitionMember,
  partitionPrefix,
  partitionsOf,
} from "./partitionFlag.ts"
import { json } from "./SnapshotFlags.ts"

const newest = "newest"

const id = Argument.String("ID").pipe(
  Argument.withDescription(
    "Archive to start from, as `laurel snapshots list` shows it, or `newest`; one that is in the bucket alone is fetched. Default with --to-sequence or --to-time: the newest one before that point. Or the name `replaced-…` of data that a restore replaced",
  ),
  Argument.optional,
)

const toSequence = Flag.String("to-sequence").pipe(
  Flag.withMetavar("N|last"),
  Flag.withDescription(
    "Replay the journal after the archive up to record N, or up to its last record",
  ),
  Flag.filterMap(
    (text): Option.Option<RestoreTarget> => {
      if (text === "last") return Option.some({ kind: "last" })
      const sequence = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
      return Number.isSafeInteger(sequence)
        ? Option.some({ kind: "sequence", sequence })
        : Option.none()
    },
    () => "a record is a whole number, or last",
  ),
  Flag.optional,
)

const toTime = Flag.String("to-time").pipe(
  Flag.withMetavar("TIME"),
  Flag.withDescription(
    "Replay the journal after the archive up to this time, such as 2026-11-21T10:00:00Z",
  ),
  Flag.filterMap(
    (text): Option.Option<RestoreTarget> =>
      Option.map(Option.fromUndefinedOr(parseIsoTime(text)), (at) => ({ kind: "time", at })),
    () => "a time has a date and a zone, such as 2026-11-21T10:00:00Z or 2026-11-21T11:00:00+01:00",
  ),
  Flag.optional,
)

const yes = Flag.Boolean("yes").pipe(
  Flag.withAlias("y"),
  Flag.withDescription("Do not ask for confirmation"),
  Flag.withDefault(false),
)

const project = Flag.String("project").pipe(
  Flag.withMetavar("NAME"),
  Flag.withDescription(
    "Restore only this project, both environments; its keys and everything else stay unchanged",
  ),
  Flag.optional,
)

/** The restore that the options describe; fails when they exclude each other. */
const targetOf = (given: {
  readonly id: Option.Option<string>
  readonly project: Option.Option<string>
  readonly toSequence: Option.Option<RestoreTarget>
  readonly toTime: Option.Option<RestoreTarget>
}) =>
  Effect.suspend(() => {
    const faults: Array<string> = []
    if (Option.isSome(given.toSequence) && Option.isSome(given.toTime)) {
      faults.push("--to-sequence and --to-time exclude each other.")
    }
    const isReplaced = Option.exists(given.id, (id) => id.startsWith("replaced-"))
    const target = Option.orElse(given.toSequence, () => given.toTime)
    if (isReplaced && (Option.isSome(target) || Option.isSome(given.project))) {
      faults.push(
        "Replaced data is restored as it is: do not use --to-sequence, --to-time or --project.",
      )
    }
    const toLast = Option.exists(target, ({ kind }) => kind === "last")
    if (Option.isSome(given.project) && toLast) {
      faults.push("--project needs a record before the last one.")
    }
    if (Option.isNone(given.id) && Option.isNone(target)) {
      faults.push("Name an archive, or set --to-sequence or --to-time.")
    }
    return faults.length > 0
      ? Effect.fail(commandFailed(exitCodes.usage, ...faults))
      : Effect.succeed(Option.getOrElse(target, (): RestoreTarget => ({ kind: "archive" })))
  })

/** Plans all that is meant, asks once, and restores one after another. */
const restore = Effect.fnUntraced(function* (
  configs: ReadonlyArray<Config>,
  wish: RestoreWish,
  yes: boolean,
) {
  const several = configs.length > 1
  const planned = yield* forEachPartition(configs, "told", (config) =>
    Effect.gen(function* () {
      // It may be that the others were made later.
      if (several && (yield* hasNoArchive(config))) {
        return yield* commandFailed(exitCodes.noData, "It has no archive and stays as it is.")
      }
      return yield* planFor(config, wish)
    }),
  )
  for (const { config, words } of planned) {
    for (const line of words) yield* Console.error(`${partitionPrefix(config)}${line}`)
  }
  const isFirstAlone = planned.length === 1 && partitionNumber(configs[0]!) === firstPartition
  if (isFirstAlone && wish.project === undefined && isSpread(configs[0]!)) {
    yield* Console.error(forgettingWords)
  }
  if (!yes) yield* confirmation
  const runs = new Map(planned.map(({ config, run }) => [config, run]))
  return yield* forEachPartition([...runs.keys()], "failure", (config) => runs.get(config)!)
})

const forgettingWords =
  "Partition 1 has the accounts, keys and projects of all partitions. Projects created after that record will be lost if they are in partition 1; others will be archived, without keys. `laurel cluster install` lists them before it replaces anything."

const hasNoArchive = (config: Config) =>
  Effect.gen(function* () {
    const here = yield* Effect.catchIf(
      archivesHere(config, yield* archiveSettings(config)),
      ({ exitCode }) => exitCode === exitCodes.noData,
      () => Effect.succeed([]),
    )
    return here.length === 0 && (yield* idsInBucket(config)).length === 0
  })

const tellCluster = (configs: ReadonlyArray<Config>): Effect.Effect<void> => {
  const [first] = configs
  if (first?.cluster === undefined) return Effect.void
  const which = configs.length > 1 ? "all" : partitionNumber(first)
  const option = isSpread(first) ? ` --partition ${which}` : ""
  return Console.error(
    `PostgreSQL still has the replaced data: to install the restored data, run \`laurel cluster install${option}\`.`,
  )
}

const tellKeys = (keys: KeyComparison): Effect.Effect<void> =>
  Console.error(comparisonWords(keys).join("\n"))

/** The partitions that are meant. */
const placesOf = Effect.fnUntraced(function* (
  config: Config,
  { id, project, target }: RestoreWish,
  given: GivenPartition,
) {
  if (id !== undefined && id !== newest) {
    return [yield* partitionOfArchive(yield* partitionsOf(config, given), id)]
  }
  const configs =
    project === undefined
      ? yield* namedPartitions(config, given)
      : [yield* onePartition(config, given)]
  return configs.length > 1 && target.kind === "sequence"
    ? yield* commandFailed(
        exitCodes.usage,
        "Each partition numbers its own records: name one by --partition N, or use --to-time.",
      )
    : configs
})

/** The partition that has the folder of this name. */
const holderOf = Effect.fnUntraced(function* (config: Config, name: string, given: GivenPartition) {
  const configs = yield* partitionsOf(config, given)
  const held = yield* Effect.filter(configs, ({ dataDirectory }) =>
    Effect.map(replacedIn(nodeDisk, dataDirectory), (names) => names.includes(name)),
  ).pipe(Effect.mapError(diskFailure))
  return held.length > 1 ? yield* onePartition(config, given) : (held[0] ?? configs[0]!)
})

const tellRestored = Effect.fnUntraced(function* (
  { config, findings, keys, plan, replaced }: Restored,
  json: boolean,
) {
  if (json) {
    const { archive, at, lost, project, sequence, unknown } = plan
    return yield* Console.log(
      JSON.stringify({
        ...partitionMember(config),
        archive: archive.id,
        sequence,
        recordedAt: at === undefined ? null : isoTime(at),
        project: project === undefined ? null : { name: project.name, sequence: project.after },
        replaced: replaced ?? null,
        lost:
          lost === undefined
            ? null
            : { ...lost, firstAt: isoTime(lost.firstAt), lastAt: isoTime(lost.lastAt) },
        unknown: unknown ?? null,
        returnedKeys: keys ?? null,
        counts: findings.counts,
        sums: findings.sums,
      }),
    )
  }
  const words = restoredWords(findings.counts.users ?? 0, plan.sequence, replaced, plan.project)
  yield* Console.log(`${partitionPrefix(config)}${words}`)
  if (keys !== undefined) yield* tellKeys(keys)
})

export const restoreSnapshot = Command.make(
  "restore",
  {
    id,
    toSequence,
    toTime,
    project,
    partition: partitionFlag(
      "restore this partition, or all from their newest archives or to a time. Default: that of the project, or of the archive",
    ),
    yes,
    json,
  },
  Effect.fnUntraced(
    function* ({ json, partition, yes, ...given }) {
      const target = yield* targetOf(given)
      const config = yield* loadConfig
      yield* requireNoServer(config)
      yield* tellDirectory(serverFileFolder(config))
      const id = Option.getOrUndefined(given.id)
      if (id?.startsWith("replaced-")) {
        const holder = yield* holderOf(config, id, partition)
        const back = yield* Effect.scoped(takeBack(holder.dataDirectory, id, yes))
        yield* tellCluster([holder])
        const { counts, sequence, sums } = back.findings
        const replaced = back.replaced ?? null
        const returnedKeys = back.keys
        if (json) {
          const all = { sequence, replaced, returnedKeys, counts, sums }
          return yield* Console.log(JSON.stringify({ ...partitionMember(holder), ...all }))
        }
        yield* Console.log(restoredWords(counts.users ?? 0, sequence, back.replaced))
        return yield* tellKeys(returnedKeys)
      }
      const name = Option.getOrUndefined(given.project)
      const found =
        name !== undefined && isSpread(config)
          ? yield* projectInCluster(config, config.cluster!, name)
          : undefined
      if (found !== undefined) yield* agreeOnPartition(found.config, partition, name!)
      const named = name === undefined ? undefined : { name, ...found?.project }
      const wish: RestoreWish = { id, target, project: named }
      const configs =
        found === undefined ? yield* placesOf(config, wish, partition) : [found.config]
      const restored = yield* Effect.scoped(restore(configs, wish, yes))
      yield* tellCluster(restored.map((each) => each.config))
      for (const each of restored) yield* tellRestored(each, json)
    },
    (effect) => Effect.provide(effect, loggingLayer()),
  ),
).pipe(
  Command.withDescription(
    "Restore an archive, or any later moment that the journal covers, while no server runs. The replaced data is kept, and its name printed",
  ),
  Command.withExamples([
    {
      command: "laurel snapshots restore --to-time 2026-11-21T10:00:00Z",
      description: "Everything as of 10:00 UTC",
    },
    {
      command: "laurel snapshots restore --project shop --to-time 2026-11-21T10:00:00Z",
      description: "One project as of 10:00 UTC; other projects stay unchanged",
    },
    {
      command: "laurel snapshots restore newest --partition all",
      description: "A whole cluster from its newest archives; then `laurel cluster install`",
    },
    {
      command: "laurel snapshots restore --to-sequence last",
      description: "Rebuild the snapshot from an archive and the journal, without loss",
    },
  ]),
)
