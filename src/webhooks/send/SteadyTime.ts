/**
 * A clock for due times that runs at the speed of time: with the engine's clock where that runs ahead, with the monotonic
 * clock where the engine's stands still because the machine's clock was set back.
 */
import type { Clock } from "effect"

export class SteadyTime {
  readonly #clock: Clock.Clock
  #now: number
  readonly #engineNow: () => number
  #engine: number
  #monotonic: bigint

  /** `engineNow` answers epoch milliseconds that never go back. */
  constructor(clock: Clock.Clock, engineNow: () => number) {
    this.#clock = clock
    this.#engineNow = engineNow
    this.#engine = engineNow()
    this.#now = this.#engine
    this.#monotonic = clock.monotonicTimeNanosUnsafe()
  }

  /** Epoch milliseconds, unless the clock was set. */
  readonly now = (): number => {
    const engine = this.#engineNow()
    const monotonic = this.#clock.monotonicTimeNanosUnsafe()
    const passed = Number(monotonic - this.#monotonic) / 1e6
    this.#now += Math.max(0, passed, engine - this.#engine)
    this.#engine = engine
    this.#monotonic = monotonic
    return Math.round(this.#now)
  }
}
