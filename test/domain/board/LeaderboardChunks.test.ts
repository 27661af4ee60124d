/**
 * The same comparison with chunks, id maps and moves that wait so few that splits, joins, growth, the step to a
 * large board and full moves happen all the time.
 */
import { describe, expect, it, vi } from "vitest"

vi.mock(import("../../../src/Limits.ts"), async (original) => {
  const { limits } = await original()
  const small = {
    boardChunkSlotsMin: 4,
    boardChunkSlotsStep: 4,
    boardChunkSlotsMax: 8,
    boardLargeMembersMin: 300,
    boardLargeChunkSlotsMax: 16,
    boardMovesMax: 5,
    boardIdsInOneTableMax: 50,
    boardIdTables: 8,
  }
  return { limits: { ...limits, ...small } as unknown as typeof limits }
})

const { limits } = await import("../../../src/Limits.ts")
const { playModelRun, runSeed } = await import("./leaderboardModel.ts")

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
})
