/**
 * Limits the concurrent attempts to an endpoint. The limit starts at one. Each success raises it by
 * one, up to `webhookConcurrencyMax`; each failure halves it. After `webhookBreakerFailures`
 * failures in a row the circuit opens: nothing is sent for a pause, then one attempt. If it
 * succeeds, the circuit closes; if it fails, the pause doubles. A receiver that answers 429 or 503
 * with `Retry-After` gets nothing for that time.
 */
import { limits } from "../../Limits.ts"
import { jittered } from "./RetrySchedule.ts"
import type { Standing } from "./Slots.ts"

export class CircuitBreaker {
  readonly #random: () => number
  #concurrency = 1
  #failures = 0
  #openMs = 0
  /** Nothing is sent before this time. */
  openUntil = 0

  constructor(random: () => number) {
    this.#random = random
  }

  get standing(): Standing {
    if (this.#failures > 0) return "failing"
    return this.#concurrency > 1 ? "proven" : "unknown"
  }

  get isOpen(): boolean {
    return this.#failures >= limits.webhookBreakerFailures
  }

  /** Whether the limit is at its maximum. */
  get isFull(): boolean {
    return this.#concurrency === limits.webhookConcurrencyMax
  }

  /** Whether another attempt may begin beside `inFlight` attempts. */
  mayStart(inFlight: number, now: number): boolean {
    if (now < this.openUntil) return false
    return inFlight < (this.isOpen ? 1 : this.#concurrency)
  }

  succeeded(): void {
    this.#concurrency = Math.min(limits.webhookConcurrencyMax, this.#concurrency + 1)
    this.#failures = 0
    this.#openMs = 0
    this.openUntil = 0
  }

  /** `pauseMs`: the pause that the receiver asked for. */
  failed(now: number, pauseMs: number | undefined): void {
    this.#concurrency = Math.max(1, Math.floor(this.#concurrency / 2))
    this.#failures++
    if (this.isOpen && now >= this.openUntil) {
      const next = this.#openMs === 0 ? limits.webhookBreakerOpenMs : 2 * this.#openMs
      this.#openMs = Math.min(next, limits.webhookBreakerOpenMsMax)
      this.openUntil = now + jittered(this.#openMs, this.#random)
    }
    if (pauseMs !== undefined) {
      const until = now + Math.min(pauseMs, limits.webhookBreakerPauseMsMax)
      this.openUntil = Math.max(this.openUntil, until)
    }
  }

  /** Forgets all outcomes, after a change of the endpoint. */
  reset(): void {
    this.#concurrency = 1
    this.#failures = 0
    this.#openMs = 0
    this.openUntil = 0
  }
}
