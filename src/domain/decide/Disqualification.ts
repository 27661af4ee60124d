/** Decides who is disqualified on a leaderboard (`Boards.ts`) or in a league (`Leagues.ts`). */
import { Result } from "effect"
import { definitionOf } from "../project/DefinitionKey.ts"
import type { ProjectState } from "../project/Project.ts"
import type { Disqualification, LeagueDisqualification } from "../record/BoardFact.ts"
import type { Fact } from "../record/Record.ts"
import { isDisqualified, type UserState } from "../user/User.ts"
import { type LaurelError, refuse } from "../values/Errors.ts"
import type { Decision } from "./Draft.ts"
import { refOf } from "./Leagues.ts"

/** Decides whether a leaderboard lists the user. A command that changes nothing has no facts. */
export const decideDisqualification = (
  user: UserState | undefined,
  project: ProjectState,
  { disqualified, kind, leaderboard }: Disqualification,
): Result.Result<Decision, LaurelError<"user_not_found" | "leaderboard_not_found">> => {
  if (user === undefined) return unknownUser
  const board = definitionOf(project.leaderboards, leaderboard)
  if (board === undefined || board.set === "archived") {
    return refuse("leaderboard_not_found", "No leaderboard of this project has this id or key.")
  }
  const { id: boardId, key } = board
  const facts: ReadonlyArray<Fact> =
    isDisqualified(user, boardId) === disqualified
      ? []
      : [{ kind: "leaderboard.disqualified", boardId, key, disqualified }]
  return Result.succeed({ cause: { kind, leaderboard: boardId, disqualified }, facts })
}

/** Decides whether a league ranks the user. */
export const decideLeagueDisqualification = (
  user: UserState | undefined,
  project: ProjectState,
  { disqualified, kind, league: idOrKey }: LeagueDisqualification,
): Result.Result<Decision, LaurelError<"user_not_found" | "league_not_found">> => {
  if (user === undefined) return unknownUser
  const league = definitionOf(project.leagues, idOrKey)
  if (league === undefined || league.set === "archived") {
    return refuse("league_not_found", "No league of this project has this id or key.")
  }
  const is = user.leagues.get(league.id)?.disqualified === true
  const facts: ReadonlyArray<Fact> =
    is === disqualified ? [] : [{ kind: "league.disqualified", ...refOf(league), disqualified }]
  return Result.succeed({ cause: { kind, league: league.id, disqualified }, facts })
}

const unknownUser = refuse("user_not_found", "No event or reward of this user was accepted yet.")
