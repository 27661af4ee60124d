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
}

export interface BoardSource {
  /** How many rows there are, with gaps. */
  readonly size: number
  readonly gaps: Gaps
  /** The rows from `position` on to before `end`, without gaps. */
  readonly rows: (position: number, end: number) => Effect.Effect<ReadonlyArray<BoardRow>, Broken>
  /** The row of a user who is listed. */
  readonly find: (userId: string) => Effect.Effect<BoardRow | undefined, Broken>
}

/** How many are listed. */
export const totalOf = ({ gaps, size }: BoardSource): number => size - gaps.size

/** Ranks are competition ranks: 1, 1, 3. */
export const rankOf = ({ gaps }: BoardSource, { first }: BoardRow): number =>
  1 + first - gaps.before(first)

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

/** A board in memory; with gaps, it must not change any more. */
export const boardInMemory = (board: Leaderboard, gaps: Gaps): BoardSource => ({
  size: board.total,
  gaps,
  rows: (position, end) =>
    Effect.sync(() => {
      const rows: Array<BoardRow> = []
      let next = position
      board.visit(position, end - position, (member, score, rank) => {
        if (!gaps.has(next)) {
          const userId = board.members.idOf(member)
          rows.push({ position: next, first: rank - 1, userId, score })
        }
        next++
      })
      return rows
    }),
  find: (userId) =>
    Effect.sync(() => {
      const member = board.members.find(userId)
      const position = member === undefined ? undefined : board.positionOf(member)
      if (position === undefined || gaps.has(position)) return undefined
      const score = board.score(member!)
      return { position, first: board.rankOfScore(score) - 1, userId, score }
    }),
})
