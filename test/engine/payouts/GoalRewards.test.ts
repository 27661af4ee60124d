import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { limits } from "../../../src/Limits.ts"
import { yieldToEventLoop } from "../../../src/storage/yieldToEventLoop.ts"
import { goalWith } from "../../domain/definitions.ts"
import { dyingDisk } from "../../simulation/dyingDisk.ts"
import * as MemoryStorage from "../../storage/MemoryStorage.ts"
import {
  defective,
  type Fixture,
  pointsOf,
  recordsOf,
  reward,
  sandbox,
  start,
  startInMemory,
} from "../fixture.ts"

/** Each user is a step of its own. */
const small = { clockCheckMs: 3_600_000, snapshotIntervalMs: 600_000, payoutGroupUsersMax: 1 }

const createGoal = (fixture: Fixture, more: Parameters<typeof goalWith>[0] = {}) => {
  const { createdAt: _, set: __, updatedAt: ___, version: ____, ...goal } = goalWith(more)
  return fixture.engine.askProject(sandbox, { kind: "createGoal", goal })
}

const earn = Effect.fnUntraced(function* ({ engine }: Fixture, amounts: Record<string, number>) {
  for (const [userId, xp] of Object.entries(amounts)) {
    yield* engine.askUser(sandbox, reward(userId, xp))
  }
})

const turns = Effect.fnUntraced(function* (count: number) {
  for (let turn = 0; turn < count; turn++) {
    yield* TestClock.adjust(limits.payoutPauseMs)
    yield* yieldToEventLoop
  }
})

/** How many users got the reward of a goal; null: it is not paid to all. */
const rewardedOf = ({ engine }: Fixture, goalId = "gol_1", team = 0) =>
  engine.goalTotals(sandbox).durableOf(goalId, team)?.rewarded

/** Lets the payer go on until all have the reward. */
const paid = Effect.fnUntraced(function* (fixture: Fixture, goalId = "gol_1", team = 0) {
  for (let turn = 0; rewardedOf(fixture, goalId, team) == null; turn++) {
    expect(turn).toBeLessThan(500)
    yield* turns(1)
  }
  return rewardedOf(fixture, goalId, team)
})

const merge = ({ engine }: Fixture, from: string, into: string) =>
  engine.askUser(sandbox, { userId: from, command: { kind: "merge", into } })

const amounts = { ada: 30, bob: 25, cyd: 20, dan: 15, eve: 4, fay: 6 }
const all = Object.keys(amounts)
const due = { ada: 10, bob: 10, cyd: 10, dan: 10, eve: 0, fay: 10 }

describe("The rewards of a goal", () => {
  it.effect("are those of its completion: later edits, undos and contributions change none", () =>
    Effect.gen(function* () {
      const fixture = yield* startInMemory({}, small)
      yield* createGoal(fixture, { minContribution: 5 })
      yield* earn(fixture, amounts)
      const change = { reward: { points: 500 }, minContribution: 1, target: 1_000 }
      const edit = { kind: "updateGoal", goalId: "gol_1", change } as const
      yield* fixture.engine.askProject(sandbox, edit)
      yield* earn(fixture, { eve: 50, gus: 50 })
      expect(yield* paid(fixture)).toBe(5)
      expect(yield* pointsOf(fixture, [...all, "gus"])).toEqual({ ...due, gus: 0 })
      yield* fixture.close()
    }),
  )

  it.effect("reach a contributor whose payment met a defect at the next try", () =>
    Effect.gen(function* () {
      let isDefect = true
      const explosive = defective(
        (command) => isDefect && command.kind === "payment" && command.to === "bob",
      )
      const options = { ...small, domain: explosive }
      const fixture = yield* startInMemory({}, options)
      yield* createGoal(fixture, { minContribution: 5 })
      yield* earn(fixture, amounts)
      yield* turns(200)
      expect(yield* pointsOf(fixture, all)).toEqual({ ...due, bob: 0 })
      expect(rewardedOf(fixture)).toBeNull()
      isDefect = false
      yield* TestClock.adjust(limits.goalRetryMs)
      expect(yield* paid(fixture)).toBe(5)
      expect(yield* pointsOf(fixture, all)).toEqual(due)
      expect(fixture.broken).toEqual([])
      yield* fixture.close()
    }),
  )

  it.effect("of many goals that meet defects in a user ask it once at each try", () =>
    Effect.gen(function* () {
      const goals = Array.from({ length: 8 }, (_, n) => `gol_${n}`)
      let isDefect = true
      let defects = 0
      const explosive = defective((command) => {
        const isMet = isDefect && command.kind === "payment" && command.to === "bob"
        if (isMet) defects++
        return isMet
      })
      const options = { ...small, domain: explosive }
      const fixture = yield* startInMemory({}, options)
      for (const id of goals) yield* createGoal(fixture, { id })
      yield* earn(fixture, { ada: 60, bob: 60 })
      yield* turns(300)
      expect(defects).toBe(1)
      yield* TestClock.adjust(limits.goalRetryMs)
      yield* turns(100)
      expect(defects).toBe(2)
      isDefect = false
      yield* TestClock.adjust(limits.goalRetryMs)
      for (const id of goals) expect(yield* paid(fixture, id)).toBe(2)
      expect(yield* pointsOf(fixture, ["ada", "bob"])).toEqual({ ada: 80, bob: 80 })
      yield* fixture.close()
    }),
  )

  it.effect("are paid although the goal is archived before the payment", () =>
    Effect.gen(function* () {
      const fixture = yield* startInMemory({}, small)
      yield* createGoal(fixture, { minContribution: 5 })
      yield* earn(fixture, amounts)
      yield* fixture.engine.askProject(sandbox, { kind: "deleteGoal", goalId: "gol_1" })
      expect(yield* paid(fixture)).toBe(5)
      yield* fixture.close()
    }),
  )

  it.effect("go to nobody else when a contributor is erased, and its id is used again", () =>
    Effect.gen(function* () {
      const fixture = yield* startInMemory({}, small)
      yield* createGoal(fixture, { minContribution: 5 })
      yield* earn(fixture, amounts)
      for (const userId of all) {
        yield* fixture.engine.askUser(sandbox, { userId, command: { kind: "erasure" } })
      }
      yield* earn(fixture, { ada: 50, bob: 50 })
      yield* paid(fixture)
      expect(yield* pointsOf(fixture, ["ada", "bob"])).toEqual({ ada: 0, bob: 0 })
      yield* fixture.close()
    }),
  )

  it.effect("reach who takes in a contributor while they are paid, whoever was passed before", () =>
    Effect.gen(function* () {
      // Of two users who are merged, either may come first in the pass.
      for (const [from, into] of [
        ["ada", "eve"],
        ["bob", "eve"],
        ["cyd", "eve"],
        ["dan", "kim"],
      ] as const) {
        for (let after = 0; after < 8; after++) {
          const fixture = yield* startInMemory({}, small)
          yield* createGoal(fixture, { minContribution: 5 })
          yield* earn(fixture, { kim: 1 })
          yield* earn(fixture, amounts)
          yield* turns(after)
          yield* merge(fixture, from, into)
          yield* paid(fixture)
          const won = yield* pointsOf(fixture, [...all.filter((id) => id !== from), into])
          expect([from, after, won]).toEqual([from, after, { ...without(due, from), [into]: 10 }])
          yield* fixture.close()
        }
      }
    }),
  )
})

