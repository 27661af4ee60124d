/**
 * A leaderboard with a grace against a naive model: a list of earnings, days of a paper calendar, and
 * the rows of each window as they were when its grace ended. Late events and undos arrive in the grace
 * and after it, users are hidden, the server is stopped and killed, also in the middle of a snapshot.
 */
import { describe, expect, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { TestClock } from "effect/testing"
import { namedWindows } from "../../src/domain/project/BoardDefinition.ts"
import type { BoardPrize } from "../../src/domain/project/BoardPrize.ts"
import {
  type DaysWindow,
  dateOf,
  dayOf,
  firstDayOf,
  type TimedWindow,
  timedWindows,
} from "../../src/domain/values/Calendar.ts"
import { recordNameOf } from "../../src/domain/values/Ids.ts"
import { event, rule, sandbox } from "../engine/fixture.ts"
import * as MemoryStorage from "../storage/MemoryStorage.ts"
import { dateAt, numberOf } from "./model/calendar.ts"
import { Random, seeds } from "./random.ts"
import {
  beginnings,
  openTroubled,
  SnapshotDisk,
  settlePayouts,
  troubleSnapshot,
} from "./windowEngine.ts"

const minute = 60_000
const quarter = 15 * minute
const hour = 60 * minute
const board = "ldb_grace"

const zones = ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu"]

const localDay = (zone: string, ms: number): number => numberOf(dateAt(zone, ms))

const windowOf = (kind: TimedWindow, { anchor, days }: DaysWindow, day: number): number => {
  if (kind === "daily") return day
  if (kind === "days") return Math.floor((day - Date.parse(anchor) / (24 * hour)) / days)
  if (kind === "weekly") return Math.floor((day + 3) / 7)
  const date = new Date(day * 24 * hour)
  return (date.getUTCFullYear() - 1970) * 12 + date.getUTCMonth()
}

interface Earned {
  readonly userId: string
  readonly eventId: string
  readonly windows: { readonly [Kind in TimedWindow]?: number }
  undone: boolean
}

class GraceModel {
  readonly earned: Array<Earned> = []
  readonly hidden = new Set<string>()
  readonly closed = new Map<string, ReadonlyArray<readonly [string, number]>>()
  readonly won = new Map<string, number>()
  readonly #zone: string
  readonly #graceMs: number
  readonly #span: DaysWindow
  now: number

  constructor(now: number, zone: string, graceMs: number, span: DaysWindow) {
    this.#span = span
    this.now = now
    this.#zone = zone
    this.#graceMs = graceMs
  }

  windowAt(kind: TimedWindow, ms: number): number {
    return windowOf(kind, this.#span, localDay(this.#zone, ms))
  }

  isOver(kind: TimedWindow, window: number): boolean {
    return window < this.windowAt(kind, this.now - this.#graceMs)
  }

  earn(userId: string, eventId: string, occurredAt: number): void {
    const windows: { [Kind in TimedWindow]?: number } = {}
    for (const kind of timedWindows) {
      const window = this.windowAt(kind, occurredAt)
      if (!this.isOver(kind, window)) windows[kind] = window
    }
    this.earned.push({ userId, eventId, windows, undone: false })
  }

  rows(kind: TimedWindow, window: number): ReadonlyArray<readonly [string, number]> {
    const closed = this.closed.get(`${kind} ${window}`)
    if (closed !== undefined) return closed
    const scores = new Map<string, number>()
    for (const { undone, userId, windows } of this.earned) {
      if (undone || this.hidden.has(userId) || windows[kind] !== window) continue
      scores.set(userId, (scores.get(userId) ?? 0) + 3)
    }
    return [...scores].sort()
  }

  /** To the next quarter of an hour, at which windows close. */
  advance(to: number): void {
    while (this.now < to) {
      this.now = Math.min(to, Math.floor(this.now / quarter + 1) * quarter)
      for (const kind of timedWindows) {
        for (const window of new Set(this.earned.map(({ windows }) => windows[kind]))) {
          if (window === undefined || !this.isOver(kind, window)) continue
          const name = `${kind} ${window}`
          if (this.closed.has(name)) continue
          const rows = this.rows(kind, window)
          this.closed.set(name, rows)
          const best = Math.max(...rows.map(([, score]) => score))
          for (const [userId, score] of kind === "daily" || kind === "days" ? rows : []) {
            if (score === best) this.won.set(userId, (this.won.get(userId) ?? 0) + 1)
          }
        }
      }
    }
  }

  hide(userId: string): void {
    this.hidden.add(userId)
    for (const [name, rows] of this.closed) {
      this.closed.set(
        name,
        rows.filter(([listed]) => listed !== userId),
      )
    }
  }
}

const simulateGrace = Effect.fnUntraced(function* (seed: number, steps: number) {
  const random = new Random(seed)
  yield* TestClock.setTime(Date.parse(random.pick(beginnings)))
  const zone = random.pick(zones)
  const graceMinutes = random.pick([15, 60, 360, 705, 720])
  const span = { days: 2 + (Math.abs(seed) % 2), anchor: "2026-10-23" }
  const model = new GraceModel(yield* Clock.currentTimeMillis, zone, graceMinutes * minute, span)
  const state = new MemoryStorage.MemoryState()
  const disk = new SnapshotDisk()
  const open = openTroubled(state, disk, seed)
  let running = yield* open
  const users = ["u1", "u2", "u3", "u4", "u5", "u6"]
  yield* running.engine.askProject(sandbox, { kind: "updateSettings", change: { timezone: zone } })
  yield* running.engine.askProject(sandbox, rule("TAP", 3))
  const reward = { xp: 0, points: 1, badgeId: null }
  const prizes = (["daily", "days"] as const).map(
    (window): BoardPrize => ({ window, ranks: [1, 1], reward }),
  )
  yield* running.engine.askProject(sandbox, {
    kind: "createLeaderboard",
    leaderboard: {
      id: board,
      name: "Grace",
      score: { currency: "xp" },
      windows: [...namedWindows, span],
      graceMinutes,
      prizes,
    },
  })

  const pass = Effect.fnUntraced(function* (ms: number) {
    yield* TestClock.adjust(ms)
    yield* settlePayouts(running)
    model.advance(yield* Clock.currentTimeMillis)
  })

  const earn = Effect.gen(function* () {
    const userId = random.pick(users)
    const late = random.chance(0.6) ? random.integer(0, 30 * 60) * minute : 0
    const occurredAt = model.now - late
    const { reply } = yield* running.engine.askUser(sandbox, event(userId, "TAP", { occurredAt }))
    model.earn(userId, reply.eventId, occurredAt)
  })

  const undo = Effect.gen(function* () {
    const standing = model.earned.filter(({ undone }) => !undone)
    if (standing.length === 0) return
    const chosen = random.pick(standing.slice(-8))
    const name = recordNameOf("evt", chosen.eventId)!
    const command = { kind: "revocation", of: "event", ...name } as const
    yield* running.engine.askUser(sandbox, { userId: chosen.userId, command })
    chosen.undone = true
  })

  const compare = Effect.gen(function* () {
    for (const userId of users) {
      const points = (yield* running.engine.readUser(sandbox, userId))?.points ?? 0
      expect([userId, points]).toEqual([userId, model.won.get(userId) ?? 0])
    }
    for (const kind of timedWindows) {
      const present = model.windowAt(kind, model.now)
      for (const window of [present, present - 1, present - 2]) {
        const first =
          kind === "days" ? dayOf(span.anchor)! + span.days * window : firstDayOf(kind, window)
        const at = dateOf(first)
        const query = { board, window: kind, at, limit: 100, offset: 0 }
        const { closed, entries } = yield* running.engine.readBoard(sandbox, query)
        const rows = entries.map(({ score, userId }) => [userId, score] as const).sort()
        expect([kind, at, closed, rows]).toEqual([
          kind,
          at,
          model.isOver(kind, window),
          model.rows(kind, window),
        ])
      }
    }
  })

  for (let step = 0; step < steps; step++) {
    const kind = random.next()
    if (kind < 0.5) yield* earn
    else if (kind < 0.6) yield* undo
    else if (kind < 0.65) {
      const userId = random.pick(users)
      // For good: a window that lists nobody at its end closes later, with who is shown again.
      if (random.chance(0.7)) continue
      const command = { kind: "profile", change: { hidden: true } } as const
      yield* running.engine.askUser(sandbox, { userId, command })
      model.hide(userId)
    } else if (kind < 0.7) {
      let isKilled = random.chance(0.6)
      if (isKilled) {
        const others = [earn, earn, undo]
        const isDead = yield* troubleSnapshot(disk, random, pass(5 * hour), others)
        isKilled = isDead || random.chance(0.5)
      }
      yield* running.close(isKilled ? "kill" : undefined)
      if (random.chance(0.5)) yield* TestClock.adjust(random.integer(1, 30) * hour)
      running = yield* open
      yield* pass(1)
    } else yield* pass(random.integer(1, 40) * quarter + random.integer(0, 3) * minute)
    yield* compare
  }
  expect(running.broken).toEqual([])
  yield* running.close()
})

describe("A leaderboard with a grace", () => {
  it.effect.each(seeds(5))(
    "takes late events and undos until its grace ends, over crashes; LAUREL_TEST_SEED=%i",
    (seed) => simulateGrace(seed, 150),
  )
})
