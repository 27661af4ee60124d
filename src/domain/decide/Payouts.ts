/** Decides how far payouts have come. `engine/payouts/Payouts.ts` makes the payments. */
import { Result } from "effect"
import type { ProjectState } from "../project/Project.ts"
import { laurelError } from "../values/Errors.ts"
import type { Decided } from "./Decided.ts"

/** All rows of the payout before `next` were paid, except those in `left`. `paid`: the number of users who got something. */
export interface ProgressPayout {
  readonly kind: "progressPayout"
  readonly payout: string
  readonly next: number
  readonly paid: number
  readonly left: ReadonlyArray<number>
}

/** The payout has paid everyone. */
export interface FinishPayout {
  readonly kind: "finishPayout"
  readonly payout: string
  readonly paid: number
}

/** `conflict`: the payout is over, since its leaderboard was archived. */
const payoutIsOver = laurelError("conflict", "The payout is over.")

export const progressPayout = (
  { payouts }: ProjectState,
  { left, next, paid, payout }: ProgressPayout,
): Decided<"conflict"> => {
  const before = payouts.get(payout)
  if (before === undefined || next < before.next) return Result.fail(payoutIsOver)
  const rest = left.length > 0 && { left }
  return Result.succeed([{ kind: "payout.progressed", payout, next, paid, ...rest }])
}

export const finishPayout = (
  { payouts }: ProjectState,
  { paid, payout }: FinishPayout,
): Decided<"conflict"> => {
  const before = payouts.get(payout)
  if (before === undefined) return Result.fail(payoutIsOver)
  return Result.succeed([{ kind: "leaderboard.prizes_paid", payout, place: before.place, paid }])
}
