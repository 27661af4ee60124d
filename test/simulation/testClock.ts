/**
 * One seeded run of test clocks: advances of a sandbox, alone, two at once and beside events, with
 * the process killed at any call of its storage, while time passes. Beside it are production and
 * another sandbox, which must keep the server's time.
 *
 * The model knows of each user only the days with events, and of each window only who earned in it.
 * It says when each streak was at risk and broke and each window ended, and the journal must say the same, at that
 * time: an advance makes nothing late, only the server's time that passed between does.
 */
import { expect } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { isAdvancing } from "../../src/domain/project/Project.ts"
import { decidedAt, type JournalRecord } from "../../src/domain/record/Record.ts"
import { windowKinds, zoneOf } from "../../src/domain/values/Calendar.ts"
import { limits } from "../../src/Limits.ts"
import { yieldToEventLoop } from "../../src/storage/yieldToEventLoop.ts"
import { streakWith } from "../domain/definitions.ts"
import {
  event,
  type Fixture,
  production,
  recordsOf,
  rule,
  sandbox,
  start,
} from "../engine/fixture.ts"
import * as MemoryStorage from "../storage/MemoryStorage.ts"
import { Random } from "./random.ts"
import { type Life, stoppingWorld } from "./stoppingWorld.ts"

const hour = 3_600_000
const day = 24 * hour
const beginning = "2026-11-04T12:00:00.000Z"
const otherSandbox = "prj_2:sandbox"
const environments = [sandbox, otherSandbox, production]
const zones = ["UTC", "Europe/Berlin", "Asia/Tokyo", "America/New_York"]
const users = ["ada", "bob", "cyd", "dan"]
const hoursBefore = 4
const streak = streakWith({ id: "stk_daily", atRisk: { hoursBefore } })

/** What the model expects of an environment: each change by time, and the time at which it is due. */
type Due = ReadonlyMap<string, number>

/** The streaks and windows of an environment by the events in its records. */
const dueOf = (
  records: ReadonlyArray<JournalRecord>,
  zoneOfUser: (userId: string) => string,
  zoneOfProject: string,
): Due => {
  const due = new Map<string, number>()
  const warned = new Set<string>()
  const lastDay = new Map<string, number>()
  for (const record of records) {
    const { cause, facts, subject } = record
    if (subject.actor !== "user") continue
    const { userId } = subject
    for (const fact of facts) {
      if (fact.kind === "streak.at_risk") warned.add(`${userId} at risk ${fact.period}`)
    }
    if (cause.kind !== "event") continue
    const at = decidedAt(record)
    const zone = zoneOf(zoneOfUser(userId))
    const today = zone.dayAt(at)
    const before = lastDay.get(userId)
    // The day extends the streak, so the break that would have come does not.
    if (before !== undefined && today <= before + 1) due.delete(`${userId} ${before}`)
    // Nor does the warning, unless it came before.
    const risk = `${userId} at risk ${today}`
    if (!warned.has(risk) && at < (due.get(risk) ?? 0) + 1_000) due.delete(risk)
    due.set(`${userId} at risk ${today + 1}`, zone.startOfDay(today + 2) - hoursBefore * hour)
    lastDay.set(userId, today)
    due.set(`${userId} ${today}`, zone.startOfDay(today + 2))
    const ofProject = zoneOf(zoneOfProject)
    for (const kind of windowKinds) {
      const index = ofProject.windowAt(kind, at)
      due.set(`${kind} ${index}`, ofProject.windowBounds(kind, index).endsAt)
    }
  }
  return due
}

