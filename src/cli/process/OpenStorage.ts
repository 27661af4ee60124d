/**
 * The storage that the settings ask for: a data directory, or one that follows PostgreSQL. The code for PostgreSQL
 * is loaded for the latter alone.
 */
import path from "node:path"
import { Effect, Fiber, Result, type Scope } from "effect"
import {
  archivesIn,
  type Config,
  clusterDirectory,
  isKeptElsewhere,
  partitionNumber,
  partitionsName,
} from "../../config/Config.ts"
import { firstPartition } from "../../domain/project/Directory.ts"
import type { ReadinessState } from "../../http/server/Readiness.ts"
import { limits } from "../../Limits.ts"
import type { Metrics } from "../../metrics/Metrics.ts"
import { isGood, listArchives } from "../../storage/archive/ArchiveCatalog.ts"
import { type DiskError, isMissing } from "../../storage/disk/Disk.ts"
import { nodeDisk } from "../../storage/disk/NodeDisk.ts"
import * as DurableStorage from "../../storage/durable/DurableStorage.ts"
import { lineageName, removeLineage } from "../../storage/durable/LineageFile.ts"
import type { Fold as FoldOf, FollowProgress } from "../../storage/postgres/ClusterStorage.ts"
import type { Outdated } from "../../storage/postgres/OpenCopy.ts"
import type { Refused } from "../../storage/postgres/Patience.ts"
import type { HasLock } from "../../storage/postgres/PgJournal.ts"
import type { PgSessions } from "../../storage/postgres/PgPool.ts"
import { Broken, type Storage, type StorageError } from "../../storage/Storage.ts"
import { type CommandFailed, commandFailed, exitCodes } from "../output/ExitCode.ts"
import type { Hosts } from "./OpenHosts.ts"

/** Checked entries of the database, records caught up from PostgreSQL, or the wait for it. */
export type StorageProgress =
  | { readonly stage: "entries" | "catchUp"; readonly done: number; readonly total: number }
  | { readonly stage: "postgres"; readonly why: string }

/** The claim of an owner. */
export interface Fence {
  readonly epoch: number
  /** Whether all servers of the cluster know that a project may be in any partition. */
  readonly spreadsProjects: boolean
  /** Asks PostgreSQL whether no other server has claimed the data since. */
  readonly isOwner: Effect.Effect<boolean, unknown>
  /** The same of a server that gave the data away and goes on: it is the owner of record again. */
  readonly resume: Effect.Effect<boolean, unknown>
}

interface StorageObservers {
  readonly metrics: Metrics | undefined
  readonly onRecovering: (progress: StorageProgress) => void
  /** A failure ends the start before anything depends on it: in a cluster, before this server takes over. */
  readonly beforeUse: (
    storage: Storage["Service"],
  ) => Effect.Effect<void, StorageError | CommandFailed>
  readonly onFenced: () => void
  /** The ids of the archives that are in the bucket; `undefined` without a bucket. */
  readonly shipped: ReadonlySet<string> | undefined
  readonly onClaimed?: (fence: Fence) => void
  readonly hasLock?: HasLock
  /** In a cluster: those of the process; `undefined`: the storage has its own. */
  readonly sessions: PgSessions | undefined
  /** In a cluster: those of the process, for a copy that an archive fills. */
  readonly hosts: Hosts | undefined
}

type Fold = FoldOf<StorageError>

/** A storage that was opened; it takes appends once `claim` has ended. */
export interface Claimable extends DurableStorage.OpenedStorage {
  /** Makes this server the only one that writes, once `fold` has taken all records that are not in the storage yet. */
  readonly claim: (fold: Fold) => Effect.Effect<void, StorageError | CommandFailed>
  /** In a cluster, before `claim`. */
  readonly following?: {
    /** `fold` takes the records that the owner has appended since. Fails with `NoSpace` while PostgreSQL does not answer. */
    readonly look: (fold: Fold) => Effect.Effect<void, StorageError | CommandFailed>
    readonly progress: () => FollowProgress
    /** The local files are damaged: nothing more is written to them, and the next opening fills others. */
    readonly noteDamage: (words: string) => void
  }
}

type Opening = Effect.Effect<Claimable, StorageError | CommandFailed, Scope.Scope>

export const openStorage = (config: Config, observers: StorageObservers): Opening =>
  config.cluster === undefined
    ? openEmbedded(config, observers)
    : openClustered(config, config.cluster, observers)

const openEmbedded = (
  config: Config,
  { beforeUse, metrics, onRecovering }: StorageObservers,
): Opening =>
  Effect.gen(function* () {
    const directory = path.resolve(config.dataDirectory)
    const failed = Effect.mapError((cause: DiskError) => new Broken({ operation: "open", cause }))
    const names = yield* failed(
      Effect.catchIf(nodeDisk.list(directory), isMissing, () => Effect.succeed<Array<string>>([])),
    )
    if (names.includes(partitionsName)) return yield* needsCluster(directory)
    const opened = yield* DurableStorage.open({
      directory,
      metrics,
      onChecking: (done, total) => onRecovering({ stage: "entries", done, total }),
    })
    yield* beforeUse(opened.storage)
    const leave = Effect.gen(function* () {
      // It gets records that PostgreSQL does not have: a cluster must not take it for a copy that went wrong.
      yield* failed(removeLineage(nodeDisk, directory))
      yield* Effect.logInfo("The data directory has left its cluster and keeps all its records")
    })
    return { ...opened, claim: () => (names.includes(lineageName) ? leave : Effect.void) }
  })

