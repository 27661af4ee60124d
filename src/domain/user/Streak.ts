/**
 * Streaks: days in a row, each with an event that counts. A streak is a function of its set of days, of the user's time zones
 * and of the freezes: the order in which events arrive does not matter.
 *
 * - The day of an event is the latest local day that the user had reached when it occurred (`userDayAt`): the zone that held then decides,
 *   and a day that was reached does not return. A later change of zone changes no day.
 * - A missed day uses up a freeze and does not count. A streak begins with `initial` freezes and gains one whenever its
 *   days reach a multiple of `everyDays`, up to `max`. More missed days than freezes: the next day begins a new streak.
 * - A day is missed only if it exists: a day that a zone skips, or that the user leaped over by a change of zone, does not. Nor
 *   is a day missed that had begun when the last day ended in its own zone, so a change of zone breaks nothing at once.
 * - Freezes count as the definition had them on each day: an edit changes nothing that was before.
 *
 * The days are kept as ranges, at most `streakRangesMax`; of older ones only the run that they ended with is kept, and
 * an event of such a day adds nothing.
 *
 * Cost: an event of a counted day looks for its range; another one walks all ranges.
 */
import { limits } from "../../Limits.ts"
import type { StreakDefinition } from "../project/Project.ts"
import type { Zone } from "../values/Calendar.ts"

/** The time zones of a user's days, each until a moment, oldest first; the last one has no end. */
export type Zones = ReadonlyArray<{ readonly zone: Zone; readonly until: number }>

/** Consecutive days with events. */
export type DayRange = readonly [first: number, last: number]

/** Days in a row, missed ones that were forgiven included. */
export interface StreakRun {
  readonly first: number
  readonly last: number
  /** The days with an event. */
  readonly days: number
  /** Freezes left after them. */
  readonly freezes: number
}

export interface StreakState {
  /** Oldest first, at least one; no two of them touch. */
  readonly days: ReadonlyArray<DayRange>
  /** The run that the last day belongs to: its first day, its length, and the freezes left. */
  readonly first: number
  readonly length: number
  readonly freezes: number
  /** The length of the longest run. */
  readonly best: number
  /** The end of the days that are kept no more, and the longest run among them. */
  readonly forgotten?: StreakRun
  readonly bestForgotten?: number
  /** Whether its break was noted. */
  readonly broken: boolean
}

/** The user's day at `ms`: the latest that was reached. */
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
  // A move cut it short.
  return userDayAt(zones, zone.startOfDay(day + 1) - 1) === day
}

/** The days missed after `last` and before `day`; more than `most` are not counted. */
const missedBetween = (zones: Zones, last: number, day: number, most: number): number => {
  // Few days do not exist.
  if (day - last - 1 > most + notMissedMax(zones)) return most + 1
  let missed = 0
  for (let between = last + 1; between < day; between++) {
    if (isMissed(zones, between, last)) missed++
  }
  return missed
}

/** Each change of zone spares at most two days, and a zone skips one at most. */
const notMissedMax = (zones: Zones): number => 2 * zones.length

export interface StreakNow {
  /** Days in a row as of now; 0 once it is broken. */
  readonly current: number
  /** Freezes left, after the days missed so far. */
  readonly freezes: number
}

/** The last day with an event. */
export const lastDayOf = ({ days }: StreakState): number => days.at(-1)![1]

/** A streak at `now` (epoch milliseconds), even before a record notes its break. */
export const streakNow = (streak: StreakState, zones: Zones, now: number): StreakNow => {
  const { broken, freezes, length } = streak
  const missed = missedBetween(zones, lastDayOf(streak), userDayAt(zones, now), freezes)
  return broken || missed > freezes
    ? { current: 0, freezes: 0 }
    : { current: length, freezes: freezes - missed }
}

/** When a streak that is not broken at `now` breaks without further events, epoch milliseconds. */
export const streakBreaksAt = (streak: StreakState, zones: Zones, now: number): number => {
  const last = lastDayOf(streak)
  const today = Math.max(userDayAt(zones, now), last)
  const missed = missedBetween(zones, last, today, streak.freezes)
  let day = Math.max(today, last + 1)
  while (!isMissed(zones, day, last)) day++
  return zones.at(-1)!.zone.startOfDay(day + streak.freezes - missed + 1)
}

/** The streak with an event of `occurredAt`, decided at `now`; the same object if nothing changes. */
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
  // A late day mends a broken streak only if the streak then reaches up to now.
  return { ...next, broken: streakNow(next, zones, now).current === 0 }
}

/** The ranges with one more day, which none of them has. */
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

/** The runs of the days, oldest first; the forgotten one is the first, unless it goes on. */
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

/** Adds days in a row with events, all under the same freezes. */
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

/** The freezes after the streak has come from `before` to `after` days. */
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
