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
 * - A reward may give freezes (`withFreezes`), from the period of the decision on. A running streak
 *   has them at once, up to `max`. Otherwise they wait for the next streak, which begins with them
 *   and its `initial` ones, up to `max`. An undo takes back those that are left, as of its period.
 * - Each period counts with the terms that the definition had in that period: an edit of freezes
 *   or rest days does not change earlier ones.
 * - Unless one event is enough (`needsOne`), what the events of a period that is not kept yet add is
 *   counted by need (`StreakCounts`). An undo takes such a count back. A kept period stays.
 * - A streak is at risk in a period that nothing has kept and that is missed without an event, also
 *   if a freeze would cover it (`streakRisk`). The warning of a period is recorded once (`warned`).
 * - Days of pauses are not missed, also of pauses that come later (`StreakPauses.ts`): these may join
 *   two runs and revive a broken streak. Nor are the periods of repairs (`StreakRepair.ts`).
 *
 * The periods are stored as ranges, at most `streakRangesMax`, given freezes by period, at most
 * `streakGrantsMax`, days of pauses, at most `streakPauseRangesMax` ranges, and repairs, at most
 * `streakRepairsMax`. Of older ones the state keeps only the last run, and an event in such a period adds nothing. Counts are kept for the
 * latest `streakCountsMax` periods that have events and are not kept.
 *
 * Cost: an event in a kept period searches its range; an event that keeps a period, or a grant of
 * freezes, walks all ranges and grants.
 */
import { limits } from "../../Limits.ts"
import { type Streak, type StreakTerms, streakTime } from "../project/StreakDefinition.ts"
import {
  type Covers,
  type DayRange,
  joined,
  Periods,
  periodAt,
  periodOfDay,
  type StreakRules,
  type StreakWarnings,
  type Zones,
} from "./StreakPeriods.ts"

/** A run: periods in a row, in which freezes may have covered missed ones. */
export interface StreakRun {
  readonly first: number
  readonly last: number
  /** How many periods were kept. */
  readonly days: number
  /** The freezes left after the run. */
  readonly freezes: number
}

/** Freezes that rewards gave in a period, without those that were taken back; never 0. */
export type FreezeGrant = readonly [period: number, amount: number]

export interface StreakState extends Covers {
  /** Kept periods, oldest first. No two ranges are adjacent. Empty: no period was kept, or all are forgotten. */
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
  /** By period, oldest first; absent: none. */
  readonly grants?: ReadonlyArray<FreezeGrant>
  /** The freezes that wait for the next streak, and those that waited before `grants`; absent: 0. */
  readonly waiting?: number
  readonly waitedBefore?: number
  /** Whether a record has the break of the streak. */
  readonly broken: boolean
  /** The targets of the milestones that were paid; absent: none. */
  readonly paid?: ReadonlyArray<number>
  /**
   * Those whose payment was taken back while their run stayed: the next event of a run that is long
   * enough pays them. None of `paid`; absent: none.
   */
  readonly owed?: ReadonlyArray<number>
  /** The numbers of the definition's pauses that the user was looked at for; absent: none. */
  readonly seen?: ReadonlyArray<number>
  /** The latest period whose warning a record has; absent: none. */
  readonly warned?: number
  /**
   * How many of the last `repairs` came after the last change that pays milestones: the next one pays
   * what they reach. Absent: 0.
   */
  readonly fresh?: number
}

/**
 * What counts for the needs (`needName`) of periods that are not kept; oldest period first, at least
 * one.
 */
export type StreakCounts = ReadonlyArray<{
  readonly period: number
  readonly counts: { readonly [need: string]: number }
}>

export interface StreakNow {
  /** The length as of now; 0 once the streak is broken. */
  readonly current: number
  /** Freezes left, after the periods missed so far. */
  readonly freezes: number
}

/** The last period that was kept; `undefined`: none. */
export const lastPeriodOf = ({
  days,
  forgotten,
}: Pick<StreakState, "days" | "forgotten">): number | undefined =>
  days.at(-1)?.[1] ?? forgotten?.last

/** Whether the period was kept. */
export const isKept = (streak: StreakState | undefined, period: number): boolean => {
  const range = streak?.days.findLast(([first]) => first <= period)
  return range !== undefined && period <= range[1]
}

/** A streak at `now` (epoch milliseconds), even before a record has its break. */
export const streakNow = (
  streak: StreakState,
  definition: StreakRules,
  zones: Zones,
  now: number,
): StreakNow => {
  const { broken, freezes, length, waiting = 0 } = streak
  const last = lastPeriodOf(streak)
  if (last === undefined) return { current: 0, freezes: initialWith(definition.freezes, waiting) }
  if (broken) return { current: 0, freezes: waiting }
  const periods = new Periods(definition, zones, streak)
  const present = periods.at(streakTime(definition, now))
  const missed = periods.missedBetween(last, present, freezes)
  return missed > freezes
    ? { current: 0, freezes: waiting }
    : { current: length, freezes: freezes - missed }
}

