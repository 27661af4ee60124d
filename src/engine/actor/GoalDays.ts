/**
 * The contributions to each shared goal by day, of all teams together.
 *
 * A contribution belongs to the day of the project on which its event occurred. Its fact names the day
 * (`decide/Goals.ts`), so a later change of the zone moves nothing, and an undo takes the amount from the day that
 * got it. Contributions of erased users stay: their tombstones keep the day (`domain/record/Remains.ts`).
 *
 * Invariants:
 * - A goal has its last day with a contribution and the `goalDaysMax` days before it. A day that was
 *   dropped is not added again, so the sums do not depend on the order of the contributions.
 * - A snapshot writes the days of the goals that changed since the last one, as of its watermark.
 *
 * Cost: a change of a map for each contribution, and `goalDaysMax` numbers for each goal. A snapshot copies them as
 * it begins.
 */
import type { FactOf } from "../../domain/record/Record.ts"
import { limits } from "../../Limits.ts"
import { compositeKey } from "../../storage/Keys.ts"
import type { Entry } from "../../storage/Storage.ts"
import { encodeValue } from "../../storage/Values.ts"
import { Changed } from "../records/Changed.ts"

export const goalDaysPrefix = "goalDays"

/** The contributions of a goal by day, in any order, scaled. */
export type StoredDays = ReadonlyArray<readonly [day: number, amount: number]>

interface Days {
  last: number
  readonly amounts: Map<number, number>
}

/** One more than a read shows: an event may occur on the day after today, if its clock is ahead. */
const daysKept = limits.goalDaysMax + 1

export class GoalDays {
  readonly #byGoal = new Map<string, Days>()
  readonly #changed = new Changed<Days>()

  /** The contributions of a day, scaled. */
  amountOn(goalId: string, day: number): number {
    return this.#byGoal.get(goalId)?.amounts.get(day) ?? 0
  }

  /** Counts a contribution, or takes it back. */
  fold({ amount, day, goalId }: FactOf<"goal.contributed">): void {
    if (day === undefined) return
    const days = this.#daysOf(goalId, day)
    if (day <= days.last - daysKept) return
    this.#add(days, day, amount)
    this.#changed.note(goalId, days)
  }

  #daysOf(goalId: string, first: number): Days {
    let days = this.#byGoal.get(goalId)
    if (days === undefined) {
      days = { last: first, amounts: new Map() }
      this.#byGoal.set(goalId, days)
    }
    return days
  }

  #add(days: Days, day: number, amount: number): void {
    const { amounts } = days
    amounts.set(day, (amounts.get(day) ?? 0) + amount)
    if (day <= days.last) return
    days.last = day
    for (const each of amounts.keys()) {
      if (each <= day - daysKept) amounts.delete(each)
    }
  }

  /** Takes the days that a snapshot has. */
  load(goalId: string, stored: StoredDays): void {
    for (const [day, amount] of stored) this.#add(this.#daysOf(goalId, day), day, amount)
  }

  /** A snapshot begins. Returns its rows, which are those of now. */
  begin(environment: string): ReadonlyArray<Entry> {
    return Array.from(this.#changed.begin(), ([goalId, { amounts }]): Entry => {
      const stored: StoredDays = [...amounts]
      const key = compositeKey(goalDaysPrefix, environment, goalId)
      return { table: "meta", key, value: encodeValue(JSON.stringify(stored)) }
    })
  }

  /** The snapshot that began last has ended. */
  ended(): void {
    this.#changed.ended()
  }
}
