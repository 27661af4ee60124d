import { describe, expect, it } from "vitest"
import { limits } from "../../../src/Limits.ts"
import { CircuitBreaker } from "../../../src/webhooks/endpoint/CircuitBreaker.ts"

const middle = () => 0.5
/** How many attempts may be under way at once. */
const concurrency = (breaker: CircuitBreaker, now = 0): number => {
  let inFlight = 0
  while (breaker.mayStart(inFlight, now)) inFlight++
  return inFlight
}
const failing = (failures: number, now = 0): CircuitBreaker => {
  const breaker = new CircuitBreaker(middle)
  for (let failure = 0; failure < failures; failure++) breaker.failed(now, undefined)
  return breaker
}

describe("A circuit breaker", () => {
  it("allows one more attempt after each success, up to a bound, and half after each failure", () => {
    const breaker = new CircuitBreaker(middle)
    expect([concurrency(breaker), breaker.standing]).toEqual([1, "unknown"])
    for (let success = 0; success < 20; success++) breaker.succeeded()
    expect([concurrency(breaker), breaker.standing]).toEqual([
      limits.webhookConcurrencyMax,
      "proven",
    ])
    breaker.failed(0, undefined)
    expect([concurrency(breaker), breaker.standing]).toEqual([
      limits.webhookConcurrencyMax / 2,
      "failing",
    ])
  })

  it("opens after `webhookBreakerFailures` failures in a row, and not before", () => {
    expect(failing(limits.webhookBreakerFailures - 1).isOpen).toBe(false)
    const open = failing(limits.webhookBreakerFailures)
    expect(open.isOpen).toBe(true)
    expect(concurrency(open)).toBe(0)
    expect(concurrency(open, limits.webhookBreakerOpenMs - 1)).toBe(0)
    expect(concurrency(open, limits.webhookBreakerOpenMs)).toBe(1)
  })

  it("stays open twice as long after each failed attempt, up to a bound", () => {
    const breaker = failing(limits.webhookBreakerFailures)
    const pauses: Array<number> = []
    for (let now = breaker.openUntil; pauses.length < 8; now = breaker.openUntil) {
      breaker.failed(now, undefined)
      pauses.push(breaker.openUntil - now)
    }
    const expected = pauses.map((_, index) =>
      Math.min(2 ** (index + 1) * limits.webhookBreakerOpenMs, limits.webhookBreakerOpenMsMax),
    )
    expect(pauses).toEqual(expected)
  })

  it("does not open for longer because of attempts that were under way when it opened", () => {
    const breaker = failing(limits.webhookBreakerFailures)
    const { openUntil } = breaker
    breaker.failed(1, undefined)
    expect(breaker.openUntil).toBe(openUntil)
  })

  it("closes with the first success", () => {
    const breaker = failing(limits.webhookBreakerFailures + 3)
    breaker.succeeded()
    expect([breaker.isOpen, breaker.openUntil, concurrency(breaker)]).toEqual([false, 0, 2])
  })

  it("pauses for as long as the receiver asks, up to a bound", () => {
    const asked = new CircuitBreaker(middle)
    asked.failed(0, 5_000)
    expect([concurrency(asked, 4_999), concurrency(asked, 5_000)]).toEqual([0, 1])
    const greedy = new CircuitBreaker(middle)
    greedy.failed(0, 10 * limits.webhookBreakerPauseMsMax)
    expect(greedy.openUntil).toBe(limits.webhookBreakerPauseMsMax)
  })

  it("forgets all outcomes when the endpoint changes", () => {
    const breaker = failing(limits.webhookBreakerFailures)
    breaker.reset()
    expect([concurrency(breaker), breaker.standing]).toEqual([1, "unknown"])
  })
})
