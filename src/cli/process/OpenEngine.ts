/**
 * Everything below HTTP over a data directory: storage, engine, accounts, webhooks.
 *
 * 1. `openStorage` opens the data directory, in a cluster the partition (`OpenClusterStorage.ts`).
 * 2. `prepareEngine` recovers the engine. A follower in a cluster stays here and takes the records
 *    of the owner.
 * 3. `serve` claims the data, and adds accounts; `deliver` adds webhooks.
 *
 * `EngineFailures.ts` decides what a failure means for the process.
 */
import path from "node:path"
import { Clock, Context, Deferred, Effect, type Scope } from "effect"
import type { Accounts } from "../../accounts/Accounts.ts"
import * as AccountsLive from "../../accounts/AccountsLive.ts"
import type { ApiKeys } from "../../accounts/ApiKeys.ts"
import { OwnPartition } from "../../accounts/OwnPartition.ts"
import { ProjectPartitions, type Projects } from "../../accounts/Projects.ts"
import { bucketOf } from "../../config/BucketSettings.ts"
import { type Config, heartbeatMsOf, partitionNumber, partitionsName } from "../../config/Config.ts"
import type { PartitionPlace } from "../../domain/decide/decideProjects.ts"
import { type DirectoryState, firstPartition, partitionOf } from "../../domain/project/Directory.ts"
import type { LaurelError } from "../../domain/values/Errors.ts"
import { isoTime } from "../../domain/values/isoTime.ts"
import { makeWorkerHost, type WorkerHost } from "../../engine/archive/jobs/WorkerHost.ts"
import { Engine } from "../../engine/Engine.ts"
import { recoverEngine } from "../../engine/EngineLive.ts"
import type { RecoveryProgress, RecoveryReport } from "../../engine/recovery/Recovery.ts"
import type { SharedBounds } from "../../engine/state/EngineState.ts"
import { readMark } from "../../engine/state/SnapshotMark.ts"
import { readLatestTime, refusedAtStart, timeFrom } from "../../engine/time/Clock.ts"
import type { Metrics } from "../../metrics/Metrics.ts"
import { takeRestored } from "../../storage/archive/ArchiveSwap.ts"
import { type DiskError, namesIn } from "../../storage/disk/Disk.ts"
import { nodeDisk } from "../../storage/disk/NodeDisk.ts"
import * as DurableStorage from "../../storage/durable/DurableStorage.ts"
import { lineageName, removeLineage } from "../../storage/durable/LineageFile.ts"
import type { Fold as FoldOf, FollowProgress } from "../../storage/postgres/ClusterStorage.ts"
import type { HasLock } from "../../storage/postgres/PgJournal.ts"
import type { PgSessions } from "../../storage/postgres/PgPool.ts"
import { Broken, Storage, type StorageError } from "../../storage/Storage.ts"
import { DamagedValue } from "../../storage/Values.ts"
import type { DeliveryLog } from "../../webhooks/DeliveryLog.ts"
import * as DispatcherLive from "../../webhooks/DispatcherLive.ts"
import type { SharedDelivery } from "../../webhooks/SharedDelivery.ts"
import { DeliveryStore } from "../../webhooks/store/DeliveryStore.ts"
import { type CommandFailed, commandFailed, exitCodes, refused } from "../output/ExitCode.ts"
import { RestoredTo } from "./DataDirectory.ts"
import { EngineFailures, openFailure, toCommandFailed } from "./EngineFailures.ts"

/* The parts of an open engine. */

/** The processes that run a server's jobs, for all of its partitions: see `WorkerHost`. */
export interface Hosts {
  /** For archives and checks. */
  readonly data: WorkerHost
  /** For the bucket, if there is one: no archive waits for an upload. */
  readonly shipments: WorkerHost | undefined
}

/** Started before a server has state, and ended with the scope. */
export const openHosts = Effect.fnUntraced(function* (
  config: Config,
): Effect.fn.Return<Hosts, never, Scope.Scope> {
  return {
    data: yield* makeWorkerHost({ background: true }),
    shipments:
      bucketOf(config) === undefined ? undefined : yield* makeWorkerHost({ background: true }),
  }
})

