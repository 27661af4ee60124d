/** How many events an environment counted in each of the last minutes, in memory only: 60 counters, one of them current. */
import { limits } from "../../Limits.ts"

const minuteMs = 60_000

export class Activity {
  /** By minute, in a ring. */
  readonly #events = new Uint32Array(limits.activityMinutes)
  /** The latest minute that was counted, as a number of minutes since the epoch. */
  #latest = 0

  /** Counts an event that was decided at `at`, epoch milliseconds. */
  count(at: number): void {
    const minute = Math.floor(at / minuteMs)
    if (minute > this.#latest) this.#advance(minute)
    if (minute > this.#latest - limits.activityMinutes) {
      this.#events[minute % limits.activityMinutes]!++
    }
  }

  /** Events of each of the last minutes, oldest first; the last is the minute of `now`, which is not over. */
  perMinute(now: number): ReadonlyArray<number> {
    const minute = Math.floor(now / minuteMs)
    if (minute > this.#latest) this.#advance(minute)
    return Array.from(
      this.#events,
      (_, index) => this.#events[(minute + 1 + index) % limits.activityMinutes]!,
    )
  }

  #advance(minute: number): void {
    const passed = Math.min(minute - this.#latest, limits.activityMinutes)
    for (let back = 0; back < passed; back++) {
      this.#events[(minute - back) % limits.activityMinutes] = 0
    }
    this.#latest = minute
  }
}
