/** Decides the commands on shared goals. `Goals.ts` counts for them. */
import { limits } from "../../Limits.ts"
import { addsUp, hasScores, metricOf } from "../project/BoardDefinition.ts"
import { changedReward, type New, type RewardChange, type Status } from "../project/Definition.ts"
import { definitionWithKey } from "../project/DefinitionKey.ts"
import { type Goal, goalDefaults, goalScoring } from "../project/Goal.ts"
import type { ProjectState } from "../project/Project.ts"
import { isRefilling } from "../user/Refill.ts"
import type { Fault } from "../values/Errors.ts"
import type { Metadata } from "../values/Metadata.ts"
import { noChange } from "./Decided.ts"
import {
  givenReferenceFaults,
  type Known,
  metadataFaults,
  rankedFaults,
  segmentReferenceFaults,
} from "./definitionChecks.ts"
import { Decisions } from "./Kind.ts"
import { periodFaults } from "./Lifecycle.ts"

/** A merge patch of a goal. */
export interface GoalChange
  extends Partial<
    Pick<
      Goal,
      | "name"
      | "description"
      | "score"
      | "scope"
      | "teamKind"
      | "target"
      | "recurrence"
      | "minContribution"
      | "startsAt"
      | "endsAt"
      | "segment"
    >
  > {
  readonly reward?: RewardChange
  readonly status?: Status
  readonly metadata?: Metadata | null
}

type Defaulted = "scope" | "teamKind" | "recurrence" | "minContribution"

/** A goal without the members that have defaults. */
type NewGoal = Partial<Pick<Goal, Defaulted>> & Omit<New<Goal>, Defaulted>

export const goals = new Decisions<"goal", NewGoal, GoalChange>({
  noun: "goal",
  max: limits.goalsMax,
  nameOf: ({ name }) => name,
  members: (given) => ({ ...goalDefaults, ...given }),
  changed: (before, { reward, ...change }) => ({
    ...change,
    reward: changedReward(before.reward, reward),
  }),
  faults: (state, goal, { before, known }) => [
    ...(before === undefined ? [] : changedFaults(before, goal)),
    ...goalFaults(state, goal, known),
  ],
})

/** The faults of members that no longer change once the goal was published. */
const changedFaults = (before: Goal, goal: Goal): ReadonlyArray<Fault> => {
  if (!hasScores(before)) return []
  const detail = "cannot change, since the contributions follow from it: use another key"
  return goalScoring.flatMap((name) =>
    noChange({ [name]: before[name] }, { [name]: goal[name] })
      ? []
      : [{ pointer: `/${name}`, code: "invalid_value", detail }],
  )
}

const goalFaults = (
  state: ProjectState,
  goal: Goal,
  known: Known | undefined,
): ReadonlyArray<Fault> => {
  const { minContribution, reward, scope, score, target, teamKind } = goal
  const faults = [
    ...periodFaults(goal),
    ...metadataFaults(goal.metadata),
    ...segmentReferenceFaults(state, goal.segment),
    ...rankedFaults(state, score),
    ...givenReferenceFaults(state, reward, "/reward", (name) => known?.has(name) === true),
  ]
  const add = (pointer: string, code: string, detail: string) =>
    void faults.push({ pointer, code, detail })
  const metric = metricOf(state.metrics, goal)
  if (metric !== undefined && !addsUp(metric.aggregate)) {
    add("/score/metric", "not_allowed", "must be a metric that counts or sums")
  }
  const counted =
    "currency" in score ? definitionWithKey(state.currencies, score.currency) : undefined
  if (counted !== undefined && isRefilling(counted)) {
    const detail = "must not have a refill, now or before: refilled amounts are not earned"
    add("/score/currency", "not_allowed", detail)
  }
  if (scope === "team" && teamKind === null) {
    add("/teamKind", "missing", "is required for a goal of teams")
  }
  if (scope === "everyone" && teamKind !== null) {
    add("/teamKind", "not_allowed", "must be left out for a goal of everyone")
  }
  if (minContribution > target) {
    add("/minContribution", "invalid_value", "must be at most the target")
  }
  return faults
}
