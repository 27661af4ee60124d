/**
 * The definition of a leaderboard, which ranks users by the earned amount of a currency.
 *
 * The score of all time of a board without a segment and without a start is what the user ever
 * earned of the currency, less what was earned while the board did not count. So a new board has
 * its scores at once. A board with a segment or a start cannot know who would have counted before:
 * it adds up what counts from its publication on, and so does each window of every board.
 *
 * The board `xp` always exists. It has no scores of its own: it ranks by the xp and the windows that
 * each user's state has in any case.
 */
import { type WindowKind, windowKinds } from "../values/Calendar.ts"
import { type Definition, type Targeted, targetedDefaults } from "./Definition.ts"

export const boardWindows = ["all_time", ...windowKinds] as const
export type BoardWindow = "all_time" | WindowKind

export const boardOrders = ["desc", "asc"] as const
export type BoardOrder = (typeof boardOrders)[number]

export const boardTies = ["shared", "first"] as const
export type BoardTies = (typeof boardTies)[number]

/** A board. What decides the scores changes only while it is a draft (`scoring`). */
export interface Board extends Targeted {
  readonly name: string
  /** The key of the currency. */
  readonly score: { readonly currency: string }
  /** At least one. */
  readonly windows: ReadonlyArray<BoardWindow>
  /** `asc`: the lowest score is first. */
  readonly order: BoardOrder
  /**
   * Whether equal scores share a rank (1, 1, 3), or the one that was reached first comes first
   * (1, 2, 3).
   */
  readonly ties: BoardTies
  /** The attributes of users that entries show. */
  readonly attributes: ReadonlyArray<string>
}

/** The members that decide the scores. */
export const scoring = ["score", "windows", "order", "segment", "startsAt"] as const

/** The members of a board that says nothing of them. */
export const boardDefaults = {
  ...targetedDefaults,
  windows: boardWindows,
  order: "desc",
  ties: "shared",
  attributes: [] as ReadonlyArray<string>,
} as const

/** The board that `GET /v1/leaderboard` reads. */
export const xpBoard: Board = {
  ...boardDefaults,
  id: "ldb_xp",
  key: "xp",
  name: "XP",
  score: { currency: "xp" },
  set: "published",
  version: 1,
  createdAt: 0,
  updatedAt: 0,
}

/** The boards of a new environment, by id. */
export const builtInBoards: ReadonlyMap<string, Board> = new Map([[xpBoard.id, xpBoard]])

export const isXpBoard = ({ id }: Pick<Definition, "id">): boolean => id === xpBoard.id

/** Whether the score of all time follows from what the user ever earned. */
export const isWhole = ({ segment, startsAt }: Pick<Board, "segment" | "startsAt">): boolean =>
  segment === null && startsAt === null

/** Whether a board has scores: it was published, and is not archived. */
export const hasScores = ({ set }: Pick<Definition, "set">): boolean =>
  set === "published" || set === "paused"

/**
 * The boards with scores of their own by the key of their currency, in the order of their creation.
 * Found once for each state of the definitions.
 */
export const boardsByCurrency = (
  boards: ReadonlyMap<string, Board>,
): ReadonlyMap<string, ReadonlyArray<Board>> => {
  if (boards === latestBoards) return latestIndex
  const known = indexes.get(boards)
  const index = known ?? indexed(boards)
  if (known === undefined) indexes.set(boards, index)
  latestBoards = boards
  latestIndex = index
  return index
}

type BoardIndex = ReadonlyMap<string, ReadonlyArray<Board>>

const indexes = new WeakMap<ReadonlyMap<string, Board>, BoardIndex>()
let latestBoards: ReadonlyMap<string, Board> | undefined
let latestIndex: BoardIndex = new Map()

const indexed = (boards: ReadonlyMap<string, Board>): BoardIndex =>
  Map.groupBy(
    [...boards.values()].filter((board) => hasScores(board) && !isXpBoard(board)),
    ({ score }) => score.currency,
  )
