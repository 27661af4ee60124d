/** Shared goals as definitions, and how far everyone, teams and users have come. */
import { Effect } from "effect"
import { isClient } from "../../accounts/Accounts.ts"
import type { GoalChange } from "../../domain/decide/GoalDefinitions.ts"
import { definitionNotFound } from "../../domain/decide/Kind.ts"
import { teamNotFound } from "../../domain/decide/TeamMembers.ts"
import { statusAt } from "../../domain/project/Definition.ts"
import { definitionOf } from "../../domain/project/DefinitionKey.ts"
import {
  decimalsOf,
  type Goal,
  type GoalScore,
  goalBounds,
  goalDefaults,
} from "../../domain/project/Goal.ts"
import { unscaled } from "../../domain/project/Metric.ts"
import type { ProjectState } from "../../domain/project/Project.ts"
import { type Team, teamWithId } from "../../domain/project/Team.ts"
import { emptyTotal, type GoalTotal } from "../../domain/record/foldGoal.ts"
import { partOf } from "../../domain/user/GoalPart.ts"
import { Membership } from "../../domain/user/Membership.ts"
import { teamIn, teamsOfUser } from "../../domain/user/TeamMembership.ts"
import type { UserState } from "../../domain/user/User.ts"
import { zoneOf } from "../../domain/values/Calendar.ts"
import { compareCodePoints } from "../../domain/values/Ids.ts"
import { isoTimeOrNull } from "../../domain/values/isoTime.ts"
import type { Engine } from "../../engine/Engine.ts"
import { shownPeriod } from "../../engine/read/GoalContributors.ts"
import { limits } from "../../Limits.ts"
import { GoalPatch, type Goals, NewGoal } from "../api/Goals.ts"
import type { Handlers } from "../contract/Interpreter.ts"
import { kindOperations } from "./definitionOperations.ts"
import { goalDays } from "./goalDays.ts"
import type { Bodies } from "./meaningFaults.ts"
import {
  allParts,
  avatarOf,
  foundOr,
  hasBegun,
  mayKnow,
  named,
  newMembers,
  partsChange,
  patchOf,
  replacementOf,
  showDefinition,
  userNotFound,
  wholeReward,
} from "./Shapes.ts"

export const goalBodies: Bodies = {
  schemas: { created: NewGoal, changed: GoalPatch },
  valid: { name: "G", score: { currency: "xp" }, target: limits.goalTargetMax },
  restsOn: { teamKind: ["scope"], minContribution: ["target"], endsAt: ["startsAt"] },
}

export const goalHandlers = (engine: Engine["Service"]): Handlers<typeof Goals> => ({
  ...kindOperations(engine, "goal", {
    made: newGoal,
    bodies: goalBodies,
    changed: goalChange,
    show: showGoal,
    found: (goal, shown, { environment }) =>
      Effect.map(withProgress(engine)(environment), (complete) => complete(goal, shown)),
    listed: withProgress(engine),
    isVisible: (goal, caller, now) =>
      (!isClient(caller) || hasBegun(goal, now)) && mayKnow(engine, goal, caller, now),
  }),
  ...teamReads(engine),
  days: {
    handle: ({ caller, params: { id }, query }) =>
      Effect.gen(function* () {
        const reading = readingOf(engine, caller.environment)
        const goal = yield* visibleGoal(reading, id, caller)
        const { days } = engine.goalTotals(caller.environment)
        const shown = yield* goalDays(goal, query, { ...reading, days })
        return { body: { ...refOf(goal), ...shown } }
      }),
  },
  ofUser: {
    handle: ({ caller: { environment }, params: { id } }) =>
      Effect.gen(function* () {
        const user = yield* foundOr(yield* engine.readUser(environment, id), userNotFound)
        const reading = readingOf(engine, environment)
        const { now, project } = reading
        const { has } = membershipOf(user, project, now)
        const goals = [...project.goals.values()].filter(
          (goal) => hasBegun(goal, now) && (has(goal.segment) || user.goals.has(goal.id)),
        )
        return {
          body: { userId: user.id, goals: goals.map((goal) => goalOf(reading, goal, user)) },
        }
      }),
  },
})

