/**
 * One seeded run of leaderboards of teams against a naive model: users join, leave, earn, undo, are
 * hidden, merged and erased, teams are disqualified, listed again, deleted and made again with their ids,
 * days and months pass. At times no payment succeeds. The engine is stopped and killed, also in the middle
 * of a snapshot, and stays off for some time. Two leaderboards must have the same scores, one of them with
 * the lowest score first.
 */
import { expect } from "@effect/vitest"
import { Clock, Effect, Latch } from "effect"
import { TestClock } from "effect/testing"
import { boardOrders, namedWindows } from "../../src/domain/project/BoardDefinition.ts"
import type { BoardPrize } from "../../src/domain/project/BoardPrize.ts"
import {
  dateOf,
  dayOf,
  firstDayOf,
  type TimedWindow,
  timedWindows,
} from "../../src/domain/values/Calendar.ts"
import { recordNameOf } from "../../src/domain/values/Ids.ts"
import type { UserMessage } from "../../src/engine/actor/Actor.ts"
import type { Engine } from "../../src/engine/Engine.ts"
import { yieldToEventLoop } from "../../src/storage/yieldToEventLoop.ts"
import { event, rule, sandbox } from "../engine/fixture.ts"
import * as MemoryStorage from "../storage/MemoryStorage.ts"
import { stallingReads } from "../storage/stalling.ts"
import { ContestModel, type Contribution } from "./ContestModel.ts"
import { Random } from "./random.ts"
import { openTroubled, SnapshotDisk, troubleSnapshot } from "./windowEngine.ts"

const minute = 60_000
const day = 1_440 * minute
const zones = ["UTC", "Europe/Berlin", "Pacific/Kiritimati", "America/St_Johns"]

const span = { days: 4, anchor: "2027-01-01" }

export const happened = {
  undoneOfFormer: 0,
  deletions: 0,
  merges: 0,
  erasures: 0,
  crashes: 0,
  prizes: 0,
  late: 0,
  latePrizes: 0,
  disqualifications: 0,
  listedAgain: 0,
}

interface Done {
  readonly userId: string
  readonly eventId: string
  /** `undefined`: the user was in no team. */
  readonly contribution: Contribution | undefined
}

