/** The facts of shared goals. `decide/Goals.ts` has the design. */
import type { Gives } from "../project/Definition.ts"
import type { GoalPlace } from "../user/GoalPart.ts"

/** A goal as facts name it. */
export interface GoalRef {
  readonly goalId: string
  readonly key: string
  readonly name: string
}

/**
 * A place with the caller's id of the team. `bounds`: the start and the end of the period of a recurring
 * goal, epoch milliseconds, by the project's time zone at the decision; absent: the goal does not recur.
 */
export interface NamedPlace extends GoalPlace {
  readonly teamId?: string
  readonly bounds?: readonly [startsAt: number, endsAt: number]
}

/** Amounts are scaled by `decimals` of the metric; absent: 0. */
interface Scaled {
  readonly decimals?: number
}

/** The place has reached this share of the target. Numbers are in units. */
interface Reached extends GoalRef, NamedPlace {
  readonly total: number
  readonly target: number
  readonly contributors: number
}

export type GoalFact =
  /**
   * The record added `amount` to the total (below 0: an undo). `mine`: what the user has contributed
   * afterwards; absent: the user has no part in this place any more. `first`: the user had nothing
   * there before; `last`: and has nothing afterwards. `drops`: the user's other parts that are over, and
   * what they had. `gone`: what of `amount` is of a part that the user has dropped since; absent: nothing.
   * `day`: the local day of the project on which the event occurred; absent: `amount` is 0.
   */
  | ({
      readonly kind: "goal.contributed"
      readonly amount: number
      readonly mine?: number
      readonly first?: true
      readonly last?: true
      readonly drops?: ReadonlyArray<GoalPlace & { readonly amount: number }>
      readonly gone?: number
      readonly day?: number
    } & GoalRef &
      NamedPlace &
      Scaled)
  /**
   * The claim of a part to the reward (`user/GoalPart.ts`); null: the present team decides. `released`: the
   * user has no more reason to be on the list of the team.
   */
  | ({
      readonly kind: "goal.claim_changed"
      readonly goalId: string
      readonly claim: "kept" | "missed" | null
      readonly released?: true
    } & GoalPlace)
  /** The user gets the reward of a goal that is complete. */
  | ({ readonly kind: "goal.rewarded"; readonly reward: Gives } & GoalRef & NamedPlace)
  | GoalNews

/** A place has reached a share or the target. The fact is in the record of the user who reached it, or of an edit. */
export type GoalNews =
  | ({ readonly kind: "goal.progressed"; readonly percent: number } & Reached)
  /** `owed`: what contributors get; absent: nothing. `min` is scaled. */
  | ({
      readonly kind: "goal.completed"
      readonly owed?: { readonly reward: Gives; readonly min: number }
    } & Reached)

/** Every contributor of a place that is complete has the reward: `paid` users. */
export type GoalPaidFact = {
  readonly kind: "goal.rewards_paid"
  readonly paid: number
} & GoalRef &
  NamedPlace
