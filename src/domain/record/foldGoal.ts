/** How the facts of shared goals change a user's parts, and the total of a place. */
import { type GoalPart, type GoalParts, isPartOf, noParts, withClaim } from "../user/GoalPart.ts"
import { assertBalance } from "../values/invariants.ts"
import type { GoalFact, GoalNews, GoalPaidFact } from "./GoalFact.ts"
import type { Fact } from "./Record.ts"

/* The parts of a user. */

type PartFact = Extract<
  GoalFact,
  { readonly kind: "goal.contributed" | "goal.rewarded" | "goal.claim_changed" }
>

export const isOfPart = (fact: Fact): fact is PartFact =>
  fact.kind === "goal.contributed" ||
  fact.kind === "goal.rewarded" ||
  fact.kind === "goal.claim_changed"

export const foldGoal = (goals: Map<string, GoalParts>, fact: PartFact, sequence: number): void => {
  const before = goals.get(fact.goalId) ?? noParts
  const after =
    fact.kind === "goal.contributed"
      ? contributed(before, fact, sequence)
      : before.map((part) => (isPartOf(part, fact) ? changed(part, fact) : part))
  if (after.length > 0) goals.set(fact.goalId, after)
  else goals.delete(fact.goalId)
}

const changed = (
  part: GoalPart,
  fact: Exclude<PartFact, { readonly kind: "goal.contributed" }>,
): GoalPart =>
  fact.kind === "goal.rewarded" ? { ...part, paid: true } : withClaim(part, fact.claim)

const contributed = (
  before: GoalParts,
  fact: Extract<GoalFact, { readonly kind: "goal.contributed" }>,
  sequence: number,
): GoalParts => {
  const { drops = [], goalId, mine, period, team = 0 } = fact
  const left = before.filter((part) => !drops.some((place) => isPartOf(part, place)))
  const own = left.find((part) => isPartOf(part, fact))
  if (mine === undefined) return left
  assertBalance(`contribution to ${goalId}`, mine)
  if (own !== undefined) return left.map((part) => (part === own ? { ...own, amount: mine } : part))
  const begun: GoalPart = { period, team, amount: mine, since: sequence, paid: false }
  return [...left, begun]
}

/* The total of a place. */

/** The latest period of a goal of everyone, or of a team. Amounts are scaled. */
export interface GoalTotal {
  readonly period: number
  /** The caller's id of the team. */
  readonly teamId?: string
  readonly total: number
  /** Users who contributed something, also those who are gone since. */
  readonly contributors: number
  /** The highest of `goalSteps` that has sent its message. 100: the goal is complete. */
  readonly reached: number
  /** Epoch milliseconds; null: it is not complete. */
  readonly completedAt: number | null
  /** How many users got the reward; null: it is not paid to all yet. */
  readonly rewarded: number | null
}

export const emptyTotal = (period: number, teamId?: string): GoalTotal => ({
  period,
  ...(teamId !== undefined && { teamId }),
  total: 0,
  contributors: 0,
  reached: 0,
  completedAt: null,
  rewarded: null,
})

export type TotalFact =
  | Extract<GoalFact, { readonly kind: "goal.contributed" }>
  | GoalNews
  | GoalPaidFact

export const isOfTotal = (fact: Fact): fact is TotalFact =>
  fact.kind === "goal.contributed" ||
  fact.kind === "goal.progressed" ||
  fact.kind === "goal.completed" ||
  fact.kind === "goal.rewards_paid"

/** A total and its contributors are never below 0. */
export const assertTotal = (goalId: string, { contributors, total }: GoalTotal): void => {
  assertBalance(`total of ${goalId}`, total)
  assertBalance(`contributors to ${goalId}`, contributors)
}

/**
 * The total after a fact of a record that was decided at `at`. A fact of an earlier period is over.
 * Of the latest period, the sums do not depend on the order of the facts.
 */
export const foldTotal = (
  known: GoalTotal | undefined,
  fact: TotalFact,
  at: number,
): GoalTotal | undefined => {
  const { period } = fact
  if (known !== undefined && period < known.period) return known
  const before = known?.period === period ? known : emptyTotal(period, fact.teamId)
  switch (fact.kind) {
    case "goal.contributed": {
      const total = before.total + fact.amount
      const contributors = before.contributors + Number(fact.first ?? 0) - Number(fact.last ?? 0)
      return { ...before, total, contributors }
    }
    case "goal.progressed":
      return { ...before, reached: Math.max(before.reached, fact.percent) }
    case "goal.completed": {
      const rewarded = fact.owed === undefined ? 0 : null
      return { ...before, reached: 100, completedAt: at, rewarded }
    }
    case "goal.rewards_paid": {
      // The completion may have been in the record of a user who was erased.
      const { completedAt } = before
      return { ...before, reached: 100, completedAt: completedAt ?? at, rewarded: fact.paid }
    }
  }
}
