/**
 * How long a runner that has the lock of a partition may take to serve it. A runner whose disk is full or fails would keep
 * the lock, and no other runner could take over: after `openingMs`, or `openingFailuresMax` failures in a row, it gives the
 * lock to the others, and does not ask for it again for as long.
 *
 * Both times double with each time that the lock was given away: a long opening gets its time, and two runners that both
 * cannot open it pass it on ever more rarely. They are as they were once it has served.
 */
import { limits } from "../Limits.ts"

export class Opening {
  readonly #now: () => number
  #allowedMs: number = limits.openingMs
  #since: number | undefined
  #failures = 0
  #pausesUntil = Number.NEGATIVE_INFINITY

  /** `now`: milliseconds, on a clock that only goes forward. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** It has the lock, and does not serve. */
  begins(): void {
    this.#since ??= this.#now()
  }

  failed(): void {
    this.#failures++
  }

  /** It serves. */
  succeeded(): void {
    this.lockLost()
    this.#allowedMs = limits.openingMs
  }

  lockLost(): void {
    this.#since = undefined
    this.#failures = 0
  }

  /** Another runner is to try. */
  get isOverdue(): boolean {
    if (this.#since === undefined) return false
    return (
      this.#failures >= limits.openingFailuresMax || this.#now() - this.#since >= this.#allowedMs
    )
  }

  gaveAway(): void {
    this.#pausesUntil = this.#now() + this.#allowedMs
    this.#allowedMs = Math.min(this.#allowedMs * 2, limits.openingMsMax)
  }

  /** It gave the lock away and leaves it to other runners. */
  get pauses(): boolean {
    return this.#now() < this.#pausesUntil
  }
}
