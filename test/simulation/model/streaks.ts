/**
 * Streaks: worked out from the days on which something happened, walked from the first to the last.
 *
 * The day of an event is that of the time zone that the user was in at the decision. Three rules
 * keep journeys harmless: what occurred after all that was counted belongs behind the last day or nowhere; what
 * occurred before, never behind it; and days that began while it was still the last day at the place where that was
 * counted were not missed, but leapt over.
 */
import type { StreakDefinition } from "../../../src/domain/project/Project.ts"
import { limits } from "../../../src/Limits.ts"
import { dateAt, dateOf, numberOf, startOf } from "./calendar.ts"
import type { Log } from "./log.ts"

export interface Days {
  readonly counted: Set<number>
  /** Days that never were, by a change of zone. */
  readonly leapt: Set<number>
  /** Missed days that were forgiven once, and so for ever. */
  readonly forgiven: Set<number>
  lastDay: number
  /** When the event occurred that added the last day, and where. */
  lastAt: number
  lastZone: string
  /** The most days that it ever had. */
  best: number
  /** It was noted that the streak is over; only more days can change that. */
  over: boolean
}

/** The days between two, without both. */
const between = (from: number, to: number): ReadonlyArray<number> =>
  Array.from({ length: Math.max(0, to - from - 1) }, (_, index) => from + 1 + index)

const dayAt = (zone: string, ms: number): number => numberOf(dateAt(zone, ms))

/** The last day, as the calendar of `zone` has it. */
const reached = ({ lastAt, lastDay }: Days, zone: string): number =>
  Math.max(lastDay, dayAt(zone, lastAt))

/** The last day of `zone` that began before the streak's last day was over at its place. */
const covered = ({ lastDay, lastZone }: Days, zone: string): number =>
  Math.max(lastDay, dayAt(zone, startOf(lastZone, dateOf(lastDay + 1)) - 1))

/** The days missed since the last one, until `now` in `zone`. */
const missedSince = (days: Days, zone: string, now: number): number =>
  Math.max(0, dayAt(zone, now) - covered(days, zone) - 1)

const isOver = (days: Days, definition: StreakDefinition, zone: string, now: number): boolean =>
  missedSince(days, zone, now) > runsOf(days, definition).at(-1)!.freezes

/** The user's days of a streak; `undefined` before the first. */
export const daysOf = (log: Log, definition: StreakDefinition): Days | undefined => {
  let days: Days | undefined
  // An event that was taken back still was.
  for (const entry of log) {
    if (entry.kind === "ticked" || (entry.kind === "profile" && "timezone" in entry.change)) {
      if (days !== undefined && isOver(days, definition, entry.zone, entry.at)) days.over = true
    }
    if (entry.kind !== "event") continue
    const { at, occurredAt, streaks } = entry
    const zone = streaks.find(({ key }) => key === definition.key)?.zone
    if (zone === undefined) continue
    const day = dayAt(zone, occurredAt)
    if (days === undefined) {
      const none = { leapt: new Set<number>(), forgiven: new Set<number>() }
      const last = { lastDay: day, lastAt: occurredAt, lastZone: zone, best: 1, over: false }
      days = { counted: new Set([day]), ...none, ...last }
    } else if (days.counted.has(day)) continue
    else if (occurredAt < days.lastAt) {
      if (day > days.lastDay || days.leapt.has(day)) continue
      days.counted.add(day)
    } else {
      if (day <= reached(days, zone)) continue
      const behind = covered(days, zone)
      const missed = between(behind, day)
      if (missed.length <= runsOf(days, definition).at(-1)!.freezes) {
        for (const over of between(days.lastDay, day)) if (over <= behind) days.leapt.add(over)
      }
      days.counted.add(day)
      Object.assign(days, { lastDay: day, lastAt: occurredAt, lastZone: zone })
    }
    const runs = runsOf(days, definition)
    for (const { gaps } of runs) for (const gap of gaps) days.forgiven.add(gap)
    days.best = Math.max(days.best, ...runs.map((run) => run.days))
    // Only so many runs are known.
    const oldest = runs.at(-limits.streakRunsMax)?.first ?? 0
    for (const known of days.counted) if (known < oldest) days.counted.delete(known)
    if (days.over) days.over = isOver(days, definition, zone, at)
  }
  return days
}

export interface Run {
  readonly first: number
  last: number
  days: number
  freezes: number
  /** The missed days in it. */
  readonly gaps: Array<number>
}

/** The runs of days in a row, oldest first. */
export const runsOf = (days: Days, { freezes }: StreakDefinition): ReadonlyArray<Run> => {
  const runs: Array<Run> = []
  for (const day of [...days.counted].sort((one, other) => one - other)) {
    let run = runs.at(-1)
    if (run !== undefined) {
      const missed = between(run.last, day).filter((gap) => !days.leapt.has(gap))
      if (missed.length <= run.freezes || missed.every((gap) => days.forgiven.has(gap))) {
        run.freezes = Math.max(0, run.freezes - missed.length)
        run.gaps.push(...missed)
      } else run = undefined
    }
    if (run === undefined) {
      run = { first: day, last: day, days: 0, freezes: freezes.initial, gaps: [] }
      runs.push(run)
    }
    run.last = day
    run.days++
    if (freezes.everyDays !== null && run.days % freezes.everyDays === 0)
      run.freezes = Math.min(freezes.max, run.freezes + 1)
  }
  return runs
}

export interface StreakView {
  readonly current: number
  readonly best: number
  readonly freezes: number
  readonly lastDay: string
}

/** A streak as it stands at `now` in `zone`. */
export const streakOf = (
  log: Log,
  definition: StreakDefinition,
  zone: string,
  now: number,
): StreakView | undefined => {
  const days = daysOf(log, definition)
  if (days === undefined) return undefined
  const runs = runsOf(days, definition)
  const { best } = days
  const lastDay = dateOf(reached(days, zone))
  const missed = missedSince(days, zone, now)
  const run = runs.at(-1)!
  return days.over || missed > run.freezes
    ? { current: 0, best, freezes: 0, lastDay }
    : { current: run.days, best, freezes: run.freezes - missed, lastDay }
}

/** How long runs were and are that the last entry of `after` made longer. */
export const grownRuns = (
  before: Log,
  after: Log,
  definition: StreakDefinition,
): ReadonlyArray<{ readonly was: number; readonly is: number }> => {
  const runs = (log: Log) => {
    const days = daysOf(log, definition)
    return days === undefined ? [] : runsOf(days, definition)
  }
  const were = runs(before)
  return runs(after).map((run) => {
    const parts = were.filter(({ first, last }) => first >= run.first && last <= run.last)
    return { was: Math.max(0, ...parts.map(({ days }) => days)), is: run.days }
  })
}
