/**
 * Contributions to shared goals, their undo, and what comes of a goal that is complete.
 *
 * What counts. What an event or a reward credits of the goal's currency, or adds to its metric, while
 * the goal is active: for what occurred since its start and, of a recurring goal, in the present
 * period. With a segment, members of it contribute; with `scope: team`, members of a team of the kind,
 * from when they joined. The amount stays with the team: who leaves takes nothing along, and
 * starts from 0 in the next team. Hidden users contribute as all others.
 *
 * Completion. The record that reaches the target says so, and from then on the place (a goal in a
 * period, of a team or of everyone) takes nothing more and gives nothing back. An edit that lowers
 * the target to the total completes it by a record of the project. Each share of
 * `goalSteps` sends one message; a record that reaches several sends that of the highest.
 *
 * `GoalTotals` knows the totals, also of records that are not durable. Decision and append are one
 * turn, and the records of an environment are in one journal: so one record reaches the target, and
 * a crash leaves no record without those that it rests on.
 *
 * Rewards. The record of the completion has what each contributor gets, so later edits change
 * nothing. The engine pays in the background (`engine/payouts/GoalRewards.ts`). A user's part says
 * whether it was paid, so nobody is paid twice. Of a team, its members at the completion are paid
 * (`GoalClaims.ts`). A reward is no event:
 * it scores nowhere, and counts for no goal. It cannot be undone, as the goal stays complete.
 *
 * Undo. It takes a contribution back while the place is open. Its shares send no second
 * message.
 *
 * Merge. Both are one contributor with the sum; if one of them was paid, so is the sum. Erasure. The
 * total and the number of contributors stay, also when the records leave the journal (`Remains.ts`).
 *
 * Cost: nothing in an environment without goals; else a comparison for each currency and metric that
 * has one, and a fact for each goal that is touched.
 */
import { Result } from "effect"
import { limits } from "../../Limits.ts"
import { givesNothing, isOpenAt, statusAt } from "../project/Definition.ts"
import {
  decimalsOf,
  type Goal,
  goalCountsFrom,
  goalIndexOf,
  goalPeriodOf,
  stepReached,
} from "../project/Goal.ts"
import { unscaled } from "../project/Metric.ts"
import type { ProjectState } from "../project/Project.ts"
import { emptyTotal, type GoalTotal } from "../record/foldGoal.ts"
import type { GoalNews, NamedPlace } from "../record/GoalFact.ts"
import type { Fact, FactOf, JournalRecord } from "../record/Record.ts"
import { type GoalPlace, isPartOf, partOf } from "../user/GoalPart.ts"
import { teamIn } from "../user/TeamMembership.ts"
import type { UserState } from "../user/User.ts"
import { zoneOf } from "../values/Calendar.ts"
import { refuse } from "../values/Errors.ts"
import type { Scoring } from "./Boards.ts"
import type { Decided } from "./Decided.ts"
import { claimsDropped } from "./GoalClaims.ts"

/** The totals of an environment's goals, also of records that are not durable. */
export interface GoalTotals {
  /** The latest period of the goal of a team, or (0) of everyone; `undefined`: nothing counted yet. */
  readonly totalOf: (goalId: string, team: number) => GoalTotal | undefined
  /** Whether the place is complete, and its rewards are not paid to all. */
  readonly isOwed: (place: GoalPlace) => boolean
  /** The teams (0: everyone) with a total of the goal. */
  readonly teamsOf: (goalId: string) => Iterable<number>
}

/** For decisions that touch no goals. */
export const noGoals: GoalTotals = {
  totalOf: () => undefined,
  isOwed: () => false,
  teamsOf: () => [],
}

interface Contributing extends Scoring {
  readonly goals: GoalTotals
}

/** Contributes to the goals of the currencies and metrics that the decision has added to. */
export const creditGoals = (draft: Contributing): void => {
  const { project } = draft
  if (project.goals.size === 0) return
  const { currency, metric } = goalIndexOf(project.goals)
  for (const [key, goals] of currency) creditAll(draft, goals, draft.gained(key))
  for (const [key, goals] of metric) creditAll(draft, goals, draft.measured(key))
}

const creditAll = (draft: Contributing, goals: ReadonlyArray<Goal>, amount: number): void => {
  if (amount <= 0) return
  for (const goal of goals) creditGoal(draft, goal, amount)
}