/** The changes by time that the records have, and when they were decided. */
const decidedOf = (
  records: ReadonlyArray<JournalRecord>,
  zoneOfUser: (userId: string) => string,
): ReadonlyMap<string, number> => {
  const decided = new Map<string, number>()
  const add = (name: string, record: JournalRecord) => {
    expect(decided.has(name) ? name : "").toBe("")
    decided.set(name, decidedAt(record))
  }
  const lastDay = new Map<string, number>()
  for (const record of records) {
    const { cause, facts, subject } = record
    if (subject.actor === "user" && cause.kind === "event") {
      const zone = zoneOf(zoneOfUser(subject.userId))
      // An event after a break may find the break not noted yet, and notes it itself.
      for (const { kind } of facts) {
        if (kind === "streak.broken")
          add(`${subject.userId} ${lastDay.get(subject.userId)}`, record)
      }
      lastDay.set(subject.userId, zone.dayAt(decidedAt(record)))
      continue
    }
    for (const fact of facts) {
      if (fact.kind === "streak.broken" && subject.actor === "user") {
        add(`${subject.userId} ${lastDay.get(subject.userId)}`, record)
      }
      if (fact.kind === "streak.at_risk" && subject.actor === "user") {
        add(`${subject.userId} at risk ${fact.period}`, record)
      }
      if (fact.kind === "leaderboard.window_closed") add(`${fact.window} ${fact.index}`, record)
    }
  }
  return decided
}

