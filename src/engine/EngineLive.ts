/**
 * The engine in this process, in the order in which it is made: it opens the storage's state, recovers, takes writes,
 * starts its background work, and offers its verbs. Each step needs only what the steps before it made; what a later
 * part must hear of, it subscribes to (`commit/CommitPipeline.ts`). All state above the storage lives in this scope.
 */
import { Effect, type Scope } from "effect"
import { limits } from "../Limits.ts"
import { Metrics } from "../metrics/Metrics.ts"
import { Storage, type StorageError } from "../storage/Storage.ts"
import { startBackground } from "./Background.ts"
import type { Engine } from "./Engine.ts"
import type { EngineOptions } from "./EngineOptions.ts"
import { EngineMetrics } from "./metrics/EngineMetrics.ts"
import { recover } from "./recovery/Recovery.ts"
import { openState } from "./state/EngineState.ts"
import { readMark } from "./state/SnapshotMark.ts"
import { openClock } from "./time/openClock.ts"
import { verbsOf } from "./Verbs.ts"
import { takeWrites } from "./Writes.ts"

export type { EngineOptions } from "./EngineOptions.ts"

export const makeEngine = Effect.fnUntraced(function* (
  options: EngineOptions,
): Effect.fn.Return<Engine["Service"], StorageError, Storage | Scope.Scope> {
  const metrics = new EngineMetrics(options.metrics ?? new Metrics())

  const storage = yield* Storage
  const mark = yield* readMark(storage)
  const jumpMsMax = options.clockJumpMsMax ?? limits.clockJumpMsMax
  const { now } = yield* openClock(storage, mark.at, jumpMsMax, metrics)
  const state = yield* openState({ storage, mark, now }, options)

  const report = yield* recover(state, (progress) => options.onRecovering?.(progress))
  options.onRecovered?.(report)

  const writes = yield* takeWrites(state, options, metrics)
  const background = yield* startBackground(state, writes, options, metrics)
  metrics.observe({ ...state, ...writes, ...background, report })

  return verbsOf(state, writes, background, options)
})
