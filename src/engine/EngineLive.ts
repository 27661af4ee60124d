/**
 * The engine in this process: puts actors, group commit, snapshots, recovery and passivation together and
 * offers them as `Engine`. It owns all state above the storage; nothing of it lives outside this scope.
 */
import { Cause, Clock, Effect, Fiber, Layer, type Scope } from "effect"
import { laurelError } from "../domain/Errors.ts"
import type { JournalRecord } from "../domain/Record.ts"
import { replyOf, type UserReply } from "../domain/User.ts"
import { limits } from "../Limits.ts"
import { Broken, Storage, type StorageError } from "../storage/Storage.ts"
import { ActorSystem, type CommitEntry } from "./ActorSystem.ts"
import { type Answered, Asks } from "./Asks.ts"
import { decodeUser } from "./Codec.ts"
import { type Answer, Engine } from "./Engine.ts"
import { type Domain, domain, Environments, newDirectory, type UserActor } from "./Environments.ts"
import { type Durability, type GroupCommit, makeGroupCommit } from "./GroupCommit.ts"
import { fillIdFilter, readActorValue } from "./History.ts"
import { IdempotencyKeys } from "./Idempotency.ts"
import { hashText, IdFilter } from "./IdFilter.ts"
import { RecordTexts } from "./RecordTexts.ts"
import { type RecoveryReport, readMark, recover } from "./Recovery.ts"
import { Residency } from "./Residency.ts"
import { Snapshotter } from "./Snapshotter.ts"

export interface EngineOptions {
  /** `fsync`: an answer means that the record is on disk. `relaxed`: it will be, soon. */
  readonly durability?: Durability
  readonly snapshotIntervalMs?: number
  readonly snapshotSliceEntriesMax?: number
  readonly residentUsersMax?: number
  readonly idlePassivateMs?: number
  readonly sweepIntervalMs?: number
  readonly idFilterBytes?: number
  /** The storage can not be trusted any more: the process must end at once. */
  readonly onBroken: (cause: Broken) => void
  readonly onRecovered?: (report: RecoveryReport) => void
  /** Called with each record when it is durable, in order. */
  readonly onCommitted?: (record: JournalRecord) => void
  readonly domain?: Domain
}