export const simulateTestClocks = Effect.fnUntraced(function* (seed: number, steps: number) {
  const random = new Random(seed)
  const state = new MemoryStorage.MemoryState()
  yield* TestClock.setTime(Date.parse(beginning))
  let now = Date.parse(beginning)
  const projectZone = random.pick(zones)
  const userZones = new Map(users.map((userId) => [userId, random.pick(zones)]))
  const zoneOfUser = (userId: string) => userZones.get(userId)!
  let life: Life
  const counts = { advances: 0, kills: 0, refused: 0 }
  let running: Fixture

  const pass = (ms: number) =>
    Effect.suspend(() => {
      now += ms
      return TestClock.adjust(ms)
    })
  const turn = Effect.andThen(pass(1), yieldToEventLoop)

  const open = Effect.suspend(() => {
    life = { alive: true, callsLeft: Infinity, lastKept: false, onEnd: () => {} }
    const storage = stoppingWorld(MemoryStorage.make({ state }), life)
    return start(storage, { clockCheckMs: day, snapshotIntervalMs: random.pick([3_600_000, day]) })
  })
  const reopen = Effect.gen(function* () {
    yield* running.close("kill")
    running = yield* open
  })

  /** How late anything may be: all time of the server that has passed since the last check. */
  let checkedAt = now
  const ofEnvironment = (environment: string) =>
    recordsOf(state).filter(
      ({ subject }) => subject.actor !== "directory" && subject.environment === environment,
    )
  const isMissing = (environment: string) => {
    const decided = decidedOf(ofEnvironment(environment), zoneOfUser)
    const due = dueOf(ofEnvironment(environment), zoneOfUser, projectZone)
    const through = running.engine.timeIn(environment) - 1_000
    return [...due].some(([name, at]) => at <= through && !decided.has(name))
  }
  const check = Effect.gen(function* () {
    for (let calm = 0; calm < 5; calm++) yield* turn
    // Time that passes at once gives the ticker no turns: what became due in it waits for the groups
    // of other environments and their pauses.
    for (let turns = 0; turns < 20 && environments.some(isMissing); turns++) {
      yield* pass(limits.agendaPauseMs)
      yield* yieldToEventLoop
    }
    const all = recordsOf(state)
    for (const [index, { at }] of all.entries()) {
      expect(at).toBeGreaterThanOrEqual(all[index - 1]?.at ?? 0)
    }
    for (const environment of environments) {
      const records = ofEnvironment(environment)
      for (const [index, record] of records.entries()) {
        expect(decidedAt(record)).toBeGreaterThanOrEqual(
          index === 0 ? 0 : decidedAt(records[index - 1]!),
        )
        if (environment !== sandbox) expect(record.aheadMs).toBeUndefined()
      }
      const time = running.engine.timeIn(environment)
      if (environment !== sandbox) expect(time).toBe(running.engine.now())
      expect(time).toBeGreaterThanOrEqual(Math.max(0, ...records.map(decidedAt)))
      const due = dueOf(records, zoneOfUser, projectZone)
      const decided = decidedOf(records, zoneOfUser)
      for (const [name, at] of due) {
        const found = decided.get(name)
        // What is due within this second may still come.
        if (at <= time - 1_000 || found !== undefined) {
          expect([environment, name, found === undefined]).toEqual([environment, name, false])
          expect(found! - at).toBeGreaterThanOrEqual(0)
        }
        if (found !== undefined && !late.has(`${environment} ${name}`)) {
          late.set(`${environment} ${name}`, found - at)
          const allowed = now - checkedAt + 1_000
          const lateMs = Math.max(0, found - at - allowed)
          expect([environment, name, lateMs]).toEqual([environment, name, 0])
        }
      }
      expect([...decided.keys()].filter((name) => !due.has(name))).toEqual([])
    }
    checkedAt = now
  })
  const late = new Map<string, number>()

  const tap = (environment: string) =>
    Effect.exit(running.engine.askUser(environment, event(random.pick(users), "TAP")))

  const finished = Effect.gen(function* () {
    for (let turns = 0; life.alive && isAdvancing(running.engine.projectNow(sandbox)); turns++) {
      expect(turns).toBeLessThan(5_000)
      yield* turn
    }
  })

  /** Advances, perhaps twice at once, beside events, and with a kill at any call of the storage. */
  const advance = Effect.gen(function* () {
    const from = running.engine.timeIn(sandbox)
    const targets = Array.from(
      { length: random.pick([1, 1, 2, 3]) },
      () =>
        from +
        random.pick([1, 60_000, day / 2, day, 2 * day, 9 * day, 40 * day]) +
        random.integer(0, 5_000),
    )
    if (random.chance(0.5)) {
      life.callsLeft = random.integer(0, 25)
      life.lastKept = random.chance(0.5)
    }
    const asked = yield* Effect.forkChild(
      Effect.forEach(
        targets,
        (to) => Effect.result(running.engine.askProject(sandbox, { kind: "advanceClock", to })),
        { concurrency: "unbounded" },
      ),
      { startImmediately: true },
    )
    const sent = yield* Effect.forkChild(
      Effect.forEach(Array.from({ length: random.integer(0, 6) }), () =>
        Effect.andThen(yieldToEventLoop, tap(random.pick(environments))),
      ),
      { startImmediately: true },
    )
    const isOver = () => asked.pollUnsafe() !== undefined && sent.pollUnsafe() !== undefined
    for (let turns = 0; life.alive && !isOver(); turns++) {
      expect(turns).toBeLessThan(5_000)
      yield* turn
    }
    yield* finished
    if (!life.alive) {
      counts.kills++
      yield* Fiber.interrupt(asked)
      yield* Fiber.interrupt(sent)
      yield* reopen
      yield* finished
      return
    }
    life.callsLeft = Infinity
    const outcomes = yield* Fiber.join(asked)
    yield* Fiber.join(sent)
    for (const [index, { _tag }] of outcomes.entries()) {
      if (_tag === "Failure") counts.refused++
      else {
        counts.advances++
        expect(running.engine.timeIn(sandbox)).toBeGreaterThanOrEqual(targets[index]!)
      }
    }
  })

  running = yield* open
  for (const environment of environments) {
    const change = { timezone: projectZone }
    yield* running.engine.askProject(environment, { kind: "updateSettings", change })
    yield* running.engine.askProject(environment, { kind: "createStreak", streak })
    yield* running.engine.askProject(environment, rule("TAP", 5))
    for (const [userId, timezone] of userZones) {
      const command = { kind: "profile", change: { timezone } } as const
      yield* running.engine.askUser(environment, { userId, command })
    }
  }
  // A run without an advance or a kill would prove little: it goes on until it has both.
  const lacks = () => Math.min(counts.advances, counts.kills) === 0
  for (let step = 0; step < steps || (lacks() && step < 10 * steps); step++) {
    const kind = random.next()
    if (kind < 0.4) yield* tap(random.pick(environments))
    else if (kind < 0.5) yield* pass(random.pick([1_000, 3_600_000, day]))
    else if (kind < 0.6) yield* reopen
    else yield* advance
    yield* check
    expect(running.broken).toEqual([])
  }
  yield* running.close()
  return counts
})
