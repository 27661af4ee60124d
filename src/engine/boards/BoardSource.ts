/**
 * A board as readers see it, whether it is live, frozen or stored in LMDB: rows in order.
 *
 * Invariants: positions count all rows from 0, also gaps, the rows of users who were hidden or
 * erased after the board was frozen. Ranks, offsets and totals do not count gaps. A live board has
 * no gaps.
 *
 * Cost: a page of a board in memory costs its rows. A page of a stored board reads the few values
 * of LMDB that have its rows.
 */
import { Effect } from "effect"
import type { Gaps } from "../../domain/board/Gaps.ts"
import type { Leaderboard } from "../../domain/board/Leaderboard.ts"
import type { Broken } from "../../storage/Storage.ts"

/** `position`: from 0, with gaps; `first`: the position of the first row with the same score. */
export interface BoardRow {
  readonly position: number
  readonly first: number
  readonly userId: string
  readonly score: number
  /** The user's member number, if the board has it at hand: a look-up by id costs a microsecond. */
  readonly member?: number
}

export interface BoardSource {
  /** How many rows there are, including gaps. */
  readonly size: number
  readonly gaps: Gaps
  /** The rows from `position` to `end` (exclusive), without gaps. */
  readonly rows: (position: number, end: number) => Effect.Effect<ReadonlyArray<BoardRow>, Broken>
  /** The user's row; `undefined`: the user is not listed. */
  readonly find: (userId: string) => Effect.Effect<BoardRow | undefined, Broken>
  /**
   * The rank on this board of each user in `rows`, which may come from another board; null: not
   * listed. `shared`: equal scores share a rank.
   */
  readonly ranks: (
    rows: ReadonlyArray<BoardRow>,
    shared: boolean,
  ) => Effect.Effect<ReadonlyArray<number | null>, Broken>
}

/** How many users are listed. */
export const totalOf = ({ gaps, size }: BoardSource): number => size - gaps.size

/** The rank of a row: a competition rank (1, 1, 3) if equal scores share it, else that of its place. */
export const rankOf = (
  gaps: Gaps,
  { first, position }: Pick<BoardRow, "first" | "position">,
  shared: boolean,
): number => {
  const place = shared ? first : position
  return 1 + place - gaps.before(place)
}

/** Up to `limit` rows after the first `offset` rows. */
export const pageOf = (
  source: BoardSource,
  offset: number,
  limit: number,
): Effect.Effect<ReadonlyArray<BoardRow>, Broken> => {
  const end = Math.min(offset + limit, totalOf(source))
  if (offset >= end) return Effect.succeed([])
  return source.rows(source.gaps.positionOf(offset), source.gaps.positionOf(end - 1) + 1)
}

/**
 * The offset of the page of `limit` rows with `row` in its middle. Near an end of the board the
 * page moves so that it stays full. With an even limit one more row stands before `row` than after
 * it.
 */
export const offsetAround = (source: BoardSource, row: BoardRow, limit: number): number => {
  const start = row.position - source.gaps.before(row.position) - Math.floor(limit / 2)
  return Math.max(0, Math.min(start, totalOf(source) - limit))
}

/** `BoardSource.ranks` by one `find` for each user. */
export const ranksByFind =
  (gaps: Gaps, find: BoardSource["find"]): BoardSource["ranks"] =>
  (rows, shared) =>
    Effect.forEach(rows, ({ userId }) =>
      Effect.map(find(userId), (row) => (row === undefined ? null : rankOf(gaps, row, shared))),
    )

/**
 * A board in memory. A board with gaps must not change any more. `ranks` relies on the member
 * numbers that the boards of one environment share.
 */
export const boardInMemory = (board: Leaderboard, gaps: Gaps): BoardSource => ({
  size: board.total,
  gaps,
  ranks: (rows, shared) =>
    Effect.sync(() =>
      rows.map(({ member, userId }) => {
        const known = member ?? board.members.find(userId)
        const score = known === undefined ? 0 : board.score(known)
        if (score === 0) return null
        if (gaps.size === 0 && shared) return board.rankOfScore(score)
        const position = board.positionOf(known!)!
        if (gaps.has(position)) return null
        return rankOf(gaps, { position, first: board.rankOfScore(score) - 1 }, shared)
      }),
    ),
  rows: (position, end) =>
    Effect.sync(() => {
      const rows: Array<BoardRow> = []
      let next = position
      board.visit(position, end - position, (member, score, rank) => {
        if (!gaps.has(next)) {
          const userId = board.members.idOf(member)
          rows.push({ position: next, first: rank - 1, userId, score, member })
        }
        next++
      })
      return rows
    }),
  find: (userId) =>
    Effect.sync(() => {
      const member = board.members.find(userId)
      if (member === undefined) return undefined
      const position = board.positionOf(member)
      if (position === undefined || gaps.has(position)) return undefined
      const score = board.score(member)
      return { position, first: board.rankOfScore(score) - 1, userId, score, member }
    }),
})
