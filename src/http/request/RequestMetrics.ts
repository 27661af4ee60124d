/** Metrics of the HTTP server. Cost per request: two look-ups and three additions. */
import type { RateLimitState } from "../../accounts/Accounts.ts"
import { tiers } from "../../domain/project/Directory.ts"
import type { Counter, Histogram, Metrics } from "../../metrics/Metrics.ts"

/** The requests of one operation. */
export class OperationMetrics {
  readonly #metrics: Metrics
  readonly #operation: string
  readonly #requests = new Map<number, Counter>()
  readonly #durations: Array<Histogram | undefined> = []

  constructor(metrics: Metrics, operation: string) {
    this.#metrics = metrics
    this.#operation = operation
  }

  /** Counts a reply and its duration. */
  answered(status: number, durationMs: number): void {
    this.counted(status)
    const hundreds = Math.floor(status / 100)
    let durations = this.#durations[hundreds]
    if (durations === undefined) {
      const labels = { operation: this.#operation, class: `${hundreds}xx` }
      durations = this.#metrics.histogram("laurel_http_request_duration_seconds", labels)
      this.#durations[hundreds] = durations
    }
    durations.observe(durationMs / 1_000)
  }

  /** Counts a reply without a parsed request. */
  counted(status: number): void {
    let requests = this.#requests.get(status)
    if (requests === undefined) {
      const labels = { operation: this.#operation, status: String(status) }
      requests = this.#metrics.counter("laurel_http_requests_total", labels)
      this.#requests.set(status, requests)
    }
    requests.increment()
  }

  /** The number of requests that were answered with an error. */
  get refused(): number {
    let refused = 0
    for (const [status, { value }] of this.#requests) if (status >= 400) refused += value
    return refused
  }
}

export class RequestMetrics {
  readonly #metrics: Metrics
  readonly #operations = new Map<string, OperationMetrics>()
  readonly #rateLimited = new Map<RateLimitState["tier"], Counter>()
  /** The requests that match no operation. */
  readonly none: OperationMetrics

  constructor(metrics: Metrics) {
    this.#metrics = metrics
    this.none = this.of("none")
    for (const tier of [...tiers, "user"] as const) {
      this.#rateLimited.set(tier, metrics.counter("laurel_rate_limited_requests_total", { tier }))
    }
  }

  /** The metrics of an operation, or of a path without a key. */
  of(operation: string): OperationMetrics {
    let found = this.#operations.get(operation)
    if (found === undefined) {
      found = new OperationMetrics(this.#metrics, operation)
      this.#operations.set(operation, found)
    }
    return found
  }

  /**
   * Counts a refused single event as a refused request. `EventMetrics` counts refused events of
   * batches.
   */
  observeRefusedEvents(): void {
    const single = this.of("events.track")
    const labels = { outcome: "refused" }
    this.#metrics.readCounter("laurel_events_total", () => single.refused, labels)
  }

  rateLimited(tier: RateLimitState["tier"]): void {
    this.#rateLimited.get(tier)?.increment()
  }
}

/** The events of one engine, by outcome. */
export class EventMetrics {
  readonly tracked: Counter
  readonly duplicates: Counter
  /** Refused events of batches. */
  refusedInBatches = 0

  constructor(metrics: Metrics) {
    this.tracked = metrics.counter("laurel_events_total", { outcome: "tracked" })
    this.duplicates = metrics.counter("laurel_events_total", { outcome: "duplicate" })
    const refused = () => this.refusedInBatches
    metrics.readCounter("laurel_events_total", refused, { outcome: "refused" })
  }
}
