/** The metrics of webhook delivery. */
import type { Webhook } from "../../domain/project/Project.ts"
import type { Counter, Metrics } from "../../metrics/Metrics.ts"

/** Values that are read at each scrape. */
export interface ObservedWebhooks {
  readonly pending: () => number
  readonly inFlight: () => number
  readonly lagRecords: () => number
  readonly erasuresWaiting: () => number
  readonly oldestPendingMs: () => number
  readonly endpoints: Iterable<ObservedEndpoint>
}

interface ObservedEndpoint {
  readonly webhook: Pick<Webhook, "status" | "disabledReason">
  readonly stats: { readonly failedAt: number }
}

const states = ["delivering", "failing", "disabled", "given_up"] as const

const stateOf = ({ stats, webhook }: ObservedEndpoint): (typeof states)[number] => {
  if (webhook.status === "enabled") return stats.failedAt > 0 ? "failing" : "delivering"
  return webhook.disabledReason === "manual" ? "disabled" : "given_up"
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
  observe({
    endpoints,
    erasuresWaiting,
    inFlight,
    lagRecords,
    oldestPendingMs,
    pending,
  }: ObservedWebhooks): void {
    for (const state of states) {
      const count = () => {
        let found = 0
        for (const endpoint of endpoints) if (stateOf(endpoint) === state) found++
        return found
      }
      this.#metrics.gauge("laurel_webhooks", count, { state })
    }
    this.#metrics.gauge("laurel_webhook_oldest_pending_seconds", () => oldestPendingMs() / 1_000)
    this.#metrics.gauge("laurel_webhook_erasures_waiting", erasuresWaiting)
    this.#metrics.gauge("laurel_webhook_attempts_in_flight", inFlight)
    this.#metrics.gauge("laurel_webhook_deliveries_pending", pending)
    this.#metrics.gauge("laurel_webhook_lag_records", lagRecords)
  }

  /** Counts an attempt that has ended. */
  attempted(succeeded: boolean): void {
    if (succeeded) this.#succeeded.increment()
    else this.#failed.increment()
  }

  /** Counts a page of deliveries that an erasure read. */
  erasureWalked(): void {
    this.#erasurePages.increment()
  }

  /** Counts records that were pruned before the outbox read them. */
  missed(records: number): void {
    this.#missed.add(records)
  }
}
