/**
 * Checks a database beside the server that has it open, once, where the start has not: one that is large and was closed in
 * order. The check has a process of its own, at a low priority (`WorkerHost`).
 */
import { Effect } from "effect"
import type { Metrics } from "../../metrics/Metrics.ts"
import type { WorkerHost } from "./WorkerHost.ts"

/** Whether all of the database was checked since the start. */
export class DatabaseMetrics {
  isChecked: boolean

  constructor(metrics: Metrics, isChecked: boolean) {
    this.isChecked = isChecked
    metrics.gauge("laurel_database_checked", () => (this.isChecked ? 1 : 0))
  }
}

export interface DatabaseWatchOptions {
  readonly directory: string
  readonly host: WorkerHost
  readonly metrics: Metrics
  /** The start has checked all of it. */
  readonly isChecked: boolean
  /** The database is damaged, in a sentence. */
  readonly onDamage: (words: string) => void
  readonly forgetDeadReaders: Effect.Effect<void>
}

export const watchDatabase = (options: DatabaseWatchOptions): Effect.Effect<void> =>
  Effect.gen(function* () {
    const { directory, forgetDeadReaders, host, metrics, onDamage } = options
    const state = new DatabaseMetrics(metrics, options.isChecked)
    if (state.isChecked) return
    const startedAt = performance.now()
    const fault = yield* host.run("scan", { directory })
    // A process that has died of the database has left its place among the readers.
    yield* forgetDeadReaders
    if (fault !== null) return onDamage(fault)
    state.isChecked = true
    const durationMs = Math.round(performance.now() - startedAt)
    yield* Effect.logInfo("The database was checked beside the server").pipe(
      Effect.annotateLogs({ durationMs }),
    )
  }).pipe(
    Effect.catch((failed) =>
      Effect.logError("The database could not be checked").pipe(
        Effect.annotateLogs({ kind: failed.kind, cause: failed.detail }),
      ),
    ),
  )
