/**
 * Active users and retention, from the active days of all users (`ActiveDays.ts`). Each user's days
 * are those of the user's own calendar, so a day here is the local day of each user.
 *
 * - A user is active in the week of a day if any of the 7 days up to it is active, and in the month if
 *   any of the 30 days is. An active day therefore counts for the 7 (or 30) days that begin with it;
 *   where the ranges of two active days of a user overlap, they count once. The numbers are kept as
 *   differences from day to day, so a day costs the same whatever the length of the range.
 * - The cohort of a day has the users whose first active day it is. Day n of a user is n days later.
 *
 * Cost: some 10 ns for an active day of a user; 170 KiB.
 */
import { limits } from "../../Limits.ts"
import { wordDays } from "./ActiveDays.ts"

/** The days that are counted: all from `analyticsDaysMax` days ago on, in every time zone. */
export const activityDays = limits.analyticsDaysMax + 2
const monthDays = 30
const weekDays = 7
/** With the days before that count for the month of the first one: `ActiveDays` has as many. */
const allDays = activityDays + monthDays - 1

/** The last day of a user's retention: the cohorts have a number for each day from 0 to this one. */
export const retentionDaysMax = 90
/** The days that are shown of each cohort. */
export const shownRetentionDays = [1, 7, 14, 30, 60, 90] as const

/** The numbers of a cohort. */
export const cohortSlots = retentionDaysMax + 1

/** One user's days, as `ActiveDays` has them. */
export interface CountedDays {
  readonly firstDay: number
  readonly lastWord: number
  readonly count: number
  readonly words: ArrayLike<number>
}

/** The users of a day. */
export interface DayActivity {
  readonly daily: number
  readonly weekly: number
  readonly monthly: number
  /** Those whose first active day it is. */
  readonly fresh: number
}

const nobody: DayActivity = { daily: 0, weekly: 0, monthly: 0, fresh: 0 }

/** The sums of an array of differences up to each place. */
const summed = (differences: Int32Array): Int32Array => {
  const sums = new Int32Array(differences.length)
  let sum = 0
  for (let place = 0; place < differences.length; place++) {
    sum += differences[place]!
    sums[place] = sum
  }
  return sums
}

export class ActivityOfAll {
  /** The first and the last of the counted days. */
  readonly from: number
  readonly to: number
  readonly #start: number
  readonly #daily = new Int32Array(allDays)
  readonly #weekly = new Int32Array(allDays + monthDays)
  readonly #monthly = new Int32Array(allDays + monthDays)
  readonly #cohorts = new Int32Array(allDays * cohortSlots)
  #sums: { readonly weekly: Int32Array; readonly monthly: Int32Array } | undefined

  /** `to`: the last day that has begun anywhere. */
  constructor(to: number) {
    this.to = to
    this.from = to - activityDays + 1
    this.#start = to - allDays + 1
  }

  /** Adds a user. */
  add({ count, firstDay, lastWord, words }: CountedDays): void {
    const daily = this.#daily
    const cohort = firstDay - this.#start
    let weekEnd = 0
    let monthEnd = 0
    for (let place = 0; place < count; place++) {
      const begin = (lastWord - count + 1 + place) * wordDays - this.#start
      for (let bits = words[place]!; bits !== 0; bits &= bits - 1) {
        const at = begin + 31 - Math.clz32(bits & -bits)
        if (at < 0 || at >= allDays) continue
        daily[at]!++
        this.#weekly[Math.max(at, weekEnd)]!++
        weekEnd = at + weekDays
        this.#weekly[weekEnd]!--
        this.#monthly[Math.max(at, monthEnd)]!++
        monthEnd = at + monthDays
        this.#monthly[monthEnd]!--
        if (cohort >= 0 && at - cohort <= retentionDaysMax) {
          this.#cohorts[cohort * cohortSlots + at - cohort]!++
        }
      }
    }
  }

  /** The users of a day; nobody on a day that is not counted. */
  on(day: number): DayActivity {
    if (day < this.from || day > this.to) return nobody
    this.#sums ??= { weekly: summed(this.#weekly), monthly: summed(this.#monthly) }
    const place = day - this.#start
    return {
      daily: this.#daily[place]!,
      weekly: this.#sums.weekly[place]!,
      monthly: this.#sums.monthly[place]!,
      fresh: this.#cohorts[place * cohortSlots]!,
    }
  }

  /** How many users are in the cohort of the day. */
  size(day: number): number {
    return this.returned(day, 0)
  }

  /** How many users of the cohort of `day` were active `days` later. */
  returned(day: number, days: number): number {
    if (day < this.from || day > this.to || days > retentionDaysMax) return 0
    return this.#cohorts[(day - this.#start) * cohortSlots + days]!
  }
}
