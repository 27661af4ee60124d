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
import { Gaps } from "../../domain/board/Gaps.ts"
import type { GroupOrder } from "../../domain/board/GroupOrder.ts"
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
  /** On a stored board with groups, the id of the row's group; 0: none. */
  readonly group?: number
}

/** The place of a row in its group. */
export interface GroupPlace {
  readonly group: string
  readonly rank: number
}

/** The groups of a board. */
export interface GroupSource {
  /** The rows of a group, with their positions there; `undefined`: the board lists nobody of it. */
  readonly of: (name: string) => Effect.Effect<BoardSource | undefined, Broken>
  /** The names of up to `limit` groups with listed users, by name, from the first one after `after` on. */
  readonly names: (
    after: string | undefined,
    limit: number,
  ) => Effect.Effect<ReadonlyArray<string>, Broken>
  /** The places of rows of the board in their groups; null: no group. */
  readonly places: (
    rows: ReadonlyArray<BoardRow>,
    shared: boolean,
  ) => Effect.Effect<ReadonlyArray<GroupPlace | null>, Broken>
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
  /** Absent: the board has no groups. */
  readonly groups?: GroupSource
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
 * A board in memory. A board with gaps must not change any more; `gone` has the ids of the members whose rows
 * are gaps, if it has groups. `ranks` relies on the member numbers that the boards of one environment share.
 */
export const boardInMemory = (
  board: Leaderboard,
  gaps: Gaps,
  gone: ReadonlyMap<number, string> = nobody,
): BoardSource => ({
  size: board.total,
  gaps,
  ...(board.groups !== undefined && { groups: groupsInMemory(board, board.groups, gone) }),
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

const nobody: ReadonlyMap<number, string> = new Map()

const groupsInMemory = (
  board: Leaderboard,
  groups: GroupOrder,
  gone: ReadonlyMap<number, string>,
): GroupSource => {
  const goneOf = (group: number) => [...gone].filter(([member]) => groups.groupOf(member) === group)
  /** The positions in the group of the rows that are gaps. */
  const gapsOf = (group: number): Gaps => {
    const positions = goneOf(group).map(([member, id]) => groups.positionOf(member, id))
    return new Gaps(positions.sort((one, other) => one - other))
  }
  const placeOf = (group: number, member: number) => ({
    position: groups.positionOf(member),
    first: groups.countAbove(group, board.score(member)),
  })
  return {
    of: (name) =>
      Effect.sync(() => {
        const group = groups.find(name)
        const size = group === undefined ? 0 : groups.totalOf(group)
        if (group === undefined || size === 0) return undefined
        return groupInMemory(board, groups, { group, size, gaps: gapsOf(group), placeOf })
      }),
    names: (after, limit) =>
      Effect.sync(() => {
        const names: Array<string> = []
        groups.visitGroups(after, (name, total) => {
          if (goneOf(groups.find(name)!).length < total) names.push(name)
          return names.length < limit
        })
        return names
      }),
    places: (rows, shared) =>
      Effect.sync(() => {
        const gaps = new Map<number, Gaps>()
        return rows.map(({ member: known, userId }) => {
          const member = known ?? board.members.find(userId)
          const group = member === undefined ? 0 : groups.groupOf(member)
          if (member === undefined || group === 0) return null
          const own = gaps.get(group) ?? gapsOf(group)
          gaps.set(group, own)
          const rank = rankOf(own, placeOf(group, member), shared)
          return { group: groups.nameOf(group)!, rank }
        })
      }),
  }
}

interface InMemory {
  readonly group: number
  readonly size: number
  readonly gaps: Gaps
  readonly placeOf: (group: number, member: number) => Pick<BoardRow, "first" | "position">
}

const groupInMemory = (
  board: Leaderboard,
  groups: GroupOrder,
  { gaps, group, placeOf, size }: InMemory,
): BoardSource => {
  const find: BoardSource["find"] = (userId) =>
    Effect.sync(() => {
      const member = board.members.find(userId)
      if (member === undefined || groups.groupOf(member) !== group) return undefined
      const score = board.score(member)
      if (score === 0) return undefined
      const place = placeOf(group, member)
      return gaps.has(place.position) ? undefined : { ...place, userId, score, member }
    })
  return {
    size,
    gaps,
    find,
    ranks: ranksByFind(gaps, find),
    rows: (position, end) =>
      Effect.sync(() => {
        const rows: Array<BoardRow> = []
        let next = position
        let first = 0
        let scoreBefore = 0
        groups.visit(group, position, end - position, (member) => {
          const score = board.score(member)
          if (scoreBefore === 0) first = groups.countAbove(group, score)
          else if (score !== scoreBefore) first = next
          scoreBefore = score
          if (!gaps.has(next)) {
            const userId = board.members.idOf(member)
            rows.push({ position: next, first, userId, score, member })
          }
          next++
        })
        return rows
      }),
  }
}
