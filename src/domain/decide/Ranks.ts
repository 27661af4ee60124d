/**
 * Decides the announcement of a user's rank on a leaderboard. `engine/actor/RankNews.ts` finds the change.
 *
 * A window that has closed, and a leaderboard that no longer announces ranks, announce nothing. So in the journal
 * no announcement follows the record of a close.
 */
import { Result } from "effect"
import { closeOf } from "../project/BoardClose.ts"
import { announces, boundsOn, spanOf } from "../project/BoardDefinition.ts"
import type { ProjectState } from "../project/Project.ts"
import type { RankLook } from "../record/BoardFact.ts"
import type { UserState } from "../user/User.ts"
import { zoneOf } from "../values/Calendar.ts"
import { type LaurelError, refuse } from "../values/Errors.ts"
import type { Decision } from "./Draft.ts"

const notNow = refuse("conflict", "The leaderboard does not announce this rank.")

export const decideRanks = (
  user: UserState | undefined,
  project: ProjectState,
  { change, kind }: RankLook,
): Result.Result<Decision, LaurelError<"user_not_found" | "conflict">> => {
  if (user === undefined) return refuse("user_not_found", "The user was erased.")
  if (change === undefined || change.to !== user.id) return notNow
  const { to: _, ...announced } = change
  const { boardId, index, rank, window } = announced
  const board = project.leaderboards.get(boardId)
  if (board === undefined || !announces(board)) return notNow
  if (rank !== null && rank > board.announceRanks) return notNow
  const closes = closeOf(project.boardCloses, boardId)
  const span = window === "all_time" ? undefined : spanOf(board, window)
  if (closes.over || (window !== "all_time" && (span === undefined || index <= closes[window]))) {
    return notNow
  }
  const bounds =
    span === undefined
      ? { startsAt: null, endsAt: null }
      : boundsOn(board, zoneOf(project.settings.timezone), span, index)
  const fact = {
    kind: "leaderboard.rank_changed",
    key: board.key,
    ...bounds,
    ...announced,
  } as const
  return Result.succeed({ cause: { kind }, facts: [fact] })
}
