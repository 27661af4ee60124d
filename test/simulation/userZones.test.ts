/**
 * A leaderboard by the calendars of users against a naive model: a list of earnings, each with the
 * window of the date in the user's zone, and the rows of each window as they were when
 * it had ended everywhere. Users and the project change their zones, to the west too. Late events and
 * undos arrive, users are hidden and merged, the server is stopped and killed, also in the middle of a
 * snapshot.
 */
import { describe, expect, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { TestClock } from "effect/testing"
import { afterAll } from "vitest"
import type { BoardPrize } from "../../src/domain/project/BoardPrize.ts"
import { recordNameOf } from "../../src/domain/values/Ids.ts"
import type { UserMessage } from "../../src/engine/actor/Actor.ts"
import { event, rule, sandbox } from "../engine/fixture.ts"
import * as MemoryStorage from "../storage/MemoryStorage.ts"
import { dateAt, numberOf } from "./model/calendar.ts"
import { Random, seedsAfter } from "./random.ts"
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
const day = 24 * hour
const board = "ldb_local"

/** The first and the last of the world among them. */
const zones = [
  "Pacific/Kiritimati",
  "Etc/GMT+12",
  "Europe/Berlin",
  "America/New_York",
  "Asia/Kathmandu",
  "UTC",
]
const kinds = ["days", "weekly", "monthly"] as const
type Kind = (typeof kinds)[number]
const anchor = Date.parse("2026-10-23") / day

const dateIn = (zone: string, ms: number): number => numberOf(dateAt(zone, ms))

interface Earned {
  userId: string
  readonly eventId: string
  readonly windows: { readonly [Of in Kind]?: number }
  undone: boolean
}

class LocalModel {
  readonly earned: Array<Earned> = []
  readonly hidden = new Set<string>()
  readonly zones = new Map<string, string>()
  readonly won = new Map<string, number>()
  projectZone: string
  now: number
  readonly #days: number
  readonly #graceMs: number
  readonly #closed = new Map<string, ReadonlyArray<readonly [string, number]>>()

  constructor(now: number, projectZone: string, graceMs: number, days: number) {
    this.now = now
    this.projectZone = projectZone
    this.#graceMs = graceMs
    this.#days = days
  }

  windowOf(kind: Kind, date: number): number {
    if (kind === "days") return Math.floor((date - anchor) / this.#days)
    if (kind === "weekly") return Math.floor((date + 3) / 7)
    const { 0: year, 1: month } = new Date(date * day).toISOString().split("-")
    return Number(year) * 12 + Number(month)
  }

  /** A day in the window. */
  dateIn(kind: Kind, window: number): string {
    let date = dateIn("UTC", this.now)
    while (this.windowOf(kind, date) > window) date--
    while (this.windowOf(kind, date) < window) date++
    return new Date(date * day).toISOString().slice(0, 10)
  }

  /** The newest window that has begun anywhere. */
  newest(kind: Kind): number {
    return this.windowOf(kind, Math.floor((this.now + 14 * hour) / day))
  }

  /** Whether the window has ended twelve hours behind UTC, and its grace. */
  isOver(kind: Kind, window: number): boolean {
    const last = Math.floor((this.now - 12 * hour - this.#graceMs) / day)
    return window < this.windowOf(kind, last)
  }

  earn(userId: string, eventId: string, occurredAt: number): void {
    const date = dateIn(this.zones.get(userId) ?? this.projectZone, occurredAt)
    const windows: { [Of in Kind]?: number } = {}
    for (const kind of kinds) {
      const window = this.windowOf(kind, date)
      if (!this.isOver(kind, window)) windows[kind] = window
    }
    this.earned.push({ userId, eventId, windows, undone: false })
  }

  rows(kind: Kind, window: number): ReadonlyArray<readonly [string, number]> {
    const closed = this.#closed.get(`${kind} ${window}`)
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
      for (const kind of kinds) {
        for (const window of new Set(this.earned.map(({ windows }) => windows[kind]))) {
          if (window === undefined || !this.isOver(kind, window)) continue
          const name = `${kind} ${window}`
          if (this.#closed.has(name)) continue
          const rows = this.rows(kind, window)
          this.#closed.set(name, rows)
          const best = Math.max(...rows.map(([, score]) => score))
          for (const [userId, score] of rows) if (score === best) this.pay(userId, 1)
        }
      }
    }
  }

  pay(userId: string, points: number): void {
    this.won.set(userId, (this.won.get(userId) ?? 0) + points)
  }

  /** Takes the user out of the closed windows. */
  leave(userId: string): void {
    for (const [name, rows] of this.#closed) {
      this.#closed.set(
        name,
        rows.filter(([listed]) => listed !== userId),
      )
    }
  }

  merge(from: string, into: string): void {
    this.leave(from)
    this.pay(into, this.won.get(from) ?? 0)
    this.won.delete(from)
    for (const one of this.earned) if (one.userId === from) one.userId = into
  }
}

const happened = { merges: 0, moves: 0, late: 0, prizes: 0, twoOpen: 0 }

const simulateZones = Effect.fnUntraced(function* (seed: number, steps: number) {
  const random = new Random(seed)
  yield* TestClock.setTime(Date.parse(random.pick(beginnings)))
  const projectZone = random.pick(zones)
  const graceMinutes = random.pick([0, 60, 705, 720])
  const days = random.pick([2, 3, 14])
  const now = yield* Clock.currentTimeMillis
  const model = new LocalModel(now, projectZone, graceMinutes * minute, days)
  const state = new MemoryStorage.MemoryState()
  const disk = new SnapshotDisk()
  const open = openTroubled(state, disk, seed)
  let running = yield* open
  const users = ["u1", "u2", "u3", "u4", "u5", "u6"]
  const ask = (command: Parameters<typeof running.engine.askProject>[1]) =>
    running.engine.askProject(sandbox, command)
  const askUser = (userId: string, command: UserMessage["command"]) =>
    running.engine.askUser(sandbox, { userId, command })
  yield* ask({ kind: "updateSettings", change: { timezone: projectZone } })
  yield* ask(rule("TAP", 3))
  const reward = { xp: 0, points: 1, badgeId: null }
  const prizes = kinds.map((window): BoardPrize => ({ window, ranks: [1, 1], reward }))
  yield* ask({
    kind: "createLeaderboard",
    leaderboard: {
      id: board,
      name: "Local",
      score: { currency: "xp" },
      windows: ["weekly", "monthly", { days, anchor: "2026-10-23" }],
      timeZone: "user",
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
    const late = random.chance(0.4) ? random.integer(0, 60 * 60) * minute : 0
    if (late > 0) happened.late++
    const occurredAt = model.now - late
    const { reply } = yield* running.engine.askUser(sandbox, event(userId, "TAP", { occurredAt }))
    model.earn(userId, reply.eventId, occurredAt)
    const own = model.earned.filter((one) => one.userId === userId && !one.undone)
    const isOpen = ({ windows }: Earned) => !model.isOver("days", windows.days ?? -1)
    if (new Set(own.filter(isOpen).map(({ windows }) => windows.days)).size > 1) happened.twoOpen++
  })

  const undo = Effect.gen(function* () {
    const standing = model.earned.filter(({ undone }) => !undone)
    if (standing.length === 0) return
    const chosen = random.pick(standing.slice(-8))
    const name = recordNameOf("evt", chosen.eventId)!
    yield* askUser(chosen.userId, { kind: "revocation", of: "event", ...name })
    chosen.undone = true
  })

  const move = Effect.gen(function* () {
    const timezone = random.pick(zones)
    happened.moves++
    if (random.chance(0.1)) {
      yield* ask({ kind: "updateSettings", change: { timezone } })
      model.projectZone = timezone
      return
    }
    const userId = random.pick(users)
    yield* askUser(userId, { kind: "profile", change: { timezone } })
    model.zones.set(userId, timezone)
  })

  const lose = Effect.gen(function* () {
    const userId = random.pick(users)
    if (random.chance(0.3)) {
      // For good: a window that lists nobody at its end closes later, with who is shown again.
      yield* askUser(userId, { kind: "profile", change: { hidden: true } })
      model.hidden.add(userId)
      model.leave(userId)
      return
    }
    const into = random.pick(users)
    const isThere = (id: string) => model.earned.some((one) => one.userId === id)
    const isShown = !model.hidden.has(userId) && !model.hidden.has(into)
    if (into === userId || !isShown || !isThere(userId) || !isThere(into)) return
    yield* askUser(userId, { kind: "merge", into })
    model.merge(userId, into)
    users.splice(users.indexOf(userId), 1, `${userId}+`)
    happened.merges++
  })

  const compare = Effect.gen(function* () {
    for (const userId of users) {
      const points = (yield* running.engine.readUser(sandbox, userId))?.points ?? 0
      expect([userId, points]).toEqual([userId, model.won.get(userId) ?? 0])
    }
    for (const kind of kinds) {
      const newest = model.newest(kind)
      for (const window of [newest, newest - 1, newest - 2]) {
        const at = model.dateIn(kind, window)
        const query = { board, window: kind, at, limit: 100, offset: 0 }
        const { closed, entries } = yield* running.engine.readBoard(sandbox, query)
        const rows = entries.map(({ score, userId }) => [userId, score] as const).sort()
        const isOver = model.isOver(kind, window)
        expect([kind, at, closed, rows]).toEqual([kind, at, isOver, model.rows(kind, window)])
      }
    }
  })

  for (let step = 0; step < steps; step++) {
    const kind = random.next()
    if (kind < 0.45) yield* earn
    else if (kind < 0.55) yield* undo
    else if (kind < 0.66) yield* move
    else if (kind < 0.69) yield* lose
    else if (kind < 0.75) {
      let isKilled = random.chance(0.6)
      if (isKilled) {
        const others = [earn, undo, move, lose]
        const isDead = yield* troubleSnapshot(disk, random, pass(5 * hour), others)
        isKilled = isDead || random.chance(0.5)
      }
      yield* running.close(isKilled ? "kill" : undefined)
      if (random.chance(0.5)) yield* TestClock.adjust(random.integer(1, 60) * hour)
      running = yield* open
      yield* pass(1)
    } else yield* pass(random.integer(1, 60) * quarter + random.integer(0, 3) * minute)
    yield* compare
  }
  happened.prizes += model.won.size
  expect(running.broken).toEqual([])
  yield* running.close()
})

describe("A leaderboard by the calendars of users", () => {
  it.effect.each(seedsAfter([1, 2, 3, 4, 5], 2))(
    "counts each score in one window, over changes of zones and crashes; LAUREL_TEST_SEED=%i",
    (seed) => simulateZones(seed, 150),
  )

  afterAll(() => {
    if (process.env.LAUREL_TEST_SEED !== undefined) return
    for (const [what, times] of Object.entries(happened)) {
      expect([what, times > 0]).toEqual([what, true])
    }
  })
})