export const makeEngine = Effect.fnUntraced(function* (
  options: EngineOptions,
): Effect.fn.Return<Engine["Service"], StorageError, Storage | Scope.Scope> {
  const storage = yield* Storage
  const clock = yield* Clock.Clock
  const scope = yield* Effect.scope
  const context = yield* Effect.context<never>()
  const runFork = Effect.runForkWith(context)
  const now = () => clock.currentTimeMillisUnsafe()
  let closing = false
  let commit!: GroupCommit<CommitEntry>

  const environments = new Environments(options.domain ?? domain)
  const directory = newDirectory()
  const idempotency = new IdempotencyKeys(storage, now)
  const mark = yield* readMark(storage)
  const texts = new RecordTexts()
  const snapshotter = new Snapshotter({
    storage,
    texts,
    written: Effect.suspend(() => commit.written),
    idempotency,
    now,
    mark,
    sliceEntriesMax: options.snapshotSliceEntriesMax ?? limits.snapshotSliceEntriesMax,
  })
  const residentUsersMax = options.residentUsersMax ?? limits.residentUsersMax
  const residency = new Residency({
    residentUsersMax,
    idlePassivateMs: options.idlePassivateMs ?? limits.idlePassivateMs,
    now,
    forget: ({ subject }) => {
      if (subject.actor === "user")
        environments.of(subject.environment).users.delete(subject.userId)
    },
  })

  const idFilter = new IdFilter(options.idFilterBytes ?? limits.idFilterBytes)
  const actors = new ActorSystem({
    storage,
    clock,
    idFilter,
    commit: () => commit,
    watermark: () => snapshotter.watermark,
    refusal: () => {
      if (closing) return shuttingDown
      if (commit.stalled) return storageUnavailable
      const full = !commit.accepting || snapshotter.pending >= limits.snapshotPendingRecordsMax
      return full ? overloaded : undefined
    },
    admit: () => {
      if (residency.makeRoom()) return undefined
      // What is in the way awaits a snapshot. Until it is there, memory may run over.
      snapshotter.request()
      const most = residentUsersMax + limits.residentUsersOverrunMax
      return residency.size > most ? overloaded : undefined
    },
    onBroken: options.onBroken,
    run: (effect) => {
      const fiber = runFork(effect)
      if (fiber.pollUnsafe() === undefined) Fiber.runIn(fiber, scope)
    },
  })

  const userActor = (environmentId: string, userId: string): UserActor => {
    const environment = environments.of(environmentId)
    let actor = environment.users.get(userId)
    if (actor === undefined) {
      actor = environment.newUser(userId)
      environment.users.set(userId, actor)
      residency.add(actor)
    } else {
      residency.touch(actor)
    }
    return actor
  }

  const report = yield* recover({
    storage,
    environments,
    directory,
    mark,
    userActor,
    replayed: (pending, record) => {
      actors.observe(record.at)
      const { actor, key } = pending
      if (key !== undefined) idFilter.add(hashText(key, actor.idSeed))
      idempotency.committed(record)
      snapshotter.committed(pending)
    },
  })
  options.onRecovered?.(report)

  commit = yield* makeGroupCommit<CommitEntry>({
    durability: options.durability ?? "fsync",
    texts,
    onBroken: options.onBroken,
    onStalled: (entries) => {
      for (const entry of entries) actors.abandon(entry)
    },
    onCommitted: (entries) => {
      for (const entry of entries) {
        const record = entry.record!
        idempotency.committed(record)
        snapshotter.committed(entry)
        options.onCommitted?.(record)
        actors.committed(entry, record)
      }
    },
  })

  yield* forkWatched(options.onBroken, fillIdFilter(storage, idFilter))
  yield* forkWatched(
    options.onBroken,
    Effect.gen(function* () {
      while (true) {
        const interval = options.snapshotIntervalMs ?? limits.snapshotIntervalMs
        yield* Effect.race(Effect.sleep(interval), snapshotter.requested)
        yield* Effect.catchTag(snapshotter.take, "NoSpace", (error) =>
          Effect.logError("No space for a snapshot; the journal keeps everything").pipe(
            Effect.annotateLogs({ operation: error.operation }),
            Effect.andThen(Effect.sleep(limits.noSpaceRetryMs)),
          ),
        )
      }
    }),
  )
  yield* forkWatched(
    options.onBroken,
    Effect.gen(function* () {
      while (true) {
        yield* Effect.sleep(options.sweepIntervalMs ?? limits.sweepIntervalMs)
        residency.sweep(limits.sweepActorsMax)
      }
    }),
  )

  const asks = new Asks(actors, idempotency, options.onBroken)

  const askUser: Engine["Service"]["askUser"] = (environment, { command, userId }, asked) => {
    const actor = () => userActor(environment, userId)
    const answered =
      asked === undefined ? asks.one(actor, command) : asks.once(environment, actor, command, asked)
    return Effect.map(answered, toReply)
  }

  const askProject: Engine["Service"]["askProject"] = (environment, command, asked) => {
    const actor = () => environments.of(environment).project
    const answered =
      asked === undefined || command.kind === "keepBatch"
        ? asks.one(actor, command, asked)
        : asks.once(environment, actor, command, asked)
    return Effect.map(answered, ({ record, replayed }) => ({ reply: record, replayed }))
  }

  const readUser: Engine["Service"]["readUser"] = (environment, userId) =>
    Effect.suspend(() => {
      const actor = environments.of(environment).users.get(userId)
      if (actor?.loaded) {
        residency.touch(actor)
        return Effect.succeed(actor.durable)
      }
      const value = readActorValue(storage, { actor: "user", environment, userId })
      return Effect.mapError(
        Effect.map(value, (body) => (body === undefined ? undefined : decodeUser(body))),
        (broken) => asks.broken(broken),
      )
    })

  const drain = Effect.gen(function* () {
    closing = true
    yield* actors.idle
    yield* Effect.callback<void>((resume) => commit.afterCommit(() => resume(Effect.void)))
    yield* snapshotter.take.pipe(
      Effect.catchTag("NoSpace", () => Effect.logError("No space for the last snapshot")),
      Effect.catchTag("Broken", (broken) => Effect.sync(() => options.onBroken(broken))),
    )
  })

  return Engine.of({
    askUser,
    askUsers: (environment, messages) =>
      asks.many(messages, (userId) => userActor(environment, userId)),
    askProject,
    askDirectory: (command) =>
      Effect.map(
        asks.one(() => directory, command),
        ({ record }) => record,
      ),
    readUser,
    readProject: (environment) => Effect.sync(() => environments.of(environment).project.durable),
    readDirectory: Effect.sync(() => directory.durable),
    readBoard: (environment, { limit, offset }) =>
      Effect.sync(() => environments.of(environment).board.page(offset, limit)),
    readRank: (environment, userId) =>
      Effect.sync(() => environments.of(environment).board.rankOf(userId)),
    reserve: (environment, asked) => asks.reserve(environment, asked),
    drain,
  })
})

const toReply = ({ duplicate, record, replayed }: Answered): Answer<UserReply> => ({
  reply: replyOf(record, duplicate),
  replayed,
})

const shuttingDown = laurelError("shutting_down", "Ask again when the server is back.", {
  retryAfterSeconds: 5,
})
const storageUnavailable = laurelError("storage_unavailable", "Nothing was changed.", {
  retryAfterSeconds: 5,
})
const overloaded = laurelError("overloaded", "Nothing was changed.", { retryAfterSeconds: 1 })

/** Runs beside the engine; a failure or defect is reported. */
const forkWatched = (
  onBroken: (cause: Broken) => void,
  work: Effect.Effect<void, StorageError>,
): Effect.Effect<void, never, Scope.Scope> =>
  work.pipe(
    Effect.catchCause((cause) =>
      Effect.sync(() => {
        if (!Cause.hasInterruptsOnly(cause)) {
          onBroken(new Broken({ operation: "run the engine", cause: Cause.squash(cause) }))
        }
      }),
    ),
    Effect.forkScoped,
    Effect.asVoid,
  )

/** The engine on whatever `Storage` is provided; `drain` runs when the scope closes. */
export const engineLayer = (options: EngineOptions): Layer.Layer<Engine, StorageError, Storage> =>
  Layer.effect(
    Engine,
    Effect.gen(function* () {
      const engine = yield* makeEngine(options)
      yield* Effect.addFinalizer(() => engine.drain)
      return engine
    }),
  )
