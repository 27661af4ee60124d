/**
 * Spends points, and refunds a revoked spend. Xp, level, badges and leaderboards stay: badges by points look at
 * the points earned, spent ones included.
 */
import { Result } from "effect"
import type { Fact, Spending } from "../record/Record.ts"
import type { UserState } from "../user/User.ts"
import { type LaurelError, laurelError, refuse } from "../values/Errors.ts"
import type { Decision } from "./Draft.ts"

export const decideSpending = (
  user: UserState | undefined,
  command: Spending,
): Result.Result<Decision, LaurelError<"user_not_found" | "insufficient_points">> => {
  if (user === undefined) {
    return refuse("user_not_found", "No event or reward of this user was accepted yet.")
  }
  const { amount } = command
  const total = user.points - amount
  if (total < 0) {
    const detail = `The user has ${user.points} points, ${amount} are needed.`
    return Result.fail(laurelError("insufficient_points", detail, { balance: user.points }))
  }
  return Result.succeed({ cause: command, facts: [{ kind: "points.spent", amount, total }] })
}

/**
 * The fact of the revocation of a spend. Points whose event or reward was revoked after they were spent are not
 * refunded: a user never gets back more than was earned and not revoked.
 */
export const refundOf = ({ points, pointsSpent }: UserState, spending: Spending): Fact => {
  const amount = Math.min(spending.amount, pointsSpent)
  const total = points + amount
  return { kind: "points.refunded", amount, total, shortfall: spending.amount - amount }
}
