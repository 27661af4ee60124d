/**
 * How long a runner that has the lock of a partition may take to serve it. A runner whose disk is full or fails would keep
 * the lock, and no other runner could take over: after `openingMs`, or `openingFailuresMax` failures in a row, it gives the
 * lock to the others, and does not ask for it again for as long.
 *
 * Both times double with each time that the lock was given away: a long opening gets its time, and two runners that both
 * cannot open it pass it on ever more rarely. They are as they were once it has served.
 *
 * One failure to write, or a damaged copy, is enough: another attempt would fail as well. Copies of the same data fill disks of the same size at the
 * same time. So the lock is asked for again after `unwritablePauseMs`, always: callers wait for the first runner with space.
 */
import { limits } from "../Limits.ts"

/** `again`: another attempt may succeed; `unwritable`: its directory takes no writes now, or has a damaged copy that is filled again; `ends`: the process is to end. */
export type OpeningFailure = "again" | "unwritable" | "ends"

export class Opening {
  readonly #now: () => number
  #allowedMs: number = limits.openingMs
  #since: number | undefined
  #failures = 0
  #isUnwritable = false
  #pausesUntil = Number.NEGATIVE_INFINITY

  /** `now`: milliseconds, on a clock that only goes forward. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** It has the lock, and does not serve. */
  begins(): void {
    this.#since ??= this.#now()
  }

  /** Whether this is news: a full disk may last for hours. */
  failed(failure: OpeningFailure): boolean {
    const wasUnwritable = this.#isUnwritable
    this.#failures++
    this.#isUnwritable = failure === "unwritable"
    return !(wasUnwritable && this.#isUnwritable)
  }

  /** Time until the next attempt: each opening of a full disk costs as much as one that succeeds. */
  get retryMs(): number {
    if (!this.#isUnwritable) return limits.clusterRetryMs
    return Math.min(limits.clusterRetryMs * 2 ** (this.#failures - 1), limits.unwritablePauseMs)
  }

  /** It serves. */
  succeeded(): void {
    this.lockLost()
    this.#allowedMs = limits.openingMs
  }

  lockLost(): void {
    this.#since = undefined
    this.#failures = 0
    this.#isUnwritable = false
  }

  /** Another runner is to try. */
  get isOverdue(): boolean {
    if (this.#since === undefined) return false
    return (
      this.#isUnwritable ||
      this.#failures >= limits.openingFailuresMax ||
      this.#now() - this.#since >= this.#allowedMs
    )
  }

  gaveAway(): void {
    if (this.#isUnwritable) {
      this.#pausesUntil = this.#now() + limits.unwritablePauseMs
      return
    }
    this.#pausesUntil = this.#now() + this.#allowedMs
    this.#allowedMs = Math.min(this.#allowedMs * 2, limits.openingMsMax)
  }

  /** It gave the lock away and leaves it to other runners. */
  get pauses(): boolean {
    return this.#now() < this.#pausesUntil
  }
}
