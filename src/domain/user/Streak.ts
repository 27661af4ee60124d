/**
 * Streaks: consecutive local days (`Calendar.ts`), each with an event that counts.
 *
 * - Days are local to the user's time zone at the time of the decision. An event later than the latest counted
 *   one can only add a day after the last.
 * - A missed day uses up a freeze and does not count. A streak begins with `initial` freezes and gains one whenever its
 *   days reach a multiple of `everyDays`, up to `max`.
 * - More missed days than freezes break the streak: the next day begins a new one.
 * - A change of time zone breaks nothing. To the west, a counted day is not counted twice. To the east, the last day
 *   covers the hours that belonged to it in the old zone; only later days can be missed.
 * - A late event inserts its day, and the known days (those of the latest `streakRunsMax` runs) are replayed: the result
 *   does not depend on the order of arrival. One exception: a forgiven day stays forgiven, so no event breaks a streak.
 *
 * Cost: an event of a counted day reads the last run; a late event walks all runs and their gaps.
 */
import { limits } from "../../Limits.ts"
import type { StreakDefinition } from "../project/Project.ts"
import type { Zone } from "../values/Calendar.ts"

/**
 * Consecutive local days from `first` to `last`. `frozen` of them were missed and forgiven; `skipped` of them do not exist,
 * because the time zone changed.
 */
export interface StreakRun {
  readonly first: number
  readonly last: number
  readonly frozen: ReadonlyArray<number>
  readonly skipped: ReadonlyArray<number>
}

export interface StreakState {
  /** Oldest first; the last run is the current streak, unless `broken`. */
  readonly runs: ReadonlyArray<StreakRun>
  /** The longest run, in days. */
  readonly best: number
  /** Freezes left. */
  readonly freezes: number
  /** The time of the event that added the last day; in another time zone it may fall on another day. */
  readonly lastAt: number
  /** The end of the last day in the time zone of its event. */
  readonly lastDayEndsAt: number
  readonly broken: boolean
}

/** The number of days of a run with an event. */
export const daysOf = ({ first, frozen, last, skipped }: StreakRun): number =>
  last - first + 1 - frozen.length - skipped.length

/** The last day of a streak in the present zone. */
export const lastDayOf = ({ lastAt, runs }: StreakState, zone: Zone): number =>
  Math.max(runs.at(-1)!.last, zone.dayAt(lastAt))

/** The last day of the present zone that the streak's last day still covers. */
const coveredThrough = ({ lastDayEndsAt, runs }: StreakState, zone: Zone): number =>
  Math.max(runs.at(-1)!.last, zone.dayAt(lastDayEndsAt - 1))

export interface StreakNow {
  /** Days in a row as of now; 0 once it is broken. */
  readonly current: number
  /** Freezes left, after the days missed so far. */
  readonly freezes: number
}

/** A streak at `now` (epoch milliseconds), even before a record notes its break. */
export const streakNow = (streak: StreakState, zone: Zone, now: number): StreakNow => {
  const missed = Math.max(0, zone.dayAt(now) - coveredThrough(streak, zone) - 1)
  return streak.broken || missed > streak.freezes
    ? { current: 0, freezes: 0 }
    : { current: daysOf(streak.runs.at(-1)!), freezes: streak.freezes - missed }
}

/** When an unbroken streak breaks without further events, epoch milliseconds. */
export const streakBreaksAt = (streak: StreakState, zone: Zone): number =>
  zone.startOfDay(coveredThrough(streak, zone) + streak.freezes + 2)

/** The streak with an event of `occurredAt`, decided at `now`; the same object if nothing changes. */
export const withEventAt = (
  streak: StreakState | undefined,
  definition: StreakDefinition,
  zone: Zone,
  occurredAt: number,
  now: number,
): StreakState => {
  const day = zone.dayAt(occurredAt)
  if (streak === undefined) return begun(definition, [], zone, day, 0, occurredAt)
  const { last } = streak.runs.at(-1)!
  const late = occurredAt < streak.lastAt
  // An earlier event adds no later day, even if a change of zone suggests one.
  if (day === last || (late && day > last)) return streak
  const next = late
    ? withPastDay(streak, definition, day)
    : withNextDay(streak, definition, zone, day, occurredAt)
  if (next === streak || !next.broken) return next
  // A late day mends a broken streak only if the streak then reaches up to now.
  return { ...next, broken: streakNow({ ...next, broken: false }, zone, now).current === 0 }
}

