/** Metrics of archives: results, and the age of the newest good one. */
import type { Counter, Metrics } from "../../metrics/Metrics.ts"

export class ArchiveMetrics {
  readonly #made: Counter
  readonly #failed: Counter
  #newestAt: number | undefined

  /**
   * Registers them; `newestAt` is when the newest good archive was made, epoch milliseconds like
   * `now`.
   */
  constructor(metrics: Metrics, newestAt: number | undefined, now: () => number) {
    this.#newestAt = newestAt
    this.#made = metrics.counter("laurel_archives_total", { outcome: "made" })
    this.#failed = metrics.counter("laurel_archives_total", { outcome: "failed" })
    metrics.gauge("laurel_archive_age_seconds", () =>
      this.#newestAt === undefined ? 0 : Math.max(0, now() - this.#newestAt) / 1_000,
    )
  }

  made(at: number): void {
    this.#newestAt = at
    this.#made.increment()
  }

  failed(): void {
    this.#failed.increment()
  }
}
