/**
 * The periods of a streak in the calendar of a user: days, ISO weeks or months by number
 * (`windowOfDay`), over all time zones that the user had. `Streak.ts` tells which are missed.
 *
 * Cost: a period of a user who never changed the zone costs a look-up; with changes, one per zone.
 */
import { weekdays } from "../project/Boost.ts"
import type { Streak, StreakTerms } from "../project/StreakDefinition.ts"
import { firstDayOf, windowKindOf, windowOfDay, type Zone } from "../values/Calendar.ts"

/** Consecutive days or periods, the last one included. */
export type DayRange = readonly [first: number, last: number]

/** What covers a user's periods, so that they are not missed. */
export interface Covers {
  /** Days of pauses, oldest first; no two ranges are adjacent. Absent: none. */
  readonly pauses?: ReadonlyArray<DayRange>
  /**
   * The periods of each repair, kept ones included, in the order of their ends; ranges may overlap.
   * Absent: none.
   */
  readonly repairs?: ReadonlyArray<DayRange>
}

/** Ranges in order, without overlaps; no two are adjacent. */
export const joined = (ranges: ReadonlyArray<DayRange>): ReadonlyArray<DayRange> => {
  const all: Array<DayRange> = []
  for (const [first, last] of ranges.toSorted(([one], [other]) => one - other)) {
    const before = all.at(-1)
    if (before === undefined || first > before[1] + 1) all.push([first, last])
    else all[all.length - 1] = [before[0], Math.max(before[1], last)]
  }
  return all
}

/** The periods from `from` on that are in one of the lists of ranges, or in both. */
export const unitedRanges = (
  one: ReadonlyArray<DayRange>,
  other: ReadonlyArray<DayRange>,
  from: number,
): ReadonlyArray<DayRange> => {
  const united: Array<DayRange> = []
  for (const [first, last] of [...one, ...other].sort(([a], [b]) => a - b)) {
    if (last < from) continue
    const before = united.at(-1)
    if (before === undefined || first > before[1] + 1) united.push([Math.max(first, from), last])
    else united[united.length - 1] = [before[0], Math.max(before[1], last)]
  }
  return united
}

const noCovers: ReadonlyArray<DayRange> = []

const isWithin = (ranges: ReadonlyArray<DayRange>, period: number): boolean =>
  ranges.some(([first, last]) => first <= period && period <= last)

/** What a streak depends on of its definition. */
export type StreakRules = Pick<Streak, "endsAt" | "every" | "freezes" | "restDays" | "termsBefore">

/** What a warning depends on of a definition. */
export type StreakWarnings = StreakRules & Pick<Streak, "atRisk" | "set" | "startsAt">

/**
 * The time zones of a user's days, oldest first. Each holds until `until`; the last one has no end.
 */
export type Zones = ReadonlyArray<{ readonly zone: Zone; readonly until: number }>

/** The user's day at `ms`: the latest day that the user had reached. */
export const userDayAt = (zones: Zones, ms: number): number => {
  let day = Number.NEGATIVE_INFINITY
  for (const { until, zone } of zones) {
    day = Math.max(day, zone.dayAt(Math.min(ms, until - 1)))
    if (ms < until) break
  }
  return day
}

/** The zone in which a day begins for the user; `undefined` if the day does not exist. */
const zoneOfDay = (zones: Zones, day: number): Zone | undefined => {
  let from = Number.NEGATIVE_INFINITY
  for (const { until, zone } of zones) {
    const at = Math.max(from, zone.startOfDay(day))
    if (at < until) return zone.dayAt(at) === day ? zone : undefined
    from = until
  }
  return undefined
}

/** The number of the period that the user had reached at `ms`. */
export const periodAt = ({ every }: Pick<Streak, "every">, zones: Zones, ms: number): number =>
  periodOfDay({ every }, userDayAt(zones, ms))

/** The number of the period of a day. */
export const periodOfDay = ({ every }: Pick<Streak, "every">, day: number): number =>
  windowOfDay(windowKindOf[every], day)

/** The first day of a period. */
export const firstDayOfPeriod = ({ every }: Pick<Streak, "every">, period: number): number =>
  firstDayOf(windowKindOf[every], period)

/** 1970-01-01 was a Thursday. */
const weekdayOf = (day: number): (typeof weekdays)[number] => weekdays[(((day + 3) % 7) + 7) % 7]!

/** The periods of a definition in the calendar of a user. */
export class Periods {
  readonly #definition: StreakRules
  readonly #zones: Zones
  readonly #former: ReadonlyArray<{ readonly terms: StreakTerms; readonly before: number }>
  /** The maximum number of rest days in a week. */
  readonly #restMax: number
  /** Covered periods: a week or a month is, if one of its days is. */
  readonly #covers: ReadonlyArray<DayRange>
  readonly #pauses: ReadonlyArray<DayRange>
  readonly #repairs: ReadonlyArray<DayRange>

