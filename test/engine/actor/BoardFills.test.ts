import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { onTestFinished, vi } from "vitest"
import { Environment } from "../../../src/engine/actor/Environments.ts"
import { limits } from "../../../src/Limits.ts"
import { Metrics } from "../../../src/metrics/Metrics.ts"
import { yieldToEventLoop } from "../../../src/storage/yieldToEventLoop.ts"
import { sampleValue } from "../../metrics/exposition.ts"
import { type Fixture, reward, sandbox, startInMemory } from "../fixture.ts"

const makeBoard = ({ engine }: Fixture, id: string) =>
  engine.askProject(sandbox, {
    kind: "createLeaderboard",
    leaderboard: { id, name: id, score: { currency: "xp" } },
  })

const read = ({ engine }: Fixture, board: string) =>
  Effect.map(
    engine.readBoard(sandbox, { board, window: "all_time", limit: 10, offset: 0 }),
    ({ entries, filling }) => ({ filling, users: entries.map(({ userId }) => userId) }),
  )

/** The first `times` reads of users by a fill meet a defect. Returns how many have. */
const failing = (times: number): (() => number) => {
  const { usersFrom } = Environment.prototype
  let defects = 0
  const spy = vi.spyOn(Environment.prototype, "usersFrom").mockImplementation(function (
    this: Environment,
    prefix,
  ) {
    if (defects === times) return usersFrom.call(this, prefix)
    defects++
    throw new Error("a bug")
  })
  onTestFinished(() => spy.mockRestore())
  return () => defects
}

const turnsUntil = Effect.fnUntraced(function* (isOver: () => boolean) {
  for (let turn = 0; turn < 1_000 && !isOver(); turn++) yield* yieldToEventLoop
  expect(isOver()).toBe(true)
})

describe("The fill of a new leaderboard that meets a defect", () => {
  it.effect("is counted, and tried again after a pause, until the leaderboard is filled", () =>
    Effect.gen(function* () {
      const metrics = new Metrics()
      const fixture = yield* startInMemory({}, { metrics })
      const count = () => sampleValue(metrics.text(), "laurel_board_fills_failing")
      expect(count()).toBe(0)
      yield* fixture.engine.askUser(sandbox, reward("ada", 5))
      const defects = failing(2)
      yield* makeBoard(fixture, "ldb_1")
      yield* turnsUntil(() => defects() === 1)
      expect(count()).toBe(1)
      expect(yield* read(fixture, "ldb_1")).toEqual({ filling: true, users: [] })
      yield* TestClock.adjust(limits.boardFillRetryMs - 1)
      yield* yieldToEventLoop
      expect(defects()).toBe(1)
      yield* TestClock.adjust(1)
      yield* turnsUntil(() => defects() === 2)
      expect(count()).toBe(1)
      yield* TestClock.adjust(limits.boardFillRetryMs)
      yield* turnsUntil(() => count() === 0)
      expect(yield* read(fixture, "ldb_1")).toEqual({ filling: false, users: ["ada"] })
      expect(fixture.broken).toEqual([])
      yield* fixture.close()
    }),
  )

  it.effect("begins again at once when another leaderboard is made", () =>
    Effect.gen(function* () {
      const fixture = yield* startInMemory()
      yield* fixture.engine.askUser(sandbox, reward("ada", 5))
      const defects = failing(1)
      yield* makeBoard(fixture, "ldb_1")
      yield* turnsUntil(() => defects() === 1)
      yield* makeBoard(fixture, "ldb_2")
      const filled = { filling: false, users: ["ada"] }
      for (let turn = 0; turn < 100 && (yield* read(fixture, "ldb_2")).filling; turn++) {
        yield* yieldToEventLoop
      }
      expect([yield* read(fixture, "ldb_1"), yield* read(fixture, "ldb_2")]).toEqual([
        filled,
        filled,
      ])
      yield* fixture.close()
    }),
  )
})
