/** The teams of a user. `project/Team.ts` has the design. */
import type { ProjectState } from "../project/Project.ts"
import { type Team, teamWithId } from "../project/Team.ts"
import type { UserState } from "./User.ts"

type Members = Pick<UserState, "teams"> | undefined

/** The team of the kind that the user is in; `undefined`: none. */
export const teamIn = (
  user: Members,
  { teams }: Pick<ProjectState, "teams">,
  kind: string,
): Team | undefined => {
  const membership = user?.teams.get(kind)
  if (membership === undefined) return undefined
  const team = teamWithId(teams, membership.teamId)
  return team?.number === membership.number ? team : undefined
}

/** All teams of the user, with the time at which it joined each. */
export const teamsOfUser = (
  user: Members,
  project: Pick<ProjectState, "teams">,
): ReadonlyArray<{ readonly team: Team; readonly joinedAt: number }> =>
  Array.from(user?.teams ?? [], ([kind, { joinedAt }]) => {
    const team = teamIn(user, project, kind)
    return team === undefined ? [] : [{ team, joinedAt }]
  }).flat()
