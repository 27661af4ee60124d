/**
 * Streaks: computed from the days with events, day by day from the first to the last.
 *
 * A user has one calendar through all time zones: the days as the user reached them, each at its
 * place. A day that was reached does not come back, a skipped day never was, and a day that had
 * begun before the last one was over at its own place is not missed.
 */
import type { StreakDefinition } from "../../../src/domain/project/Project.ts"
import { dateAt, dateOf, numberOf, startOf } from "./calendar.ts"
import type { Definitions, Move } from "./Definitions.ts"
import type { Log } from "./log.ts"

/** The places of a user, oldest first; the last has no end. */
export type Places = ReadonlyArray<Move>

export const placesOf = (log: Log, { moves, settings }: Definitions): Places => {
  const own = log.flatMap((entry) =>
    entry.kind === "profile" && "timezone" in entry.change
      ? [{ from: entry === log[0] ? -Infinity : entry.at, zone: entry.change.timezone ?? null }]
      : [],
  )
  const seen = log[0]?.at ?? Infinity
  // A user may move in the millisecond of the first event, whose day counts in the zone before: the
  // project's at that event, also if the project moved in the same millisecond.
  const ends = [
    ...own.map(({ from }) => from).filter((end) => end >= seen),
    ...moves.map(({ until }) => until).filter((end) => end > seen),
  ].sort((one, other) => one - other)
  return [...ends, Infinity].map((until) => ({
    zone:
      own.findLast(({ from }) => from < until)?.zone ??
      moves.find((move) => Math.max(until - 1, seen) < move.until)?.zone ??
      settings.timezone,
    until,
  }))
}

const dayIn = (zone: string, ms: number): number => numberOf(dateAt(zone, ms))

/** The latest day that the user had reached by `ms`. */
export const dayAt = (places: Places, ms: number): number => {
  const been = places.filter((_, index) => index === 0 || places[index - 1]!.until <= ms)
  return Math.max(...been.map(({ until, zone }) => dayIn(zone, Math.min(ms, until - 1))))
}

const begins = new Map<string, number>()
const beginOf = (zone: string, day: number): number => {
  const name = `${zone} ${day}`
  const begin = begins.get(name) ?? startOf(zone, dateOf(day))
  begins.set(name, begin)
  return begin
}

/** The place where a day begins for the user; `undefined`: the day never was. */
const placeOf = (places: Places, day: number): string | undefined => {
  for (const [index, { until, zone }] of places.entries()) {
    const at = Math.max(places[index - 1]?.until ?? -Infinity, beginOf(zone, day))
    if (at < until) return dayIn(zone, at) === day ? zone : undefined
  }
  return undefined
}

/** How many days were missed between two days, both excluded, but at most `most` + 1. */
const missed = (places: Places, last: number, next: number, most: number): number => {
  let days = 0
  for (let day = last + 1; day < next && days <= most; day++) {
    const there = placeOf(places, day)
    if (there === undefined) continue
    const lastEnds = beginOf(placeOf(places, last) ?? there, last + 1)
    const isWhole = dayAt(places, beginOf(there, day + 1) - 1) === day
    if (beginOf(there, day) >= lastEnds && isWhole) days++
  }
  return days
}

export interface Run {
  readonly first: number
  last: number
  days: number
  freezes: number
}

/** The runs of days in a row, oldest first. */
export const runsOf = (log: Log, { freezes, key }: StreakDefinition, places: Places) => {
  // An undone event keeps its day.
  const days = log.flatMap((entry) =>
    entry.kind === "event" ? entry.streaks.filter((one) => one.key === key) : [],
  )
  const runs: Array<Run> = []
  for (const day of [...new Set(days.map((one) => one.day))].sort((one, other) => one - other)) {
    let run = runs.at(-1)
    const without = run === undefined ? 0 : missed(places, run.last, day, run.freezes)
    if (run === undefined || without > run.freezes) {
      run = { first: day, last: day, days: 0, freezes: freezes.initial }
      runs.push(run)
    } else run.freezes -= without
    run.last = day
    run.days++
    if (freezes.everyDays !== null && run.days % freezes.everyDays === 0)
      run.freezes = Math.max(run.freezes, Math.min(freezes.max, run.freezes + 1))
  }
  return runs
}

export interface StreakView {
  readonly current: number
  readonly best: number
  readonly freezes: number
  readonly lastDay: string
}

/** A streak as it stands at `now`. */
export const streakOf = (
  log: Log,
  definition: StreakDefinition,
  places: Places,
  now: number,
): StreakView | undefined => {
  const runs = runsOf(log, definition, places)
  const run = runs.at(-1)
  if (run === undefined) return undefined
  const best = Math.max(...runs.map(({ days }) => days))
  const lastDay = dateOf(run.last)
  const left = run.freezes - missed(places, run.last, dayAt(places, now), run.freezes)
  return left < 0
    ? { current: 0, best, freezes: 0, lastDay }
    : { current: run.days, best, freezes: left, lastDay }
}

/** The lengths, before and after, of the runs that the last entry of `after` made longer. */
export const grownRuns = (
  before: Log,
  after: Log,
  definition: StreakDefinition,
  places: Places,
): ReadonlyArray<{ readonly was: number; readonly is: number }> => {
  const were = runsOf(before, definition, places)
  return runsOf(after, definition, places).map((run) => {
    const parts = were.filter(({ first, last }) => first >= run.first && last <= run.last)
    return { was: Math.max(0, ...parts.map(({ days }) => days)), is: run.days }
  })
}