const creditGoal = (draft: Contributing, goal: Goal, amount: number): void => {
  const { day, facts, membership, project, user } = draft
  const named = openPlace(draft, goal)
  if (named === undefined || !membership.has(goal.segment)) return
  const { goalId, period } = named
  const before = totalAt(draft.goals, named)
  if (before.reached === 100) return
  const parts = user?.goals.get(goalId)
  const mine = partOf(parts, named)?.amount ?? 0
  const dropped = (parts ?? []).filter(
    (part) => !isPartOf(part, named) && (part.paid || !draft.goals.isOwed({ goalId, ...part })),
  )
  const drops = dropped.map(({ amount, period, team }) => ({
    ...placeOf(goalId, period, team),
    amount,
  }))
  const decimals = decimalsOf(project.metrics, goal)
  const first = mine === 0
  facts.push(...claimsDropped(user, goalId, dropped, facts))
  facts.push({
    kind: "goal.contributed",
    ...refOf(goal),
    ...named,
    amount,
    mine: mine + amount,
    day,
    ...(decimals > 0 && { decimals }),
    ...(first && { first }),
    ...(drops.length > 0 && { drops }),
  })
  const total = before.total + amount
  const contributors = before.contributors + Number(first)
  const news = newsOf(project, goal, named, { ...before, period, total, contributors })
  if (news !== undefined) facts.push(news)
}

/** The place that an event counts for; `undefined`: none. */
const openPlace = (
  { day, goals, now, occurredAt, project, user, zone }: Contributing,
  goal: Goal,
): NamedPlace | undefined => {
  if (statusAt(goal, now) !== "active") return undefined
  if (occurredAt < goalCountsFrom(goal) || !isOpenAt(goal, occurredAt)) return undefined
  const present = goalPeriodOf(goal, zone.dayAt(now))
  if (goalPeriodOf(goal, day) !== present) return undefined
  if (goal.scope === "everyone") {
    return namedPlace(project, goal, presentPeriod(goals, goal.id, 0, present))
  }
  const kind = goal.teamKind ?? ""
  const team = teamIn(user, project, kind)
  if (team === undefined || occurredAt < user!.teams.get(kind)!.joinedAt) return undefined
  const { id, number } = team
  return namedPlace(project, goal, presentPeriod(goals, goal.id, number, present), number, id)
}

/** A place is never in an earlier period than before, also after a change of the time zone. */
const presentPeriod = (goals: GoalTotals, goalId: string, team: number, present: number): number =>
  Math.max(present, goals.totalOf(goalId, team)?.period ?? present)

const namedPlace = (
  project: ProjectState,
  goal: Goal,
  period: number,
  team = 0,
  teamId?: string,
): NamedPlace => ({
  ...placeOf(goal.id, period, team),
  ...(teamId !== undefined && { teamId }),
  ...boundsOf(project, goal, period),
})

/** The member with the bounds of the period of a recurring goal. */
const boundsOf = (
  { settings }: ProjectState,
  { recurrence }: Goal,
  period: number,
): Pick<NamedPlace, "bounds"> => {
  if (recurrence === "none") return {}
  const { endsAt, startsAt } = zoneOf(settings.timezone).windowBounds(recurrence, period)
  return { bounds: [startsAt, endsAt] }
}

const placeOf = (goalId: string, period: number, team: number): GoalPlace =>
  team === 0 ? { goalId, period } : { goalId, period, team }

const refOf = ({ id: goalId, key, name }: Goal) => ({ goalId, key, name })

/** An archived goal may be forgotten (`archivedGoalsMax`). */
const knownRef = ({ goals }: ProjectState, goalId: string) => {
  const goal = goals.get(goalId)
  return goal === undefined ? { goalId, key: goalId, name: goalId } : refOf(goal)
}

/** The total of a place. */
const totalAt = (goals: GoalTotals, { goalId, period, team = 0 }: GoalPlace): GoalTotal => {
  const known = goals.totalOf(goalId, team)
  return known?.period === period ? known : emptyTotal(period)
}

/** The fact of a share that this total reaches first; `undefined`: it reaches none. */
const newsOf = (
  { metrics }: ProjectState,
  goal: Goal,
  place: NamedPlace,
  { contributors, reached, total }: GoalTotal,
): GoalNews | undefined => {
  const { minContribution, reward, target } = goal
  const decimals = decimalsOf(metrics, goal)
  const percent = stepReached(total, target * 10 ** decimals)
  if (percent <= reached) return undefined
  const state = { total: unscaled(total, decimals), target, contributors }
  const told = { ...refOf(goal), ...place, ...state }
  if (percent < 100) return { kind: "goal.progressed", ...told, percent }
  const min = minContribution * 10 ** decimals
  const owed = givesNothing(reward) ? undefined : { reward, min }
  return { kind: "goal.completed", ...told, ...(owed !== undefined && { owed }) }
}

