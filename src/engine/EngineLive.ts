/**
 * The engine in this process: puts actors, group commit, snapshots, recovery and passivation together and
 * offers them as `Engine`. It owns all state above the storage; nothing of it lives outside this scope.
 */
import { Effect, Fiber, type Scope, Stream } from "effect"
import type { Backfill, UserCommand } from "../domain/record/Record.ts"
import { limits } from "../Limits.ts"
import { Metrics } from "../metrics/Metrics.ts"
import { type Broken, Storage, type StorageError } from "../storage/Storage.ts"
import { ActorCache } from "./actor/ActorCache.ts"
import { ActorSystem } from "./actor/ActorSystem.ts"
import type { CommitEntry } from "./actor/Answers.ts"
import { BatchRoom } from "./actor/BatchRoom.ts"
import { domain, type Environment, Environments, newDirectory } from "./actor/Environments.ts"
import { Requests, toReply } from "./actor/Requests.ts"
import { readColdUser } from "./actor/readColdUser.ts"
import { overloaded, shuttingDown, storageUnavailable } from "./actor/refusals.ts"
import { Backfills } from "./badges/Backfills.ts"
import { BoardWriter } from "./boards/BoardWriter.ts"
import { BoardReader } from "./boards/ReadBoard.ts"
import { CommitPipeline } from "./commit/CommitPipeline.ts"
import { Feed } from "./commit/Feed.ts"
import { type GroupCommit, makeGroupCommit } from "./commit/GroupCommit.ts"
import { AnswerExpiry } from "./dedupe/AnswerExpiry.ts"
import { Deduplicator } from "./dedupe/Deduplicator.ts"
import { IdempotencyKeys } from "./dedupe/Idempotency.ts"
import { IdIndex } from "./dedupe/IdIndex.ts"
import { Engine, type Idempotency, type UserMessage } from "./Engine.ts"
import type { EngineOptions } from "./EngineOptions.ts"
import { Erasures } from "./erasure/Erasures.ts"
import { makeIsErased } from "./erasure/isErased.ts"
import { forkWatched } from "./forkWatched.ts"
import { EngineMetrics } from "./metrics/EngineMetrics.ts"
import { makeSimulate } from "./read/Simulation.ts"
import { UserHistory } from "./read/UserHistory.ts"
import { UserList } from "./read/UserList.ts"
import { PendingRecords } from "./records/PendingRecords.ts"
import { readMark, recover } from "./recovery/Recovery.ts"
import { Snapshotter } from "./snapshot/Snapshotter.ts"
import { openClock } from "./time/openClock.ts"
import { Ticker } from "./time/Ticker.ts"
import { WindowClock } from "./time/WindowClock.ts"

export type { EngineOptions } from "./EngineOptions.ts"

