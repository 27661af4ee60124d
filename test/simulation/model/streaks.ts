/**
 * Streaks: computed from the periods that events kept, one by one from the first to the last. An
 * event that counts says whether it keeps its period, by the needs of that time.
 *
 * A user has one calendar through all time zones: the days as the user reached them, each at its
 * place. A day that was reached does not come back, a skipped day never was, and a day that had
 * begun before the last one was over at its own place is not missed.
 */
import type { Streak } from "../../../src/domain/project/StreakDefinition.ts"
import { sumOf } from "./amounts.ts"
import type { Place } from "./badges.ts"
import { dateAt, dateOf, numberOf, startOf } from "./calendar.ts"
import { counts, type Definitions, type Move, pays } from "./Definitions.ts"
import { type Happened, happened, type Log, standing } from "./log.ts"
import { measuredTowards } from "./metrics.ts"

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

/** The number of the day, the ISO week or the month of a day; the next one has the next number. */
const periodOf = (every: Streak["every"], day: number): number => {
  const { dayOfWeek, month, year } = Temporal.PlainDate.from(dateOf(day))
  if (every === "week") return (day - dayOfWeek + 4) / 7
  return every === "month" ? (year - 1970) * 12 + month - 1 : day
}

const firstDayOf = (every: Streak["every"], period: number): number => {
  if (every === "week") return period * 7 - 3
  if (every === "day") return period
  const year = 1970 + Math.floor(period / 12)
  return numberOf(`${year}-${String((period % 12) + 1).padStart(2, "0")}-01`)
}

const isRest = ({ restDays }: Streak, day: number): boolean => {
  const names = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
  const { dayOfWeek } = Temporal.PlainDate.from(dateOf(day))
  return restDays.some((name) => name === names[dayOfWeek - 1])
}

/** How many periods were missed between two, both excluded, but at most `most` + 1. */
const missed = (
  streak: Streak,
  places: Places,
  last: number,
  next: number,
  most: number,
): number => {
  let count = 0
  for (let period = last + 1; period < next && count <= most; period++) {
    if (streak.every === "day" && !isMissed(streak, places, last, period)) continue
    count++
  }
  return count
}

const isMissed = (streak: Streak, places: Places, last: number, day: number): boolean => {
  const there = placeOf(places, day)
  if (there === undefined || isRest(streak, day)) return false
  const lastEnds = beginOf(placeOf(places, last) ?? there, last + 1)
  const isWhole = dayAt(places, beginOf(there, day + 1) - 1) === day
  return beginOf(there, day) >= lastEnds && isWhole
}

/** Whether replies show the streak. */
export const isInUse = ({ set }: Streak): boolean => set === "published" || set === "paused"

const events = (log: Log): ReadonlyArray<Happened> =>
  happened(log).filter(({ kind }) => kind === "event")

/** The periods that were kept. An undone event keeps its period. */
const keptPeriods = (log: Log, key: string): ReadonlySet<number> =>
  new Set(
    events(log).flatMap(({ streaks }) =>
      streaks.filter((one) => one.key === key && one.keeps).map(({ period }) => period),
    ),
  )

/** What events that were not undone added in periods that are not kept, by period and need. */
export const openCounts = (log: Log, key: string) => {
  const kept = keptPeriods(log, key)
  const counts = new Map<string, { period: number; need: string; count: number }>()
  for (const { streaks } of standing(log)) {
    for (const { added, key: of, period } of streaks) {
      if (of !== key || kept.has(period)) continue
      for (const [need, amount] of added) {
        const name = `${period} ${need}`
        const { count } = counts.get(name) ?? { count: 0 }
        counts.set(name, { period, need, count: sumOf([count, amount]) })
      }
    }
  }
  return [...counts.values()]
}

