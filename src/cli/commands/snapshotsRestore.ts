/**
 * `laurel snapshots restore`. The command holds the lock of the directory throughout. It builds and
 * verifies the restored data beside the current data, then swaps the two (`ArchiveSwap`). If the
 * process dies, the next opener of the directory completes or discards the swap.
 */

import path from "node:path"
import { Clock, Console, Effect, Option, Result } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { bucketOf } from "../../config/BucketSettings.ts"
import { type Config, partitionNumber } from "../../config/Config.ts"
import { firstPartition } from "../../domain/project/Directory.ts"
import { isoTime, parseIsoTime } from "../../domain/values/isoTime.ts"
import type { Findings } from "../../engine/archive/jobs/Findings.ts"
import type { ReturnedKeys } from "../../engine/archive/jobs/Jobs.ts"
import {
  planRestore,
  type RestorePlan,
  type RestoreTarget,
} from "../../engine/archive/restore/RestorePlan.ts"
import { bytesOf, isGood, type ListedArchive } from "../../storage/archive/ArchiveCatalog.ts"
import { installDraft, replacedIn } from "../../storage/archive/ArchiveSwap.ts"
import { type BucketPlace, bucketName } from "../../storage/bucket/bucketErrors.ts"
import { nodeDisk } from "../../storage/disk/NodeDisk.ts"
import { confirmation } from "../output/confirmation.ts"
import { type CommandFailed, commandFailed, exitCodes } from "../output/ExitCode.ts"
import { diskFailure, jobFailure, withProgressBar } from "../output/JobWords.ts"
import { planWords, restoredWords } from "../output/RestoreWords.ts"
import { amountOf, bytesText, countText } from "../output/Table.ts"
import {
  type ArchiveSettings,
  archiveSettings,
  archivesHere,
  archivesOfBoth,
} from "../process/ArchiveSettings.ts"
import { archivesInBucket, idsInBucket, runWithBucket } from "../process/BucketAccess.ts"
import { projectInCluster } from "../process/ClusterAdmin.ts"
import { attemptJob, runJob } from "../process/CommandJob.ts"
import {
  holdDirectory,
  loadConfig,
  printDirectory,
  projectsIn,
  requireData,
  requireNoServer,
  serverFileFolder,
} from "../process/DataDirectory.ts"
import { loggingLayer } from "../process/Logging.ts"
import {
  agreeOnPartition,
  forEachPartition,
  type GivenPartition,
  isSpread,
  json,
  namedPartitions,
  onePartition,
  partitionFlag,
  partitionMember,
  partitionOfArchive,
  partitionPrefix,
  partitionsOf,
} from "./flags.ts"

/* Keys that had ended in the replaced data, and that the restore has brought back into force. */

/** `unknown` is the reason why keys could not be compared; `keys` and `count` are then empty. */
interface KeyComparison extends ReturnedKeys {
  readonly unknown: string | null
}

/** Compares the data directory with the replaced data. Never fails, since the restore is done. */
const compareKeys = Effect.fnUntraced(function* (
  restored: string,
  replaced: string | undefined,
): Effect.fn.Return<KeyComparison> {
  if (replaced === undefined) return { keys: [], count: 0, unknown: "No data was replaced" }
  const at = yield* Clock.currentTimeMillis
  const compared = yield* Effect.result(attemptJob("returnedKeys", { restored, replaced, at }))
  return Result.isSuccess(compared)
    ? { ...compared.success, unknown: null }
    : { keys: [], count: 0, unknown: compared.failure.detail.replace(/\.$/, "") }
})

/** Lines of advice for the operator. */
const comparisonWords = ({ count, keys, unknown }: KeyComparison): ReadonlyArray<string> => {
  if (unknown !== null) {
    return [
      `${unknown}: whether revoked keys are in force again could not be compared. \`laurel keys list\` shows the keys in force.`,
    ]
  }
  if (count === 0) return ["No key that had ended is in force again."]
  return [
    `${amountOf(count, "key")} that had ended ${count === 1 ? "is" : "are"} in force again. Revoke those that must not be:`,
    ...keys.map(
      ({ environment, hint, id, name, project, was }) =>
        `  ${id}  ${hint}…${name === "" ? "" : `  ${name}`}  (${project}, ${environment}; was ${was})`,
    ),
    ...(count > keys.length ? [`  and ${amountOf(count - keys.length, "more key")}`] : []),
  ]
}

