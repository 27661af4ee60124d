/**
 * The memory of an entry of a leaderboard in a window: the same users on boards without groups, then on boards with
 * groups, and what they cost once for all windows. Each entry gets three scores, so that the chunks of the boards
 * have as much free room as in use. The reference is a `Map` from id to score.
 */
import { Grouping } from "../../src/domain/board/Grouping.ts"
import { Leaderboard } from "../../src/domain/board/Leaderboard.ts"
import { Members } from "../../src/domain/board/Members.ts"
import { answer } from "../children.ts"
import { userIdAt } from "../events.ts"
import { heapBytes } from "../heap.ts"

export interface BoardMemoryOptions {
  readonly users: number
  readonly groups: number
  readonly windows: number
}

/** Bytes. */
export interface BoardMemoryReport {
  /** Of a user, once for all windows: its number, then its group. */
  readonly member: number
  readonly group: number
  /** Of an entry and window, by whether the board has groups. */
  readonly plain: number
  readonly grouped: number
  readonly map: number
}

/** The bytes that `make` leaves, for each of `count`. What it returns stays in memory meanwhile. */
const bytesOf = <A>(count: number, make: () => A): readonly [A, number] => {
  const before = heapBytes()
  const made = make()
  return [made, (heapBytes() - before) / count]
}

const scores = 3

/** A board with scores in a mixed order. */
const fill = (board: Leaderboard, users: number): void => {
  for (let n = 0; n < scores * users; n++) {
    // The prime shares no factor with the number of users: each comes once in a round.
    const score = 1 + ((Math.imul(n, 1_103_515_245) >>> 0) % 100_000)
    board.set((n * 7_919) % users, score, n + 1)
  }
  if (board.total !== users) throw new Error(`The board lists ${board.total} of ${users} users`)
}

await answer(({ groups, users, windows }: BoardMemoryOptions): BoardMemoryReport => {
  const boardsOf = (make: () => Leaderboard) =>
    bytesOf(users * windows, () => {
      const boards = Array.from({ length: windows }, make)
      for (const board of boards) fill(board, users)
      return boards
    })
  const [members, member] = bytesOf(users, () => {
    const all = new Members()
    for (let n = 0; n < users; n++) all.admit(userIdAt(n))
    return all
  })
  const [plainBoards, plain] = boardsOf(() => new Leaderboard(members))
  const [grouping, group] = bytesOf(users, () => {
    const all = new Grouping()
    for (let n = 0; n < users; n++) all.assign(n, `city ${n % groups}`)
    return all
  })
  const [groupedBoards, grouped] = boardsOf(() => Leaderboard.grouped(members, grouping))
  const [one, map] = bytesOf(users, () => {
    const byId = new Map<string, number>()
    for (let n = 0; n < users; n++) byId.set(JSON.parse(JSON.stringify(userIdAt(n))), n)
    return byId
  })
  // All of them are in memory until here.
  const listed = [...plainBoards, ...groupedBoards].reduce((sum, { total }) => sum + total, 0)
  if (listed !== 2 * windows * one.size) throw new Error("Some ids are the same")
  return { member, group, plain, grouped, map }
})
