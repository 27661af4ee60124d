/**
 * A time that only goes forward: with the clock on the wall where that goes ahead, with the time that has
 * passed where it is set back. So what is due in five minutes is due in five minutes.
 */
import type { Clock } from "effect"

export class SteadyTime {
  readonly #clock: Clock.Clock
  #now: number
  #wall: number
  #monotonic: bigint

  constructor(clock: Clock.Clock) {
    this.#clock = clock
    this.#wall = clock.currentTimeMillisUnsafe()
    this.#now = this.#wall
    this.#monotonic = clock.monotonicTimeNanosUnsafe()
  }

  /** Epoch milliseconds, as long as nobody sets the clock. */
  readonly now = (): number => {
    const wall = this.#clock.currentTimeMillisUnsafe()
    const monotonic = this.#clock.monotonicTimeNanosUnsafe()
    const passed = Number(monotonic - this.#monotonic) / 1e6
    this.#now += Math.max(0, passed, wall - this.#wall)
    this.#wall = wall
    this.#monotonic = monotonic
    return Math.round(this.#now)
  }
}
