import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { vi } from "vitest"
import { Leaderboard } from "../../../src/domain/board/Leaderboard.ts"
import { windowKinds } from "../../../src/domain/values/Calendar.ts"
import { limits } from "../../../src/Limits.ts"
import { reward, sandbox, startInMemory } from "../fixture.ts"

describe("The boards of an environment", () => {
  it.effect("make their moves in rotation, each after boardMovesMax records", () =>
    Effect.gen(function* () {
      const { settle: settleIt } = Leaderboard.prototype
      const settle = vi.spyOn(Leaderboard.prototype, "settle")
      yield* Effect.addFinalizer(() => Effect.sync(() => settle.mockRestore()))
      const { close, committed, engine } = yield* startInMemory()
      const settled: Array<readonly [records: number, board: Leaderboard]> = []
      settle.mockImplementation(function (this: Leaderboard) {
        settled.push([committed.length, this])
        settleIt.call(this)
      })
      const boards = windowKinds.length + 1
      const records = 2 * boards * limits.boardMovesMax
      const rewards = Array.from({ length: records }, (_, n) => reward(`u${n}`, 1))
      yield* engine.askUsers(sandbox, rewards)
      expect(committed).toHaveLength(records)
      // The end of the first windows reads all boards once, in a turn of its own, which settles
      // them too.
      const since = settled.filter(([at]) => at >= limits.boardMovesMax)
      const boardsAt = new Map<number, Set<Leaderboard>>()
      for (const [at, board] of since) boardsAt.set(at, (boardsAt.get(at) ?? new Set()).add(board))
      const every = limits.boardMovesMax / boards
      // The observer of committed records comes after the boards.
      const expected = Array.from(
        { length: records / every - boards },
        (_, n) => limits.boardMovesMax + (n + 1) * every - 1,
      )
      const read = [...boardsAt].filter(([, atOnce]) => atOnce.size > 1).map(([at]) => at)
      expect(read.length).toBeLessThanOrEqual(1)
      const settledAlone = [...boardsAt].filter(([at]) => !read.includes(at))
      expect(settledAlone.map(([at]) => at)).toEqual(expected.filter((at) => !read.includes(at)))
      const inTurn = settledAlone.map(([, atOnce]) => atOnce)
      expect(new Set(inTurn.slice(0, boards).flatMap((atOnce) => [...atOnce])).size).toBe(boards)
      settle.mockRestore()
      yield* close()
    }),
  )
})