export const simulateContests = Effect.fnUntraced(function* (seed: number, steps: number) {
  const random = new Random(seed)
  yield* TestClock.setTime(Date.parse("2026-10-23T12:00:00Z"))
  const state = new MemoryStorage.MemoryState()
  const disk = new SnapshotDisk()
  /** While it is closed, nobody is paid: no member of a team is found. */
  const pays = Latch.makeUnsafe(true)
  let paysNobody = false
  const open = openTroubled(state, disk, seed, (storage) =>
    stallingReads(storage, "teamMembers", pays),
  )
  let running = yield* open
  const timezone = random.pick(zones)
  const graceMinutes = random.pick([0, 60, 360, 720])
  const model = new ContestModel(timezone, graceMinutes * minute, span)
  const users = Array.from({ length: 8 }, (_, index) => `user${index}`)
  const present = new Set<string>()
  let undoable: Array<Done> = []
  const ask = (command: Parameters<Engine["Service"]["askProject"]>[1]) =>
    running.engine.askProject(sandbox, command)
  yield* ask({ kind: "updateSettings", change: { timezone } })
  yield* ask(rule("TAP", 3))
  yield* ask(rule("PUSH", 5))
  const reward = { xp: 0, points: 1, badgeId: null }
  const prizes = timedWindows.map((window): BoardPrize => ({ window, ranks: [1, 1], reward }))
  for (const order of boardOrders) {
    const leaderboard = {
      id: `ldb_${order}`,
      name: order,
      score: { currency: "xp" },
      entrants: "teams",
      teamKind: "club",
      order,
      ties: "first",
      graceMinutes,
      windows: [...namedWindows, span],
      prizes: order === "desc" ? prizes : [],
    } as const
    yield* ask({ kind: "createLeaderboard", leaderboard })
  }

  /** The model names a team by its id and how often that was made. */
  const made = new Map<string, number>()
  const nameOf = (teamId: string) => `${teamId} ${made.get(teamId)}`
  const makeTeam = Effect.fnUntraced(function* (teamId: string) {
    yield* ask({ kind: "putTeam", teamId, team: { kind: "club", name: teamId } })
    made.set(teamId, (made.get(teamId) ?? 0) + 1)
    model.teams.add(nameOf(teamId))
  })
  const teamIds = Array.from({ length: 4 }, (_, index) => `${"🦊".repeat(60)}${index}`)
  for (const teamId of teamIds) yield* makeTeam(teamId)

  const askUser = (userId: string, command: UserMessage["command"]) =>
    running.engine.askUser(sandbox, { userId, command })

  /** Ends when no closed window has prizes left to pay. */
  const settle = Effect.gen(function* () {
    for (let turn = 0; turn < 10_000; turn++) {
      yield* yieldToEventLoop
      const { payouts } = yield* running.engine.readProject(sandbox)
      if (turn < 20) continue
      if (paysNobody || payouts.size === 0) {
        const now = yield* Clock.currentTimeMillis
        model.close(now)
        if (!paysNobody) happened.latePrizes += model.pay(now)
        return
      }
      yield* TestClock.adjust(1)
    }
    throw new Error("The payouts have not ended")
  })
  const pass = (ms: number) => Effect.andThen(TestClock.adjust(ms), settle)

  const earn = Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    const userId = random.pick(users)
    const [action, amount] = random.pick([
      ["TAP", 3],
      ["PUSH", 5],
    ] as const)
    const age = random.chance(0.5) ? 3 * day : day
    const occurredAt = now - (random.chance(0.3) ? random.integer(0, age) : 0)
    const { reply } = yield* running.engine.askUser(sandbox, event(userId, action, { occurredAt }))
    present.add(userId)
    const contribution = model.earn(userId, amount, now, occurredAt)
    const isLate = contribution?.windows.some(([kind, index]) => index < model.current(kind, now))
    if (isLate === true) happened.late++
    undoable.push({ userId, eventId: reply.eventId, contribution })
  })

  const undo = Effect.gen(function* () {
    const oldest = random.chance(0.5) ? 0 : Math.max(0, undoable.length - 8)
    const done = undoable.splice(random.integer(oldest, undoable.length - 1), 1)[0]
    if (done === undefined) return
    const { at, sequence } = recordNameOf("evt", done.eventId)!
    yield* askUser(done.userId, { kind: "revocation", of: "event", sequence, at })
    if (done.contribution === undefined) return
    if (model.members.get(done.userId) !== done.contribution.team) happened.undoneOfFormer++
    model.undo(done.userId, done.contribution, yield* Clock.currentTimeMillis)
  })

  const move = Effect.gen(function* () {
    const userId = random.pick(users)
    const own = model.members.get(userId)
    if (own !== undefined && random.chance(0.3)) {
      yield* askUser(userId, { kind: "leave", teamId: own.split(" ")[0]! })
      model.members.delete(userId)
      return
    }
    const teamId = random.pick(teamIds)
    yield* askUser(userId, { kind: "join", teamId })
    present.add(userId)
    model.members.set(userId, nameOf(teamId))
  })

  const loseUser = Effect.gen(function* () {
    const userId = random.pick(users)
    if (!present.has(userId)) return
    const other = random.pick(users)
    if (random.chance(0.3)) {
      const hidden = random.chance(0.5)
      yield* askUser(userId, { kind: "profile", change: { hidden } })
      if (hidden) model.hidden.add(userId)
      else model.hidden.delete(userId)
      return
    }
    if (random.chance(0.5) || other === userId || !present.has(other)) {
      yield* askUser(userId, { kind: "erasure" })
      model.forget(userId)
      happened.erasures++
      undoable = undoable.filter((done) => done.userId !== userId)
    } else {
      // The user who stays joins the other's team if it has none.
      yield* askUser(userId, { kind: "merge", into: other })
      model.merge(userId, other)
      model.won.set(other, (model.won.get(other) ?? 0) + (model.won.get(userId) ?? 0))
      model.forget(userId)
      const own = model.members.get(userId)
      if (own !== undefined && !model.members.has(other)) model.members.set(other, own)
      users.splice(users.indexOf(userId), 1, `${userId}+`)
      undoable = undoable.map((done) =>
        done.userId === userId ? { ...done, userId: other } : done,
      )
      happened.merges++
    }
    model.members.delete(userId)
    present.delete(userId)
  })

  const remake = Effect.gen(function* () {
    const teamId = random.pick(teamIds)
    yield* ask({ kind: "deleteTeam", teamId })
    happened.deletions++
    model.delete(nameOf(teamId))
    yield* makeTeam(teamId)
  })

  const judge = Effect.gen(function* () {
    const teamId = random.pick(teamIds)
    const disqualified = !model.isOff(nameOf(teamId))
    for (const order of boardOrders) {
      const command = { kind: "disqualifyTeam", teamId, leaderboard: `ldb_${order}` } as const
      yield* ask({ ...command, disqualified })
    }
    model.disqualify(nameOf(teamId), disqualified)
    if (disqualified) happened.disqualifications++
    else happened.listedAgain++
  })

  const failOrPay = Effect.gen(function* () {
    paysNobody = !paysNobody
    if (paysNobody) return pays.closeUnsafe()
    pays.openUnsafe()
    yield* pass(1)
  })

  const kill = Effect.gen(function* () {
    if (random.chance(0.6)) {
      const others = [earn, undo, move, remake, judge, judge]
      const isDead = yield* troubleSnapshot(disk, random, pass(300 * minute), others)
      if (!isDead && random.chance(0.5)) return
    }
    happened.crashes++
    yield* running.close("kill")
    if (random.chance(0.5)) yield* TestClock.adjust(random.integer(1, 3 * day))
    running = yield* open
    yield* pass(1)
  })

  for (let step = 0; step < steps; step++) {
    const kind = random.next()
    if (kind < 0.5) yield* earn
    else if (kind < 0.6) yield* undo
    else if (kind < 0.72) yield* move
    else if (kind < 0.75) yield* loseUser
    else if (kind < 0.77) yield* remake
    else if (kind < 0.79) yield* failOrPay
    else if (kind < 0.81) yield* judge
    else if (kind < 0.82) yield* kill
    else if (kind < 0.84) {
      yield* running.close()
      running = yield* open
      yield* pass(1)
    } else if (kind < 0.96) yield* pass(random.integer(1, 600) * minute)
    else yield* pass(random.integer(1, 10) * day)
    if (step % 5 === 0) yield* compare(running.engine, model, present)
  }
  if (paysNobody) yield* failOrPay
  yield* compare(running.engine, model, present)
  happened.prizes += model.won.size
  expect(running.broken).toEqual([])
  yield* running.close()
})

