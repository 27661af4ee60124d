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

/** A server whose disk may die, and the state that the next server finds. */
const startDying = Effect.fnUntraced(function* (lastAppendKept: boolean) {
  const state = new MemoryStorage.MemoryState()
  const disk = {
    appendsLeft: Number.POSITIVE_INFINITY,
    lastAppendKept,
    writesLeft: Number.POSITIVE_INFINITY,
  }
  const first = yield* start(dyingDisk(MemoryStorage.make({ state }), disk), small)
  return { disk, first, state }
})

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

  it.effect("reach who takes in a contributor although it was created after the completion", () =>
    Effect.gen(function* () {
      const fixture = yield* startInMemory({}, small)
      yield* createGoal(fixture, { minContribution: 5 })
      yield* earn(fixture, amounts)
      yield* TestClock.adjust(1)
      yield* earn(fixture, { new: 1 })
      for (const userId of all) yield* merge(fixture, userId, "new")
      yield* paid(fixture)
      const payments = fixture.committed.filter(({ cause }) => cause.kind === "payment")
      const won = yield* pointsOf(fixture, ["new"])
      expect([payments.length > 0, won]).toEqual([true, { new: 10 * payments.length }])
      yield* fixture.close()
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
          const { disk, first, state } = yield* startDying(isKept)
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
        const { disk, first, state } = yield* startDying(writes % 2 === 0)
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

const join = (fixture: Fixture, userId: string, teamId: string) =>
  fixture.engine.askUser(sandbox, { userId, command: { kind: "join", teamId } })
const leave = (fixture: Fixture, userId: string, teamId: string) =>
  fixture.engine.askUser(sandbox, { userId, command: { kind: "leave", teamId } })
const putTeam = ({ engine }: Fixture, teamId: string) =>
  engine.askProject(sandbox, { kind: "putTeam", teamId, team: { kind: "club", name: teamId } })

const ofTeams = { scope: "team", teamKind: "club", minContribution: 5 } as const

/** All are in the owls (team 1); gus left before the owls reach their target with the event of fay. */
const playInTeam = Effect.fnUntraced(function* (fixture: Fixture) {
  yield* putTeam(fixture, "owls")
  yield* putTeam(fixture, "crows")
  yield* createGoal(fixture, { ...ofTeams, target: 110 })
  for (const userId of [...all, "gus"]) yield* join(fixture, userId, "owls")
  const { fay: _, ...before } = amounts
  yield* earn(fixture, { ...before, gus: 12 })
  yield* leave(fixture, "gus", "owls")
})
const reachInTeam = (fixture: Fixture) => earn(fixture, { fay: amounts.fay })
const paidInTeam = (fixture: Fixture) => paid(fixture, "gol_1", 1)

describe("The rewards of a team's goal", () => {
  it.effect("go to its members at the completion, wherever they are at the payment", () =>
    Effect.gen(function* () {
      for (let after = 0; after < 6; after++) {
        const fixture = yield* startInMemory({}, small)
        yield* playInTeam(fixture)
        yield* reachInTeam(fixture)
        yield* turns(after)
        yield* leave(fixture, "ada", "owls")
        yield* join(fixture, "bob", "crows")
        yield* join(fixture, "cyd", "crows")
        yield* join(fixture, "cyd", "owls")
        yield* join(fixture, "gus", "owls")
        // A contribution to the goal of another team takes no claim away.
        yield* earn(fixture, { bob: 3 })
        expect([after, yield* paidInTeam(fixture)]).toEqual([after, 5])
        const won = yield* pointsOf(fixture, [...all, "gus"])
        expect([after, won]).toEqual([after, { ...due, gus: 0 }])
        // The next contribution ends what was kept.
        yield* earn(fixture, { bob: 1 })
        expect(fixture.broken).toEqual([])
        yield* fixture.close()
      }
    }),
  )

  it.effect("go to its members at the completion although the team is deleted meanwhile", () =>
    Effect.gen(function* () {
      const fixture = yield* startInMemory({}, small)
      yield* playInTeam(fixture)
      yield* reachInTeam(fixture)
      yield* fixture.engine.askProject(sandbox, { kind: "deleteTeam", teamId: "owls" })
      yield* putTeam(fixture, "owls")
      yield* join(fixture, "ada", "owls")
      yield* join(fixture, "gus", "owls")
      expect(yield* paidInTeam(fixture)).toBe(5)
      expect(yield* pointsOf(fixture, [...all, "gus"])).toEqual({ ...due, gus: 0 })
      yield* fixture.close()
    }),
  )

  it.effect("follow a member who is merged into a user of another team, or of none", () =>
    Effect.gen(function* () {
      for (const teamId of ["crows", undefined]) {
        for (let after = 0; after < 6; after++) {
          const fixture = yield* startInMemory({}, small)
          yield* playInTeam(fixture)
          yield* earn(fixture, { kim: 1 })
          if (teamId !== undefined) yield* join(fixture, "kim", teamId)
          yield* reachInTeam(fixture)
          yield* turns(after)
          yield* merge(fixture, "bob", "kim")
          // Gus was not in the team: nobody wins by taking him in.
          yield* merge(fixture, "gus", "eve")
          yield* paidInTeam(fixture)
          const won = yield* pointsOf(fixture, [...all.filter((id) => id !== "bob"), "kim"])
          const expected = { ...without(due, "bob"), kim: 10, eve: 10 }
          expect([teamId, after, won]).toEqual([teamId, after, expected])
          yield* fixture.close()
        }
      }
    }),
  )
})

describe("A server that is killed while members leave a team whose goal is complete", () => {
  for (const isKept of [true, false]) {
    const words = isKept ? "is in the journal and has no answer" : "is lost"
    it.effect(`pays each member once, whichever write ${words}`, () =>
      Effect.gen(function* () {
        for (let writes = 0; writes < 16; writes++) {
          const { disk, first, state } = yield* startDying(isKept)
          yield* playInTeam(first)
          if (writes % 2 === 0) yield* TestClock.adjust(small.snapshotIntervalMs)
          disk.appendsLeft = writes
          const flight = Effect.gen(function* () {
            yield* reachInTeam(first)
            for (const userId of all) yield* leave(first, userId, "owls")
            yield* join(first, "gus", "owls")
          })
          yield* Effect.forkChild(Effect.ignore(flight))
          yield* turns(40)
          yield* first.close("kill")
          const second = yield* start(MemoryStorage.make({ state }), small)
          if (writes % 3 === 0) yield* TestClock.adjust(small.snapshotIntervalMs)
          const { total } = second.engine.goalTotals(sandbox).durableOf("gol_1", 1)!
          if (total < 110) yield* reachInTeam(second)
          for (const userId of all) yield* Effect.ignore(leave(second, userId, "owls"))
          expect([writes, yield* paidInTeam(second)]).toEqual([writes, 5])
          yield* second.close()
          const third = yield* start(MemoryStorage.make({ state }), small)
          const won = yield* pointsOf(third, [...all, "gus"])
          expect([writes, won]).toEqual([writes, { ...due, gus: 0 }])
          yield* third.close()
          const payments = recordsOf(state).filter(({ cause }) => cause.kind === "payment")
          expect(payments).toHaveLength(5)
        }
      }),
    )
  }
})
