/** The metrics of webhook delivery. */
import type { Counter, Metrics } from "../../metrics/Metrics.ts"

/** Read at each scrape. */
export interface ObservedWebhooks {
  readonly pending: () => number
  readonly inFlight: () => number
  readonly lagRecords: () => number
  readonly erasuresWaiting: () => number
}

export class WebhookMetrics {
  readonly #succeeded: Counter
  readonly #failed: Counter
  readonly #missed: Counter
  readonly #erasurePages: Counter

  readonly #metrics: Metrics

  constructor(metrics: Metrics) {
    this.#metrics = metrics
    this.#succeeded = metrics.counter("laurel_webhook_attempts_total", { outcome: "succeeded" })
    this.#failed = metrics.counter("laurel_webhook_attempts_total", { outcome: "failed" })
    this.#missed = metrics.counter("laurel_webhook_missed_records_total")
    this.#erasurePages = metrics.counter("laurel_webhook_erasure_pages_total")
  }

  /** Adds the gauges, which read `observed` at each scrape. */
  observe({ erasuresWaiting, inFlight, lagRecords, pending }: ObservedWebhooks): void {
    this.#metrics.gauge("laurel_webhook_erasures_waiting", erasuresWaiting)
    this.#metrics.gauge("laurel_webhook_attempts_in_flight", inFlight)
    this.#metrics.gauge("laurel_webhook_deliveries_pending", pending)
    this.#metrics.gauge("laurel_webhook_lag_records", lagRecords)
  }

  /** An attempt has ended. */
  attempted(succeeded: boolean): void {
    if (succeeded) this.#succeeded.increment()
    else this.#failed.increment()
  }

  /** An erasure read a page of deliveries. */
  erasureWalked(): void {
    this.#erasurePages.increment()
  }

  /** Records were pruned before the outbox read them. */
  missed(records: number): void {
    this.#missed.add(records)
  }
}
