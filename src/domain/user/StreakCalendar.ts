/**
 * The status of each day, week or month of a streak, derived from the state: from when the user was
 * created, or from the first kept period if that is earlier, until now. Of a period that is older
 * than all that the state remembers, nothing is listed; the history is not read.
 *
 * Of the periods missed after a streak, the first ones used up its freezes, and the next one broke
 * the streak.
 *
 * Cost: a walk over all ranges and grants, and one look at each listed period.
 */
import { isShown, type Streak, streakTime } from "../project/StreakDefinition.ts"
import { isKept, noStreak, runsOf, type StreakRun, type StreakState } from "./Streak.ts"
import { Periods, type Zones } from "./StreakPeriods.ts"

/**
 * `open`: the present period, which is not kept yet. `skipped`: a day that a change of zone skipped
 * or cut short, so that it is not missed.
 */
export const calendarStatuses = [
  "kept",
  "paused",
  "repaired",
  "frozen",
  "rest",
  "missed",
  "skipped",
  "open",
] as const
export type CalendarStatus = (typeof calendarStatuses)[number]

export interface CalendarPeriod {
  readonly period: number
  readonly status: CalendarStatus
}

/** The periods from `from` to `to` that the state knows; none of a streak that is not shown. */
export const streakCalendar = (
  streak: StreakState = noStreak,
  definition: Streak,
  zones: Zones,
  times: { readonly createdAt: number; readonly now: number },
  [from, to]: readonly [from: number, to: number],
): ReadonlyArray<CalendarPeriod> => {
  if (!isShown(definition)) return []
  const periods = new Periods(definition, zones, streak)
  const present = periods.at(streakTime(definition, times.now))
  const isOver = definition.endsAt !== null && times.now >= definition.endsAt
  const calendar = new Calendar(streak, periods, runsOf(streak, definition, zones))
  const listed: Array<CalendarPeriod> = []
  const first = Math.max(from, firstKnown(streak, definition, periods, times.createdAt))
  for (let period = first; period <= Math.min(to, present); period++) {
    const status = calendar.statusOf(period)
    const isOpen = period === present && !isOver && (status === "missed" || status === "frozen")
    listed.push({ period, status: isOpen ? "open" : status })
  }
  return listed
}

const firstKnown = (
  { days, forgotten }: StreakState,
  { startsAt }: Streak,
  periods: Periods,
  createdAt: number,
): number => {
  if (forgotten !== undefined) return forgotten.last + 1
  const begun = startsAt === null ? createdAt : Math.max(createdAt, startsAt)
  return Math.min(periods.at(begun), days[0]?.[0] ?? Number.POSITIVE_INFINITY)
}

/** Looks at periods in their order. */
class Calendar {
  readonly #streak: StreakState
  readonly #periods: Periods
  readonly #runs: ReadonlyArray<StreakRun>
  /** The streak that ended before the period last asked for, and what was missed since then. */
  #ended: StreakRun | undefined
  #missed = 0

  constructor(streak: StreakState, periods: Periods, runs: ReadonlyArray<StreakRun>) {
    this.#streak = streak
    this.#periods = periods
    this.#runs = runs
  }

  statusOf(period: number): CalendarStatus {
    const periods = this.#periods
    if (isKept(this.#streak, period)) return "kept"
    if (periods.isPaused(period)) return "paused"
    if (periods.isRest(period)) return "rest"
    const last = this.#lastKeptBefore(period) ?? period - 1
    if (!periods.isMissable(period, last)) return "skipped"
    if (periods.isRepaired(period)) return "repaired"
    const run = this.#runs.findLast(({ first }) => first <= period)
    if (run === undefined) return "missed"
    if (period <= run.last) return "frozen"
    if (this.#ended !== run) {
      this.#ended = run
      this.#missed = periods.missedBetween(run.last, period, run.freezes)
    }
    this.#missed++
    return this.#missed > run.freezes ? "missed" : "frozen"
  }

  #lastKeptBefore(period: number): number | undefined {
    const { days, forgotten } = this.#streak
    return days.findLast(([, last]) => last < period)?.[1] ?? forgotten?.last
  }
}
