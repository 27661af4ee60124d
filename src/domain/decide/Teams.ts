/** Decides the commands on the teams of an environment. */
import { Result } from "effect"
import { limits } from "../../Limits.ts"
import { isOfTeams } from "../project/BoardDefinition.ts"
import { firstVersion, nextVersion } from "../project/Definition.ts"
import { definitionOf } from "../project/DefinitionKey.ts"
import type { ProjectState } from "../project/Project.ts"
import { isOffBoard, type Team, teamWithId } from "../project/Team.ts"
import { invalidRequest, quotaExceeded, refuse } from "../values/Errors.ts"
import { type Conditional, type Decided, noChange } from "./Decided.ts"
import { teamNotFound } from "./TeamMembers.ts"

/** Creates the team with this id, which needs a kind and a name, or changes the given members. */
type PutTeam = Conditional & {
  readonly kind: "putTeam"
  readonly teamId: string
  readonly team: Partial<Pick<Team, "kind" | "name" | "attributes">>
}

type DeleteTeam = Conditional & { readonly kind: "deleteTeam"; readonly teamId: string }

/** Takes the team off a leaderboard of teams, or lists it again. Names the leaderboard by its id or key. */
type DisqualifyTeam = {
  readonly kind: "disqualifyTeam"
  readonly teamId: string
  readonly leaderboard: string
  readonly disqualified: boolean
}

export type TeamCommand = PutTeam | DeleteTeam | DisqualifyTeam

/** A team that does not exist has version 0, which no entity tag has. */
export const teamVersion = ({ teams }: ProjectState, { teamId }: TeamCommand): number =>
  teamWithId(teams, teamId)?.version ?? 0

export const putTeam = (
  { teams }: ProjectState,
  { team: given, teamId: id }: PutTeam,
  now: number,
): Decided<"invalid_request" | "quota_exceeded"> => {
  const before = teamWithId(teams, id)
  if (before !== undefined) {
    const { kind = before.kind } = given
    if (kind !== before.kind) return Result.fail(kindChanged(before.kind))
    const team = { ...before, ...given, kind }
    if (noChange(before, team)) return Result.succeed([])
    return Result.succeed([
      { kind: "team.updated", team: { ...team, ...nextVersion(before, now) } },
    ])
  }
  const { attributes = {}, kind, name } = given
  if (kind === undefined || name === undefined) return Result.fail(missing(given))
  if (teams.count >= limits.teamsMax) return quotaExceeded(limits.teamsMax, "teams per environment")
  if (!teams.kinds.has(kind) && teams.kinds.size >= limits.teamKindsMax) {
    return quotaExceeded(limits.teamKindsMax, "kinds of teams per environment")
  }
  const team = { id, number: teams.next, kind, name, attributes, ...firstVersion(now) }
  return Result.succeed([{ kind: "team.created", team }])
}

const kindChanged = (kind: string) =>
  invalidRequest([
    {
      pointer: "/kind",
      code: "invalid_value",
      detail: `must be ${kind}: the kind of a team never changes`,
    },
  ])

const missing = (given: PutTeam["team"]) =>
  invalidRequest(
    (["kind", "name"] as const)
      .filter((member) => given[member] === undefined)
      .map((member) => ({
        pointer: `/${member}`,
        code: "missing",
        detail: "is required for a new team",
      })),
  )

/**
 * A leaderboard does not list a team that is disqualified on it. Its members still score for it, so that a
 * team that is listed again has all its scores; closed windows stay as they are. The list of the leaderboard depends on the team alone.
 */
export const disqualifyTeam = (
  { leaderboards, teams }: ProjectState,
  { disqualified, leaderboard, teamId }: DisqualifyTeam,
  now: number,
): Decided<"leaderboard_not_found" | "team_not_found" | "invalid_request"> => {
  const board = definitionOf(leaderboards, leaderboard)
  if (board === undefined || board.set === "archived") {
    return refuse("leaderboard_not_found", "No leaderboard of this project has this id or key.")
  }
  if (!isOfTeams(board)) return Result.fail(ranksUsers)
  const before = teamWithId(teams, teamId)
  if (before === undefined || before.kind !== board.teamKind) return Result.fail(teamNotFound)
  if (isOffBoard(before, board.id) === disqualified) return Result.succeed([])
  const { disqualifiedOn = [], ...rest } = before
  // Leaderboards that were archived since are left out.
  const others = disqualifiedOn.filter((id) => {
    const other = leaderboards.get(id)
    return id !== board.id && other !== undefined && other.set !== "archived"
  })
  const off = disqualified ? [...others, board.id] : others
  const team = { ...rest, ...(off.length > 0 && { disqualifiedOn: off }) }
  const judged = { boardId: board.id, key: board.key, disqualified }
  return Result.succeed([
    { kind: "team.updated", team: { ...team, ...nextVersion(before, now) }, judged },
  ])
}

const ranksUsers = invalidRequest([
  { pointer: "path/id", code: "not_allowed", detail: "must name a leaderboard that ranks teams" },
])

export const deleteTeam = (
  { teams }: ProjectState,
  { teamId }: DeleteTeam,
): Decided<"team_not_found"> => {
  const team = teamWithId(teams, teamId)
  if (team === undefined) return Result.fail(teamNotFound)
  const { kind: teamKind, name } = team
  return Result.succeed([{ kind: "team.deleted", teamId, teamKind, name }])
}
