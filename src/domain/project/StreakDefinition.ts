/**
 * The definition of a streak: days, ISO weeks or months in a row that a user keeps
 * (`user/Streak.ts` tells what a streak is). A period is kept once its events reach the targets of
 * the needs.
 *
 * A streak counts events of its time, from `startsAt` to `endsAt`, also while it is paused; a paused
 * one pays no milestones. After `endsAt` nothing changes it: a streak that was unbroken then stays
 * so. `every` never changes.
 *
 * A user's state has streaks by the key of the definition, so an archived one keeps its key for
 * ever: it is never dropped (`archivedStreaksMax`).
 */
import type { Weekday } from "./Boost.ts"
import type { Amounts } from "./Currency.ts"
import { type Definition, type Gives, isOpenAt } from "./Definition.ts"

export const streakPeriods = ["day", "week", "month"] as const
export type StreakPeriod = (typeof streakPeriods)[number]

/**
 * At least `target` events with this action in a period, or as much of the metric with this key
 * (`amountTowards`).
 */
export type StreakNeed = { readonly target: number } & (
  | { readonly action: string; readonly metric?: never }
  | { readonly metric: string; readonly action?: never }
)

/** The name of a need in counts. An action never looks like a key of a metric. */
export const needName = ({ action, metric }: StreakNeed): string => action ?? metric

export interface StreakMilestone {
  /** The length of a streak at which it pays. */
  readonly target: number
  readonly reward: Gives
}

/** What covers missed periods. */
export interface StreakTerms {
  /**
   * Freezes cover missed periods: their initial number and their maximum. A streak gains one
   * whenever its length reaches a multiple of `everyDays`.
   */
  readonly freezes: {
    readonly initial: number
    readonly max: number
    readonly everyDays: number | null
  }
  /** The days of the week that are never missed; empty unless the streak is of days. */
  readonly restDays: ReadonlyArray<Weekday>
}

/**
 * Days that are never missed, for everyone or for a segment. It covers each user once, when it begins
 * for the user (`user/StreakPauses.ts`); what it has covered stays so. Days are those of `Calendar.ts`,
 * the last one included.
 */
export interface StreakPause {
  readonly from: number
  readonly to: number
  /** The key of the segment; null: everyone. */
  readonly segment: string | null
  /** Tells the pauses of a streak apart: no other one of the streak ever has it. */
  readonly number: number
}

/**
 * A repair is possible until `withinDays` days after the period that broke the streak, for a price in
 * spendable currencies; null: for nothing.
 */
export interface StreakRepair {
  readonly withinDays: number
  readonly price: Amounts | null
}

export interface Streak extends Definition, StreakTerms {
  readonly name: string
  readonly every: StreakPeriod
  /** Empty: one event with any action. */
  readonly needs: ReadonlyArray<StreakNeed>
  readonly match: "all" | "any"
  /** By target, the lowest first. */
  readonly milestones: ReadonlyArray<StreakMilestone>
  /** The message `streak.at_risk`, so many hours before a period ends; null: none. */
  readonly atRisk: { readonly hoursBefore: number } | null
  readonly pauses: ReadonlyArray<StreakPause>
  /** Whether and how users repair a broken streak; null: they cannot. */
  readonly repair: StreakRepair | null
  /** The greatest number of a pause so far; absent: there was none. */
  readonly pausesMade?: number
  /** The former terms, oldest first, each until the time of an edit; absent: never edited. */
  readonly termsBefore?: ReadonlyArray<StreakTerms & { readonly until: number }>
}

/** Whether one event keeps a period, so that nothing needs to be counted. */
export const needsOne = ({ match, needs }: Pick<Streak, "match" | "needs">): boolean =>
  (match === "any" || needs.length <= 1) &&
  needs.every(({ metric, target }) => metric === undefined && target === 1)

/** Whether the counts of a period reach the targets. */
export const isKeptBy = (
  { match, needs }: Pick<Streak, "match" | "needs">,
  countOf: (need: string) => number,
): boolean => {
  const reached = (need: StreakNeed) => countOf(needName(need)) >= need.target
  return match === "all" ? needs.every(reached) : needs.some(reached)
}

/** Whether events of `at` count for the streak. */
export const countsAt = (streak: Streak, at: number): boolean =>
  (streak.set === "published" || streak.set === "paused") && isOpenAt(streak, at)

/** The time for which a streak is computed: `now`, but never after its end. */
export const streakTime = ({ endsAt }: Pick<Streak, "endsAt">, now: number): number =>
  endsAt === null ? now : Math.min(now, endsAt - 1)

/** Whether replies show the streak: it is neither a draft nor archived. */
export const isShown = ({ set }: Streak): boolean => set === "published" || set === "paused"
