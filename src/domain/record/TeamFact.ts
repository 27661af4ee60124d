/** The commands and facts of teams. */
import type { Team } from "../project/Team.ts"

/** Makes the user a member of the team. The user leaves the former team of the kind. */
export interface JoinTeam {
  readonly kind: "join"
  readonly teamId: string
}

/** Ends the membership of the user in the team. */
export interface LeaveTeam {
  readonly kind: "leave"
  readonly teamId: string
}

/** A leaderboard that does not list a team any more, or lists it again. */
export interface JudgedTeam {
  readonly boardId: string
  readonly key: string
  readonly disqualified: boolean
}

/** Facts of an environment. `name`, `teamKind` and `judged` are for messages. */
export type TeamFact =
  | { readonly kind: "team.created"; readonly team: Team }
  | { readonly kind: "team.updated"; readonly team: Team; readonly judged?: JudgedTeam }
  | {
      readonly kind: "team.deleted"
      readonly teamId: string
      readonly teamKind: string
      readonly name: string
    }

/**
 * Facts of a user. `number` is that of the team (`Team`). `replaces`: the number of a deleted team of
 * the kind, which the user was in.
 */
export interface TeamMembershipFact {
  readonly kind: "team.joined" | "team.left"
  readonly teamId: string
  readonly teamKind: string
  readonly name: string
  readonly number: number
  readonly replaces?: number
}
