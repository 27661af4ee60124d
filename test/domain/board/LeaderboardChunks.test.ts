/**
 * The same comparison with chunks, id maps and moves that wait so few that splits, joins, growth, the step to a
 * large board and full moves happen all the time.
 */
import { describe, expect, it, vi } from "vitest"
import { randomOf } from "../../simulation/random.ts"

vi.mock(import("../../../src/Limits.ts"), async (original) => {
  const { limits } = await original()
  const small = {
    boardChunkSlotsMin: 4,
    boardChunkSlotsStep: 4,
    boardChunkSlotsMax: 8,
    boardLargeMembersMin: 300,
    boardLargeChunkSlotsMax: 16,
    boardMovesMax: 5,
    boardArrivalsMax: 3,
    boardIdsInOneTableMax: 50,
    boardIdTables: 8,
  }
  return { limits: { ...limits, ...small } as unknown as typeof limits }
})

const { limits } = await import("../../../src/Limits.ts")
const { pageOf, playModelRun, runSeed } = await import("./leaderboardModel.ts")
const { Leaderboard } = await import("../../../src/domain/board/Leaderboard.ts")

describe("A leaderboard of tiny chunks", () => {
  it("is built with them", () => {
    expect(limits.boardChunkSlotsMax).toBe(8)
  })

  for (const scores of ["tied", "spread", "huge"] as const) {
    it(`equals a naive sort through a random life with ${scores} scores`, () => {
      for (let n = 0; n < 6; n++) {
        const users = [1, 20, 100, 250, 600, 1_000][n]!
        playModelRun({ seed: runSeed + n, users, steps: 4_000, comparisons: 40, scores })
      }
    })
  }

  it("orders equal scores of one sequence by user id, among slots of users who moved on or are gone", () => {
    const random = randomOf(runSeed)
    const below = (most: number) => Math.floor(random() * most)
    const board = new Leaderboard()
    const model = new Map<string, readonly [score: number, tie: number]>()
    for (let step = 0; step < 6_000; step++) {
      const userId = `u${below(150)}`
      const score = below(40)
      const tie = below(3)
      if (below(8) === 0) {
        board.forget(userId)
        model.delete(userId)
      } else if (score === 0) {
        board.setUser(userId, 0, tie)
        model.delete(userId)
      } else {
        board.setUser(userId, score, tie)
        if (model.get(userId)?.[0] !== score) model.set(userId, [score, tie])
      }
      if (step % 50 > 0) continue
      board.check()
      // Reading rows changes what the next moves find: mostly only one is read.
      const offset = below(model.size)
      const inOrder = [...model].sort(
        ([one, [scoreOfOne, tieOfOne]], [other, [scoreOfOther, tieOfOther]]) =>
          scoreOfOther - scoreOfOne || tieOfOne - tieOfOther || (one < other ? -1 : 1),
      )
      const rows = step % 1_000 === 0 ? 200 : 1
      const expected = inOrder.slice(offset, offset + rows).map(([id]) => id)
      expect(pageOf(board, offset, rows).map((row) => row.userId)).toEqual(expected)
      expect(board.total).toBe(model.size)
    }
  })
})
