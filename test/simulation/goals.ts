/**
 * One seeded run of two shared goals, of everyone and of teams, against a naive model: days pass with
 * late events, undo, edits, moves between teams, erased and merged users, while the power fails at any
 * write, also while rewards are paid. The model follows the journal, so it needs no answers.
 */
import { expect } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { TestClock } from "effect/testing"
import type { UserCommand } from "../../src/domain/record/Record.ts"
import { partOf } from "../../src/domain/user/GoalPart.ts"
import { recordNameOf } from "../../src/domain/values/Ids.ts"
import type { GoalTotals } from "../../src/engine/actor/GoalTotals.ts"
import { GoalCheck } from "../../src/engine/archive/check/GoalCheck.ts"
import { limits } from "../../src/Limits.ts"
import { yieldToEventLoop } from "../../src/storage/yieldToEventLoop.ts"
import { goalWith } from "../domain/definitions.ts"
import { recordsOf, rule, sandbox, start } from "../engine/fixture.ts"
import * as MemoryStorage from "../storage/MemoryStorage.ts"
import { dyingDisk } from "./dyingDisk.ts"
import { GoalModel, nothingSeen, tapXp } from "./GoalModel.ts"
import { hashSecretOf, Random } from "./random.ts"

const minute = 60_000
const day = 1_440 * minute

/** How much has happened in all runs. */
export const happened = {
  ...nothingSeen,
  /** Starts that found a place whose rewards were not paid to all. */
  resumed: 0,
}

