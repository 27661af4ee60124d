/**
 * Streaks: days in a row, each with an event that counts. A streak is a function of its set of
 * days, the user's time zones and the freezes. The order in which events arrive does not matter.
 *
 * - The day of an event is the latest local day that the user had reached when the event occurred
 *   (`userDayAt`), by the zone of that time. A day that was reached does not return, and a later
 *   change of zone changes no day.
 * - A missed day uses up a freeze and does not count. A streak begins with `initial` freezes and
 *   gains one whenever its days reach a multiple of `everyDays`, up to `max`. If more days are
 *   missed than there are freezes, the next day begins a new streak.
 * - Only days that exist can be missed. A day does not exist if the zone skips it, or if the user
 *   skips it by a change of zone. A day that had already begun when the last day ended in its own
 *   zone is not missed either, so a change of zone never breaks a streak at once.
 * - Each day counts with the freezes that the definition had on that day: an edit does not change
 *   earlier days.
 *
 * The days are stored as ranges, at most `streakRangesMax`. Of older ranges the state keeps only
 * the last run, and an event on such a day adds nothing.
 *
 * Cost: an event on a counted day searches its range; an event on a new day walks all ranges.
 */
import { limits } from "../../Limits.ts"
import type { StreakDefinition } from "../project/Project.ts"
import type { Zone } from "../values/Calendar.ts"

/**
 * The time zones of a user's days, oldest first. Each holds until `until`; the last one has no end.
 */
export type Zones = ReadonlyArray<{ readonly zone: Zone; readonly until: number }>

/** Consecutive days with events. */
export type DayRange = readonly [first: number, last: number]

/** A run: days in a row, in which freezes may have covered missed days. */
export interface StreakRun {
  readonly first: number
  readonly last: number
  /** The days with an event. */
  readonly days: number
  /** The freezes left after the run. */
  readonly freezes: number
}

export interface StreakState {
  /** Oldest first, at least one. No two ranges are adjacent. */
  readonly days: ReadonlyArray<DayRange>
  /** The run that the last day belongs to: its first day, its length, and the freezes left. */
  readonly first: number
  readonly length: number
  readonly freezes: number
  /** The length of the longest run. */
  readonly best: number
  /** The last run of the dropped days, and the length of their longest run. */
  readonly forgotten?: StreakRun
  readonly bestForgotten?: number
  /** Whether a record has the break of the streak. */
  readonly broken: boolean
}

