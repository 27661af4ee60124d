/**
 * The prizes of a leaderboard: rewards for ranks in a window, paid once it has closed.
 *
 * The ranks are those at the close, so hidden users are skipped. Who leaves the leaderboard between
 * the close and the payment gets nothing, and nobody moves up. Who takes in a winner by a merge gets
 * the prize.
 */
import type { TimedWindow } from "../values/Calendar.ts"
import type { Gives } from "./Definition.ts"

/** The users who win: those of some ranks, or the best share of the users, rounded up. */
export type PrizeRanks =
  | { readonly ranks: readonly [from: number, to: number]; readonly percent?: never }
  | { readonly percent: number; readonly ranks?: never }

/** A reward for the users with these ranks in each window of a kind. */
export type BoardPrize = PrizeRanks & {
  readonly window: "all_time" | TimedWindow
  readonly reward: Gives
}

/** The first and the last rank that wins in a window with `total` users. */
export const winningRanks = (
  prize: PrizeRanks,
  total: number,
): readonly [from: number, to: number] =>
  prize.ranks ?? [1, Math.ceil((prize.percent * total) / 100)]

/** The prizes of a closed window. */
export interface WindowPrizes {
  readonly prizes: ReadonlyArray<BoardPrize>
  readonly ties: "shared" | "first"
}

/** What the rank has won in a window with `total` users: each prize that it matches pays. */
export const rewardsOf = (
  { prizes }: WindowPrizes,
  rank: number,
  total: number,
): ReadonlyArray<Gives> =>
  prizes.flatMap((prize) => {
    const [from, to] = winningRanks(prize, total)
    return rank >= from && rank <= to ? [prize.reward] : []
  })

/** The rank of a row of a closed board: gaps count, since they were users at the close. */
export const rankAtClose = (
  { first, position }: { readonly first: number; readonly position: number },
  ties: "shared" | "first",
): number => 1 + (ties === "shared" ? first : position)
