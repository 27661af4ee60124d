/** A clock that runs from any set time. A sleep until a skipped time ends at the skip. */
import { type Clock, Duration, Effect } from "effect"

interface Sleeper {
  readonly until: number
  readonly wake: () => void
}

export class RunningClock implements Clock.Clock {
  #ahead: number
  #skipped = 0
  readonly #sleepers = new Set<Sleeper>()

  constructor(now: string) {
    this.#ahead = Date.parse(now) - Date.now()
  }

  /** Skipping moves the clock forward; an earlier time sets the clock back. */
  set(now: string): void {
    const before = this.#ahead
    this.#ahead = Date.parse(now) - Date.now()
    this.#skipped += Math.max(0, this.#ahead - before)
    for (const sleeper of this.#sleepers) {
      if (sleeper.until <= this.currentTimeMillisUnsafe()) sleeper.wake()
    }
  }

  currentTimeMillisUnsafe(): number {
    return Date.now() + this.#ahead
  }

  currentTimeNanosUnsafe(): bigint {
    return BigInt(this.currentTimeMillisUnsafe()) * 1_000_000n
  }

  monotonicTimeNanosUnsafe(): bigint {
    return process.hrtime.bigint() + BigInt(Math.round(this.#skipped)) * 1_000_000n
  }

  readonly currentTimeMillis = Effect.sync(() => this.currentTimeMillisUnsafe())
  readonly currentTimeNanos = Effect.sync(() => this.currentTimeNanosUnsafe())
  readonly monotonicTimeNanos = Effect.sync(() => this.monotonicTimeNanosUnsafe())

  sleep(duration: Duration.Duration): Effect.Effect<void> {
    return Effect.callback((resume) => {
      const ms = Duration.toMillis(duration)
      const wake = () => {
        clearTimeout(timer)
        this.#sleepers.delete(sleeper)
        resume(Effect.void)
      }
      const sleeper: Sleeper = { until: this.currentTimeMillisUnsafe() + ms, wake }
      const timer = setTimeout(wake, Math.min(ms, 2 ** 31 - 1))
      this.#sleepers.add(sleeper)
      return Effect.sync(() => {
        clearTimeout(timer)
        this.#sleepers.delete(sleeper)
      })
    })
  }
}
