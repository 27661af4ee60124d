/**
 * Slows down guessing. After some free failures a name (an account's address, a network, a device)
 * has to pause: first a second, then twice as long after each further failure, at most 15 minutes.
 * A name is forgotten after a day without failures. At most `signInNamesMax` names are kept; beyond
 * that, the name with the oldest last failure is forgotten.
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

  /** The first `free` failures cause no pause. */
  constructor(free: number) {
    this.#free = free
  }

  /** How long `name` has to wait before another try, in milliseconds; 0 outside of a pause. */
  pauseMs(name: string, now: number): number {
    const failures = this.#names.get(name)
    return failures === undefined ? 0 : Math.max(0, failures.pauseUntil - now)
  }

  /** Counts a failure. The returned function takes it back. */
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
      // Another check failed meanwhile. Its pause stays.
      else if (current !== undefined) current.count--
    }
  }

  succeeded(name: string): void {
    this.#names.delete(name)
  }
}