/** The directory of a cluster would look empty to a server without one. */
const needsCluster = (directory: string): CommandFailed =>
  commandFailed(
    exitCodes.configuration,
    `The data directory ${directory} belongs to a cluster: set LAUREL_CLUSTER.`,
    `To leave the cluster with all data, stop its servers with SIGTERM. If all projects are in partition 1, set LAUREL_DATA_DIR=${path.join(directory, partitionsName, String(firstPartition))}; otherwise run \`laurel cluster gather DIRECTORY\` with LAUREL_CLUSTER set.`,
  )

const openClustered = (
  config: Config,
  url: string,
  {
    beforeUse,
    hasLock,
    hosts,
    metrics,
    onClaimed,
    onFenced,
    onRecovering,
    sessions,
    shipped,
  }: StorageObservers,
): Opening =>
  Effect.gen(function* () {
    const directory = config.dataDirectory
    const number = partitionNumber(config)
    const [{ follow }, { enterPartition }, { refillCopy }] = yield* Effect.promise(() =>
      Promise.all([
        import("../../storage/postgres/ClusterStorage.ts"),
        import("../../storage/postgres/EnterPartition.ts"),
        import("./RefillCopy.ts"),
      ]),
    )
    if (number === firstPartition) yield* enterPartition(clusterDirectory(config), directory)
    else yield* makePartitionFolder(directory)
    const followed = yield* follow({
      url,
      directory,
      metrics,
      partition: number,
      owner: config.clusterAddress,
      ...(onClaimed !== undefined && { onClaimed }),
      ...(hasLock !== undefined && { hasLock }),
      ...(sessions !== undefined && { sessions }),
      ...(isKeptElsewhere(config) && { archives: archivePositions(config, shipped) }),
      refill: refillCopy(config, hosts),
      beforeClaim: beforeUse,
      onFenced,
      onChecking: (done, total) => onRecovering({ stage: "entries", done, total }),
      onCatchingUp: (done, total) => onRecovering({ stage: "catchUp", done, total }),
      onWaiting: (why) => onRecovering({ stage: "postgres", why }),
    })
    return {
      ...followed,
      claim: (fold: Fold) => toCommandFailed(followed.claim(fold)),
      following: {
        look: (fold: Fold) => toCommandFailed(followed.look(fold)),
        progress: followed.progress,
        noteDamage: followed.noteDamage,
      },
    }
  }).pipe(toCommandFailed)

/** What was there without a cluster is the first partition's. */
const makePartitionFolder = (directory: string): Effect.Effect<void, Broken> =>
  Effect.mapError(
    nodeDisk.makeFolder(directory),
    (cause) => new Broken({ operation: "open", cause }),
  )

const toCommandFailed = <A, E, R>(
  opening: Effect.Effect<A, E, R>,
): Effect.Effect<A, Exclude<E, Refused | Outdated> | CommandFailed, R> =>
  Effect.mapError(opening, (error) => {
    const { _tag, words } = error as Refused | Outdated
    if (_tag === "Refused") return commandFailed(exitCodes.configuration, words)
    // Another opening decides what is to be done.
    if (_tag === "Outdated") return commandFailed(exitCodes.unavailable, words)
    return error as Exclude<E, Refused | Outdated>
  })

/** Where the archives end that can be read and that no check found damaged, with a bucket those that it has. */
export const archivePositions = (config: Config, shipped: ReadonlySet<string> | undefined) =>
  listArchives(nodeDisk, archivesIn(config)).pipe(
    Effect.map((archives) =>
      archives
        .filter(isGood)
        .flatMap(({ id, manifest }) =>
          Result.isSuccess(manifest) && (shipped?.has(id) ?? true)
            ? [{ lastSequence: manifest.success.sequence, checksum: manifest.success.checksum }]
            : [],
        ),
    ),
    Effect.orElseSucceed(() => []),
  )

/* Says now and then what a long opening is at. */

/** Ends with the opening: in a cluster the process outlives one that fails. */
export const withProgressLog = <A, E, R>(
  readiness: Pick<ReadinessState, "doing">,
  opening: Effect.Effect<A, E, R>,
): Effect.Effect<A, E, R> =>
  Effect.flatMap(Effect.forkChild(logProgress(readiness)), (log) =>
    Effect.ensuring(opening, Fiber.interrupt(log)),
  )

const logProgress = (readiness: Pick<ReadinessState, "doing">): Effect.Effect<never> =>
  Effect.gen(function* () {
    while (true) {
      yield* Effect.sleep(limits.startLogEveryMs)
      yield* Effect.logInfo("Starting").pipe(Effect.annotateLogs({ doing: readiness.doing }))
    }
  })
