/**
 * The definition of a shared goal: users work towards one target together, all users of the
 * environment or the members of each team of a kind. What a user earns of a currency, or adds to a
 * metric, is the user's contribution (`decide/Goals.ts`).
 *
 * Once the goal was published, what the contributions rest on stays: what counts, who shares the
 * target, and the recurrence. Target, reward and period may change.
 */
import { windowOfDay, type Zone } from "../values/Calendar.ts"
import { type BoardScore, metricOf, type RankedKind, rankedBy } from "./BoardDefinition.ts"
import { type Gives, type QuestRecurrence, type Targeted, targetedDefaults } from "./Definition.ts"
import type { Metric } from "./Metric.ts"

export const goalScopes = ["everyone", "team"] as const
export type GoalScope = (typeof goalScopes)[number]

export interface Goal extends Targeted {
  readonly name: string
  /** What counts: a currency, or a metric that counts or sums, by its key. */
  readonly score: GoalScore
  readonly scope: GoalScope
  /** The kind of the teams that each have the target for themselves; null: everyone has one. */
  readonly teamKind: string | null
  /** In units of the currency or the metric. */
  readonly target: number
  /** The goal begins again in each window of this kind, in the project's time zone. */
  readonly recurrence: QuestRecurrence
  /** What each contributor with at least `minContribution` gets once the target is reached. */
  readonly reward: Gives
  readonly minContribution: number
}

export type GoalScore = Exclude<BoardScore, { readonly streak: string }>

/** The members that decide what the contributions mean. */
export const goalScoring = ["score", "scope", "teamKind", "recurrence"] as const

export const goalDefaults = {
  ...targetedDefaults,
  scope: "everyone",
  teamKind: null as string | null,
  recurrence: "none",
  minContribution: 1,
} as const

/** The percentages of the target that messages tell of. */
export const goalSteps = [25, 50, 75, 100] as const

/** The highest of `goalSteps` that a total has reached; 0: none. */
export const stepReached = (total: number, target: number): number => {
  let reached = 0
  for (const step of goalSteps) if (total * 100 >= step * target) reached = step
  return reached
}

/** The time from which events count: the start; by default the creation. */
export const goalCountsFrom = ({ createdAt, startsAt }: Goal): number => startsAt ?? createdAt

/** The index of the goal's period on a local day of the project; 0 if it does not recur. */
export const goalPeriodOf = ({ recurrence }: Goal, day: number): number =>
  recurrence === "none" ? 0 : windowOfDay(recurrence, day)

/** When a period begins and ends, epoch milliseconds; null: never. */
export const goalBounds = (
  { endsAt, recurrence, startsAt }: Goal,
  zone: Zone,
  period: number,
): { readonly startsAt: number | null; readonly endsAt: number | null } =>
  recurrence === "none" ? { startsAt, endsAt } : zone.windowBounds(recurrence, period)

/** The decimals of what counts: amounts are integers, scaled by them (`Metric.ts`). */
export const decimalsOf = (metrics: ReadonlyMap<string, Metric>, goal: Pick<Goal, "score">) =>
  metricOf(metrics, goal)?.decimals ?? 0

interface GoalIndex {
  readonly currency: ReadonlyMap<string, ReadonlyArray<Goal>>
  readonly metric: ReadonlyMap<string, ReadonlyArray<Goal>>
}

const indexes = new WeakMap<ReadonlyMap<string, Goal>, GoalIndex>()

/** The published goals, by the currency or metric that they count. Computed once for each map of goals. */
export const goalIndexOf = (goals: ReadonlyMap<string, Goal>): GoalIndex => {
  let index = indexes.get(goals)
  if (index === undefined) {
    const live = [...goals.values()].filter(({ set }) => set === "published")
    const by = (kind: RankedKind) =>
      Map.groupBy(
        live.filter(({ score }) => rankedBy(score)[0] === kind),
        ({ score }) => rankedBy(score)[1],
      )
    index = { currency: by("currency"), metric: by("metric") }
    indexes.set(goals, index)
  }
  return index
}
