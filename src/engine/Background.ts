/** The background work of an engine: snapshots, evictions, deletions, due users and windows, backfills. */
import { Cause, Effect, type Scope } from "effect"
import type { Backfill } from "../domain/record/Record.ts"
import { limits } from "../Limits.ts"
import { type Broken, brokenBy, type StorageError } from "../storage/Storage.ts"
import type { Environment } from "./actor/Environments.ts"
import { toReply } from "./actor/Requests.ts"
import { readColdUser } from "./actor/readColdUser.ts"
import { Backfills } from "./badges/Backfills.ts"
import { AnswerExpiry } from "./dedupe/AnswerExpiry.ts"
import type { EngineOptions } from "./EngineOptions.ts"
import type { EngineMetrics } from "./metrics/EngineMetrics.ts"
import { Snapshotter } from "./snapshot/Snapshotter.ts"
import type { EngineState } from "./state/EngineState.ts"
import { Ticker } from "./time/Ticker.ts"
import { WindowClock } from "./time/WindowClock.ts"
import type { Writes } from "./Writes.ts"

export interface Background {
  readonly snapshotter: Snapshotter
  readonly backfills: Backfills
}

/** Forks all of it into the surrounding scope. */
export const startBackground = Effect.fnUntraced(function* (
  state: EngineState,
  { batches, commit, feed, history, pipeline, requests }: Writes,
  options: EngineOptions,
  metrics: EngineMetrics,
): Effect.fn.Return<Background, never, Scope.Scope> {
  const { actorCache, deduplicator, directory, environments, storage } = state
  const clockCheckMs = options.clockCheckMs ?? limits.clockCheckMs
  const snapshotter = new Snapshotter({
    state,
    written: commit.written,
    held: feed.held,
    onEnded: () => batches.changed(),
    sliceEntriesMax: options.snapshotSliceEntriesMax ?? limits.snapshotSliceEntriesMax,
    metrics,
  })
  const expiry = new AnswerExpiry({ ...state, alone: snapshotter.alone })
  const windowClock = new WindowClock({
    ...state,
    clockCheckMs,
    afterCommit: commit.afterCommit,
    close: ({ project }: Environment, command, over) => requests.tell(project, command, over),
  })
  const ticker = new Ticker({
    ...state,
    clockCheckMs,
    peek: ({ id, users }: Environment, userId) => {
      const actor = users.get(userId)
      return actor?.loaded ? Effect.succeed(actor.state) : readColdUser(storage, id, userId)
    },
    askUsers: ({ id }, messages) => requests.many(id, messages),
  })
  const backfills = new Backfills({
    storage,
    history,
    environments,
    askUser: (environment, { command, userId }, prepare) =>
      Effect.map(
        requests.one(requests.toUser(environment, userId), command, undefined, prepare),
        toReply<Backfill>,
      ),
    askProject: (environment, command) =>
      requests.one(requests.to(environments.of(environment).project), command),
  })
  pipeline.on("windows", ({ record }) => windowClock.committed(record))
  pipeline.on("backfills", ({ record }) => backfills.committed(record))

  const snapshotIntervalMs = options.snapshotIntervalMs ?? limits.snapshotIntervalMs
  const sweepIntervalMs = options.sweepIntervalMs ?? limits.sweepIntervalMs
  for (const work of [
    deduplicator.fill,
    snapshotter.run(snapshotIntervalMs, (over) =>
      requests.tell(directory, { kind: "heartbeat" }, over),
    ),
    expiry.run(snapshotIntervalMs),
    actorCache.run(sweepIntervalMs, () => batches.changed()),
    windowClock.run,
    ticker.run,
    backfills.run,
  ]) {
    yield* Effect.forkScoped(endsWhenBroken(options.onBroken, work))
  }
  return { snapshotter, backfills }
})

/** Reports a failure or a defect of `work`, which nobody waits for. */
const endsWhenBroken = (
  onBroken: (cause: Broken) => void,
  work: Effect.Effect<void, StorageError>,
): Effect.Effect<void> =>
  Effect.catchCause(work, (cause) =>
    Effect.sync(() => {
      if (!Cause.hasInterruptsOnly(cause)) onBroken(brokenBy("run the engine", cause))
    }),
  )
