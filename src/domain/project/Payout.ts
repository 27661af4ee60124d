/**
 * A payout: what many users are to be paid in the background, each once (`engine/payouts/Payouts.ts`).
 * The record that makes one has all that the payments need, so an edit of definitions changes nothing.
 */
import type { BoardTies } from "./BoardDefinition.ts"
import type { BoardPrize } from "./BoardPrize.ts"

/** A window of a leaderboard that has closed. Times are epoch milliseconds; null: all time. */
export interface ClosedPlace {
  readonly boardId: string
  /** The key of the leaderboard. */
  readonly key: string
  readonly window: BoardPrize["window"]
  readonly index: number
  readonly startsAt: number | null
  readonly endsAt: number | null
}

/** The prizes of a closed window of a leaderboard. */
export interface Payout {
  readonly place: ClosedPlace
  readonly prizes: ReadonlyArray<BoardPrize>
  readonly ties: BoardTies
  /** When it was made. Users who were created later are others with the same id. */
  readonly madeAt: number
  /** All rows before this position were paid, except those in `left`. `paid`: the number of users who got something there. */
  readonly next: number
  readonly paid: number
  /** The positions of the rows whose users met a defect; absent: none. */
  readonly left?: ReadonlyArray<number>
}

/** Whether the payout has still to pay the row at this position. */
export const isRowOwed = ({ left = [], next }: Payout, position: number): boolean =>
  position >= next || left.includes(position)

/** The id of the payout of a closed window. No id has a space. */
export const payoutId = ({
  boardId,
  index,
  window,
}: Pick<ClosedPlace, "boardId" | "index" | "window">): string => `${boardId} ${window} ${index}`
