/**
 * Decides payments of payouts to users. A prize pays as a granted reward does: limits of currencies cut
 * it, and levels and badges that it reaches pay. It scores in no window and on no leaderboard of
 * definitions.
 *
 * A user who was merged is paid through the user who stays, by the name of the payment once.
 *
 * A payment cannot be undone: the window is closed, and its ranks are final. A spend takes back what
 * was paid by mistake.
 */
import { Result } from "effect"
import type { ProjectState } from "../project/Project.ts"
import type { Payment } from "../record/Payment.ts"
import { isDisqualified, type UserState } from "../user/User.ts"
import { type LaurelError, refuse } from "../values/Errors.ts"
import { payAll } from "./Badges.ts"
import { missBoards } from "./Boards.ts"
import { type Decision, Draft } from "./Draft.ts"

export type PaymentRefusal = "user_not_found" | "conflict" | "balance_overflow"

export const decidePayment = (
  user: UserState | undefined,
  project: ProjectState,
  { madeAt = 0, rewards = [], ...cause }: Payment,
  now: number,
): Result.Result<Decision, LaurelError<PaymentRefusal>> => {
  // Who takes in the user `to` may have been created later.
  const isOther = user !== undefined && cause.to === user.id && user.createdAt > madeAt
  if (user === undefined || isOther) {
    return refuse("user_not_found", "The user was erased before the payment.")
  }
  if (user.profile.hidden || isDisqualified(user, cause.prize.boardId)) {
    return refuse("conflict", "The leaderboard does not list the user any more.")
  }
  const draft = new Draft(user.id, user, project, now)
  const source = { boardId: cause.prize.boardId }
  for (const reward of rewards) {
    draft.facts.push({ kind: "leaderboard.prize_won", reward })
    draft.earn(reward, source)
  }
  payAll(draft)
  const overflow = draft.overflow()
  if (overflow !== undefined) return Result.fail(overflow)
  draft.settle(false)
  missBoards(draft)
  return Result.succeed({ cause, facts: draft.facts })
}