/** What the engines of the partitions of a process share. */
export interface SharedParts {
  readonly bounds: SharedBounds
  readonly delivery: SharedDelivery
  readonly sessions: PgSessions
  readonly hosts: Hosts
}

/** The directory of accounts, keys and projects that the partitions of a cluster share. */
export interface SharedDirectory {
  /** The partition. */
  readonly own: number
  /** Where all partitions are now, in order. */
  readonly places: () => ReadonlyArray<PartitionPlace>
  /**
   * The engine with the shared directory in place of its own. Partition 1 publishes the directory
   * until the scope closes.
   */
  readonly join: (engine: Engine["Service"]) => Effect.Effect<Engine["Service"], never, Scope.Scope>
}

/** Checked entries of the database, records caught up from PostgreSQL, or the wait for it. */
type StorageProgress =
  | { readonly stage: "entries" | "catchUp"; readonly done: number; readonly total: number }
  | { readonly stage: "postgres"; readonly why: string }

/** The claim of an owner. */
interface Fence {
  readonly epoch: number
  /** Asks PostgreSQL whether no other server has claimed the data since. */
  readonly isOwner: Effect.Effect<boolean, unknown>
  /**
   * The same for a server that released the partition and continues: it becomes the recorded owner
   * again.
   */
  readonly resume: Effect.Effect<boolean, unknown>
}

export type Fold = FoldOf<StorageError>

/** A storage that was opened. It takes appends once `claim` has ended. */
interface Claimable extends DurableStorage.OpenedStorage {
  /**
   * Makes this server the only writer. `fold` takes all records that the storage does not have yet.
   */
  readonly claim: (fold: Fold) => Effect.Effect<void, StorageError | CommandFailed>
  /** In a cluster, before `claim`. */
  readonly following?: {
    /**
     * `fold` takes the records that the owner has appended since. Fails with `Unavailable` while
     * PostgreSQL does not answer.
     */
    readonly look: (fold: Fold) => Effect.Effect<void, StorageError | CommandFailed>
    readonly progress: () => FollowProgress
    /**
     * The local files are damaged: they get no more writes, and the next opening fills new ones.
     */
    readonly noteDamage: (words: string) => void
  }
}

export interface Opened {
  readonly services: Context.Context<Engine | Accounts | ApiKeys | Projects>
  readonly recovered: RecoveryReport
  /** Delivers webhooks, from now on until the scope closes. */
  readonly deliver: Effect.Effect<DeliveryLog["Service"], CommandFailed, Scope.Scope>
  /** The part of the storage that archives need. */
  readonly source: ArchiveSource
  /**
   * Whether the database was checked before it was opened. If not, it is checked while the server
   * runs.
   */
  readonly isChecked: boolean
  /** Damage of the database was found: ends the process. */
  readonly onDamage: (words: string) => void
}

export interface ArchiveSource
  extends Pick<DurableStorage.OpenedStorage, "position" | "forgetDeadReaders"> {
  /** The time of the oldest data, epoch milliseconds; `undefined`: there is no data yet. */
  readonly since: number | undefined
  /** The clock for the dates of archives, epoch milliseconds. */
  readonly now: () => number
}

/** Progress of an opening: the storage's, or the recovery. */
export type OpenProgress = RecoveryProgress | StorageProgress

/** What an opening reports, and what it shares with the other engines of the process. */
export interface OpenObservers {
  readonly metrics?: Metrics
  readonly onRecovering?: (progress: OpenProgress) => void
  /** In a cluster: this server is the owner now. */
  readonly onClaimed?: (fence: Fence) => void
  /**
   * In a cluster: whether this server has the lock. Without the lock it does not become the owner.
   */
  readonly hasLock?: HasLock
  /** The ids of the archives that are in the bucket; `undefined` without a bucket. */
  readonly shipped?: ReadonlySet<string>
  /** In a cluster: another server has claimed the data. The engine is to be closed. */
  readonly onFenced?: () => void
  /** In a cluster: the owner's copy is damaged. The engine is to be closed, and opened again. */
  readonly onDamaged?: () => void
  /** In a cluster: the parts that all engines of the process share. */
  readonly shared?: SharedParts
  /** In a cluster: the shared directory, for this engine. */
  readonly directory?: SharedDirectory
}