const without = (from: Record<string, number>, userId: string) =>
  Object.fromEntries(Object.entries(from).filter(([id]) => id !== userId))

describe("A server that is killed while it pays the rewards of a goal", () => {
  for (const isKept of [true, false]) {
    const words = isKept ? "is in the journal and has no answer" : "is lost"
    it.effect(`pays each contributor once, whichever write ${words}`, () =>
      Effect.gen(function* () {
        for (let writes = 0; writes < 14; writes++) {
          const state = new MemoryStorage.MemoryState()
          const disk = {
            appendsLeft: Number.POSITIVE_INFINITY,
            lastAppendKept: isKept,
            writesLeft: Number.POSITIVE_INFINITY,
          }
          const first = yield* start(dyingDisk(MemoryStorage.make({ state }), disk), small)
          yield* createGoal(first, { minContribution: 5 })
          const { fay, ...before } = amounts
          yield* earn(first, before)
          disk.appendsLeft = writes
          yield* Effect.forkChild(Effect.ignore(earn(first, { fay })))
          yield* turns(40)
          yield* first.close("kill")
          const second = yield* start(MemoryStorage.make({ state }), small)
          if (writes % 3 === 0) yield* TestClock.adjust(small.snapshotIntervalMs)
          // The contribution that reaches the target may be lost.
          const total = second.engine.goalTotals(sandbox).durableOf("gol_1", 0)?.total
          if (total === 94) yield* earn(second, { fay })
          expect(yield* paid(second)).toBe(5)
          yield* second.close()
          const third = yield* start(MemoryStorage.make({ state }), small)
          expect([writes, yield* pointsOf(third, all)]).toEqual([writes, due])
          expect(rewardedOf(third)).toBe(5)
          yield* third.close()
          const records = recordsOf(state)
          expect(records.filter(({ cause }) => cause.kind === "payment")).toHaveLength(5)
          const kinds = records.flatMap(({ facts }) => facts.map(({ kind }) => kind))
          expect(kinds.filter((kind) => kind === "goal.completed")).toHaveLength(1)
          expect(kinds.filter((kind) => kind === "goal.rewards_paid")).toHaveLength(1)
        }
      }),
    )
  }

  it.effect("completes a goal whose target was lowered, if the completion was lost", () =>
    Effect.gen(function* () {
      for (let writes = 0; writes < 4; writes++) {
        const state = new MemoryStorage.MemoryState()
        const disk = {
          appendsLeft: Number.POSITIVE_INFINITY,
          lastAppendKept: writes % 2 === 0,
          writesLeft: Number.POSITIVE_INFINITY,
        }
        const first = yield* start(dyingDisk(MemoryStorage.make({ state }), disk), small)
        yield* createGoal(first, { target: 1_000 })
        yield* earn(first, amounts)
        disk.appendsLeft = writes
        const lower = { kind: "updateGoal", goalId: "gol_1", change: { target: 50 } } as const
        yield* Effect.forkChild(Effect.ignore(first.engine.askProject(sandbox, lower)))
        yield* turns(10)
        yield* first.close("kill")
        const second = yield* start(MemoryStorage.make({ state }), small)
        if ((yield* second.engine.readProject(sandbox)).goals.get("gol_1")?.target !== 50) {
          yield* second.engine.askProject(sandbox, lower)
        }
        expect([writes, yield* paid(second)]).toEqual([writes, 6])
        yield* second.close()
      }
    }),
  )
})