/* Definitions. */

export const newGoal = (payload: typeof NewGoal.Type, id: string) => {
  const { name, reward = {}, score, target, ...given } = payload
  const { minContribution, recurrence, scope, teamKind } = { ...goalDefaults, ...given }
  return {
    id,
    ...newMembers(payload),
    name,
    // It has one of both (`oneKind`).
    score: score as GoalScore,
    scope,
    teamKind,
    target,
    recurrence,
    reward: allParts(reward),
    minContribution,
  }
}

/**
 * The change that replaces every member of a goal but key and metadata, and the status if `payload` has
 * none.
 */
export const goalReplacement = (payload: typeof NewGoal.Type): GoalChange => {
  const { reward, ...members } = replacementOf(newGoal(payload, ""), payload)
  return { ...members, reward: wholeReward(reward) }
}

const goalChange = ({ reward, score, ...patch }: typeof GoalPatch.Type): GoalChange =>
  named({
    ...patchOf(patch),
    score: score as GoalScore | undefined,
    reward: reward === null ? wholeReward(allParts({})) : reward && partsChange(reward),
  })

const showGoal = (goal: Goal, now: number) => showDefinition(goal, now)

/* Progress. */

interface Reading {
  readonly engine: Engine["Service"]
  readonly environment: string
  readonly project: ProjectState
  readonly now: number
}

const readingOf = (engine: Engine["Service"], environment: string): Reading => ({
  engine,
  environment,
  project: engine.projectNow(environment),
  now: engine.timeIn(environment),
})

const membershipOf = (user: UserState, project: ProjectState, now: number) => {
  const membership = new Membership({ userId: user.id, user, project, now })
  return { has: (segment: string | null) => membership.has(segment) }
}

/** The present period, or the last one of a goal that is over. */
const periodOf = ({ now, project }: Reading, goal: Goal): number => shownPeriod(goal, project, now)

/** The total of the present period, of a team or (0) of everyone. */
const totalOf = (reading: Reading, goal: Goal, team: number): GoalTotal => {
  const known = reading.engine.goalTotals(reading.environment).durableOf(goal.id, team)
  const period = periodOf(reading, goal)
  return known !== undefined && known.period >= period ? known : emptyTotal(period)
}

const showTotal = ({ project }: Reading, goal: Goal, total: GoalTotal) => {
  const { completedAt, contributors, period, rewarded } = total
  const amount = unscaled(total.total, decimalsOf(project.metrics, goal))
  const bounds = goalBounds(goal, zoneOf(project.settings.timezone), period)
  return {
    startsAt: isoTimeOrNull(bounds.startsAt),
    endsAt: isoTimeOrNull(bounds.endsAt),
    total: amount,
    percent:
      completedAt === null ? Math.min(100, Math.floor((amount * 1_000) / goal.target) / 10) : 100,
    contributors,
    completedAt: isoTimeOrNull(completedAt),
    rewarded,
  }
}

/** Adds to a goal how far everyone has come. */
const withProgress = (engine: Engine["Service"]) => (environment: string) =>
  Effect.sync(() => {
    const reading = readingOf(engine, environment)
    return (goal: Goal, shown: ReturnType<typeof showGoal>) => ({
      ...shown,
      progress: goal.scope === "team" ? null : showTotal(reading, goal, totalOf(reading, goal, 0)),
    })
  })

const showTeam = ({ id, name }: Team) => ({ id, name })

const refOf = ({ id: goalId, key, name }: Goal) => ({ goalId, key, name })

const goalNotFound = definitionNotFound("goal")

const teamsDefault = 20

