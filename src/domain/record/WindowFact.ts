/** The facts of an environment about closed windows of leaderboards and their payouts. */
import type { BoardWindow } from "../project/BoardDefinition.ts"
import type { ClosedPlace, Payout } from "../project/Payout.ts"
import type { WindowKind } from "../values/Calendar.ts"

export type WindowFact =
  /**
   * A window of a leaderboard closed. It listed `total` users when the clock looked, shortly before: a share
   * of the users who win (`percent`) is of those on the closed board. `board`: absent for the board `xp`. Times are
   * epoch milliseconds: of all time, when the leaderboard began and ended. `prizes`: those that it pays; absent: none.
   */
  | {
      readonly kind: "leaderboard.window_closed"
      readonly board?: { readonly boardId: string; readonly key: string }
      readonly window: BoardWindow
      /** 0 of all time. */
      readonly index: number
      readonly startsAt: number
      readonly endsAt: number
      readonly total: number
      readonly prizes?: Pick<Payout, "prizes" | "ties">
    }
  /** A leaderboard has ended. `last`: the index of the last window of each kind that it may have. */
  | {
      readonly kind: "leaderboard.closed"
      readonly boardId: string
      readonly key: string
      readonly endsAt: number
      readonly last: Readonly<Record<WindowKind, number>> & { readonly days?: number }
    }
  /**
   * All rows of the payout before `next` were paid, except those at the positions in `left`; absent: no exception.
   * `paid`: the number of users who got something.
   */
  | {
      readonly kind: "payout.progressed"
      readonly payout: string
      readonly next: number
      readonly paid: number
      readonly left?: ReadonlyArray<number>
    }
  /** The prizes of a closed window were paid to so many users. */
  | {
      readonly kind: "leaderboard.prizes_paid"
      readonly payout: string
      readonly place: ClosedPlace
      readonly paid: number
    }
