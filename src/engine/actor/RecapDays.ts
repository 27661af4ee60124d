/**
 * What a recap of an environment needs besides `DayCounts.ts`: how much of each currency but xp users
 * earned on each of the latest days, and the longest run that a streak had on it. Like the counts of
 * actions, an undo and the erasure of a user change nothing. A day is that of `DayCounts.ts`.
 *
 * Cost: a look-up in a map for a fact that counts; at most `dayCountsMax` days with a number for each
 * currency and streak, so 300 KiB of the snapshot with 20 of each.
 */
import type { JournalRecord } from "../../domain/record/Record.ts"
import { limits } from "../../Limits.ts"

type ByKey = Map<string, number>

interface Day {
  readonly earned: ByKey
  readonly runs: ByKey
}

/** The days on which something counted, in their order. */
export type StoredRecapDays = ReadonlyArray<
  readonly [
    day: number,
    earned: ReadonlyArray<readonly [currency: string, amount: number]>,
    runs: ReadonlyArray<readonly [streak: string, length: number]>,
  ]
>

const nothing: Day = { earned: new Map(), runs: new Map() }

export class RecapDays {
  readonly #byDay = new Map<number, Day>()
  /** The latest day. */
  #latest = Number.NEGATIVE_INFINITY

  on(day: number): {
    readonly earned: ReadonlyMap<string, number>
    readonly runs: ReadonlyMap<string, number>
  } {
    return this.#byDay.get(day) ?? nothing
  }

  /** Counts a record of the day that `dayOf` tells; returns whether anything counted. */
  fold({ facts }: JournalRecord, dayOf: () => number): boolean {
    let day: Day | undefined
    for (const fact of facts) {
      switch (fact.kind) {
        case "points.earned":
        case "currency.earned": {
          day ??= this.#at(dayOf())
          const key = "currency" in fact ? fact.currency : "points"
          day.earned.set(key, (day.earned.get(key) ?? 0) + fact.amount)
          break
        }
        case "streak.extended":
        case "streak.counted":
          // A late event of a run that has broken: its length is not known.
          if (fact.current === 0) break
          day ??= this.#at(dayOf())
          day.runs.set(fact.key, Math.max(day.runs.get(fact.key) ?? 0, fact.current))
          break
      }
    }
    return day !== undefined
  }

  #at(day: number): Day {
    const known = this.#byDay.get(day)
    if (known !== undefined) return known
    const made: Day = { earned: new Map(), runs: new Map() }
    if (day <= this.#latest - limits.dayCountsMax) return made
    this.#byDay.set(day, made)
    if (day <= this.#latest) return made
    this.#latest = day
    for (const old of this.#byDay.keys()) {
      if (old <= day - limits.dayCountsMax) this.#byDay.delete(old)
    }
    return made
  }

  load(stored: StoredRecapDays): void {
    for (const [day, earned, runs] of stored) {
      const made = this.#at(day)
      for (const [key, amount] of earned) made.earned.set(key, amount)
      for (const [key, length] of runs) made.runs.set(key, length)
    }
  }

  /** The member for the snapshot; none without a day. */
  stored(): { readonly recapDays?: StoredRecapDays } {
    if (this.#byDay.size === 0) return {}
    const recapDays = [...this.#byDay]
      .sort(([one], [other]) => one - other)
      .map(([day, { earned, runs }]) => [day, [...earned], [...runs]] as const)
    return { recapDays }
  }
}