const begun = (
  { freezes }: StreakDefinition,
  runs: ReadonlyArray<StreakRun>,
  zone: Zone,
  day: number,
  best: number,
  lastAt: number,
): StreakState => ({
  runs: [...runs, { first: day, last: day, frozen: [], skipped: [] }].slice(-limits.streakRunsMax),
  best: Math.max(best, 1),
  freezes: gained(freezes, freezes.initial, 0, 1),
  lastAt,
  lastDayEndsAt: zone.startOfDay(day + 1),
  broken: false,
})

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

const withNextDay = (
  streak: StreakState,
  definition: StreakDefinition,
  zone: Zone,
  day: number,
  occurredAt: number,
): StreakState => {
  if (day <= lastDayOf(streak, zone)) return streak
  const firstMissed = Math.min(day, coveredThrough(streak, zone) + 1)
  const missed = day - firstMissed
  if (missed > streak.freezes) {
    return begun(definition, streak.runs, zone, day, streak.best, occurredAt)
  }
  const run = streak.runs.at(-1)!
  const longer = {
    first: run.first,
    last: day,
    frozen: [...run.frozen, ...daysFrom(firstMissed, day)],
    skipped: [...run.skipped, ...daysFrom(run.last + 1, firstMissed)],
  }
  const days = daysOf(longer)
  return {
    runs: [...streak.runs.slice(0, -1), longer],
    best: Math.max(streak.best, days),
    freezes: gained(definition.freezes, streak.freezes - missed, days - 1, days),
    lastAt: occurredAt,
    lastDayEndsAt: zone.startOfDay(day + 1),
    broken: streak.broken,
  }
}

/** The days from `first` to before `end`. */
const daysFrom = (first: number, end: number): ReadonlyArray<number> =>
  Array.from({ length: Math.max(0, end - first) }, (_, index) => first + index)

/** The streak with the day of a late event: the known days and this one, replayed. */
const withPastDay = (
  streak: StreakState,
  definition: StreakDefinition,
  day: number,
): StreakState => {
  const run = streak.runs.find(({ last }) => day <= last)
  if (run !== undefined && day >= run.first && !run.frozen.includes(day)) return streak
  const forgiven = new Set(streak.runs.flatMap(({ frozen }) => frozen))
  const unreal = new Set(streak.runs.flatMap(({ skipped }) => skipped))
  const spans = [...streak.runs.flatMap(spansOf), [day, day] as const]
  spans.sort(([one], [other]) => one - other)
  const runs: Array<StreakRun> = []
  let freezes = 0
  for (const [first, last] of spans) {
    const before = runs.at(-1)
    const gap = before === undefined ? undefined : gapBefore(first, before, forgiven, unreal)
    if (before === undefined || gap === undefined || gap.needed > freezes) {
      runs.push({ first, last, frozen: [], skipped: [] })
      freezes = gained(definition.freezes, definition.freezes.initial, 0, last - first + 1)
      continue
    }
    const frozen = [...before.frozen, ...gap.frozen]
    const longer = { ...before, last, frozen, skipped: [...before.skipped, ...gap.skipped] }
    const left = Math.max(0, freezes - gap.frozen.length)
    freezes = gained(definition.freezes, left, daysOf(before), daysOf(longer))
    runs[runs.length - 1] = longer
  }
  return {
    ...streak,
    runs: runs.slice(-limits.streakRunsMax),
    best: Math.max(streak.best, ...runs.map(daysOf)),
    freezes,
  }
}

/** The spans of days with events in a run: the first and last day of each. */
const spansOf = ({
  first,
  frozen,
  last,
  skipped,
}: StreakRun): ReadonlyArray<readonly [number, number]> => {
  const gaps = [...frozen, ...skipped].sort((one, other) => one - other)
  const spans: Array<readonly [number, number]> = []
  let from = first
  for (const gap of [...gaps, last + 1]) {
    if (gap > from) spans.push([from, gap - 1])
    from = gap + 1
  }
  return spans
}

/**
 * The gap between a run and the day `first`, and the freezes that it needs: none if all missed days were forgiven
 * before. `undefined`: more days than any freezes forgive.
 */
const gapBefore = (
  first: number,
  { last }: StreakRun,
  forgiven: ReadonlySet<number>,
  unreal: ReadonlySet<number>,
) => {
  if (first - last - 1 > limits.streakFreezesMax + forgiven.size + unreal.size) return undefined
  const days = daysFrom(last + 1, first)
  const frozen = days.filter((day) => !unreal.has(day))
  const needed = frozen.every((day) => forgiven.has(day)) ? 0 : frozen.length
  return { frozen, skipped: days.filter((day) => unreal.has(day)), needed }
}
