/**
 * A board to be read, live, frozen or in LMDB: rows in order. Users who were hidden or erased after the board was frozen
 * leave gaps; ranks and positions do not count these.
 */
import { Effect } from "effect"
import type { Gaps } from "../../domain/board/Gaps.ts"
import type { Leaderboard } from "../../domain/board/Leaderboard.ts"
import type { Broken } from "../../storage/Storage.ts"

/** Positions count from 0 and include gaps; `first` is that of the first row with the same score. */
export interface BoardRow {
  readonly position: number
  readonly first: number
  readonly userId: string
  readonly score: number
  /** The user's member number where the board has it at hand: a lookup by id costs a microsecond. */
  readonly member?: number
}

export interface BoardSource {
  /** How many rows there are, with gaps. */
  readonly size: number
  readonly gaps: Gaps
  /** The rows from `position` on to before `end`, without gaps. */
  readonly rows: (position: number, end: number) => Effect.Effect<ReadonlyArray<BoardRow>, Broken>
  /** The row of a user who is listed. */
  readonly find: (userId: string) => Effect.Effect<BoardRow | undefined, Broken>
  /** The rank here of each user in `rows`, which may be those of another board; null where not listed. */
  readonly ranks: (
    rows: ReadonlyArray<BoardRow>,
  ) => Effect.Effect<ReadonlyArray<number | null>, Broken>
}

/** How many are listed. */
export const totalOf = ({ gaps, size }: BoardSource): number => size - gaps.size

/** The rank of a row whose score stands first at `first`. Ranks are competition ranks: 1, 1, 3. */
export const rankAt = (gaps: Gaps, first: number): number => 1 + first - gaps.before(first)

/** Up to `limit` rows after the first `offset`. */
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
 * Where the page of `limit` rows begins that has `row` in its middle, moved where the board ends so that it
 * stays full. With an even limit one more stands before it than after.
 */
export const offsetAround = (source: BoardSource, row: BoardRow, limit: number): number => {
  const start = row.position - source.gaps.before(row.position) - Math.floor(limit / 2)
  return Math.max(0, Math.min(start, totalOf(source) - limit))
}

/** `ranks` of a board that can but find one user after the other. */
export const ranksByFind =
  (gaps: Gaps, find: BoardSource["find"]): BoardSource["ranks"] =>
  (rows) =>
    Effect.forEach(rows, ({ userId }) =>
      Effect.map(find(userId), (row) => (row === undefined ? null : rankAt(gaps, row.first))),
    )

/** A board in memory; with gaps, it must not change any more. Boards of one environment share member numbers. */
export const boardInMemory = (board: Leaderboard, gaps: Gaps): BoardSource => ({
  size: board.total,
  gaps,
  ranks: (rows) =>
    Effect.sync(() =>
      rows.map(({ member, userId }) => {
        const known = member ?? board.members.find(userId)
        const score = known === undefined ? 0 : board.score(known)
        if (score === 0) return null
        if (gaps.size > 0 && gaps.has(board.positionOf(known!)!)) return null
        return rankAt(gaps, board.rankOfScore(score) - 1)
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