/* The archives from which a restore can start: those of this machine, then those of the bucket. */

type Listed = Effect.Effect<ReadonlyArray<ListedArchive>, CommandFailed>

class RestoreSources {
  readonly #place: BucketPlace | undefined
  readonly #folder: string
  /** The archives of this machine. */
  readonly #here: Listed
  /** The archives of this machine and the bucket, oldest first. */
  readonly #all: Listed

  private constructor(config: Config, settings: ArchiveSettings, inBucket: Listed) {
    this.#place = bucketOf(config)
    this.#folder = settings.folder
    this.#here = archivesHere(config, settings)
    this.#all = Effect.zipWith(this.#here, inBucket, archivesOfBoth)
  }

  static readonly make = (config: Config, settings: ArchiveSettings) =>
    Effect.map(
      Effect.cached(archivesInBucket(config, settings.folder)),
      (inBucket) => new RestoreSources(config, settings, inBucket),
    )

  /** The id of the archive for `wish`, an id or `newest`; `undefined` without a wish. */
  readonly find = Effect.fnUntraced(function* (
    this: RestoreSources,
    wish: string | undefined,
  ): Effect.fn.Return<string | undefined, CommandFailed> {
    const here = yield* this.#here
    const isHere = this.#place === undefined && wish !== "newest"
    if (wish === undefined || isHere || here.some(({ id }) => id === wish)) return wish
    const all = yield* this.#all
    const found = wish === "newest" ? all.findLast(isGood) : all.find(({ id }) => id === wish)
    if (found !== undefined) return found.id
    const words =
      wish === "newest"
        ? "There is no good archive."
        : `Archive ${wish} not found. \`laurel snapshots list\` shows all.`
    return yield* commandFailed(exitCodes.refused, words)
  }).bind(this)

