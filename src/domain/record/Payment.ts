/**
 * A payment of a payout to a user (`project/Payout.ts`): the command to the user's actor, and the cause
 * of its record. Payout and user name the payment (`duplicateKey`), so a repeat finds the first record,
 * and nobody is paid twice.
 */
import type { Gives } from "../project/Definition.ts"
import type { ClosedPlace } from "../project/Payout.ts"
import type { GoalRef, NamedPlace } from "./GoalFact.ts"

/** What the user is paid for: a rank in a closed window of a leaderboard. */
export interface PrizeRank extends ClosedPlace {
  readonly rank: number
  /** On a leaderboard of teams, the number and the id of the team whose prize is paid. */
  readonly team?: number
  readonly teamId?: string
}

/** The goal that a reward is for. */
export type RewardedGoal = GoalRef & NamedPlace

export type Payment = {
  readonly kind: "payment"
  /** The id of the payout. */
  readonly payout: string
  /** The user who is paid. */
  readonly to: string
  /** Only in a command: what is paid, and when the payout was made. */
  readonly rewards?: ReadonlyArray<Gives>
  readonly madeAt?: number
} & (
  | { readonly prize: PrizeRank; readonly goal?: never }
  | {
      readonly goal: RewardedGoal
      readonly prize?: never
      /** Only in a command: the contribution, scaled, that the reward needs. */
      readonly min?: number
    }
)

/** The user has won a prize. The cause of the record says where. */
export interface PrizeFact {
  readonly kind: "leaderboard.prize_won"
  readonly reward: Gives
}