export const simulateGoals = Effect.fnUntraced(function* (seed: number, steps: number) {
  const random = new Random(seed)
  const state = new MemoryStorage.MemoryState()
  const model = new GoalModel()
  const disk = {
    appendsLeft: Number.POSITIVE_INFINITY,
    lastAppendKept: false,
    writesLeft: Number.POSITIVE_INFINITY,
  }
  yield* TestClock.setTime(Date.parse("2026-11-22T12:00:00Z"))
  const open = Effect.suspend(() => {
    disk.appendsLeft = Number.POSITIVE_INFINITY
    disk.writesLeft = Number.POSITIVE_INFINITY
    return start(dyingDisk(MemoryStorage.make({ state }), disk), {
      decodedUsersMax: 4,
      newHashSecret: hashSecretOf(seed),
      durability: "fsync",
      snapshotIntervalMs: 300 * minute,
      snapshotSliceEntriesMax: 3,
      clockCheckMs: 10 * minute,
      payoutGroupUsersMax: 2,
      // The model follows each record before it is deleted.
      erasureGatherMs: 1_000 * day,
    })
  })
  let running = yield* open
  yield* running.engine.askProject(sandbox, rule("TAP", tapXp))
  const teams = ["t1", "t2"]
  for (const teamId of teams) {
    const team = { kind: "club", name: teamId }
    yield* running.engine.askProject(sandbox, { kind: "putTeam", teamId, team })
  }
  const recurrences = ["none", "daily", "daily"] as const
  const ofTeams = { scope: "team", teamKind: "club", minContribution: 1 } as const
  for (const more of [
    { id: "gol_1", minContribution: 5 },
    { id: "gol_2", ...ofTeams },
  ] as const) {
    const target = random.integer(20, 40)
    const recurrence = random.pick(recurrences)
    const goal = goalWith({ ...more, target, recurrence })
    const { createdAt: _, set: __, updatedAt: ___, version: ____, ...given } = goal
    yield* running.engine.askProject(sandbox, { kind: "createGoal", goal: given })
  }
  const users = Array.from({ length: 10 }, (_, index) => `u${index}`)
  const undoable: Array<readonly [userId: string, eventId: string]> = []

  let followed = 0
  const follow = () => {
    for (const record of recordsOf(state)) {
      if (record.sequence <= followed) continue
      followed = record.sequence
      model.follow(record)
    }
  }

  const choose = (now: number): { readonly userId: string; readonly command: UserCommand } => {
    const userId = random.pick(users)
    const kind = random.next()
    if (kind < 0.2) {
      const amount = random.integer(1, 4)
      return { userId, command: { kind: "reward", type: "xp", amount } }
    }
    if (kind < 0.65) {
      const late = random.chance(0.3) ? random.integer(0, 2 * day) : 0
      return { userId, command: { kind: "event", action: "TAP", occurredAt: now - late } }
    }
    if (kind < 0.78) {
      const chosen = undoable.splice(random.integer(0, undoable.length - 1), 1)[0]
      if (chosen !== undefined) {
        const { at, sequence } = recordNameOf("evt", chosen[1])!
        return { userId: chosen[0], command: { kind: "revocation", of: "event", sequence, at } }
      }
    }
    if (kind < 0.9) return { userId, command: { kind: "join", teamId: random.pick(teams) } }
    if (kind < 0.92) return { userId, command: { kind: "leave", teamId: random.pick(teams) } }
    if (kind < 0.97) return { userId, command: { kind: "merge", into: random.pick(users) } }
    return { userId, command: { kind: "erasure" } }
  }

  /** Asks without a look at the answer: the journal has what came of it. */
  const ask = Effect.gen(function* () {
    const asked = choose(yield* Clock.currentTimeMillis)
    const reply = yield* Effect.match(running.engine.askUser(sandbox, asked as never), {
      onSuccess: (answer) => (answer as { readonly reply: { readonly eventId?: string } }).reply,
      onFailure: () => undefined,
    })
    if (asked.command.kind === "event" && reply?.eventId !== undefined) {
      undoable.push([asked.userId, reply.eventId])
    }
  })

  const edit = Effect.suspend(() => {
    const change = { target: random.integer(10, 60) }
    const goalId = random.pick(["gol_1", "gol_2"])
    const command = { kind: "updateGoal", goalId, change } as const
    return Effect.ignore(running.engine.askProject(sandbox, command))
  })

  /** What users contributed and what is gone are the totals. */
  const addUp = Effect.gen(function* () {
    const check = new GoalCheck()
    for (const userId of users) {
      const user = yield* running.engine.readUser(sandbox, userId)
      if (user?.id !== userId) continue
      // Midway in a merge both may have the contribution.
      if (user.leadsTo !== null) return
      check.add(user)
    }
    check.end(running.engine.goalTotals(sandbox) as GoalTotals, (what, counted, found) => {
      expect([what, counted]).toEqual([what, found])
    })
  })

  /** Ends when all rewards are paid. */
  const quiet = Effect.gen(function* () {
    for (let turn = 0; ; turn++) {
      yield* Effect.andThen(TestClock.adjust(1), yieldToEventLoop)
      follow()
      if (model.owed.length === 0) return
      if (turn > 100) yield* TestClock.adjust(limits.payoutRetryMs)
      expect(turn).toBeLessThan(1_000)
    }
  })

  /** The power fails at one of the next writes; then the server starts again. */
  const crash = Effect.gen(function* () {
    disk.lastAppendKept = random.chance(0.5)
    if (random.chance(0.7)) disk.appendsLeft = random.integer(0, 6)
    else disk.writesLeft = random.integer(0, 15)
    for (let asks = random.integer(0, 12); asks > 0; asks--) {
      yield* Effect.forkChild(ask)
      yield* Effect.andThen(TestClock.adjust(limits.payoutPauseMs), yieldToEventLoop)
    }
    yield* TestClock.adjust(random.integer(1, 600) * minute)
    yield* running.close("kill")
    follow()
    if (model.owed.length > 0) happened.resumed++
    running = yield* open
    // Before the background goes on, or meanwhile.
    for (let asks = random.integer(0, 3); asks > 0; asks--) yield* ask
  })

  /** Users move while rewards are owed. */
  const hurry = Effect.gen(function* () {
    for (let asks = random.integer(2, 12); asks > 0; asks--) {
      yield* ask
      const userId = random.pick(users)
      const teamId = random.pick(teams)
      const kind = random.pick(["join", "leave"] as const)
      yield* Effect.ignore(running.engine.askUser(sandbox, { userId, command: { kind, teamId } }))
    }
  })

  for (let step = 0; step < steps; step++) {
    const kind = random.next()
    if (kind < 0.66) yield* ask
    else if (kind < 0.76) yield* hurry
    else if (kind < 0.81) yield* edit
    else if (kind < 0.88) yield* TestClock.adjust(random.integer(1, 600) * minute)
    else if (kind < 0.97) yield* crash
    else {
      yield* running.close()
      running = yield* open
    }
    yield* quiet
    const totals = running.engine.goalTotals(sandbox)
    const latest = new Map(
      [...model.places.values()].map((one) => [`${one.goal.id} ${one.team}`, one]),
    )
    for (const { contributors, goal, period, reached, team, total } of latest.values()) {
      const found = totals.durableOf(goal.id, team)
      const expected = { period, total, contributors, reached }
      expect([goal.id, team, found]).toMatchObject([goal.id, team, expected])
    }
    for (const [name, amount] of model.days) {
      const [goalId, dayOfGoal] = name.split(" ")
      const found = totals.days.amountOn(goalId!, Number(dayOfGoal))
      expect([name, found]).toEqual([name, amount])
    }
    yield* addUp
    for (const [userId, player] of model.players) {
      const user = yield* running.engine.readUser(sandbox, userId)
      expect([userId, user?.points ?? 0]).toEqual([userId, player.points])
      for (const [name, { amount, paid }] of player.parts) {
        const [goalId, period, team] = name.split(" ")
        const place = { period: Number(period), team: Number(team) }
        const part = partOf(user?.goals.get(goalId!), place)
        expect([userId, name, part]).toMatchObject([userId, name, { amount, paid }])
      }
    }
  }
  expect(running.broken).toEqual([])
  yield* running.close()
  for (const key of Object.keys(model.seen) as ReadonlyArray<keyof typeof model.seen>) {
    happened[key] += model.seen[key]
  }
})
