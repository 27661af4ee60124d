/**
 * Times out a few items at once, such as the attempts of one endpoint. All have the same timeout, so the oldest ends first
 * and one timer serves all; a timer for each would cost more.
 *
 * Only time in which the process runs counts: after a pause of the process, timers fire before replies are read, and the
 * receiver would be blamed. So the timer fires every `runningStepMs`; if it is late by as much again, all items get that time
 * back, and one step more.
 *
 * An array, searched linearly, for the reason given in `SlotMap.ts`.
 */
import { limits } from "../../Limits.ts"

export class TimeoutQueue<A> {
  readonly #timeoutMs: number
  readonly #expired: (one: A) => void
  /** Items under way, oldest first, and when each times out. */
  readonly #ends: Array<{ readonly one: A; at: number }> = []
  #timer: NodeJS.Timeout | undefined
  /** When the timer is to fire, in milliseconds of `performance.now()`. */
  #fireAt = 0

  /** Calls `expired` with each item that is not removed in time. */
  constructor(timeoutMs: number, expired: (one: A) => void) {
    this.#timeoutMs = timeoutMs
    this.#expired = expired
  }

  add(one: A): void {
    this.#ends.push({ one, at: performance.now() + this.#timeoutMs })
    if (this.#timer === undefined) this.#arm(this.#timeoutMs)
  }

  remove(one: A): void {
    const place = this.#ends.findIndex((end) => end.one === one)
    if (place === -1) return
    this.#ends.splice(place, 1)
    if (this.#ends.length > 0) return
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #arm(ms: number): void {
    const stepMs = Math.ceil(Math.min(ms, limits.runningStepMs))
    clearTimeout(this.#timer)
    this.#fireAt = performance.now() + stepMs
    this.#timer = setTimeout(this.#look, stepMs)
  }

  readonly #look = (): void => {
    this.#timer = undefined
    const lateMs = performance.now() - this.#fireAt
    if (lateMs >= limits.runningStepMs) {
      for (const end of this.#ends) end.at += lateMs + limits.runningStepMs
    }
    for (let [first] = this.#ends; first !== undefined; [first] = this.#ends) {
      const left = first.at - performance.now()
      // One that began meanwhile, because another ended, may have armed the timer for its own end.
      if (left > 0) {
        this.#arm(left)
        return
      }
      this.#ends.shift()
      this.#expired(first.one)
    }
  }
}
