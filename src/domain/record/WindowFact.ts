/** The facts of an environment about closed windows of leaderboards and their payouts. */
import type { ClosedPlace, Payout } from "../project/Payout.ts"
import type { WindowKind } from "../values/Calendar.ts"

export type WindowFact =
  /**
   * A window of a leaderboard closed with `total` users. `board`: absent for the board `xp`. Times are
   * epoch milliseconds. `prizes`: those that it pays; absent: none.
   */
  | {
      readonly kind: "leaderboard.window_closed"
      readonly board?: { readonly boardId: string; readonly key: string }
      readonly window: WindowKind
      readonly index: number
      readonly startsAt: number
      readonly endsAt: number
      readonly total: number
      readonly prizes?: Pick<Payout, "prizes" | "ties">
    }
  /** All rows of the payout before `next` were paid, and so many users got something. */
  | {
      readonly kind: "payout.progressed"
      readonly payout: string
      readonly next: number
      readonly paid: number
    }
  /** The prizes of a closed window were paid to so many users. */
  | {
      readonly kind: "leaderboard.prizes_paid"
      readonly payout: string
      readonly place: ClosedPlace
      readonly paid: number
    }
