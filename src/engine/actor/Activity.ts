/**
 * How many events an environment had in each of the last minutes: 60 counters, one of them current. They are folded from
 * durable records like the other counts (`Counts.ts`), so that they survive a restart.
 */
import { limits } from "../../Limits.ts"

const minuteMs = 60_000

/** Minutes that have events: their numbers since the epoch, and the events of each. */
export type StoredActivity = ReadonlyArray<readonly [minute: number, events: number]>

export class Activity {
  /** By minute, in a ring. */
  readonly #events = new Uint32Array(limits.activityMinutes)
  /** The latest minute that was counted, as a number of minutes since the epoch. */
  #latest = 0

  /** Counts an event of the time `at`, epoch milliseconds. */
  count(at: number): void {
    this.#add(Math.floor(at / minuteMs), 1)
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

  load(stored: StoredActivity): void {
    for (const [minute, events] of stored) this.#add(minute, events)
  }

  /** A member for the snapshot; none while no minute has events. */
  stored(): { readonly minutes?: StoredActivity } {
    const first = this.#latest + 1 - limits.activityMinutes
    const minutes: Array<readonly [number, number]> = []
    for (let minute = first; minute <= this.#latest; minute++) {
      const events = this.#events[minute % limits.activityMinutes]
      if (events !== undefined && events > 0) minutes.push([minute, events])
    }
    return minutes.length === 0 ? {} : { minutes }
  }

  #add(minute: number, events: number): void {
    if (minute > this.#latest) this.#advance(minute)
    if (minute > this.#latest - limits.activityMinutes) {
      this.#events[minute % limits.activityMinutes]! += events
    }
  }

  #advance(minute: number): void {
    const passed = Math.min(minute - this.#latest, limits.activityMinutes)
    for (let back = 0; back < passed; back++) {
      this.#events[(minute - back) % limits.activityMinutes] = 0
    }
    this.#latest = minute
  }
}
