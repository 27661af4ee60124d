/** The teams of a user: of each kind, the one that the user joined last and has not left. */
import type { Team } from "../../../src/domain/project/Team.ts"
import type { Log } from "./log.ts"

export interface OwnTeam {
  readonly id: string
  readonly kind: string
  readonly name: string
  readonly joinedAt: number
}

/** By kind. A team that was deleted has no members, also if another one has its id now. */
export const teamsOf = (log: Log, teams: ReadonlyArray<Team>): ReadonlyMap<string, OwnTeam> => {
  const own = new Map<string, OwnTeam>()
  for (const entry of log) {
    if (entry.kind !== "moved") continue
    const { at, joined, team } = entry
    const here = teams.find(({ number }) => number === team.number)
    own.delete(team.kind)
    if (joined && here !== undefined) {
      own.set(team.kind, { id: here.id, kind: here.kind, name: here.name, joinedAt: at })
    }
  }
  return own
}