/** An engine that was recovered and takes no commands yet. */
export interface Prepared {
  /**
   * In a cluster: takes the records that the owner has appended since. Fails with `Unavailable` while
   * PostgreSQL does not answer.
   */
  readonly look: Effect.Effect<void, StorageError | CommandFailed>
  /**
   * In a cluster: the last record that the engine has, and the last one that PostgreSQL had at the
   * last look.
   */
  readonly progress: () => FollowProgress
  /** Ends when the engine cannot follow any more. */
  readonly failed: Effect.Effect<Broken>
  /**
   * Makes this server the owner; the engine then takes commands. A last snapshot is taken when the
   * scope closes.
   */
  readonly serve: Effect.Effect<Opened, CommandFailed, Scope.Scope>
}

/* Opening. */

export type Opening = Effect.Effect<Claimable, StorageError | CommandFailed, Scope.Scope>

/** Opens and recovers the data directory of `config`. */
export const prepareEngine = (
  config: Config,
  observers: OpenObservers = {},
): Effect.Effect<Prepared, CommandFailed, Scope.Scope> =>
  Effect.gen(function* () {
    const { onDamaged, onFenced } = observers
    const context = yield* Effect.context<never>()
    const failures = new EngineFailures({ config, context, onDamaged, onFenced })
    let fence: Fence | undefined
    const opened = yield* openStorage(config, {
      ...observers,
      onClaimed: (claimed) => {
        fence = claimed
        failures.isOwner = true
        observers.onClaimed?.(claimed)
      },
    })
    const { following, storage } = opened
    failures.noteDamage = following?.noteDamage
    const { engine, recovered } = yield* failures.noting(
      recover(config, observers, storage, failures.onBroken),
    )
    yield* Effect.addFinalizer(() =>
      fence === undefined ? Effect.ignore(engine.leave) : Effect.void,
    )
    const serve = Effect.gen(function* () {
      const fault = misplaced(config, engine.directory())
      if (fault !== undefined) return yield* commandFailed(exitCodes.refused, fault)
      yield* opened.claim(engine.fold)
      // A failure after the claim ends the process; a failure before it has ended the engine alone.
      if (Deferred.isDoneUnsafe(failures.failed)) {
        return yield* Effect.fail(yield* Deferred.await(failures.failed))
      }
      const served = yield* engine.serve
      yield* Effect.addFinalizer(() => served.drain)
      const { onBroken } = failures
      const parts = { opened, fence, engine: served, recovered: recovered(), onBroken }
      return yield* serveEngine(config, observers, parts)
    })
    return {
      look: following?.look(engine.fold) ?? Effect.void,
      progress: following?.progress ?? (() => ({ lastSequence: 0, seen: 0, isTorn: false })),
      failed: Deferred.await(failures.failed),
      serve: Effect.mapError(failures.noting(serve), (error) => toCommandFailed(config, error)),
    }
  }).pipe(Effect.mapError((error) => toCommandFailed(config, error)))

/** Opens the data directory of `config`; a last snapshot is taken when the scope closes. */
export const openEngine = (
  config: Config,
  observers: OpenObservers = {},
): Effect.Effect<Opened, CommandFailed, Scope.Scope> =>
  Effect.flatMap(prepareEngine(config, observers), ({ serve }) => serve)

/** The code for PostgreSQL is loaded in a cluster only. */
const openStorage = (config: Config, observers: OpenObservers): Opening =>
  config.cluster === undefined
    ? openDirectory(config, observers)
    : openClustered(config, config.cluster, observers)

