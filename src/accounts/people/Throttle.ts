/**
 * Slows down guessing. After some failures a name (an account's address, a network address, a device) has to pause,
 * first a second, then twice as long with each further failure, 15 minutes at most. A name's failures are forgotten
 * after a day without one. Names are bounded: the one whose last failure is longest past goes first.
 */
import { limits } from "../../Limits.ts"

interface Failures {
  count: number
  /** Epoch milliseconds. */
  lastAt: number
  pauseUntil: number
}

export class Throttle {
  /** In the order of the last failure. */
  readonly #names = new Map<string, Failures>()
  readonly #free: number

  /** `free` failures cost nothing. */
  constructor(free: number) {
    this.#free = free
  }

  /** How long `name` has to wait before another try, in milliseconds; 0 for not at all. */
  pauseMs(name: string, now: number): number {
    const failures = this.#names.get(name)
    return failures === undefined ? 0 : Math.max(0, failures.pauseUntil - now)
  }

  /** Counts a failure; the result takes it back, where it turns out to be none. */
  failed(name: string, now: number): () => void {
    const before = this.#names.get(name)
    const forgotten = before === undefined || now - before.lastAt >= limits.signInFailuresKeptMs
    const count = forgotten ? 1 : before.count + 1
    const doublings = count - this.#free
    const pauseMs =
      doublings < 0
        ? 0
        : Math.min(limits.signInPauseMsMax, limits.signInPauseMsMin * 2 ** doublings)
    const failures = { count, lastAt: now, pauseUntil: now + pauseMs }
    this.#names.delete(name)
    this.#names.set(name, failures)
    if (this.#names.size > limits.signInNamesMax) {
      this.#names.delete(this.#names.keys().next().value!)
    }
    return () => {
      const current = this.#names.get(name)
      if (current === failures && before !== undefined) this.#names.set(name, before)
      else if (current === failures) this.#names.delete(name)
      // Others failed meanwhile: their pause stays.
      else if (current !== undefined) current.count--
    }
  }

  succeeded(name: string): void {
    this.#names.delete(name)
  }
}
