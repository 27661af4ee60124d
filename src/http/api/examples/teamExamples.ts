/** Teams in replies. */
import { changes } from "./definitionExamples.ts"
import { teamId, time, userId } from "./exampleIds.ts"

export const team = {
  id: teamId,
  kind: "club",
  name: "Falcons",
  attributes: { city: "Bremen" },
  ...changes,
} as const

export const teamPage = { teams: [team], hasMore: false, nextCursor: null } as const

export const ownTeam = { id: teamId, kind: "club", name: "Falcons", joinedAt: time } as const

export const teamsOfUser = { userId, teams: [ownTeam] } as const

export const teamMember = { userId, displayName: "Ada", joinedAt: time } as const

export const teamMemberPage = { members: [teamMember], hasMore: false, nextCursor: null } as const
