/**
 * Repairs of streaks: a repair covers the periods that broke the last run, so that it continues as if
 * freezes had covered them. It covers all from the first missed period without a freeze up to now,
 * also in a new run that has begun since: the two runs become one. Kept periods count as before,
 * covered ones do not.
 *
 * An undo uncovers the periods, and the streak is then what it would be without the repair. So a repair
 * pays nothing by itself. The next period that is kept, or the next pause or merge, pays the milestones
 * and badges of the longer run: until then the repair is `fresh`, and does not count as the length that
 * has been paid (`paidRuns`).
 *
 * Cost: a walk over the streak.
 */
import type { Amounts } from "../project/Currency.ts"
import { statusAt } from "../project/Definition.ts"
import { type Streak, streakTime } from "../project/StreakDefinition.ts"
import { runsOf, type StreakRun, type StreakState, streakNow, walked } from "./Streak.ts"
import {
  type DayRange,
  firstDayOfPeriod,
  Periods,
  type StreakRules,
  userDayAt,
  type Zones,
} from "./StreakPeriods.ts"

/** What a repair covers, and how late it comes. */
export interface StreakBreak {
  /** From the period that broke the streak to the one before the present. */
  readonly periods: DayRange
  /** The same in days: from the first to the last one. */
  readonly days: DayRange
  /** How many days before today the period that broke it ended. */
  readonly daysAgo: number
}

/** The last break of a streak at `now`; `undefined`: no streak has broken. */
export const lastBreak = (
  streak: StreakState,
  definition: StreakRules,
  zones: Zones,
  now: number,
): StreakBreak | undefined => {
  const periods = new Periods(definition, zones, streak)
  const present = periods.at(streakTime(definition, now))
  const runs = runsOf(streak, definition, zones)
  const isRunning = streakNow(streak, definition, zones, now).current > 0
  const run = runs.at(isRunning ? -2 : -1)
  if (run === undefined) return undefined
  let missed = 0
  for (let period = run.last + 1; period < present; period++) {
    if (!periods.isMissed(period, run.last) || ++missed <= run.freezes) continue
    const dayAfter = firstDayOfPeriod(definition, period + 1)
    return {
      periods: [period, present - 1],
      days: [firstDayOfPeriod(definition, period), firstDayOfPeriod(definition, present) - 1],
      daysAgo: userDayAt(zones, now) - dayAfter + 1,
    }
  }
  return undefined
}

/** A repair that is possible now. */
export interface RepairOffer {
  /** The days that it covers. */
  readonly days: DayRange
  /** The last day on which it is possible. */
  readonly until: number
  readonly price: Amounts | null
}

/** The repair that is possible at `now`, whatever the user's balances. */
export const repairOffer = (
  streak: StreakState | undefined,
  definition: Streak,
  zones: Zones,
  now: number,
): RepairOffer | undefined => {
  const { repair } = definition
  if (repair === null || streak === undefined || statusAt(definition, now) !== "active") {
    return undefined
  }
  const broken = lastBreak(streak, definition, zones, now)
  if (broken === undefined || broken.daysAgo > repair.withinDays) return undefined
  const until = userDayAt(zones, now) - broken.daysAgo + repair.withinDays
  return { days: broken.days, until, price: repair.price }
}

/** The streak after a repair of these periods, which are those of its last break. */
export const withRepair = (
  streak: StreakState,
  definition: StreakRules,
  zones: Zones,
  periods: DayRange,
): StreakState => {
  const repairs = [...(streak.repairs ?? []), periods]
  return walked({ ...streak, repairs, fresh: (streak.fresh ?? 0) + 1 }, definition, zones)
}

/**
 * The streak without the repair of these periods; `undefined`: it no longer has the repair. Like a walk,
 * it has no break yet (`broken`).
 */
export const withoutRepair = (
  { fresh = 0, ...streak }: StreakState,
  definition: StreakRules,
  zones: Zones,
  [first, last]: DayRange,
): StreakState | undefined => {
  const { repairs = [] } = streak
  const index = repairs.findLastIndex((one) => one[0] === first && one[1] === last)
  if (index < 0) return undefined
  const wasFresh = index >= repairs.length - fresh
  const left = repairs.toSpliced(index, 1)
  return walked(
    { ...streak, repairs: left, fresh: wasFresh ? fresh - 1 : fresh },
    definition,
    zones,
  )
}

/** The runs whose milestones have been paid. */
export const paidRuns = (
  streak: StreakState,
  definition: Streak,
  zones: Zones,
): ReadonlyArray<StreakRun> => {
  const { fresh = 0, repairs = [] } = streak
  const settled = fresh === 0 ? streak : { ...streak, repairs: repairs.slice(0, -fresh) }
  return runsOf(settled, definition, zones)
}
