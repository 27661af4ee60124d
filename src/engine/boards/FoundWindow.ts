/** A window of a leaderboard that a read has found: its rows, and how they are shown. */
import { Gaps } from "../../domain/board/Gaps.ts"
import { Leaderboard } from "../../domain/board/Leaderboard.ts"
import { Members } from "../../domain/board/Members.ts"
import { rankAtClose, rewardsOf, type WindowPrizes } from "../../domain/project/BoardPrize.ts"
import type { Gives } from "../../domain/project/Definition.ts"
import { BoardSet } from "./BoardSet.ts"
import { type BoardRow, type BoardSource, boardInMemory, totalOf } from "./BoardSource.ts"
import { FurtherBoards } from "./FurtherBoards.ts"

/** A window with its board, and the board of the window before. */
export interface Found {
  readonly boards: BoardSet
  readonly startsAt: number | null
  readonly endsAt: number | null
  readonly closed: boolean
  readonly paying: boolean
  readonly prizes: WindowPrizes | undefined
  readonly board: BoardSource
  readonly before: BoardSource
  /** The rows that the query asks for: those of a group, or the board. */
  readonly listed: BoardSource
}

const noBoardMembers = new Members()
export const noBoard = boardInMemory(new Leaderboard(noBoardMembers), new Gaps())

export const isOpen = { closed: false, paying: false, prizes: undefined } as const

/** A board without scores: a draft, or archived. */
export const nothingFound: Omit<Found, "listed"> = {
  ...isOpen,
  boards: new BoardSet(noBoardMembers),
  startsAt: null,
  endsAt: null,
  board: noBoard,
  before: noBoard,
}

export const sharesRanks = ({ boards }: Found): boolean =>
  !(boards instanceof FurtherBoards) || boards.board.ties === "shared"

/** The prizes of the user with this row. */
export const wonBy = (
  { board, prizes }: Found,
  row: Pick<BoardRow, "first" | "position">,
): ReadonlyArray<Gives> =>
  prizes === undefined ? [] : rewardsOf(prizes, rankAtClose(row, prizes.ties), board.size)

export const windowOf = (found: Found) => ({
  startsAt: found.startsAt,
  endsAt: found.endsAt,
  closed: found.closed,
  paying: found.paying,
  total: totalOf(found.listed),
  filling: !found.boards.isFilled,
})