/** The user's day at `ms`: the latest day that the user had reached. */
const userDayAt = (zones: Zones, ms: number): number => {
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

/** Whether a day without an event is missed after the day `last`. */
const isMissed = (zones: Zones, day: number, last: number): boolean => {
  if (zones.length === 1) return zones[0]!.zone.hasDay(day)
  const zone = zoneOfDay(zones, day)
  if (zone === undefined) return false
  const lastEndsAt = (zoneOfDay(zones, last) ?? zone).startOfDay(last + 1)
  if (zone.startOfDay(day) < lastEndsAt) return false
  // A day that a change of zone ended early is not missed.
  return userDayAt(zones, zone.startOfDay(day + 1) - 1) === day
}

/**
 * The number of days missed between `last` and `day`. Any result above `most` only means "more than
 * `most`".
 */
const missedBetween = (zones: Zones, last: number, day: number, most: number): number => {
  // So many days between them that more than `most` must be missed.
  if (day - last - 1 > most + notMissedMax(zones)) return most + 1
  let missed = 0
  for (let between = last + 1; between < day; between++) {
    if (isMissed(zones, between, last)) missed++
  }
  return missed
}

/**
 * The maximum number of days that are not missed: at most two for each change of zone, one of them
 * skipped.
 */
const notMissedMax = (zones: Zones): number => 2 * zones.length

export interface StreakNow {
  /** Days in a row as of now; 0 once it is broken. */
  readonly current: number
  /** Freezes left, after the days missed so far. */
  readonly freezes: number
}

/** The last day with an event. */
export const lastDayOf = ({ days }: StreakState): number => days.at(-1)![1]

/** A streak at `now` (epoch milliseconds), even before a record has its break. */
export const streakNow = (streak: StreakState, zones: Zones, now: number): StreakNow => {
  const { broken, freezes, length } = streak
  const missed = missedBetween(zones, lastDayOf(streak), userDayAt(zones, now), freezes)
  return broken || missed > freezes
    ? { current: 0, freezes: 0 }
    : { current: length, freezes: freezes - missed }
}

/**
 * The time at which a streak that is unbroken at `now` breaks without further events, epoch
 * milliseconds.
 */
export const streakBreaksAt = (streak: StreakState, zones: Zones, now: number): number => {
  const last = lastDayOf(streak)
  const today = Math.max(userDayAt(zones, now), last)
  const missed = missedBetween(zones, last, today, streak.freezes)
  let day = Math.max(today, last + 1)
  while (!isMissed(zones, day, last)) day++
  return zones.at(-1)!.zone.startOfDay(day + streak.freezes - missed + 1)
}

/**
 * The streak after an event of `occurredAt` that is decided at `now`. The same object if nothing
 * changes.
 */
export const withEventAt = (
  streak: StreakState | undefined,
  definition: StreakDefinition,
  zones: Zones,
  occurredAt: number,
  now: number,
): StreakState => {
  const day = userDayAt(zones, occurredAt)
  const known = streak?.days ?? []
  const range = known.findLast(([first]) => first <= day)
  if (range !== undefined && day <= range[1]) return streak!
  if (streak?.forgotten !== undefined && day <= streak.forgotten.last) return streak
  const next = walked(withDay(known, day), streak, definition, zones)
  if (streak?.broken !== true) return next
  // A late day repairs a broken streak only if the streak then lasts until now.
  return { ...next, broken: streakNow(next, zones, now).current === 0 }
}

/** The ranges with one more day, which is in none of them. */
const withDay = (days: ReadonlyArray<DayRange>, day: number): ReadonlyArray<DayRange> => {
  const before = days.filter(([, last]) => last < day)
  const after = days.slice(before.length)
  const first = before.at(-1)?.[1] === day - 1 ? before.pop()![0] : day
  if (after[0]?.[0] !== day + 1) return [...before, [first, day], ...after]
  return [...before, [first, after[0][1]], ...after.slice(1)]
}

const walked = (
  days: ReadonlyArray<DayRange>,
  before: Pick<StreakState, "bestForgotten" | "forgotten"> | undefined,
  definition: StreakDefinition,
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
  }
}

/** The runs of the days, oldest first. The first one is the forgotten run, or continues it. */
export const runsOf = (
  {
    days,
    forgotten,
  }: { readonly days: StreakState["days"]; readonly forgotten?: StreakRun | undefined },
  { freezes: present, freezesBefore = [] }: StreakDefinition,
  zones: Zones,
): ReadonlyArray<StreakRun> => {
  const runs = forgotten === undefined ? [] : [forgotten]
  const spans = freezesBefore.map(({ freezes, until }) => ({
    freezes,
    before: userDayAt(zones, until),
  }))
  for (const [first, last] of days) {
    let from = first
    while (from <= last) {
      const span = spans.find(({ before }) => from < before)
      const to = Math.min(last, (span?.before ?? Number.POSITIVE_INFINITY) - 1)
      follow(runs, from, to, span?.freezes ?? present, zones)
      from = to + 1
    }
  }
  return runs
}

/** Adds consecutive days with events, all under the same definition of freezes. */
const follow = (
  runs: Array<StreakRun>,
  from: number,
  to: number,
  definition: StreakDefinition["freezes"],
  zones: Zones,
): void => {
  const count = to - from + 1
  const run = runs.at(-1)
  const missed = run && missedBetween(zones, run.last, from, run.freezes)
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
  { everyDays, max }: StreakDefinition["freezes"],
  freezes: number,
  before: number,
  after: number,
): number => {
  if (everyDays === null) return freezes
  const times = Math.floor(after / everyDays) - Math.floor(before / everyDays)
  return Math.max(freezes, Math.min(max, freezes + times))
}