const compare = Effect.fnUntraced(function* (
  engine: Engine["Service"],
  model: ContestModel,
  present: ReadonlySet<string>,
) {
  for (const userId of present) {
    const points = (yield* engine.readUser(sandbox, userId))?.points
    expect([userId, points]).toEqual([userId, model.won.get(userId) ?? 0])
  }
  const now = yield* Clock.currentTimeMillis
  yield* compareBoard(engine, model, "all_time", 0)
  for (const kind of timedWindows) {
    const open = model.current(kind, now)
    for (const index of [open, open - 1, open - 2]) yield* compareBoard(engine, model, kind, index)
  }
})

const firstOf = (kind: TimedWindow, index: number): number =>
  kind === "days" ? dayOf(span.anchor)! + span.days * index : firstDayOf(kind, index)

const compareBoard = Effect.fnUntraced(function* (
  engine: Engine["Service"],
  model: ContestModel,
  kind: "all_time" | TimedWindow,
  index: number,
) {
  const at = kind === "all_time" ? {} : { at: dateOf(firstOf(kind, index)) }
  const expected = model.board(kind, index)
  for (const order of boardOrders) {
    const page = yield* engine.readTeamBoard(sandbox, {
      board: `ldb_${order}`,
      window: kind,
      ...at,
      limit: 100,
      offset: 0,
    })
    const found = page.entries.map(({ score, team }) => [team.id, score])
    const rows = expected.map(({ score, team }) => [team.split(" ")[0], score] as const)
    // Of equal scores, the one that was reached first comes first in both orders.
    const sign = order === "asc" ? 1 : -1
    const sorted = rows.toSorted(([, one], [, other]) => sign * (one - other))
    expect({ kind, index, order, found }).toEqual({ kind, index, order, found: sorted })
    expect(page.entries.map(({ rank }) => rank)).toEqual(sorted.map((_, place) => place + 1))
  }
})
