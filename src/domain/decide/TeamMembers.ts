/**
 * Decides who is in a team. A user joins and leaves by request alone. An undo of that is the opposite
 * request: a membership pays nothing, so no record has an effect to take back.
 */
import { Result } from "effect"
import type { ProjectState } from "../project/Project.ts"
import { type Team, teamWithId } from "../project/Team.ts"
import type { Fact } from "../record/Record.ts"
import type { JoinTeam, LeaveTeam } from "../record/TeamFact.ts"
import { teamIn } from "../user/TeamMembership.ts"
import type { UserState } from "../user/User.ts"
import { type LaurelError, laurelError, refuse } from "../values/Errors.ts"
import { type Decision, Draft } from "./Draft.ts"
import { claimsAfterJoining, claimsAfterLeaving } from "./GoalClaims.ts"
import type { GoalTotals } from "./Goals.ts"
import { goneByJoining, keptByLeaving } from "./Shares.ts"

export const teamNotFound = laurelError(
  "team_not_found",
  "No team of this environment has this id.",
)

export const decideJoin = (
  userId: string,
  user: UserState | undefined,
  project: ProjectState,
  cause: JoinTeam,
  now: number,
  goals: GoalTotals,
): Result.Result<Decision, LaurelError<"team_not_found">> => {
  const team = teamWithId(project.teams, cause.teamId)
  if (team === undefined) return Result.fail(teamNotFound)
  const former = user?.teams.get(team.kind)
  if (former?.number === team.number) return Result.succeed({ cause, facts: [] })
  const { facts } = new Draft(userId, user, project, now)
  const left = teamIn(user, project, team.kind)
  if (left !== undefined) facts.push(...leaves(left, user, project))
  facts.push(factOf("team.joined", team, left === undefined ? former?.number : undefined))
  facts.push(...goneByJoining(user, project, team.number))
  if (former !== undefined) facts.push(...claimsAfterLeaving(user, goals, former.number))
  facts.push(...claimsAfterJoining(user, goals, team.number))
  return Result.succeed({ cause, facts })
}

export const decideLeave = (
  user: UserState | undefined,
  project: ProjectState,
  cause: LeaveTeam,
  goals: GoalTotals,
): Result.Result<Decision, LaurelError<"team_not_found" | "member_not_found">> => {
  const team = teamWithId(project.teams, cause.teamId)
  if (team === undefined) return Result.fail(teamNotFound)
  if (user?.teams.get(team.kind)?.number !== team.number) {
    return refuse("member_not_found", "The user is not a member of this team.")
  }
  const kept = claimsAfterLeaving(user, goals, team.number)
  return Result.succeed({ cause, facts: [...leaves(team, user, project), ...kept] })
}

const leaves = (
  team: Team,
  user: UserState | undefined,
  project: ProjectState,
): ReadonlyArray<Fact> => [
  factOf("team.left", team),
  ...(user === undefined ? [] : keptByLeaving(user, project, team.number)),
]

const factOf = (
  kind: "team.joined" | "team.left",
  { id: teamId, kind: teamKind, name, number }: Team,
  replaces?: number,
): Fact => ({
  kind,
  teamId,
  teamKind,
  name,
  number,
  ...(replaces !== undefined && { replaces }),
})