const teamReads = (
  engine: Engine["Service"],
): Pick<Handlers<typeof Goals>, "contributors" | "team" | "teams"> => ({
  contributors: {
    handle: ({ caller, params: { id }, query: { limit = teamsDefault } }) =>
      Effect.gen(function* () {
        const { environment } = caller
        const reading = readingOf(engine, environment)
        const goal = yield* visibleGoal(reading, id, caller)
        const { countedAt, counting, result } = yield* engine.readContributors(environment)
        const shown = []
        for (const one of result?.get(goal.id) ?? []) {
          if (shown.length === limit) break
          // Who was hidden or erased since is left out at once.
          const user = yield* engine.readUser(environment, one.userId)
          if (user?.id !== one.userId || user.profile.hidden) continue
          const found = teamsOfUser(user, reading.project).find(
            ({ team }) => team.number === one.team,
          )
          if (one.team > 0 && found === undefined) continue
          shown.push({
            userId: one.userId,
            displayName: user.profile.displayName,
            ...avatarOf(user.profile.attributes),
            team: found === undefined ? null : showTeam(found.team),
            contribution: unscaled(one.amount, decimalsOf(reading.project.metrics, goal)),
            rewarded: one.paid,
          })
        }
        const contributors = result && shown
        return { body: { contributors, countedAt: isoTimeOrNull(countedAt), counting } }
      }),
  },
  teams: {
    handle: ({ caller, params: { id }, query: { limit = teamsDefault } }) =>
      Effect.gen(function* () {
        const reading = readingOf(engine, caller.environment)
        const goal = yield* visibleGoal(reading, id, caller)
        const period = periodOf(reading, goal)
        const totals = [...engine.goalTotals(caller.environment).durableTotals(goal.id)]
        const { teams } = reading.project
        const found = totals.flatMap(([number, total]) => {
          const team = teamWithId(teams, total.teamId ?? "")
          // Another team may have the id of one that was deleted.
          return team?.number !== number || total.period < period ? [] : [{ team: team!, total }]
        })
        const highest = found
          .toSorted(
            (one, other) =>
              other.total.total - one.total.total || compareCodePoints(one.team.id, other.team.id),
          )
          .slice(0, limit)
        const shown = highest.map(({ team, total }) => ({
          team: showTeam(team),
          ...showTotal(reading, goal, total),
        }))
        return { body: { teams: shown } }
      }),
  },
  team: {
    handle: ({ caller, params: { id, teamId } }) =>
      Effect.gen(function* () {
        const reading = readingOf(engine, caller.environment)
        const goal = yield* visibleGoal(reading, id, caller)
        const team = yield* foundOr(teamWithId(reading.project.teams, teamId), teamNotFound)
        if (goal.scope !== "team" || goal.teamKind !== team.kind) {
          return yield* Effect.fail(teamNotFound)
        }
        const { target } = goal
        const total = showTotal(reading, goal, totalOf(reading, goal, team.number))
        return { body: { ...refOf(goal), team: showTeam(team), target, ...total } }
      }),
  },
})

/** The goal, if the caller may see it. */
const visibleGoal = (
  { engine, now, project }: Reading,
  idOrKey: string,
  caller: Parameters<typeof mayKnow>[2],
) => {
  const goal = definitionOf(project.goals, idOrKey)
  const isSeen =
    goal !== undefined &&
    (!isClient(caller) || hasBegun(goal, now)) &&
    mayKnow(engine, goal, caller, now)
  return foundOr(isSeen ? goal : undefined, goalNotFound)
}

/** A goal as its user sees it. */
const goalOf = (reading: Reading, goal: Goal, user: UserState) => {
  const { now, project } = reading
  const { minContribution, reward, scope, target } = goal
  const team = scope === "team" ? teamIn(user, project, goal.teamKind ?? "") : undefined
  const isOpen = scope === "everyone" || team !== undefined
  const number = team?.number ?? 0
  const total = isOpen ? totalOf(reading, goal, number) : undefined
  const period = total?.period ?? 0
  const part = isOpen ? partOf(user.goals.get(goal.id), { period, team: number }) : undefined
  return {
    ...refOf(goal),
    status: statusAt(goal, now),
    scope,
    team: team === undefined ? null : showTeam(team),
    target,
    reward,
    minContribution,
    progress: total === undefined ? null : showTotal(reading, goal, total),
    contribution: unscaled(part?.amount ?? 0, decimalsOf(project.metrics, goal)),
    rewarded: part?.paid ?? false,
  }
}
