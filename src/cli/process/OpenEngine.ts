/**
 * Everything below HTTP over a data directory: storage, engine, accounts; and what it means for the process
 * when one of them fails.
 */
import { Cause, Clock, Context, Deferred, Effect, Predicate, type Scope } from "effect"
import type { Accounts } from "../../accounts/Accounts.ts"
import * as AccountsLive from "../../accounts/AccountsLive.ts"
import type { ApiKeys } from "../../accounts/ApiKeys.ts"
import { OwnPartition } from "../../accounts/OwnPartition.ts"
import { ProjectPartitions, type Projects } from "../../accounts/Projects.ts"
import { type Config, heartbeatMsOf, partitionNumber } from "../../config/Config.ts"
import { type DirectoryState, firstPartition, partitionOf } from "../../domain/project/Directory.ts"
import type { LaurelError } from "../../domain/values/Errors.ts"
import { isoTime } from "../../domain/values/isoTime.ts"
import { Engine } from "../../engine/Engine.ts"
import { recoverEngine } from "../../engine/EngineLive.ts"
import type { RecoveryProgress, RecoveryReport } from "../../engine/recovery/Recovery.ts"
import { readMark } from "../../engine/state/SnapshotMark.ts"
import { readLatestTime, refusedAtStart } from "../../engine/time/Clock.ts"
import type { Metrics } from "../../metrics/Metrics.ts"
import { takeRestored } from "../../storage/archive/ArchiveSwap.ts"
import { isInUse } from "../../storage/disk/DirectoryLock.ts"
import { DiskError, isUnreadable } from "../../storage/disk/Disk.ts"
import { nodeDisk } from "../../storage/disk/NodeDisk.ts"
import type { OpenedStorage } from "../../storage/durable/DurableStorage.ts"
import { NoAddressSpace } from "../../storage/lmdb/addressSpace.ts"
import { rebuildHint } from "../../storage/lmdb/environment.ts"
import type { FollowProgress } from "../../storage/postgres/ClusterStorage.ts"
import type { HasLock } from "../../storage/postgres/PgJournal.ts"
import {
  Broken,
  Damaged,
  Defect,
  Fenced,
  isDamagedHere,
  Newer,
  Storage,
  type StorageError,
} from "../../storage/Storage.ts"
import { DamagedValue } from "../../storage/Values.ts"
import type { DeliveryLog } from "../../webhooks/DeliveryLog.ts"
import * as DispatcherLive from "../../webhooks/DispatcherLive.ts"
import { DeliveryStore } from "../../webhooks/store/DeliveryStore.ts"
import { type CommandFailed, commandFailed, exitCodes, refused } from "../output/ExitCode.ts"
import { cannotUse, unreadable } from "../output/JobWords.ts"
import { RestoredTo } from "./DataDirectory.ts"
import { type Fence, openStorage, type StorageProgress } from "./OpenStorage.ts"
import type { SharedDirectory, SharedParts } from "./SharedParts.ts"

/* The directory of projects of a data directory, as its place in a cluster, or outside, needs it. */

const namesShown = 5

/** Why the data cannot be served with this configuration; `undefined`: it can. Decided before anything is written. */
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

