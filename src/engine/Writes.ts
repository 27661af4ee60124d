/**
 * The parts of an engine that decide and write records. When they are made, the engine takes
 * commands.
 *
 * Here a command's whole path is put together: `Requests` → `ActorSystem` → `GroupCommit` → the
 * stages of `CommitPipeline` → `Answers`.
 */
import { Effect, Fiber, Scope } from "effect"
import type { Storage } from "../storage/Storage.ts"
import { Intake } from "./actor/Actor.ts"
import { ActorSystem } from "./actor/ActorSystem.ts"
import type { CommitEntry } from "./actor/Answers.ts"
import { BatchRoom } from "./actor/BatchRoom.ts"
import { Pace } from "./actor/Pace.ts"
import { Requests } from "./actor/Requests.ts"
import { Feed } from "./commit/Feed.ts"
import { CommitPipeline, type GroupCommit, makeGroupCommit } from "./commit/GroupCommit.ts"
import type { EngineOptions } from "./Engine.ts"
import type { EngineMetrics } from "./metrics/EngineMetrics.ts"
import { UserHistory } from "./read/UserHistory.ts"
import type { EngineState } from "./state/EngineState.ts"
import { followRecords } from "./state/EngineState.ts"

export interface Writes {
  readonly pipeline: CommitPipeline<CommitEntry>
  readonly commit: GroupCommit<CommitEntry>
  readonly feed: Feed
  readonly history: UserHistory
  readonly intake: Intake
  readonly actors: ActorSystem
  readonly batches: BatchRoom
  readonly requests: Requests
  readonly pace: Pace
}

/** Starts the commit loop over a recovered state, and makes the actor system above it. */
export const takeWrites = Effect.fnUntraced(function* (
  state: EngineState,
  { durability = "fsync", onBroken, onCommitted }: EngineOptions,
  metrics: EngineMetrics,
): Effect.fn.Return<Writes, never, Storage | Scope.Scope> {
  // A scope of its own, which closes in the order of its creation. Fibers in the engine's scope
  // would be interrupted before finalizers that were added earlier, such as the drain that waits
  // for their answers.
  const scope = yield* Scope.fork(yield* Effect.scope)
  const runFork = Effect.runForkWith(yield* Effect.context<never>())
  const { changed, erasures, idempotency, pending, shared, storage } = state
  const pipeline = new CommitPipeline<CommitEntry>()
  const commit = yield* makeGroupCommit<CommitEntry>({
    durability,
    texts: pending.texts,
    shared: shared.pendingBytes,
    onBroken,
    onWritten: (...batch) => {
      metrics.batchCommitted(...batch)
      batches.changed()
    },
    onStalled: (entries) => {
      for (const entry of entries) actors.answers.abandon(entry)
    },
    onCommitted: pipeline.committed,
    isUrgent: ({ actor: { subject } }) =>
      actors.turns.othersWait("environment" in subject ? subject.environment : undefined),
  })
  const feed = new Feed({ storage, commit, onBroken, shares: shared.feeds })
  const history = new UserHistory(state, commit)
  const intake = new Intake({ commit, changed })
  const actors = new ActorSystem({
    ...state,
    states: shared.states,
    turns: shared.turns,
    commit,
    history,
    intake,
    onBroken,
    onAnswered: () => {
      batches.changed()
      pace.answered()
    },
    run: (effect) => {
      const fiber = runFork(effect)
      if (fiber.pollUnsafe() === undefined) Fiber.runIn(fiber, scope)
    },
    metrics,
  })
  yield* Effect.addFinalizer(() => Effect.sync(() => actors.turns.end(state.environments)))
  const batches = new BatchRoom({ ...state, actors, intake, metrics })
  const requests = new Requests(actors, batches, idempotency, onBroken)
  const pace = new Pace({ ...state, requests, answers: actors.answers })

  followRecords(pipeline, state)
  pipeline.on("erasure", ({ record }) => erasures.committed(record))
  pipeline.on("actor", ({ actor, record, state }) => actor.follow(record, state))
  pipeline.on("feed", ({ record }) =>
    feed.committed(record, pending.texts.bytesOf(record.sequence)),
  )
  if (onCommitted !== undefined) pipeline.on("observer", ({ record }) => onCommitted(record))
  pipeline.on("caller", (entry) => actors.answers.committed(entry))
  return { pipeline, commit, feed, history, intake, actors, batches, requests, pace }
})