export const makeEngine = Effect.fnUntraced(function* (
  options: EngineOptions,
): Effect.fn.Return<Engine["Service"], StorageError, Storage | Scope.Scope> {
  const storage = yield* Storage
  const scope = yield* Effect.scope
  const context = yield* Effect.context<never>()
  const runFork = Effect.runForkWith(context)
  let closing = false
  let commit!: GroupCommit<CommitEntry>
  const pipeline = new CommitPipeline<CommitEntry>()
  const metrics = new EngineMetrics(options.metrics ?? new Metrics())
  const mark = yield* readMark(storage)
  const jumpMsMax = options.clockJumpMsMax ?? limits.clockJumpMsMax
  const clock = yield* openClock(storage, mark.at, jumpMsMax, metrics)
  const { now } = clock

  const environments = new Environments({
    domain: options.domain ?? domain,
    now,
    sooner: () => ticker.sooner(),
  })
  const directory = newDirectory()
  const erasures = new Erasures()
  const next = () => commit.nextSequence
  const idempotency = new IdempotencyKeys({ storage, now, erasures, next })
  const pending = new PendingRecords(mark.watermark)
  const ids = yield* IdIndex.open(storage)
  const feed = new Feed({
    storage,
    head: () => commit.durableSequence,
    written: Effect.suspend(() => commit.written),
    onBroken: options.onBroken,
  })
  const snapshotter = new Snapshotter({
    storage,
    pending,
    ids,
    written: Effect.suspend(() => commit.written),
    first: (write) => boardWriter.write(write),
    idempotency,
    begins: () => environments.beginSnapshot(),
    onEnded: () => batches.changed(),
    erasures,
    isThere: (environment, userId) => environments.isThere(environment, userId),
    held: feed.held,
    heartbeat: (over) => asks.tell(directory, { kind: "heartbeat" }, over),
    now,
    mark,
    sliceEntriesMax: options.snapshotSliceEntriesMax ?? limits.snapshotSliceEntriesMax,
    metrics,
  })
  const actorCache = new ActorCache({
    residentUsersMax: options.residentUsersMax ?? limits.residentUsersMax,
    residentUsersOverrunMax: options.residentUsersOverrunMax ?? limits.residentUsersOverrunMax,
    idlePassivateMs: options.idlePassivateMs ?? limits.idlePassivateMs,
    now,
    watermark: () => pending.watermark,
    environments,
    onCrowded: () => snapshotter.request(),
  })
  const history = new UserHistory({
    storage,
    pending,
    durableSequence: () => commit.durableSequence,
    actorOf: (environment, userId) => environments.userOf(environment, userId),
    erasures,
  })
  const deduplicator = new Deduplicator({
    storage,
    filterBytes: options.idFilterBytes ?? limits.idFilterBytes,
    ids,
    erasures,
    pending,
  })
  const refusal = () => {
    if (closing) return shuttingDown
    if (commit.stalled) return storageUnavailable
    const full = !commit.accepting || snapshotter.pending >= limits.snapshotPendingRecordsMax
    return full ? overloaded : undefined
  }
  const actors = new ActorSystem({
    storage,
    now,
    deduplicator,
    idempotency,
    actorCache,
    environments,
    erasures,
    commit: () => commit,
    pending,
    findRecord: (subject, sequence) =>
      subject.actor === "user" && sequence > erasures.aheadOf(subject)
        ? history.find(subject.environment, subject.userId, sequence)
        : Effect.succeed(undefined),
    refusal,
    onBroken: options.onBroken,
    run: (effect) => {
      const fiber = runFork(effect)
      if (fiber.pollUnsafe() === undefined) Fiber.runIn(fiber, scope)
    },
    metrics,
  })

  const boardWriter = new BoardWriter({ storage, environments, now })
  const clockCheckMs = options.clockCheckMs ?? limits.clockCheckMs
  const windowClock = new WindowClock({
    clockCheckMs,
    environments,
    now,
    afterCommit: (callback) => commit.afterCommit(callback),
    close: ({ project }: Environment, command, over) => asks.tell(project, command, over),
  })
  const batches = new BatchRoom({ actors, actorCache, environments, refusal, metrics })
  const asks = new Requests(actors, batches, idempotency, options.onBroken)
  const broken = (cause: Broken) => asks.broken(cause)
  const ticker = new Ticker({
    clockCheckMs,
    environments,
    now,
    peek: ({ id, users }, userId) => {
      const actor = users.get(userId)
      return actor?.loaded ? Effect.succeed(actor.state) : readColdUser(storage, id, userId)
    },
    askUsers: ({ id }, messages) => asks.many(id, messages),
  })

  const backfills = new Backfills({
    storage,
    history,
    environments,
    askUser: (environment, { command, userId }, prepare) =>
      Effect.map(
        asks.one(asks.toUser(environment, userId), command, undefined, prepare),
        toReply<Backfill>,
      ),
    askProject: (environment, command) => askProject(environment, command),
  })

  const report = yield* recover({
    storage,
    environments,
    directory,
    mark,
    pending,
    userActor: (...user) => actorCache.ensure(...user),
    replayed: (actor, record, hash) => {
      clock.observe(record.at)
      if (hash !== undefined) deduplicator.replayed(hash)
      environments.durable(record)
      idempotency.committed(record)
      snapshotter.committed(actor, record.sequence)
      erasures.replayed(actor, record)
    },
    progressed: (progress) => options.onRecovering?.(progress),
  })
  options.onRecovered?.(report)

  const { onCommitted } = options
  pipeline.on("counts", ({ record }) => environments.durable(record))
  pipeline.on("idempotency", ({ record }) => idempotency.committed(record))
  pipeline.on("snapshot", ({ actor, record }) => snapshotter.committed(actor, record.sequence))
  pipeline.on("erasure", ({ actor, record }) => {
    if (record.cause.kind === "erasure") erasures.committed(actor, record.sequence)
  })
  pipeline.on("actor", ({ actor, record, state }) => actor.follow(record, state))
  pipeline.on("windows", ({ record }) => windowClock.committed(record))
  pipeline.on("feed", ({ record }) =>
    feed.committed(record, pending.texts.bytesOf(record.sequence)),
  )
  pipeline.on("backfills", ({ record }) => backfills.committed(record))
  if (onCommitted !== undefined) pipeline.on("observer", ({ record }) => onCommitted(record))
  pipeline.on("caller", (entry) => actors.answers.committed(entry))
  commit = yield* makeGroupCommit<CommitEntry>({
    durability: options.durability ?? "fsync",
    texts: pending.texts,
    onBroken: options.onBroken,
    onWritten: (...written) => {
      metrics.batchCommitted(...written)
      batches.changed()
    },
    onStalled: (entries) => {
      for (const entry of entries) actors.answers.abandon(entry)
    },
    onCommitted: pipeline.committed,
  })

  metrics.observe({ actors, commit, environments, actorCache, snapshotter, report, now })

  const snapshotIntervalMs = options.snapshotIntervalMs ?? limits.snapshotIntervalMs
  const expiry = new AnswerExpiry({ storage, now, alone: snapshotter.alone })
  const background = [
    deduplicator.fill,
    snapshotter.run(snapshotIntervalMs),
    expiry.run(snapshotIntervalMs),
    actorCache.run(options.sweepIntervalMs ?? limits.sweepIntervalMs, () => batches.changed()),
    windowClock.run,
    ticker.run,
    backfills.run,
  ]
  for (const work of background) yield* forkWatched(options.onBroken, work)

  const askUser = <Command extends UserCommand>(
    environment: string,
    { command, userId }: UserMessage<Command>,
    asked?: Idempotency,
  ) => {
    const user = asks.toUser(environment, userId)
    const answered =
      asked === undefined ? asks.one(user, command) : asks.once(environment, user, command, asked)
    return Effect.map(answered, toReply<Command>)
  }

  const askProject: Engine["Service"]["askProject"] = (environment, command, asked) => {
    const project = asks.to(() => environments.of(environment).project)
    const answered =
      asked === undefined || asked.reserved
        ? asks.one(project, command, asked)
        : asks.once(environment, project, command, asked)
    return Effect.map(answered, ({ record, replayed }) => ({ reply: record, replayed }))
  }

  const readUser: Engine["Service"]["readUser"] = (environment, userId) =>
    Effect.suspend(() => {
      const actor = environments.userOf(environment, userId)
      if (actor?.loaded) {
        actorCache.touch(actor)
        return Effect.succeed(actor.durable)
      }
      return Effect.mapError(readColdUser(storage, environment, userId), broken)
    })

  const simulate = makeSimulate({
    domain: options.domain ?? domain,
    turns: actors.turns,
    deduplicator,
    environmentOf: (id) => environments.of(id),
    readUser,
    durableSequence: () => commit.durableSequence,
    now,
    broken,
  })

  yield* Effect.addFinalizer(() => Effect.sync(() => actors.turns.close()))

  const userList = new UserList(storage)
  const boardReader = new BoardReader({
    storage,
    now,
    readUser,
    broken,
  })

  const drain = Effect.gen(function* () {
    closing = true
    batches.changed()
    yield* actors.answers.idle
    if (!(yield* commit.settled)) {
      yield* Effect.logError("The disk is still full: what is not in the journal yet is given up")
      return
    }
    yield* snapshotter.take.pipe(
      Effect.catchTag("NoSpace", () => Effect.logError("No space for the last snapshot")),
      Effect.catchTag("Broken", (cause) => Effect.sync(() => options.onBroken(cause))),
    )
  })

  return Engine.of({
    askUser,
    askUserWithCallback: (...asked) => asks.withCallback(...asked),
    simulate,
    askUsers: (environment, messages) => asks.batch(environment, messages),
    askProject,
    askDirectory: (command) =>
      Effect.map(
        asks.one(
          asks.to(() => directory),
          command,
        ),
        ({ record }) => record,
      ),
    readUser,
    readHistory: (environment, userId, before) =>
      Stream.mapError(history.read(environment, userId, before), broken),
    isErased: makeIsErased(readUser, (...place) => Effect.mapError(history.has(...place), broken)),
    readEnvironments: Effect.sync(() => [...environments].map(({ id }) => id)),
    readProject: (environment) => Effect.sync(() => environments.of(environment).project.durable),
    readBackfill: (environment, badgeId) =>
      Effect.sync(() => backfills.progress(environment, badgeId)),
    readCounts: (environment) => Effect.sync(() => environments.of(environment).counts.copy()),
    listUsers: (environment, query) =>
      Effect.mapError(userList.read(environments.of(environment), query), broken),
    readDirectory: Effect.sync(() => directory.durable),
    readBoard: (environment, query) =>
      Effect.suspend(() => boardReader.read(environments.of(environment), query)),
    readRank: (environment, userId) =>
      Effect.sync(() => environments.of(environment).boards.allTime.rankOf(userId)),
    feed,
    reserve: (environment, asked) => asks.reserve(environment, asked),
    now,
    drain,
  })
})
