/**
 * Retention of some users: those of a segment, or of a variant of an experiment (`RetentionOfSome.ts`).
 * The cohort of a day has the users who began on it. Of a segment a user begins on the first active day,
 * as `ActivityOfAll.ts` has it for all users; of a variant on the day of the user's calendar on which the user
 * entered. Day n is n days later, and counts a user who was active on that very day. A user may enter
 * without an event, so day 0 of a variant may lack users.
 *
 * Exact for cohorts of the last `analyticsDaysMax` days: a state tells the active days of as many
 * (`ActiveDays.ts`).
 *
 * Cost: a step for each active day of a user; 4 bytes for each day of each cohort.
 */
import { type ActiveDays, daysOf } from "./ActiveDays.ts"
import { activityDays, cohortSlots, retentionDaysMax } from "./ActivityOfAll.ts"

export class CohortDays {
  readonly #start: number
  readonly #sizes = new Int32Array(activityDays)
  readonly #active = new Int32Array(activityDays * cohortSlots)

  /** `to`: the last day that has begun anywhere. */
  constructor(to: number) {
    this.#start = to - activityDays + 1
  }

  /** Adds a user who began on the day. */
  add(began: number, activity: ActiveDays | null): void {
    const cohort = began - this.#start
    if (cohort < 0 || cohort >= activityDays) return
    this.#sizes[cohort]!++
    if (activity === null) return
    for (const day of daysOf(activity)) {
      const after = day - began
      if (after >= 0 && after <= retentionDaysMax) this.#active[cohort * cohortSlots + after]!++
    }
  }

  /** How many users began on the day. */
  size(day: number): number {
    return this.#sizes[day - this.#start] ?? 0
  }

  /** How many users who began on `day` were active `days` later. */
  returned(day: number, days: number): number {
    const cohort = day - this.#start
    if (cohort < 0 || cohort >= activityDays || days > retentionDaysMax) return 0
    return this.#active[cohort * cohortSlots + days]!
  }
}