/** The facts that take the contributions of the record `found` back. */
export const undoneContributions = (
  user: UserState,
  project: ProjectState,
  goals: GoalTotals,
  now: number,
  { facts, sequence }: JournalRecord,
): ReadonlyArray<FactOf<"goal.contributed">> =>
  facts.flatMap((fact): ReadonlyArray<FactOf<"goal.contributed">> => {
    if (fact.kind !== "goal.contributed" || fact.amount <= 0) return []
    const { drops: _, first: __, gone: ___, mine: ____, ...named } = fact
    const goal = project.goals.get(fact.goalId)
    if (goal === undefined || !isOpen(project, goals, goal, fact, now)) return []
    const amount = -fact.amount
    const part = partOf(user.goals.get(fact.goalId), fact)
    // The user may have left the team since, and started from 0.
    if (part === undefined || part.since > sequence) return [{ ...named, amount }]
    const mine = Math.max(0, part.amount + amount)
    const last = mine === 0 && part.amount > 0 && ({ last: true } as const)
    // A merge may have joined parts of before and after the user left.
    const gone = part.amount + amount - mine
    return [{ ...named, amount, mine, ...last, ...(gone !== 0 && { gone }) }]
  })

/** What the user has contributed to each place. */
export const contributionsOf = ({ goals }: UserState) =>
  [...goals].flatMap(([goalId, parts]) =>
    parts
      .filter(({ amount }) => amount > 0)
      .map(({ amount, period, team }) => [goalId, period, team, amount] as const),
  )

/** Whether a contribution to the place may still be taken back. */
const isOpen = (
  project: ProjectState,
  goals: GoalTotals,
  goal: Goal,
  place: GoalPlace,
  now: number,
): boolean => {
  const { period, reached } = totalAt(goals, place)
  const known = goals.totalOf(place.goalId, place.team ?? 0)
  if (known === undefined || known.period !== period || reached === 100) return false
  const status = statusAt(goal, now)
  if (status !== "active" && status !== "paused") return false
  return goalPeriodOf(goal, zoneOf(project.settings.timezone).dayAt(now)) <= period
}

/** Of two contributors who became one, the place counts one. `after`: the user who stays. */
export const unitedContributors = (
  into: UserState,
  from: UserState,
  project: ProjectState,
): ReadonlyArray<FactOf<"goal.contributed">> =>
  [...from.goals].flatMap(([goalId, theirs]) => {
    const ref = knownRef(project, goalId)
    const goal = project.goals.get(goalId)
    return theirs.flatMap((part): ReadonlyArray<FactOf<"goal.contributed">> => {
      const mine = partOf(into.goals.get(goalId), part)
      if (mine === undefined || mine.amount === 0 || part.amount === 0) return []
      const bounds = goal === undefined ? {} : boundsOf(project, goal, part.period)
      const place = { ...placeOf(goalId, part.period, part.team), ...bounds }
      const both = { amount: 0, mine: mine.amount + part.amount, last: true } as const
      return [{ kind: "goal.contributed", ...ref, ...place, ...both }]
    })
  })

/* Completion by an edit. */

/** Completes the places of a goal whose totals have reached its target. */
export interface CompleteGoal {
  readonly kind: "completeGoal"
  readonly goalId: string
}

/** The facts of at most `goalCompletionsMax` places. Refuses if there is none. */
export const decideCompleteGoal = (
  project: ProjectState,
  { goalId }: CompleteGoal,
  now: number,
  goals: GoalTotals,
): Decided<"conflict"> => {
  const facts: Array<Fact> = []
  const goal = project.goals.get(goalId)
  for (const team of goal === undefined ? [] : goals.teamsOf(goalId)) {
    if (facts.length >= limits.goalCompletionsMax) break
    const news = completionOf(project, goals, goal!, team, now)
    if (news !== undefined) facts.push(news)
  }
  return facts.length > 0 ? Result.succeed(facts) : refuse("conflict", "No total is high enough.")
}

/** The completion of a place whose total has reached the target. */
const completionOf = (
  project: ProjectState,
  goals: GoalTotals,
  goal: Goal,
  team: number,
  now: number,
): FactOf<"goal.completed"> | undefined => {
  if (statusAt(goal, now) !== "active") return undefined
  const total = goals.totalOf(goal.id, team)
  const present = goalPeriodOf(goal, zoneOf(project.settings.timezone).dayAt(now))
  if (total === undefined || total.period < present) return undefined
  const { period, teamId } = total
  const news = newsOf(project, goal, namedPlace(project, goal, period, team, teamId), total)
  return news?.kind === "goal.completed" ? news : undefined
}

/** Whether an edit has left a total that reaches the target. */
export const isCompletable = (
  project: ProjectState,
  goals: GoalTotals,
  goal: Goal,
  now: number,
): boolean => {
  for (const team of goals.teamsOf(goal.id)) {
    if (completionOf(project, goals, goal, team, now) !== undefined) return true
  }
  return false
}

/** Everyone who is due the reward of the place has it: `paid` users. */
export interface FinishGoal {
  readonly kind: "finishGoal"
  readonly place: NamedPlace
  readonly paid: number
}

export const decideFinishGoal = (
  project: ProjectState,
  { paid, place }: FinishGoal,
): Decided<"conflict"> => {
  const ref = knownRef(project, place.goalId)
  return Result.succeed([{ kind: "goal.rewards_paid", ...ref, ...place, paid }])
}
