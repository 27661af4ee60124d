/**
 * Ships the archives of a running server to a bucket (`ShipJob.ts`): at the start, after each
 * archive, and again some time after a failure. The child process is another than that of archives:
 * a slow upload delays no archive.
 */
import { Cause, Effect, Exit, Latch } from "effect"
import { limits } from "../../../Limits.ts"
import type { Counter, Metrics } from "../../../metrics/Metrics.ts"
import type { Retention } from "../../../storage/archive/ArchiveRetention.ts"
import { type BucketPlace, bucketName } from "../../../storage/bucket/bucketErrors.ts"
import type { JobFailed, Shipped, Step } from "../jobs/Jobs.ts"
import type { WorkerHost } from "../jobs/WorkerHost.ts"

export interface ShipmentsOptions {
  /** The folder of archives. */
  readonly archives: string
  readonly retention: Retention
  readonly place: BucketPlace
  readonly host: WorkerHost
  readonly metrics: ShipmentMetrics
  /** Gets the ids of the archives that the bucket has. */
  readonly onShipped: (ids: ReadonlyArray<string>) => void
  /** Delay after a failure. */
  readonly retryMs?: number
}

/** Answers the question of a job for its bucket. */
export const askedFor =
  (place: BucketPlace) =>
  (step: Step): Effect.Effect<unknown> =>
    Effect.sync(() => (step === "bucket" ? place : undefined))

export class Shipments {
  readonly #options: ShipmentsOptions
  readonly #made = Latch.makeUnsafe(true)
  #collectedAt = Number.NEGATIVE_INFINITY

  constructor(options: ShipmentsOptions) {
    this.#options = options
  }

  /** There is a new archive. */
  readonly wake = (): void => {
    this.#made.openUnsafe()
  }

  /** Ships whenever there is something new; never ends. */
  readonly run: Effect.Effect<never> = Effect.gen({ self: this }, function* () {
    const { retryMs = limits.archiveRetryMs } = this.#options
    while (true) {
      yield* this.#made.await
      this.#made.closeUnsafe()
      const exit = yield* Effect.exit(this.#ship)
      if (Exit.isSuccess(exit)) continue
      if (Cause.hasInterruptsOnly(exit.cause)) return yield* Effect.interrupt
      if (Cause.hasDies(exit.cause)) yield* Effect.logError("Shipping crashed", exit.cause)
      yield* Effect.raceFirst(this.#made.await, Effect.sleep(retryMs))
      this.#made.openUnsafe()
    }
  })

  get #ship(): Effect.Effect<void, JobFailed> {
    const { archives, host, metrics, onShipped, place, retention } = this.#options
    return Effect.gen({ self: this }, function* () {
      const startedAt = performance.now()
      const collect = startedAt - this.#collectedAt >= limits.bucketCollectMs
      const result = yield* host.run(
        "ship",
        { archives, retention, collect },
        { asked: askedFor(place) },
      )
      if (collect && result.unreadable === null) this.#collectedAt = startedAt
      metrics.shipped(result)
      onShipped(result.listed.map(({ id }) => id))
      yield* logShipped(place, result, startedAt)
    }).pipe(
      Effect.tapError((failed) =>
        Effect.andThen(
          Effect.sync(() => metrics.failed()),
          Effect.logError("Archives could not be shipped; they are on this machine alone").pipe(
            Effect.annotateLogs({ bucket: bucketName(place), cause: failed.detail }),
          ),
        ),
      ),
    )
  }
}

const logShipped = Effect.fnUntraced(function* (
  place: BucketPlace,
  result: Shipped,
  startedAt: number,
) {
  const bucket = bucketName(place)
  if (result.shipped.length > 0) {
    yield* Effect.logInfo("Archives were shipped").pipe(
      Effect.annotateLogs({
        bucket,
        archives: result.shipped.join(" "),
        sentBytes: result.sentBytes,
        durationMs: Math.round(performance.now() - startedAt),
      }),
    )
  }
  if (result.removed.length > 0) {
    yield* Effect.logInfo("Pruned archives of the bucket").pipe(
      Effect.annotateLogs({ bucket, archives: result.removed.join(" ") }),
    )
  }
  if (result.unreadable !== null) {
    yield* Effect.logWarning(
      "An archive of the bucket cannot be read, so nothing there is deleted: remove the object, or start the version that wrote it",
    ).pipe(Effect.annotateLogs({ bucket, object: result.unreadable }))
  }
})

export class ShipmentMetrics {
  readonly #sent: Counter
  readonly #failed: Counter
  readonly #bytes: Counter
  /** Creation time of the newest archive in the bucket. */
  #newestAt: number | undefined

  /** `now` is the clock of the archives, epoch milliseconds. */
  constructor(metrics: Metrics, now: () => number) {
    this.#sent = metrics.counter("laurel_shipped_archives_total", { outcome: "sent" })
    this.#failed = metrics.counter("laurel_shipped_archives_total", { outcome: "failed" })
    this.#bytes = metrics.counter("laurel_shipped_bytes_total")
    metrics.gauge("laurel_shipped_archive_age_seconds", () =>
      this.#newestAt === undefined ? 0 : Math.max(0, now() - this.#newestAt) / 1_000,
    )
  }

  shipped({ listed, sentBytes, shipped }: Shipped): void {
    this.#newestAt = listed.at(-1)?.at
    this.#sent.add(shipped.length)
    this.#bytes.add(sentBytes)
  }

  failed(): void {
    this.#failed.increment()
  }
}
