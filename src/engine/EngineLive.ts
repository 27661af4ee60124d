/**
 * The engine in this process. Its parts are made in this order, and each needs only earlier ones:
 *
 * 1. `openState` opens the state at the watermark of the snapshot.
 * 2. `recover` fills it from snapshot and journal.
 * 3. `startUpkeep` starts snapshots and evictions.
 * 4. `RecoveredEngine.fold` follows the journal while another server writes it.
 * 5. `takeWrites` starts the commit loop and the actors.
 * 6. `startBackground` starts the work that writes records.
 * 7. `verbsOf` offers the verbs of `Engine`.
 *
 * A later part that must hear of durable records subscribes to the pipeline (`CommitPipeline`). All
 * state above the storage belongs to the surrounding scope.
 */
import { Effect, type Scope } from "effect"
import type { DirectoryState } from "../domain/project/Directory.ts"
import { limits } from "../Limits.ts"
import { Metrics } from "../metrics/Metrics.ts"
import { Storage, type StorageError } from "../storage/Storage.ts"
import { startBackground, startUpkeep } from "./Background.ts"
import type { Engine, EngineOptions } from "./Engine.ts"
import { EngineMetrics } from "./metrics/EngineMetrics.ts"
import { Folding } from "./recovery/Fold.ts"
import { dropClosedBoards, recover } from "./recovery/Recovery.ts"
import { leaveShared, openState } from "./state/EngineState.ts"
import { readMark } from "./state/SnapshotMark.ts"
import { EngineTime, openClock, readLatestTime } from "./time/Clock.ts"
import { verbsOf } from "./Verbs.ts"
import { takeWrites } from "./Writes.ts"

export type { EngineOptions } from "./Engine.ts"

/** An engine that has recovered and takes no commands yet. */
interface RecoveredEngine {
  /**
   * Folds the next records, which another server has written. Must not be called while a call is
   * pending.
   */
  readonly fold: Folding["fold"]
  /** The directory as of the last record that was folded. */
  readonly directory: () => DirectoryState
  /** Takes the last snapshot of an engine that never served. */
  readonly leave: Effect.Effect<void, StorageError>
  /**
   * Takes commands from now on. Every record of the storage must be folded, and the storage must
   * take appends.
   */
  readonly serve: Effect.Effect<Engine["Service"], StorageError, Scope.Scope>
}

export const recoverEngine = Effect.fnUntraced(function* (
  options: EngineOptions,
): Effect.fn.Return<RecoveredEngine, StorageError, Storage | Scope.Scope> {
  const metrics = new EngineMetrics(options.metrics ?? new Metrics())

  const storage = yield* Storage
  const mark = yield* readMark(storage)
  const jumpMsMax = options.clockJumpMsMax ?? limits.clockJumpMsMax
  const time = new EngineTime(yield* readLatestTime(storage, mark.at, jumpMsMax))
  const { now } = time
  const state = yield* openState({ storage, mark, now }, options)
  yield* Effect.addFinalizer(() => Effect.sync(() => leaveShared(state)))

  const report = yield* recover(state, (progress) => options.onRecovering?.(progress))
  options.onRecovered?.(report)
  const upkeep = yield* startUpkeep(state, options, metrics)
  const folding = new Folding(state, upkeep.snapshotter, time)

  const serve = Effect.gen(function* () {
    dropClosedBoards(state)
    const clock = yield* openClock(time.latest, jumpMsMax, metrics)
    time.follow(clock)
    const served = { ...state, now: clock.now }
    const writes = yield* takeWrites(served, options, metrics)
    const background = yield* startBackground(served, writes, upkeep, options)
    metrics.observeFailing(background)
    metrics.observe({ ...served, ...writes, ...upkeep, report })
    return verbsOf(served, writes, background, upkeep, options)
  }).pipe(Effect.provideService(Storage, storage))

  return {
    fold: folding.fold,
    directory: () => state.directory.durable,
    leave: upkeep.snapshotter.take,
    serve,
  }
})

/** An engine over a storage that no other process writes. */
export const makeEngine = (
  options: EngineOptions,
): Effect.Effect<Engine["Service"], StorageError, Storage | Scope.Scope> =>
  Effect.flatMap(recoverEngine(options), ({ serve }) => serve)