/** Says in the directory which partition this is, where that is not the first: once, since each record costs a snapshot. */
export const beginDirectory = (
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

export interface Opened {
  readonly services: Context.Context<Engine | Accounts | ApiKeys | Projects>
  readonly recovered: RecoveryReport
  /** Delivers webhooks, from now on until the scope closes. */
  readonly deliver: Effect.Effect<DeliveryLog["Service"], CommandFailed, Scope.Scope>
  /** The part of the storage that archives need. */
  readonly source: ArchiveSource
  /** The database was checked before it was opened; else it is to be checked beside the server. */
  readonly isChecked: boolean
  /** Damage of the database was found: ends the process. */
  readonly onDamage: (words: string) => void
}

export interface ArchiveSource extends Pick<OpenedStorage, "position" | "forgetDeadReaders"> {
  /** Since when there is data, epoch milliseconds; `undefined`: there is none yet. */
  readonly since: number | undefined
  /** The clock for the dates of archives, epoch milliseconds. */
  readonly now: () => number
}

/** Progress of an opening: the storage's, or the recovery. */
export type OpenProgress = RecoveryProgress | StorageProgress

/** Receives the progress. */
export interface OpenObservers {
  readonly metrics?: Metrics
  readonly onRecovering?: (progress: OpenProgress) => void
  /** In a cluster: this server is the owner now. */
  readonly onClaimed?: (fence: Fence) => void
  /** In a cluster: without the lock, this server does not become the owner. */
  readonly hasLock?: HasLock
  /** The ids of the archives that are in the bucket; `undefined` without a bucket. */
  readonly shipped?: ReadonlySet<string>
  /** In a cluster: another server has claimed the data. The engine is to be closed. */
  readonly onFenced?: () => void
  /** In a cluster: the owner's copy is damaged. The engine is to be closed, and opened again. */
  readonly onDamaged?: () => void
  /** In a cluster: of all engines of the process. */
  readonly shared?: SharedParts
  /** In a cluster: how this one's engine takes part in the directory that they share. */
  readonly directory?: SharedDirectory
}

/** An engine that was recovered and takes no commands yet. */
export interface Prepared {
  /** In a cluster: takes over what the owner has appended since. Fails with `NoSpace` while PostgreSQL does not answer. */
  readonly look: Effect.Effect<void, StorageError | CommandFailed>
  /** In a cluster: the last record that the engine has, and the last one that PostgreSQL had at the last look. */
  readonly progress: () => FollowProgress
  /** Ends when the engine cannot follow any more. */
  readonly failed: Effect.Effect<Broken>
  /** Makes this server the owner, and the engine take commands. A last snapshot is taken when the scope closes. */
  readonly serve: Effect.Effect<Opened, CommandFailed, Scope.Scope>
}

/** Opens and recovers the data directory of `config`. */
export const prepareEngine = (
  config: Config,
  observers: OpenObservers = {},
): Effect.Effect<Prepared, CommandFailed, Scope.Scope> =>
  Effect.gen(function* () {
    const context = yield* Effect.context<never>()
    const failed = yield* Deferred.make<Broken>()
    let fence: Fence | undefined
    let isDamaged = false
    const onBroken = (broken: Broken) => {
      // What follows from the damage.
      if (isDamaged) return
      if (broken.cause instanceof Fenced) {
        observers.onFenced?.()
        return
      }
      if (noteDamage(broken) && fence !== undefined) {
        observers.onDamaged?.()
        return
      }
      if (opened.following !== undefined && fence === undefined) {
        Deferred.doneUnsafe(failed, Effect.succeed(broken))
        return
      }
      Effect.runSyncWith(context)(logBroken(broken))
      // The state of the disk is unknown: no last snapshot.
      process.exit(exitCodeOf(broken))
    }
    /** Whether it is that of a copy, which the next opening fills again. */
    const noteDamage = (error: unknown): boolean => {
      if (opened.following === undefined || !isDamagedHere(error)) return false
      isDamaged = true
      opened.following.noteDamage(error.cause.message)
      Effect.runSyncWith(context)(
        Effect.annotateLogs(
          Effect.logError(
            "The local copy of a partition is damaged; it will be moved aside and filled again from PostgreSQL",
          ),
          { partition: partitionNumber(config), cause: error.message },
        ),
      )
      return true
    }
    const noting = <A, E, R>(use: Effect.Effect<A, E, R>): Effect.Effect<A, E | CommandFailed, R> =>
      Effect.mapError(use, (error) =>
        noteDamage(error)
          ? commandFailed(exitCodes.cannotWrite, `The local copy is damaged: ${error}`)
          : error,
      )
    const opened = yield* openStorage(config, {
      metrics: observers.metrics,
      onRecovering: observers.onRecovering ?? (() => {}),
      beforeUse: (storage) => believeClock(storage, config.clockJumpMsMax),
      onFenced: observers.onFenced ?? (() => {}),
      shipped: observers.shipped,
      sessions: observers.shared?.sessions,
      hosts: observers.shared?.hosts,
      ...(observers.hasLock !== undefined && { hasLock: observers.hasLock }),
      onClaimed: (claimed) => {
        fence = claimed
        observers.onClaimed?.(claimed)
      },
    })
    const { storage } = opened
    let recovered!: RecoveryReport
    const engine = yield* noting(
      recoverEngine({
        durability: config.durability,
        snapshotIntervalMs: config.snapshotIntervalMs,
        heartbeatMs: heartbeatMsOf(config),
        residentUsersMax: config.residentUsersMax,
        needed: new DeliveryStore(storage).needed,
        clockJumpMsMax: config.clockJumpMsMax,
        ...(observers.metrics !== undefined && { metrics: observers.metrics }),
        ...(observers.onRecovering !== undefined && { onRecovering: observers.onRecovering }),
        ...(observers.shared !== undefined && { shared: observers.shared.bounds }),
        onRecovered: (report) => {
          recovered = report
        },
        onBroken,
      }).pipe(Effect.provideService(Storage, storage)),
    )
    yield* Effect.addFinalizer(() =>
      fence === undefined ? Effect.ignore(engine.leave) : Effect.void,
    )
    const serve = Effect.gen(function* () {
      const fault = misplaced(config, engine.directory())
      if (fault !== undefined) return yield* commandFailed(exitCodes.refused, fault)
      yield* opened.claim(engine.fold)
      // From the claim on, a failure ends the process; one before it has ended a part of the engine alone.
      if (Deferred.isDoneUnsafe(failed)) return yield* Effect.fail(yield* Deferred.await(failed))
      const served = yield* engine.serve
      yield* Effect.addFinalizer(() => served.drain)
      return yield* serveEngine(config, observers, {
        opened,
        fence,
        engine: served,
        recovered,
        onBroken,
      })
    })
    return {
      look: opened.following?.look(engine.fold) ?? Effect.void,
      progress: opened.following?.progress ?? (() => ({ lastSequence: 0, seen: 0, isTorn: false })),
      failed: Deferred.await(failed),
      serve: Effect.mapError(noting(serve), (error) => toCommandFailed(config, error)),
    }
  }).pipe(Effect.mapError((error) => toCommandFailed(config, error)))

/** Opens the data directory of `config`; a last snapshot is taken when the scope closes. */
export const openEngine = (
  config: Config,
  observers: OpenObservers = {},
): Effect.Effect<Opened, CommandFailed, Scope.Scope> =>
  Effect.flatMap(prepareEngine(config, observers), ({ serve }) => serve)

const toCommandFailed = (
  config: Config,
  error: StorageError | Fenced | CommandFailed,
): CommandFailed =>
  error._tag === "CommandFailed" ? error : openFailure(config.dataDirectory, error)

interface ServedEngine {
  readonly opened: OpenedStorage
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
  { engine, fence, onBroken, opened, recovered }: ServedEngine,
): Effect.Effect<Opened, CommandFailed | StorageError, Scope.Scope> =>
  Effect.gen(function* () {
    const { storage } = opened
    yield* Effect.mapError(beginDirectory(config, engine), refused)
    const since = (yield* readMark(storage)).journal[0]?.at
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
      Effect.provideService(ProjectPartitions, () =>
        fence?.spreadsProjects === true ? directory?.places() : undefined,
      ),
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

/** After a restore nobody is signed in by a session that had ended, or invited by a link that was used. */
const endSessions = (engine: Engine["Service"]): Effect.Effect<void, LaurelError> =>
  Effect.gen(function* () {
    const { invitations, sessions } = yield* engine.readDirectory
    if (sessions.size === 0 && invitations.size === 0) return
    yield* engine.askDirectory({ kind: "endAllSessions", by: "operator" })
    yield* Effect.logInfo("The data was restored: all sessions of the dashboard have ended").pipe(
      Effect.annotateLogs({ sessions: sessions.size, links: invitations.size }),
    )
  })

/** Fails where the machine's clock is further ahead of the newest record than is believed: nothing is dated by it. */
const believeClock = Effect.fnUntraced(function* (
  storage: Storage["Service"],
  jumpMsMax: number,
): Effect.fn.Return<void, StorageError | CommandFailed> {
  const { at } = yield* readMark(storage)
  const latest = yield* readLatestTime(storage, at, jumpMsMax)
  const wall = yield* Clock.currentTimeMillis
  if (latest === undefined || refusedAtStart(latest, wall, jumpMsMax) === 0) return
  const days = Math.floor((wall - latest) / 86_400_000)
  return yield* commandFailed(
    exitCodes.configuration,
    `The machine's clock shows ${isoTime(wall)}, but the newest record is from ${isoTime(latest)}, ${days} days earlier. Nothing was changed.`,
    `If the clock is wrong, set it. If it is right, start once with LAUREL_CLOCK_JUMP_MAX="${days + 1} days".`,
  )
})

/** Stored bytes are not what was written: a restart would come upon them again. */
const isDamage = ({ cause }: Broken): boolean => cause instanceof Damaged

const exitCodeOf = (broken: Broken): number => {
  if (isDamage(broken)) return exitCodes.damagedData
  return broken.cause instanceof Defect ? exitCodes.defect : exitCodes.diskFailed
}

const wordsOf = (broken: Broken): string => {
  if (broken.cause instanceof Defect) {
    return "A defect in Laurel stopped the process. A restart recovers all acknowledged writes. Please report this log line"
  }
  if (broken.cause instanceof DamagedValue) {
    return `The database is damaged; the process stops. ${rebuildHint}`
  }
  return isDamage(broken)
    ? "The journal is damaged; the process stops. The next start prints the last intact record and the remedy"
    : "The disk failed; the process stops. A restart recovers all acknowledged writes"
}

const logBroken = (broken: Broken): Effect.Effect<void> => {
  const { cause, operation } = broken
  const words = wordsOf(broken)
  return cause instanceof Defect
    ? Effect.annotateLogs(Effect.logFatal(words, Cause.die(cause.cause)), { operation })
    : Effect.annotateLogs(Effect.logFatal(words), { operation, cause: String(cause) })
}

/** Why a data directory could not be opened, for the operator. */
const openFailure = (directory: string, error: StorageError | Fenced): CommandFailed => {
  if (error._tag === "Fenced") return commandFailed(exitCodes.unavailable, error.message)
  if (error._tag === "NoSpace") {
    return commandFailed(
      exitCodes.cannotWrite,
      `No space left for the data directory ${directory}.`,
    )
  }
  const words = error.cause instanceof Error ? error.cause.message : String(error.cause)
  // Of a class that is loaded in a cluster alone: PostgreSQL refused a statement, and says why.
  if (Predicate.isTagged(error.cause, "PgFailure")) {
    return commandFailed(exitCodes.unavailable, words)
  }
  if (error.cause instanceof Fenced) return commandFailed(exitCodes.unavailable, words)
  if (error.cause instanceof NoAddressSpace) return commandFailed(exitCodes.configuration, words)
  if (isInUse(error)) return commandFailed(exitCodes.inUse, words)
  if (error.cause instanceof Newer) {
    return commandFailed(
      exitCodes.damagedData,
      `${words}. Nothing was changed. Start that version, or restore an archive from before the upgrade.`,
    )
  }
  if (error.cause instanceof DiskError && isUnreadable(error.cause)) {
    return unreadable(error.cause.path)
  }
  if (error.operation === "lock" || error.cause instanceof DiskError) {
    return cannotUse(directory, error.cause)
  }
  const more = error.cause instanceof DamagedValue ? `. ${rebuildHint}` : ""
  return commandFailed(
    exitCodes.damagedData,
    `The data directory ${directory} is damaged: ${words}${more}`,
  )
}
