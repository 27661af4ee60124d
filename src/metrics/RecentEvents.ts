/**
 * The events of the last minute, from the counters and the histogram that `/metrics` shows. It
 * keeps samples of their numbers and compares the present numbers with the oldest sample. It adds
 * nothing to the path of an event.
 */
import { Effect, type Scope } from "effect"
import { limits } from "../Limits.ts"
import { catalogue } from "./Catalogue.ts"
import type { Metrics } from "./Metrics.ts"

export interface RecentState {
  /** The period of the numbers: at first the time since the start, later about a minute. */
  readonly seconds: number
  /** Tracked events per second, single events and events in batches. */
  readonly eventsPerSecond: number
  /**
   * The median and the 99th percentile of the reply time of single events. `undefined`: no events;
   * infinite: beyond all buckets.
   */
  readonly p50Ms: number | undefined
  readonly p99Ms: number | undefined
}

interface Sample {
  readonly atMs: number
  readonly events: number
  readonly durations: Float64Array
}

const duration = "laurel_http_request_duration_seconds"
const { bounds } = catalogue[duration]

export class RecentEvents {
  readonly #metrics: Metrics
  readonly #nowMs: () => number
  /** Oldest first. */
  readonly #samples: Array<Sample>

  /** `nowMs` is a monotonic clock. */
  constructor(metrics: Metrics, nowMs: () => number) {
    this.#metrics = metrics
    this.#nowMs = nowMs
    this.#samples = [this.#now()]
  }

  #now(): Sample {
    return {
      atMs: this.#nowMs(),
      events: this.#metrics.value("laurel_events_total", { outcome: "tracked" }),
      durations: this.#metrics.observations(duration, { operation: "events.track", class: "2xx" }),
    }
  }

  /** Keeps a sample of the present numbers. The owner calls it every `recentSampleMs`. */
  sample(): void {
    this.#samples.push(this.#now())
    if (this.#samples.length > limits.recentSamplesMax) this.#samples.shift()
  }

  get state(): RecentState {
    const [before] = this.#samples
    const { atMs, durations, events } = this.#now()
    const seconds = Math.max(0.001, (atMs - before!.atMs) / 1_000)
    const counts = durations.map((count, bucket) => count - before!.durations[bucket]!)
    return {
      seconds,
      eventsPerSecond: (events - before!.events) / seconds,
      p50Ms: quantileMs(counts, 0.5),
      p99Ms: quantileMs(counts, 0.99),
    }
  }
}

/**
 * The quantile of a histogram, estimated as Prometheus does: observations are evenly spread within
 * a bucket.
 */
const quantileMs = (counts: Float64Array, quantile: number): number | undefined => {
  const wanted = quantile * counts.reduce((sum, count) => sum + count, 0)
  if (wanted === 0) return undefined
  let below = 0
  for (const [bucket, bound] of bounds.entries()) {
    const count = counts[bucket]!
    if (below + count >= wanted) {
      const from = bucket === 0 ? 0 : bounds[bucket - 1]!
      return 1_000 * (from + (bound - from) * ((wanted - below) / count))
    }
    below += count
  }
  return Number.POSITIVE_INFINITY
}

/** Takes samples until the scope closes. */
export const observeRecentEvents = (
  metrics: Metrics,
): Effect.Effect<RecentEvents, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => {
        const recent = new RecentEvents(metrics, () => performance.now())
        const timer = setInterval(() => recent.sample(), limits.recentSampleMs)
        return { recent, timer: timer.unref() }
      }),
      ({ timer }) => Effect.sync(() => clearInterval(timer)),
    ),
    ({ recent }) => recent,
  )