  /**
   * Runs `plan` with the archives of this machine, and if these do not suffice, with those of the
   * bucket as well.
   */
  plan<A>(
    id: string | undefined,
    plan: (archives: ReadonlyArray<ListedArchive>) => Effect.Effect<A, CommandFailed>,
  ): Effect.Effect<A, CommandFailed> {
    return Effect.flatMap(this.#here, (here) => {
      if (this.#place === undefined || here.some((archive) => archive.id === id)) return plan(here)
      const withAll = Effect.flatMap(this.#all, plan)
      if (id !== undefined) return withAll
      const isRefused = ({ exitCode }: CommandFailed) => exitCode === exitCodes.refused
      return Effect.catchIf(plan(here), isRefused, () => withAll)
    })
  }

  /** Where and how archive `id` is fetched; `undefined`: it is on this machine. */
  readonly toFetch = (id: string) =>
    Effect.map(this.#here, (here) => {
      const place = this.#place
      if (place === undefined || here.some((archive) => archive.id === id)) return undefined
      const fetch = runWithBucket(place, "fetch", { archives: this.#folder, id })
      return { from: bucketName(place), fetch }
    })
}

/* The restore of one data directory: planned under its lock, then carried out. */

/** A planned restore that waits for the confirmation. The directory is locked. */
export interface Planned {
  readonly config: Config
  readonly plan: RestorePlan
  readonly words: ReadonlyArray<string>
  readonly run: Effect.Effect<Restored, CommandFailed>
}

export interface Restored {
  readonly config: Config
  readonly plan: RestorePlan
  readonly findings: Findings
  readonly replaced: string | undefined
  /** A restore of one project leaves its keys unchanged, and only partition 1 has keys. */
  readonly keys: KeyComparison | undefined
}

interface RestoreWish {
  /** An archive, or `newest`. */
  readonly id: string | undefined
  readonly target: RestoreTarget
  /** The name, and the id if it is known already. */
  readonly project: { readonly name: string; readonly id?: string } | undefined
}

/** The plan for a data directory, which stays locked for the scope. */
const planFor = Effect.fnUntraced(function* (
  config: Config,
  { id: wish, project: named, target }: RestoreWish,
) {
  const directory = config.dataDirectory
  const settings = yield* archiveSettings(config)
  const sources = yield* RestoreSources.make(config, settings)
  // Before the folder is made: a wrong LAUREL_DATA_DIR leaves nothing behind.
  yield* sources.find(wish)
  yield* Effect.mapError(nodeDisk.makeFolder(directory), diskFailure)
  yield* holdDirectory(directory)
  const id = yield* sources.find(wish)
  const journal = path.join(directory, "journal")
  const project =
    named === undefined
      ? undefined
      : { name: named.name, id: named.id ?? (yield* findProject(directory, named.name)) }
  const plan = yield* sources.plan(id, (archives) =>
    withProgressBar((progress) =>
      planRestore({
        disk: nodeDisk,
        journal,
        archives,
        id,
        target,
        ...(project !== undefined && { project }),
        progress,
      }),
    ).pipe(
      Effect.mapError((error) =>
        error._tag === "JobFailed" ? jobFailure(error) : diskFailure(error),
      ),
    ),
  )
  const { archive } = plan
  const remote = archive === null ? undefined : yield* sources.toFetch(archive.id)
  const words = [...planWords(plan)]
  if (archive !== null && remote !== undefined) {
    const size = bytesText(bytesOf(archive))
    words.push(`The archive (${size}) will be fetched from ${remote.from}.`)
  }
  const run = Effect.andThen(remote?.fetch ?? Effect.void, restorePlan(config, plan))
  const planned: Planned = { config, plan, words, run }
  return planned
})

/** Builds the planned data and swaps it in. */
const restorePlan = Effect.fnUntraced(function* (
  config: Config,
  plan: RestorePlan,
): Effect.fn.Return<Restored, CommandFailed> {
  const directory = config.dataDirectory
  const back = plan.project
  const findings = yield* runJob("restore", {
    directory,
    archive: plan.folder,
    until: plan.sequence,
    project: back === undefined ? null : { id: back.id, name: back.name, after: back.after },
  })
  const at = yield* Clock.currentTimeMillis
  const replaced = yield* Effect.mapError(installDraft(nodeDisk, directory, at), diskFailure)
  const hasKeys = plan.project === undefined && partitionNumber(config) === firstPartition
  const keys = hasKeys ? yield* compareKeys(directory, replaced) : undefined
  return { config, plan, findings, replaced, keys }
})

const findProject = Effect.fnUntraced(function* (directory: string, name: string) {
  yield* requireData(directory)
  const found = (yield* projectsIn(directory)).find((project) => project.name === name)
  return found === undefined
    ? yield* commandFailed(exitCodes.refused, `There is no project ${name}.`)
    : found.id
})

/** Checks the data that an earlier restore replaced, and swaps it back in. */
const takeBack = Effect.fnUntraced(function* (directory: string, name: string, yes: boolean) {
  yield* holdDirectory(directory)
  const names = yield* Effect.mapError(replacedIn(nodeDisk, directory), diskFailure)
  if (!names.includes(name)) {
    return yield* commandFailed(exitCodes.refused, `${name} not found in ${directory}.`)
  }
  const findings = yield* runJob("verifyLive", { directory: path.join(directory, name) })
  const [fault] = findings.faults
  if (fault !== undefined) return yield* commandFailed(exitCodes.damagedData, `${fault}.`)
  yield* Console.error(
    `The replaced data ends at record ${countText(findings.sequence)} and passed its check.`,
  )
  yield* Console.error("The current data will be kept beside it.")
  if (!yes) yield* confirmation
  const at = yield* Clock.currentTimeMillis
  const replaced = yield* Effect.mapError(
    installDraft(nodeDisk, directory, at, { from: name }),
    diskFailure,
  )
  return { findings, keys: yield* compareKeys(directory, replaced), replaced }
})

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

/** The restore that the options describe; fails if options exclude each other. */
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

/** Plans all restores, asks once, and carries them out one after another. */
const restore = Effect.fnUntraced(function* (
  configs: ReadonlyArray<Config>,
  wish: RestoreWish,
  yes: boolean,
) {
  const several = configs.length > 1
  const planned = yield* forEachPartition(configs, "reported", (config) =>
    Effect.gen(function* () {
      // The other partitions may have been made later.
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

/** The partitions to restore. */
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
        archive: archive?.id ?? null,
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
      yield* printDirectory(serverFileFolder(config))
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