const openClustered = (config: Config, url: string, observers: OpenObservers): Opening =>
  Effect.flatMap(
    Effect.promise(() => import("./OpenClusterStorage.ts")),
    ({ openPartition }) => openPartition(config, url, observers, checkClock(config)),
  )

/** A data directory outside a cluster. */
const openDirectory = (config: Config, { metrics, onRecovering }: OpenObservers): Opening =>
  Effect.gen(function* () {
    const directory = path.resolve(config.dataDirectory)
    const failed = Effect.mapError((cause: DiskError) => new Broken({ operation: "open", cause }))
    const names = yield* failed(namesIn(nodeDisk, directory))
    if (names.includes(partitionsName)) return yield* needsCluster(directory)
    const opened = yield* DurableStorage.open({
      directory,
      metrics,
      onChecking: (done, total) => onRecovering?.({ stage: "entries", done, total }),
    })
    yield* checkClock(config)(opened.storage)
    const leave = Effect.gen(function* () {
      // The directory gets records that PostgreSQL lacks: a cluster must not treat it as a wrong
      // copy.
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

/** `recovered` has the report once the engine serves. */
const recover = (
  config: Config,
  { metrics, onRecovering, shared }: OpenObservers,
  storage: Storage["Service"],
  onBroken: (broken: Broken) => void,
) => {
  let report!: RecoveryReport
  return recoverEngine({
    durability: config.durability,
    snapshotIntervalMs: config.snapshotIntervalMs,
    heartbeatMs: heartbeatMsOf(config),
    stateBytesMax: config.stateBytesMax,
    historyMs: config.historyMs ?? undefined,
    needed: new DeliveryStore(storage).needed,
    clockJumpMsMax: config.clockJumpMsMax,
    ...(metrics !== undefined && { metrics }),
    ...(onRecovering !== undefined && { onRecovering }),
    ...(shared !== undefined && { shared: shared.bounds }),
    onRecovered: (recovered) => {
      report = recovered
    },
    onBroken,
  }).pipe(
    Effect.provideService(Storage, storage),
    Effect.map((engine) => ({ engine, recovered: () => report })),
  )
}

interface ServedEngine {
  readonly opened: DurableStorage.OpenedStorage
  /** In a cluster. */
  readonly fence: Fence | undefined
  readonly engine: Engine["Service"]
  readonly recovered: RecoveryReport
  readonly onBroken: (broken: Broken) => void
}

/** Puts accounts, and later webhooks, on top of an engine that takes commands. */
const serveEngine = (
  config: Config,
  observers: OpenObservers,
  { engine, onBroken, opened, recovered }: ServedEngine,
): Effect.Effect<Opened, CommandFailed | StorageError, Scope.Scope> =>
  Effect.gen(function* () {
    const { storage } = opened
    yield* Effect.mapError(beginDirectory(config, engine), refused)
    // Only the schedule of archives depends on it: PostgreSQL may be away.
    const since = yield* Effect.orElseSucceed(
      timeFrom(storage, yield* storage.firstSequence),
      () => undefined,
    )
    let restoredTo: number | undefined
    const ended = Effect.map(endSessions(engine), () => {
      restoredTo = storage.lastSequence
    })
    yield* takeRestored(nodeDisk, config.dataDirectory, ended).pipe(
      Effect.mapError((error) =>
        error._tag === "LaurelError"
          ? refused(error)
          : new Broken({ operation: "open", cause: error }),
      ),
    )
    const { directory } = observers
    const own = yield* directory?.join(engine) ?? Effect.succeed(engine)
    const accounts = yield* AccountsLive.make.pipe(
      Effect.provideService(Engine, own),
      Effect.provideService(OwnPartition, directory?.own),
      Effect.provideService(ProjectPartitions, () => directory?.places()),
    )
    const services = Context.add(accounts, Engine, own).pipe(Context.add(RestoredTo, restoredTo))
    const deliver = DispatcherLive.make({
      allowed: config.webhookAllowedRanges,
      schedule: config.webhookRetrySchedule,
      retentionMs: config.webhookRetentionMs,
      pendingMax: config.webhookPendingMax,
      logMax: config.webhookLogMax,
      ...(observers.metrics !== undefined && { metrics: observers.metrics }),
      ...(observers.shared !== undefined && { shared: observers.shared.delivery }),
      onBroken,
    }).pipe(
      Effect.provide(Context.add(services, Storage, storage)),
      Effect.mapError((error) => openFailure(config.dataDirectory, error)),
    )
    const onDamage = (words: string) =>
      onBroken(new Broken({ operation: "check", cause: new DamagedValue(words) }))
    const { isChecked } = opened
    const source = { ...opened, since, now: engine.now }
    return { services, recovered, deliver, isChecked, onDamage, source }
  })

/** After a restore, sessions that had ended and links that were used must not work again. */
const endSessions = (engine: Engine["Service"]): Effect.Effect<void, LaurelError> =>
  Effect.gen(function* () {
    const { invitations, sessions } = yield* engine.readDirectory
    if (sessions.size === 0 && invitations.size === 0) return
    yield* engine.askDirectory({ kind: "endAllSessions", by: "operator" })
    yield* Effect.logInfo("The data was restored: all sessions of the dashboard have ended").pipe(
      Effect.annotateLogs({ sessions: sessions.size, links: invitations.size }),
    )
  })

export type ClockCheck = (
  storage: Storage["Service"],
) => Effect.Effect<void, StorageError | CommandFailed>

/**
 * Fails if the machine's clock is further ahead of the newest record than the settings allow,
 * before anything is dated by the clock.
 */
const checkClock = ({ clockJumpMsMax }: Config): ClockCheck =>
  Effect.fnUntraced(function* (storage) {
    const { at } = yield* readMark(storage)
    const latest = yield* readLatestTime(storage, at, clockJumpMsMax)
    const wall = yield* Clock.currentTimeMillis
    if (latest === undefined || refusedAtStart(latest, wall, clockJumpMsMax) === 0) return
    const days = Math.floor((wall - latest) / 86_400_000)
    return yield* commandFailed(
      exitCodes.configuration,
      `The machine's clock shows ${isoTime(wall)}, but the newest record is from ${isoTime(latest)}, ${days} days earlier. Nothing was changed.`,
      `If the clock is wrong, set it. If it is right, start once with LAUREL_CLOCK_JUMP_MAX="${days + 1} days".`,
    )
  })

/* The directory of projects in a data directory, and the partition that the data belongs to. */

const namesShown = 5

/**
 * Why the data cannot be served with this configuration; `undefined`: it can. Decided before
 * anything is written.
 */
export const misplaced = (
  config: Config,
  { partition, projects }: DirectoryState,
): string | undefined => {
  if (partition !== undefined && partitionNumber(config) === firstPartition) {
    return `This is the data directory of partition ${partition} of a cluster. Its projects and keys are in the data directory of partition 1.`
  }
  if (config.cluster !== undefined) return undefined
  const elsewhere = [...projects.values()].filter((each) => partitionOf(each) !== firstPartition)
  if (elsewhere.length === 0) return undefined
  const names = elsewhere.slice(0, namesShown).map(({ name }) => name)
  const more = elsewhere.length > namesShown ? ` and ${elsewhere.length - namesShown} more` : ""
  return `This is the data directory of partition 1 of a cluster. The data of ${names.join(", ")}${more} are in other partitions. With LAUREL_CLUSTER set, \`laurel cluster gather DIRECTORY\` merges all projects into one data directory.`
}

/**
 * Records the number of the partition in its directory, except for partition 1. Once, since each
 * record costs a snapshot.
 */
const beginDirectory = (
  config: Config,
  engine: Engine["Service"],
): Effect.Effect<void, LaurelError> => {
  const partition = partitionNumber(config)
  if (partition === firstPartition) return Effect.void
  return Effect.flatMap(engine.readDirectory, (directory) =>
    directory.partition === partition
      ? Effect.void
      : Effect.asVoid(engine.askDirectory({ kind: "beginPartition", partition })),
  )
}
