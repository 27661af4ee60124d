/**
 * Streaks: days, ISO weeks or months in a row that a user kept. A streak is a function of its set
 * of kept periods, the user's time zones, the freezes and the rest days. The order in which events
 * arrive does not matter, once their periods are kept.
 *
 * - The day of an event is the latest local day that the user had reached when the event occurred
 *   (`userDayAt`), by the zone of that time. A day that was reached does not return, and a later
 *   change of zone changes no day. A week or a month is that of the day, and has a number
 *   (`windowOfDay`).
 * - A missed period uses up a freeze and does not count. A streak begins with `initial` freezes and
 *   gains one whenever its length reaches a multiple of `everyDays`, up to `max`. If more periods
 *   are missed than there are freezes, the next one begins a new streak.
 * - Only periods that exist can be missed. A day does not exist if the zone skips it, or if the user
 *   skips it by a change of zone. A day that had already begun when the last day ended in its own
 *   zone is not missed either, so a change of zone never breaks a streak at once. A rest day is not
 *   missed; an event on a rest day counts as on any other day.
 * - Each period counts with the terms that the definition had in that period: an edit of freezes
 *   or rest days does not change earlier ones.
 * - Unless one event is enough (`needsOne`), what the events of a period that is not kept yet add is
 *   counted by need (`StreakCounts`). An undo takes such a count back. A kept period stays.
 *
 * The periods are stored as ranges, at most `streakRangesMax`. Of older ranges the state keeps only
 * the last run, and an event in such a period adds nothing. Counts are kept for the latest
 * `streakCountsMax` periods that have events and are not kept.
 *
 * Cost: an event in a kept period searches its range; an event that keeps a period walks all ranges.
 */
import { limits } from "../../Limits.ts"
import { weekdays } from "../project/Boost.ts"
import { type Streak, type StreakTerms, streakTime } from "../project/StreakDefinition.ts"
import { firstDayOf, windowKindOf, windowOfDay, type Zone } from "../values/Calendar.ts"

/** What a streak depends on of its definition. */
type Definition = Pick<Streak, "endsAt" | "every" | "freezes" | "restDays" | "termsBefore">

/**
 * The time zones of a user's days, oldest first. Each holds until `until`; the last one has no end.
 */
export type Zones = ReadonlyArray<{ readonly zone: Zone; readonly until: number }>

/** Consecutive periods that were kept. */
export type DayRange = readonly [first: number, last: number]

/** A run: periods in a row, in which freezes may have covered missed ones. */
export interface StreakRun {
  readonly first: number
  readonly last: number
  /** How many periods were kept. */
  readonly days: number
  /** The freezes left after the run. */
  readonly freezes: number
}

export interface StreakState {
  /** Oldest first, at least one. No two ranges are adjacent. */
  readonly days: ReadonlyArray<DayRange>
  /** The run of the last period: its first period, its length, and the freezes left. */
  readonly first: number
  readonly length: number
  readonly freezes: number
  /** The length of the longest run. */
  readonly best: number
  /** The last run of the dropped periods, and the length of their longest run. */
  readonly forgotten?: StreakRun
  readonly bestForgotten?: number
  /** Whether a record has the break of the streak. */
  readonly broken: boolean
  /** The targets of the milestones that were paid; absent: none. */
  readonly paid?: ReadonlyArray<number>
}

/**
 * What counts for the needs (`needName`) of periods that are not kept; oldest period first, at least
 * one.
 */
export type StreakCounts = ReadonlyArray<{
  readonly period: number
  readonly counts: { readonly [need: string]: number }
}>

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
  windowOfDay(windowKindOf[every], userDayAt(zones, ms))

/** The first day of a period. */
export const firstDayOfPeriod = ({ every }: Pick<Streak, "every">, period: number): number =>
  firstDayOf(windowKindOf[every], period)

/** 1970-01-01 was a Thursday. */
const weekdayOf = (day: number): (typeof weekdays)[number] => weekdays[(((day + 3) % 7) + 7) % 7]!

/** The periods of a definition in the calendar of a user. */
class Periods {
  readonly #definition: Definition
  readonly #zones: Zones
  readonly #former: ReadonlyArray<{ readonly terms: StreakTerms; readonly before: number }>
  /** The maximum number of rest days in a week. */
  readonly #restMax: number