/** The freezes with which a streak begins. */
const initialWith = ({ initial, max }: StreakTerms["freezes"], waiting: number): number =>
  Math.min(max, initial + waiting)

/**
 * The time at which a streak that is unbroken at `now` breaks without further events, epoch
 * milliseconds; infinity if the definition ends before.
 */
export const streakBreaksAt = (
  streak: StreakState,
  definition: StreakRules,
  zones: Zones,
  now: number,
): number => {
  const periods = new Periods(definition, zones, streak)
  const last = lastPeriodOf(streak)!
  const present = Math.max(periods.at(now), last + 1)
  const left = streak.freezes - periods.missedBetween(last, present, streak.freezes)
  const at = periods.startOf(periods.lastCovered(present, last, left) + 1)
  return definition.endsAt !== null && at >= definition.endsAt ? Number.POSITIVE_INFINITY : at
}

/** A period in which a streak is at risk, the time of the warning, and the end of the period. */
export interface StreakRisk {
  readonly period: number
  readonly at: number
  readonly endsAt: number
}

/**
 * The next warning of a streak without further events; its time is at most `now` if it is due.
 * `undefined`: the streak breaks before, or nothing is missed before the definition ends. Hours are
 * those of the clock of the world: a change of summer time does not move them.
 */
export const streakRisk = (
  streak: StreakState,
  definition: StreakWarnings,
  zones: Zones,
  now: number,
): StreakRisk | undefined => {
  const { atRisk, set, startsAt } = definition
  if (atRisk === null || set !== "published" || streak.broken) return undefined
  const periods = new Periods(definition, zones, streak)
  const last = lastPeriodOf(streak)!
  const { freezes, warned = last } = streak
  for (let period = Math.max(periods.at(now), last + 1, warned + 1); ; period++) {
    if (!periods.isMissed(period, last)) continue
    if (periods.missedBetween(last, period, freezes) > freezes) return undefined
    const endsAt = periods.startOf(period + 1)
    if (definition.endsAt !== null && endsAt >= definition.endsAt) return undefined
    const warnsAt = endsAt - atRisk.hoursBefore * hourMs
    const at = Math.max(warnsAt, periods.startOf(period), startsAt ?? Number.NEGATIVE_INFINITY)
    if (at < endsAt) return { period, at, endsAt }
  }
}

const hourMs = 3_600_000

/** Whether an event in the period would change nothing: it is kept, or older than all ranges. */
export const isSettled = (streak: StreakState | undefined, period: number): boolean =>
  isKept(streak, period) || (streak?.forgotten !== undefined && period <= streak.forgotten.last)

/**
 * The streak after the period `period`, which is not settled, was kept at `now`.
 */
export const withPeriod = (
  streak: StreakState | undefined,
  definition: StreakRules,
  zones: Zones,
  period: number,
  now: number,
): StreakState => {
  const { fresh: _, ...before } = streak ?? noStreak
  const next = walked({ ...before, days: withDay(before.days, period) }, definition, zones)
  if (streak?.broken !== true || streak.length === 0) return next
  // A late period repairs a broken streak only if the streak then lasts until now.
  return { ...next, broken: streakNow(next, definition, zones, now).current === 0 }
}

/** The state of a user who kept no period. */
export const noStreak: StreakState = {
  days: [],
  first: 0,
  length: 0,
  freezes: 0,
  best: 0,
  broken: true,
}

/**
 * The streak that a user had before: `current` periods in a row up to `last`, and the longest run.
 * The milestones up to the longest run count as paid.
 */
export const openedStreak = (
  definition: Streak,
  zones: Zones,
  had: { readonly current: number; readonly best: number; readonly last: number | undefined },
  now: number,
): StreakState => {
  const { best, current, last } = had
  const paid = definition.milestones.map(({ target }) => target).filter((target) => target <= best)
  const days: StreakState["days"] =
    last === undefined || current === 0 ? [] : [[last - current + 1, last]]
  const past = { days, bestForgotten: best, ...(paid.length > 0 && { paid }) }
  const streak = walked({ ...noStreak, ...past }, definition, zones)
  return { ...streak, broken: streakNow(streak, definition, zones, now).current === 0 }
}

