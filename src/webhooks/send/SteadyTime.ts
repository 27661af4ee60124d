/**
 * A time that goes as fast as time passes: with the engine's where that goes ahead, with the time that has passed where
 * the engine's is slower, since the machine's clock was set back. So what is due in five minutes is due in five minutes.
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

  /** Epoch milliseconds, as long as nobody sets the clock. */
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