  constructor(definition: Definition, zones: Zones) {
    const { restDays, termsBefore = [] } = definition
    this.#definition = definition
    this.#zones = zones
    this.#former = termsBefore.map((terms) => ({
      terms,
      before: periodAt(definition, zones, terms.until),
    }))
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

  /** Whether a period without an event is missed after the period `last`. */
  isMissed(period: number, last: number): boolean {
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
    const between = period - last - 1
    if (this.#definition.every !== "day") return Math.max(0, Math.min(between, most + 1))
    // So many days between them that more than `most` must be missed.
    if (this.#workdays(between) > most + notMissedMax(this.#zones)) return most + 1
    let missed = 0
    for (let day = last + 1; day < period; day++) if (this.isMissed(day, last)) missed++
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
    if (this.#restMax === 0) return period + left
    for (let missed = 1; missed <= left; ) if (this.isMissed(++period, last)) missed++
    return period
  }
}

/**
 * The maximum number of days that are not missed and no rest days: at most two for each change of
 * zone, one of them skipped.
 */
const notMissedMax = (zones: Zones): number => 2 * zones.length

export interface StreakNow {
  /** The length as of now; 0 once the streak is broken. */
  readonly current: number
  /** Freezes left, after the periods missed so far. */
  readonly freezes: number
}

/** The last period that was kept. */
export const lastPeriodOf = ({ days }: Pick<StreakState, "days">): number => days.at(-1)![1]

/** Whether the period was kept. */
export const isKept = (streak: StreakState | undefined, period: number): boolean => {
  const range = streak?.days.findLast(([first]) => first <= period)
  return range !== undefined && period <= range[1]
}

/** A streak at `now` (epoch milliseconds), even before a record has its break. */
export const streakNow = (
  streak: StreakState,
  definition: Definition,
  zones: Zones,
  now: number,
): StreakNow => {
  const { broken, freezes, length } = streak
  if (broken) return { current: 0, freezes: 0 }
  const periods = new Periods(definition, zones)
  const present = periods.at(streakTime(definition, now))
  const missed = periods.missedBetween(lastPeriodOf(streak), present, freezes)
  return missed > freezes
    ? { current: 0, freezes: 0 }
    : { current: length, freezes: freezes - missed }
}

/**
 * The time at which a streak that is unbroken at `now` breaks without further events, epoch
 * milliseconds; infinity if the definition ends before.
 */
export const streakBreaksAt = (
  streak: StreakState,
  definition: Definition,
  zones: Zones,
  now: number,
): number => {
  const periods = new Periods(definition, zones)
  const last = lastPeriodOf(streak)
  const present = Math.max(periods.at(now), last + 1)
  const left = streak.freezes - periods.missedBetween(last, present, streak.freezes)
  const at = periods.startOf(periods.lastCovered(present, last, left) + 1)
  return definition.endsAt !== null && at >= definition.endsAt ? Number.POSITIVE_INFINITY : at
}

/** Whether an event in the period would change nothing: it is kept, or older than all ranges. */
export const isSettled = (streak: StreakState | undefined, period: number): boolean =>
  isKept(streak, period) || (streak?.forgotten !== undefined && period <= streak.forgotten.last)

/**
 * The streak after the period `period`, which is not settled, was kept at `now`.
 */
export const withPeriod = (
  streak: StreakState | undefined,
  definition: Definition,
  zones: Zones,
  period: number,
  now: number,
): StreakState => {
  const next = walked(withDay(streak?.days ?? [], period), streak, definition, zones)
  if (streak?.broken !== true) return next
  // A late period repairs a broken streak only if the streak then lasts until now.
  return { ...next, broken: streakNow(next, definition, zones, now).current === 0 }
}

/**
 * The streak of two users who became one at a merge: it has the periods of both. Its best run is at
 * least that of each. Of a target that paid both, `paid` has two.
 */
export const unitedStreak = (
  one: StreakState,
  other: StreakState,
  definition: Definition,
  zones: Zones,
  now: number,
): StreakState => {
  const [early, late] = [one, other].toSorted(
    (a, b) => (a.forgotten?.last ?? 0) - (b.forgotten?.last ?? 0),
  ) as [StreakState, StreakState]
  const { forgotten } = late
  const bestForgotten = Math.max(
    early.bestForgotten ?? 0,
    late.bestForgotten ?? 0,
    early.forgotten?.days ?? 0,
  )
  const paid = [...(one.paid ?? []), ...(other.paid ?? [])]
  const before = {
    ...(forgotten !== undefined && { forgotten, bestForgotten }),
    ...(paid.length > 0 && { paid }),
  }
  const days = unitedRanges(one.days, other.days, (forgotten?.last ?? Number.NEGATIVE_INFINITY) + 1)
  const next = walked(days, before, definition, zones)
  const broken = one.broken && other.broken && streakNow(next, definition, zones, now).current === 0
  const best = Math.max(one.best, other.best)
  // More days may shorten a run, and so may another calendar.
  return best > next.best ? { ...next, best, bestForgotten: best, broken } : { ...next, broken }
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

/** The ranges with one more period, which is in none of them. */
const withDay = (days: ReadonlyArray<DayRange>, day: number): ReadonlyArray<DayRange> => {
  const before = days.filter(([, last]) => last < day)
  const after = days.slice(before.length)
  const first = before.at(-1)?.[1] === day - 1 ? before.pop()![0] : day
  if (after[0]?.[0] !== day + 1) return [...before, [first, day], ...after]
  return [...before, [first, after[0][1]], ...after.slice(1)]
}

const walked = (
  days: ReadonlyArray<DayRange>,
  before: Pick<StreakState, "bestForgotten" | "forgotten" | "paid"> | undefined,
  definition: Definition,
  zones: Zones,
): StreakState => {
  let forgotten = before?.forgotten
  let bestForgotten = before?.bestForgotten
  const excess = Math.max(0, days.length - limits.streakRangesMax)
  if (excess > 0) {
    const runs = runsOf({ days: days.slice(0, excess), forgotten }, definition, zones)
    forgotten = runs.at(-1)!
    bestForgotten = Math.max(bestForgotten ?? 0, ...runs.map((run) => run.days))
  }
  const kept = days.slice(excess)
  const runs = runsOf({ days: kept, forgotten }, definition, zones)
  const last = runs.at(-1)!
  return {
    days: kept,
    first: last.first,
    length: last.days,
    freezes: last.freezes,
    best: Math.max(bestForgotten ?? 0, ...runs.map((run) => run.days)),
    ...(forgotten !== undefined && { forgotten }),
    ...(bestForgotten !== undefined && { bestForgotten }),
    broken: false,
    ...(before?.paid !== undefined && { paid: before.paid }),
  }
}

/** The runs of the periods, oldest first. The first one is the forgotten run, or continues it. */
export const runsOf = (
  {
    days,
    forgotten,
  }: { readonly days: StreakState["days"]; readonly forgotten?: StreakRun | undefined },
  definition: Definition,
  zones: Zones,
): ReadonlyArray<StreakRun> => {
  const runs = forgotten === undefined ? [] : [forgotten]
  const periods = new Periods(definition, zones)
  for (const [first, last] of days) {
    let from = first
    while (from <= last) {
      const { before, terms } = periods.termsOf(from)
      const to = Math.min(last, before - 1)
      follow(runs, from, to, terms.freezes, periods)
      from = to + 1
    }
  }
  return runs
}

/** Adds consecutive periods that were kept, all under the same definition of freezes. */
const follow = (
  runs: Array<StreakRun>,
  from: number,
  to: number,
  definition: StreakTerms["freezes"],
  periods: Periods,
): void => {
  const count = to - from + 1
  const run = runs.at(-1)
  const missed = run && periods.missedBetween(run.last, from, run.freezes)
  if (run === undefined || missed === undefined || missed > run.freezes) {
    const freezes = gained(definition, definition.initial, 0, count)
    runs.push({ first: from, last: to, days: count, freezes })
    return
  }
  const days = run.days + count
  const freezes = gained(definition, run.freezes - missed, run.days, days)
  runs[runs.length - 1] = { first: run.first, last: to, days, freezes }
}

/** The freezes after the streak has grown from `before` to `after` days. */
const gained = (
  { everyDays, max }: StreakTerms["freezes"],
  freezes: number,
  before: number,
  after: number,
): number => {
  if (everyDays === null) return freezes
  const times = Math.floor(after / everyDays) - Math.floor(before / everyDays)
  return Math.max(freezes, Math.min(max, freezes + times))
}
