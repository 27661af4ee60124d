/**
 * Checks the open database of a running server once, unless the start has checked it: the start
 * skips a large database after a clean shutdown. A child process with low priority does the check
 * (`WorkerHost`).
 */
import { Effect } from "effect"
import type { Metrics } from "../../metrics/Metrics.ts"
import type { WorkerHost } from "./jobs/WorkerHost.ts"

/** Whether all of the database has been checked, at the start or since. */
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
  /** Called with the damage, as a sentence. */
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
    // A crashed scan leaves its slot in the table of readers.
    yield* forgetDeadReaders
    if (fault !== null) return onDamage(fault)
    state.isChecked = true
    const durationMs = Math.round(performance.now() - startedAt)
    yield* Effect.logInfo("The database was checked beside the server").pipe(
      Effect.annotateLogs({ durationMs }),
    )
  }).pipe(
    Effect.catch((failed) =>
      Effect.logError("The check of the database failed").pipe(
        Effect.annotateLogs({ kind: failed.kind, cause: failed.detail }),
      ),
    ),
  )