  constructor(
    definition: StreakRules,
    zones: Zones,
    { pauses = noCovers, repairs = noCovers }: Covers,
  ) {
    const { restDays, termsBefore = [] } = definition
    this.#definition = definition
    this.#zones = zones
    this.#former = termsBefore.map((terms) => ({
      terms,
      before: periodAt(definition, zones, terms.until),
    }))
    this.#pauses =
      pauses.length === 0
        ? noCovers
        : pauses.map(([from, to]) => [periodOfDay(definition, from), periodOfDay(definition, to)])
    this.#repairs = repairs
    this.#covers =
      pauses.length === 0 && repairs.length === 0 ? noCovers : joined([...this.#pauses, ...repairs])
    this.#restMax = Math.max(restDays.length, ...termsBefore.map((terms) => terms.restDays.length))
  }

  at(ms: number): number {
    return periodAt(this.#definition, this.#zones, ms)
  }

  /** The start of a period that the user has not reached yet, epoch milliseconds. */
  startOf(period: number): number {
    return this.#zones.at(-1)!.zone.startOfDay(firstDayOfPeriod(this.#definition, period))
  }

  /** The terms of a period, and the first later period that may have others. */
  termsOf(period: number): { readonly terms: StreakTerms; readonly before: number } {
    return (
      this.#former.find(({ before }) => period < before) ?? {
        terms: this.#definition,
        before: Number.POSITIVE_INFINITY,
      }
    )
  }

  isRest(period: number): boolean {
    return this.#restMax > 0 && this.termsOf(period).terms.restDays.includes(weekdayOf(period))
  }

  isPaused(period: number): boolean {
    return isWithin(this.#pauses, period)
  }

  isRepaired(period: number): boolean {
    return isWithin(this.#repairs, period)
  }

  /** Whether a period without an event is missed after the period `last`. */
  isMissed(period: number, last: number): boolean {
    return !isWithin(this.#covers, period) && this.isMissable(period, last)
  }

  /** Whether a period without an event would be missed after the period `last` if nothing covered it. */
  isMissable(period: number, last: number): boolean {
    const zones = this.#zones
    // Whatever the changes of zone, a user has every week and every month.
    if (this.#definition.every !== "day") return true
    if (this.isRest(period)) return false
    if (zones.length === 1) return zones[0]!.zone.hasDay(period)
    const zone = zoneOfDay(zones, period)
    if (zone === undefined) return false
    const lastEndsAt = (zoneOfDay(zones, last) ?? zone).startOfDay(last + 1)
    if (zone.startOfDay(period) < lastEndsAt) return false
    // A day that a change of zone ended early is not missed.
    return userDayAt(zones, zone.startOfDay(period + 1) - 1) === period
  }

  /**
   * The number of periods missed between `last` and `period`. Any result above `most` only means
   * "more than `most`".
   */
  missedBetween(last: number, period: number, most: number): number {
    let missed = 0
    let from = last + 1
    for (const [first, end] of this.#covers) {
      if (end < from) continue
      if (first >= period) break
      missed += this.#missedIn(from, first, last, most - missed)
      if (missed > most) return missed
      from = end + 1
    }
    return missed + this.#missedIn(from, period, last, most - missed)
  }

  /** `missedBetween` for the periods from `from` up to `until`, excluded, without a covered period. */
  #missedIn(from: number, until: number, last: number, most: number): number {
    const count = until - from
    if (this.#definition.every !== "day") return Math.max(0, Math.min(count, most + 1))
    // So many days that more than `most` must be missed.
    if (this.#workdays(count) > most + notMissedMax(this.#zones)) return most + 1
    let missed = 0
    for (let day = from; day < until; day++) if (this.isMissed(day, last)) missed++
    return missed
  }

  /** The minimum number of days that are no rest days among so many consecutive days. */
  #workdays(days: number): number {
    const rest = this.#restMax
    return Math.floor(days / 7) * (7 - rest) + Math.max(0, (days % 7) - rest)
  }

  /** The first period after which more than `left` are missed, those before `from` left out. */
  lastCovered(from: number, last: number, left: number): number {
    let period = from
    while (!this.isMissed(period, last)) period++
    if (this.#restMax === 0 && this.#covers.length === 0) return period + left
    for (let missed = 1; missed <= left; ) if (this.isMissed(++period, last)) missed++
    return period
  }
}

/**
 * The maximum number of days that are not missed and no rest days: at most two for each change of
 * zone, one of them skipped.
 */
const notMissedMax = (zones: Zones): number => 2 * zones.length
