/**
 * A clock for due times that runs at real speed. The monotonic clock moves it, also while the
 * engine's clock stands still because the machine's clock was set back. If the engine's clock is
 * ahead, this clock follows it.
 *
 * While no clock is set, it equals the engine's clock to a millisecond. Due times are stored, and
 * another process compares them with its own clock: if this clock were ahead, messages would be
 * late there, and later messages would overtake them. First attempts do not depend on this clock:
 * they are due at the time of their record, and no engine's clock is behind that. A retry is late
 * by the difference if the clock of a later owner is behind, but at most by the longest pause:
 * deliveries that are due later than that are sent at once (`Dispatcher.ts`).
 */
import type { Clock } from "effect"

export class SteadyTime {
  readonly #clock: Clock.Clock
  #now: number
  readonly #engineNow: () => number
  #monotonic: bigint

  /** `engineNow` returns epoch milliseconds that never go back. */
  constructor(clock: Clock.Clock, engineNow: () => number) {
    this.#clock = clock
    this.#engineNow = engineNow
    this.#now = engineNow()
    this.#monotonic = clock.monotonicTimeNanosUnsafe()
  }

  /** Epoch milliseconds; different from the machine's clock if that was set. */
  readonly now = (): number => {
    const monotonic = this.#clock.monotonicTimeNanosUnsafe()
    const passed = Math.max(0, Number(monotonic - this.#monotonic) / 1e6)
    this.#now = Math.max(this.#now + passed, this.#engineNow())
    this.#monotonic = monotonic
    return Math.round(this.#now)
  }
}