/** How many freezes fit at `now`: into the running streak, or into the beginning of the next. */
export const freezesRoom = (
  streak: StreakState,
  definition: StreakRules,
  zones: Zones,
  now: number,
): number => {
  const { initial, max } = definition.freezes
  const { current, freezes } = streakNow(streak, definition, zones, now)
  return Math.max(0, max - (current > 0 ? freezes : initial + (streak.waiting ?? 0)))
}

/** The streak after `amount` freezes were given at `now`, or, if negative, taken back. */
export const withFreezes = (
  streak: StreakState,
  definition: StreakRules,
  zones: Zones,
  amount: number,
  now: number,
): StreakState => {
  const { broken, grants = [] } = streak
  const last = grants.at(-1)
  const period = Math.max(periodAt(definition, zones, now), last?.[0] ?? Number.NEGATIVE_INFINITY)
  const isSame = last?.[0] === period
  const total = amount + (isSame ? last![1] : 0)
  const before = isSame ? grants.slice(0, -1) : grants
  const after = total === 0 ? before : [...before, [period, total] as const]
  return { ...walked({ ...streak, grants: after }, definition, zones), broken }
}

/** The streak after a pause of these days, which may revive it. */
export const withPause = (
  streak: StreakState,
  definition: StreakRules,
  zones: Zones,
  pause: DayRange,
  now: number,
): StreakState => {
  const { fresh: _, ...before } = streak
  const pauses = joined([...(streak.pauses ?? []), pause])
  const next = walked({ ...before, pauses }, definition, zones)
  // A record has the break of a streak that is over already, or a later tick makes one.
  const broken =
    streak.broken && streakNow({ ...next, broken: false }, definition, zones, now).current === 0
  return { ...next, broken }
}

/** The ranges with one more period, which is in none of them. */
const withDay = (days: ReadonlyArray<DayRange>, day: number): ReadonlyArray<DayRange> => {
  const before = days.filter(([, last]) => last < day)
  const after = days.slice(before.length)
  const first = before.at(-1)?.[1] === day - 1 ? before.pop()![0] : day
  if (after[0]?.[0] !== day + 1) return [...before, [first, day], ...after]
  return [...before, [first, after[0][1]], ...after.slice(1)]
}

/** Computes the streak from its periods and grants. Forgets those beyond the limits. */
export const walked = (before: StreakState, definition: StreakRules, zones: Zones): StreakState => {
  const { best, forgets, ...left } = bounded(before, definition, zones)
  const { runs, waiting } = walkOf(left, definition, zones)
  const last = runs.at(-1)
  const { forgotten, grants, pauses, repairs, waitedBefore } = left
  const { owed, paid, seen, warned } = before
  const fresh = Math.min(before.fresh ?? 0, repairs.length)
  return {
    days: left.days,
    first: last?.first ?? 0,
    length: last?.days ?? 0,
    freezes: last?.freezes ?? 0,
    best: Math.max(best, ...runs.map((run) => run.days)),
    ...(forgotten !== undefined && { forgotten }),
    ...(forgets && { bestForgotten: best }),
    ...(grants.length > 0 && { grants }),
    ...(waiting > 0 && { waiting }),
    ...(waitedBefore > 0 && { waitedBefore }),
    ...(pauses.length > 0 && { pauses }),
    ...(repairs.length > 0 && { repairs }),
    ...(fresh > 0 && { fresh }),
    ...(seen !== undefined && { seen }),
    broken: last === undefined,
    ...(paid !== undefined && { paid }),
    ...(owed !== undefined && { owed }),
    ...(warned !== undefined && { warned }),
  }
}

/** What a walk depends on of a state. */
type Walked = Covers &
  Pick<StreakState, "days" | "grants" | "waitedBefore"> & {
    readonly forgotten?: StreakRun | undefined
  }

