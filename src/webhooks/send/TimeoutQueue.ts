/**
 * Ends what takes longer than it may: a few at once, such as the attempts of one endpoint. One timer serves all, since
 * all may take the same time: who began first is due first. Setting and clearing a timer for each would cost more.
 *
 * Only time counts in which the process ran: after a standstill timers fire before replies are read, and the receiver
 * would be blamed. So the timer fires every `runningStepMs`; late by as much again, it gives all that is under way that
 * time back, and one step more.
 *
 * An array, looked through: a map that changes all the time leaves a trail of old tables, and through one of them that
 * has grown old the garbage collector keeps all that came after it.
 */
import { limits } from "../../Limits.ts"

export class TimeoutQueue<A> {
  readonly #timeoutMs: number
  readonly #expired: (one: A) => void
  /** What is under way, in the order in which it began, and when it is over. */
  readonly #ends: Array<{ readonly one: A; at: number }> = []
  #timer: NodeJS.Timeout | undefined
  /** When the timer is to fire, in milliseconds of `performance.now()`. */
  #fireAt = 0

  /** `expired` is called with what has not been removed after the time. */
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