/** How an event counts for a streak; `undefined`: it does not. */
export const countedFor = (
  before: Log,
  streak: Streak,
  { places, ...definitions }: Place,
  event: Happened,
): Happened["streaks"][number] | undefined => {
  const { every, key, match, needs } = streak
  if (!counts(streak, event.occurredAt)) return undefined
  const period = periodOf(every, dayAt(places, event.occurredAt))
  if (keptPeriods(before, key).has(period)) return undefined
  const added = new Map<string, number>()
  for (const need of needs) {
    const amount =
      need.metric === undefined
        ? Number(need.action === event.action)
        : measuredTowards(before, need, definitions, event)
    if (amount > 0) added.set(need.action ?? need.metric, amount)
  }
  if (needs.length > 0 && added.size === 0) return undefined
  const reached = needs.map(({ action, metric, target }) => {
    const name = action ?? metric
    const open = openCounts(before, key).find((one) => one.period === period && one.need === name)
    return sumOf([open?.count ?? 0, added.get(name) ?? 0]) >= target
  })
  const keeps =
    needs.length === 0 || (match === "all" ? reached.every(Boolean) : reached.some(Boolean))
  return { key, period, keeps, added }
}

/** The milestones that paid the user, by records that were not undone. */
export const paidMilestones = (log: Log, key: string): ReadonlyArray<number> =>
  standing(log).flatMap(({ milestones }) =>
    milestones.filter((one) => one.key === key).map(({ target }) => target),
  )

/** The targets of the milestones that the last entry of `after` reaches for the first time. */
export const newMilestones = (
  before: Log,
  after: Log,
  streak: Streak,
  places: Places,
  { occurredAt }: Happened,
): ReadonlyArray<number> => {
  if (!pays(streak, occurredAt)) return []
  const paid = paidMilestones(before, streak.key)
  const reached = grownRuns(before, after, streak, places).flatMap(({ is, was }) =>
    streak.milestones.map(({ target }) => target).filter((target) => was < target && target <= is),
  )
  return [...new Set(reached)].filter((target) => !paid.includes(target))
}

export interface Run {
  readonly first: number
  last: number
  days: number
  freezes: number
}

/** The runs of periods in a row, oldest first. */
export const runsOf = (log: Log, streak: Streak, places: Places) => {
  const { freezes, key } = streak
  const runs: Array<Run> = []
  for (const period of [...keptPeriods(log, key)].sort((one, other) => one - other)) {
    let run = runs.at(-1)
    const without = run === undefined ? 0 : missed(streak, places, run.last, period, run.freezes)
    if (run === undefined || without > run.freezes) {
      run = { first: period, last: period, days: 0, freezes: freezes.initial }
      runs.push(run)
    } else run.freezes -= without
    run.last = period
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
  definition: Streak,
  places: Places,
  now: number,
): StreakView | undefined => {
  const runs = runsOf(log, definition, places)
  const run = runs.at(-1)
  if (run === undefined) return undefined
  const best = Math.max(...runs.map(({ days }) => days))
  const { endsAt, every } = definition
  const lastDay = dateOf(firstDayOf(every, run.last))
  // Nothing changes a streak after its end.
  const present = periodOf(every, dayAt(places, Math.min(now, (endsAt ?? Infinity) - 1)))
  const left = run.freezes - missed(definition, places, run.last, present, run.freezes)
  return left < 0
    ? { current: 0, best, freezes: 0, lastDay }
    : { current: run.days, best, freezes: left, lastDay }
}

/** The lengths, before and after, of the runs that the last entry of `after` made longer. */
export const grownRuns = (
  before: Log,
  after: Log,
  definition: Streak,
  places: Places,
): ReadonlyArray<{ readonly was: number; readonly is: number }> => {
  const were = runsOf(before, definition, places)
  return runsOf(after, definition, places).map((run) => {
    const parts = were.filter(({ first, last }) => first >= run.first && last <= run.last)
    return { was: Math.max(0, ...parts.map(({ days }) => days)), is: run.days }
  })
}