/** The newest periods and grants, and what the state keeps of those that it forgets. */
const bounded = (before: StreakState, definition: StreakRules, zones: Zones) => {
  const { bestForgotten, days, forgotten, grants = [], waitedBefore = 0 } = before
  const { pauses = [], repairs = [] } = before
  const ranges = days.length - limits.streakRangesMax
  const given = grants.length - limits.streakGrantsMax
  const covering = pauses.length - limits.streakPauseRangesMax
  const repaired = repairs.length - limits.streakRepairsMax
  if (Math.max(ranges, given, covering, repaired) <= 0) {
    const [best, forgets] = [bestForgotten ?? 0, bestForgotten !== undefined]
    return { days, forgotten, grants, pauses, repairs, waitedBefore, best, forgets }
  }
  const lastOf = (pause: DayRange | undefined) =>
    pause === undefined ? -Infinity : periodOfDay(definition, pause[1])
  const through = Math.max(
    days[ranges - 1]?.[1] ?? -Infinity,
    grants[given - 1]?.[0] ?? -Infinity,
    lastOf(pauses[covering - 1]),
    repairs[repaired - 1]?.[1] ?? -Infinity,
  )
  const isOld = ([period]: FreezeGrant) => period <= through
  const old = {
    days: days.flatMap(([first, last]) =>
      first > through ? [] : [[first, Math.min(last, through)] as const],
    ),
    grants: grants.filter(isOld),
  }
  const { runs, waiting } = walkOf({ ...before, ...old }, definition, zones)
  const runsBest = Math.max(0, ...runs.map((run) => run.days))
  const keptUntil = runs.at(-1)?.last ?? through
  return {
    days: days.flatMap(([first, last]) =>
      last <= through ? [] : [[Math.max(first, through + 1), last] as const],
    ),
    forgotten: runs.at(-1),
    grants: grants.filter((grant) => !isOld(grant)),
    // What comes after the last forgotten period still covers the time up to the next one.
    pauses: pauses.filter((pause) => lastOf(pause) > keptUntil),
    repairs: repairs.filter(([, last]) => last > keptUntil),
    waitedBefore: waiting,
    best: Math.max(bestForgotten ?? 0, runsBest),
    forgets: runs.length > 0,
  }
}

/** The runs of the periods, oldest first. The first one is the forgotten run, or continues it. */
export const runsOf = (
  walked: Walked,
  definition: StreakRules,
  zones: Zones,
): ReadonlyArray<StreakRun> => walkOf(walked, definition, zones).runs

/** Follows the periods and the grants in the order of time. */
const walkOf = (
  { days, forgotten, grants = [], waitedBefore = 0, ...covers }: Walked,
  definition: StreakRules,
  zones: Zones,
): Walk => {
  const walk = new Walk(new Periods(definition, zones, covers), forgotten, waitedBefore)
  let next = 0
  for (const [first, last] of days) {
    let from = first
    while (from <= last) {
      while (next < grants.length && appliesFrom(grants[next]!) <= from) walk.give(grants[next++]!)
      const until = next < grants.length ? appliesFrom(grants[next]!) : Number.POSITIVE_INFINITY
      from = walk.keep(from, Math.min(last, until - 1)) + 1
    }
  }
  while (next < grants.length) walk.give(grants[next++]!)
  return walk
}

/** Freezes are given before their period may be kept, and taken back afterwards. */
const appliesFrom = ([period, amount]: FreezeGrant): number => (amount > 0 ? period : period + 1)

class Walk {
  readonly runs: Array<StreakRun>
  waiting: number
  readonly #periods: Periods

  constructor(periods: Periods, forgotten: StreakRun | undefined, waiting: number) {
    this.runs = forgotten === undefined ? [] : [forgotten]
    this.waiting = waiting
    this.#periods = periods
  }

  /** The last run and its missed periods before `period`, unless it is over by then. */
  #running(period: number): { readonly run: StreakRun; readonly missed: number } | undefined {
    const run = this.runs.at(-1)
    if (run === undefined) return undefined
    const missed = this.#periods.missedBetween(run.last, period, run.freezes)
    return missed > run.freezes ? undefined : { run, missed }
  }

  give([period, amount]: FreezeGrant): void {
    const { initial, max } = this.#periods.termsOf(period).terms.freezes
    const running = this.#running(period)
    if (running === undefined) {
      this.waiting = plusFreezes(this.waiting, amount, Math.max(0, max - initial))
      return
    }
    const { missed, run } = running
    const freezes = missed + plusFreezes(run.freezes - missed, amount, max)
    this.runs[this.runs.length - 1] = { ...run, freezes }
  }

  /** Adds consecutive kept periods with the same terms; returns the last one. */
  keep(from: number, last: number): number {
    const { before, terms } = this.#periods.termsOf(from)
    const to = Math.min(last, before - 1)
    const count = to - from + 1
    const running = this.#running(from)
    if (running === undefined) {
      const initial = initialWith(terms.freezes, this.waiting)
      this.waiting = 0
      const freezes = gained(terms.freezes, initial, 0, count)
      this.runs.push({ first: from, last: to, days: count, freezes })
      return to
    }
    const { missed, run } = running
    const days = run.days + count
    const freezes = gained(terms.freezes, run.freezes - missed, run.days, days)
    this.runs[this.runs.length - 1] = { first: run.first, last: to, days, freezes }
    return to
  }
}

/** Freezes after some were given, up to `max`, or taken back. */
const plusFreezes = (freezes: number, amount: number, max: number): number =>
  amount < 0 ? Math.max(0, freezes + amount) : Math.max(freezes, Math.min(max, freezes + amount))

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
