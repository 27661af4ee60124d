/**
 * Decides payments of payouts to users. A prize, and the reward of a shared goal, pay as a granted
 * reward does: limits of currencies cut them, and levels and badges that they reach pay. They score in
 * no window and on no leaderboard of definitions.
 *
 * A user who was merged is paid through the user who stays, by the name of the payment once.
 *
 * A payment cannot be undone: the window is closed, or the goal complete. A spend takes back what was
 * paid by mistake.
 */
import { Result } from "effect"
import type { Gives } from "../project/Definition.ts"
import type { ProjectState } from "../project/Project.ts"
import { isOffBoard, teamWithId } from "../project/Team.ts"
import type { Payment, PrizeRank, RewardedGoal } from "../record/Payment.ts"
import { type GoalPart, hasClaim, partOf } from "../user/GoalPart.ts"
import { teamsOfUser } from "../user/TeamMembership.ts"
import { shareIn } from "../user/TeamShares.ts"
import { isDisqualified, type KeptShare, noBoardScores, type UserState } from "../user/User.ts"
import { type LaurelError, refuse } from "../values/Errors.ts"
import { payAll } from "./Badges.ts"
import { missBoards } from "./Boards.ts"
import { type Decision, Draft } from "./Draft.ts"
import { withoutShares } from "./Shares.ts"

export type PaymentRefusal = "user_not_found" | "conflict" | "balance_overflow"

export const decidePayment = (
  user: UserState | undefined,
  project: ProjectState,
  { madeAt = 0, rewards = [], ...cause }: Payment,
  now: number,
): Result.Result<Decision, LaurelError<PaymentRefusal>> => {
  if (user === undefined || isOther(user, cause, madeAt)) {
    return refuse("user_not_found", "The user was erased before the payment.")
  }
  return cause.prize === undefined
    ? payGoal(user, project, cause, rewards, now)
    : payPrize(user, project, cause, rewards, now)
}

/**
 * Whether a prize was won by an earlier user with this id, who was erased. Who takes in the winner may have been
 * created later. A goal needs no such question: the part of an erased user is gone with it.
 */
const isOther = (
  user: UserState,
  { prize, to }: Omit<Payment, "rewards">,
  madeAt: number,
): boolean => prize !== undefined && to === user.id && user.createdAt > madeAt

const payPrize = (
  user: UserState,
  project: ProjectState,
  cause: Extract<Payment, { readonly prize: PrizeRank }>,
  rewards: ReadonlyArray<Gives>,
  now: number,
): Result.Result<Decision, LaurelError<PaymentRefusal>> => {
  if (user.profile.hidden || isDisqualified(user, cause.prize.boardId)) {
    return refuse("conflict", "The leaderboard does not list the user any more.")
  }
  const { boardId, index, team, teamId, window } = cause.prize
  const share = team === undefined ? undefined : { team, window, index }
  const winner = teamId === undefined ? undefined : teamWithId(project.teams, teamId)
  const isGone = teamId !== undefined && winner?.number !== team
  if (isGone || (winner !== undefined && isOffBoard(winner, boardId))) {
    return refuse("conflict", "The leaderboard does not list the team any more.")
  }
  if (share !== undefined && !hasShare(user, project, boardId, share)) {
    return refuse("conflict", "The user has no share of what the team won.")
  }
  const draft = new Draft(user.id, user, project, now)
  if (share !== undefined) draft.facts.push(withoutShares(user, cause.prize.boardId, share))
  for (const reward of rewards) {
    draft.facts.push({ kind: "leaderboard.prize_won", reward })
    draft.earn(reward, { boardId: cause.prize.boardId })
  }
  return paid(draft, cause)
}

/** Whether the user scored for the team in the window, and was in the team at the close. */
const hasShare = (
  user: UserState,
  project: ProjectState,
  boardId: string,
  place: KeptShare,
): boolean => {
  const found = shareIn(user.boards.get(boardId) ?? noBoardScores, place)
  if (found !== "latest") return found === "kept"
  return teamsOfUser(user, project).some(({ team }) => team.number === place.team)
}

/** The user's part says whether it was paid. */
const payGoal = (
  user: UserState,
  project: ProjectState,
  { min = 0, ...cause }: Extract<Payment, { readonly goal: RewardedGoal }>,
  rewards: ReadonlyArray<Gives>,
  now: number,
): Result.Result<Decision, LaurelError<PaymentRefusal>> => {
  const { goal } = cause
  const part = partOf(user.goals.get(goal.goalId), goal)
  if (part === undefined || part.paid || !isDue(user, part, min)) {
    return refuse("conflict", "The user is due no reward of the goal.")
  }
  const draft = new Draft(user.id, user, project, now)
  for (const reward of rewards) {
    draft.facts.push({ kind: "goal.rewarded", ...goal, reward })
    draft.earn(reward, { goalId: goal.goalId })
  }
  return paid(draft, cause)
}

/** Whether the part is large enough, and the user was in the team at the completion. */
export const isDue = (user: UserState, part: GoalPart, min: number): boolean =>
  part.amount > 0 && part.amount >= min && hasClaim(user, part)

const paid = (
  draft: Draft,
  cause: Payment,
): Result.Result<Decision, LaurelError<PaymentRefusal>> => {
  payAll(draft)
  const overflow = draft.overflow()
  if (overflow !== undefined) return Result.fail(overflow)
  draft.settle(false)
  missBoards(draft)
  return Result.succeed({ cause, facts: draft.facts })
}
