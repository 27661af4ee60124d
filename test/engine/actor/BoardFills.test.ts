import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { vi } from "vitest"
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

/** The reads of users that fail, of those that a fill makes. */
const failing = (isDefect: () => boolean) => {
  const { usersFrom } = Environment.prototype
  return vi.spyOn(Environment.prototype, "usersFrom").mockImplementation(function (
    this: Environment,
    prefix,
  ) {
    if (isDefect()) throw new Error("a bug")
    return usersFrom.call(this, prefix)
  })
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
      let defects = 0
      const spy = failing(() => defects < 2 && ++defects > 0)
      yield* makeBoard(fixture, "ldb_1")
      yield* turnsUntil(() => defects === 1)
      expect(count()).toBe(1)
      expect(yield* read(fixture, "ldb_1")).toEqual({ filling: true, users: [] })
      yield* TestClock.adjust(limits.boardFillRetryMs - 1)
      yield* yieldToEventLoop
      expect(defects).toBe(1)
      yield* TestClock.adjust(1)
      yield* turnsUntil(() => defects === 2)
      expect(count()).toBe(1)
      yield* TestClock.adjust(limits.boardFillRetryMs)
      yield* turnsUntil(() => count() === 0)
      expect(yield* read(fixture, "ldb_1")).toEqual({ filling: false, users: ["ada"] })
      expect(fixture.broken).toEqual([])
      spy.mockRestore()
      yield* fixture.close()
    }),
  )

  it.effect("begins again at once when another leaderboard is made", () =>
    Effect.gen(function* () {
      const fixture = yield* startInMemory()
      yield* fixture.engine.askUser(sandbox, reward("ada", 5))
      let defects = 0
      const spy = failing(() => defects < 1 && ++defects > 0)
      yield* makeBoard(fixture, "ldb_1")
      yield* turnsUntil(() => defects === 1)
      yield* makeBoard(fixture, "ldb_2")
      const filled = { filling: false, users: ["ada"] }
      for (let turn = 0; turn < 100 && (yield* read(fixture, "ldb_2")).filling; turn++) {
        yield* yieldToEventLoop
      }
      expect([yield* read(fixture, "ldb_1"), yield* read(fixture, "ldb_2")]).toEqual([
        filled,
        filled,
      ])
      spy.mockRestore()
      yield* fixture.close()
    }),
  )
})
