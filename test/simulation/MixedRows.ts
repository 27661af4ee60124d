/** What events and prizes give, and the rows of a window of a leaderboard. */
import type { Board } from "../../src/domain/project/BoardDefinition.ts"
import type { BoardPrize } from "../../src/domain/project/BoardPrize.ts"

/** The effects of an event, by its action. `taps` and `pushes` are metrics. */
export const givenBy = {
  TAP: { xp: 3, gems: 2, taps: 1 },
  PUSH: { xp: 5, gems: 0, taps: 0 },
} as const

/** What a prize gives beside its points. */
export const wonWith = (points: number) => ({ xp: points, gems: 2 * points })

export interface Row {
  /** The user, or the number of the team. */
  readonly of: string | number
  readonly score: number
  readonly since: number
  readonly group: string | null
  readonly rank: number
  /** The points of the prizes that it has won. */
  readonly won: number
}

/** The rows in their order, with their ranks. */
export const rankedBy = (
  { order, ties }: Board,
  rows: ReadonlyArray<Omit<Row, "rank">>,
): ReadonlyArray<Row> => {
  const sign = order === "asc" ? 1 : -1
  const sorted = rows.toSorted(
    (one, other) => sign * (one.score - other.score) || one.since - other.since,
  )
  return sorted.map((row, place) => {
    const better = rows.filter(({ score }) => sign * (score - row.score) < 0).length
    return { ...row, rank: 1 + (ties === "shared" ? better : place) }
  })
}

/** The points of the prizes for a rank. */
export const wonBy = (prizes: ReadonlyArray<BoardPrize>, rank: number, total: number): number =>
  prizes.reduce((sum, { percent, ranks, reward }) => {
    const [from, to] = ranks ?? [1, Math.ceil((total * percent!) / 100)]
    return rank >= from && rank <= to ? sum + reward.points : sum
  }, 0)
