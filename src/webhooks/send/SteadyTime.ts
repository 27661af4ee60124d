/**
 * A clock for due times that runs at the speed of time: the monotonic clock moves it, also while
 * the engine's stands still because the machine's clock was set back; where the engine's clock is
 * ahead of it, it follows that.
 *
 * It is the engine's clock to a millisecond while no clock is set. Due times are stored, and
 * another process judges them by its own clock: time that ran ahead here would delay messages
 * there, and let later ones pass. First attempts do not depend on it: they are due at the time of
 * their record, which no engine's clock is behind. A retry is late by as much as the clock of a
 * later owner is behind, at most by the longest pause: what is due later than that is sent at once
 * (`Dispatcher.ts`).
 */
import type { Clock } from "effect"

export class SteadyTime {
  readonly #clock: Clock.Clock
  #now: number
  readonly #engineNow: () => number
  #monotonic: bigint

  /** `engineNow` answers epoch milliseconds that never go back. */
  constructor(clock: Clock.Clock, engineNow: () => number) {
    this.#clock = clock
    this.#engineNow = engineNow
    this.#now = engineNow()
    this.#monotonic = clock.monotonicTimeNanosUnsafe()
  }

  /** Epoch milliseconds, unless the clock was set. */
  readonly now = (): number => {
    const monotonic = this.#clock.monotonicTimeNanosUnsafe()
    const passed = Math.max(0, Number(monotonic - this.#monotonic) / 1e6)
    this.#now = Math.max(this.#now + passed, this.#engineNow())
    this.#monotonic = monotonic
    return Math.round(this.#now)
  }
}
