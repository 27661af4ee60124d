/** Active users and retention of an engine: a year by construction, and random users. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { shownRetentionDays } from "../../../src/domain/user/ActivityOfAll.ts"
import { recordNameOf } from "../../../src/domain/values/Ids.ts"
import type { Engine } from "../../../src/engine/Engine.ts"
import { activityOf } from "../../../src/http/handlers/analyticsHandlers.ts"
import { retentionOf } from "../../../src/http/handlers/retentionResults.ts"
import { limits } from "../../../src/Limits.ts"
import { naiveDay, naiveReturned } from "../../domain/user/naiveActivity.ts"
import { Random, seeds } from "../../simulation/random.ts"
import * as MemoryStorage from "../../storage/MemoryStorage.ts"
import { event, rule, sandbox, startInMemory } from "../fixture.ts"

type Engined = Engine["Service"]

const dayMs = 86_400_000
const now = Date.parse("2026-11-27T18:00:00Z")
const today = Math.floor(now / dayMs)
const dateOf = (day: number) => new Date(day * dayMs).toISOString().slice(0, 10)

const did = (userId: string, day: number) =>
  event(userId, "TAP", { occurredAt: day * dayMs + 3_600_000, imported: true })

/** Makes what was counted before old. */
const wait = TestClock.adjust("10 minutes")

/** Of the users who begin on a day, so many come back on a later day. */
const begin = 4
const comeBack = new Map([
  [1, 3],
  [7, 2],
  [14, 2],
  [30, 1],
  [60, 2],
  [90, 1],
])
const yearDays = 365

/** Sends a year in which as many users as `begin` begin on each day, up to today. */
const sendYear = Effect.fnUntraced(function* (engine: Engined) {
  for (let ago = yearDays; ago >= 0; ago--) {
    const began = today - ago
    const messages = Array.from({ length: begin }, (_, n) => did(`u${began}-${n}`, began))
    for (const [after, users] of comeBack) {
      if (began + after > today) continue
      // Twice, since the number of events of a day makes no difference.
      for (let n = 0; n < users; n++) {
        messages.push(did(`u${began}-${n}`, began + after), did(`u${began}-${n}`, began + after))
      }
    }
    yield* engine.tellUsers(sandbox, messages)
  }
})

describe("A year of a product", () => {
  it.effect(
    "has the active users and the retention of its construction, also after a restart",
    () =>
      Effect.gen(function* () {
        yield* TestClock.setTime(now)
        const state = new MemoryStorage.MemoryState()
        const first = yield* startInMemory({ state })
        yield* first.engine.askProject(sandbox, rule("TAP", 10))
        yield* sendYear(first.engine)
        yield* first.close("kill")
        const { engine } = yield* startInMemory({ state })
        const from = dateOf(today - yearDays)
        const { days } = yield* activityOf(engine, sandbox, { from })
        expect(days).toHaveLength(yearDays + 1)
        const returning = [...comeBack.values()].reduce((sum, users) => sum + users, 0)
        for (const [n, day] of days.entries()) {
          const came = [...comeBack].filter(([after]) => after <= n)
          const back = came.reduce((sum, [, users]) => sum + users, 0)
          expect(day).toMatchObject({
            date: dateOf(today - yearDays + n),
            complete: n < yearDays,
            dau: begin + back,
            newUsers: begin,
            returningUsers: back,
            events: begin + 2 * back,
            xp: 10 * (begin + 2 * back),
          })
        }
        // Of each 30 days: all who began, and those who began before and came back.
        const last = days.at(-1)!
        expect(last).toMatchObject({ dau: begin + returning, mau: monthly(), wau: weekly() })
        expect(last.stickiness).toBe(Math.round((10_000 * last.dau!) / last.mau!) / 10_000)

        for (const by of ["day", "week"] as const) {
          const { cohorts, curve } = yield* retentionOf(engine, sandbox, { by, from })
          const whole = cohorts!.slice(by === "day" ? 0 : 1, -1)
          expect(whole.length).toBeGreaterThan(50)
          for (const cohort of whole) {
            expect(cohort.users).toBe(by === "day" ? begin : 7 * begin)
            for (const { day, of, share, users } of cohort.days) {
              if (of === 0) continue
              expect([of % begin, users]).toEqual([0, (of * comeBack.get(day)!) / begin])
              expect(share).toBe(comeBack.get(day)! / begin)
            }
          }
          expect(curve).toHaveLength(91)
          for (const { day, share } of curve!) {
            expect([day, share]).toEqual([day, day === 0 ? 1 : (comeBack.get(day) ?? 0) / begin])
          }
        }
        const { cohorts } = yield* retentionOf(engine, sandbox, { from: dateOf(today - 7) })
        // Day 7 of those who began 7 days ago is today, which has not ended.
        expect(cohorts![0]!.days.map(({ day, of, share }) => [day, of, share]).slice(0, 2)).toEqual(
          [
            [1, begin, 0.75],
            [7, 0, null],
          ],
        )
      }),
  )
})

/** The users with an event on the last day or the days before it. */
const activeWithin = (days: number): number => {
  let users = 0
  for (let ago = 0; ago <= yearDays; ago++) {
    for (let n = 0; n < begin; n++) {
      const came = [0, ...[...comeBack].flatMap(([after, count]) => (n < count ? [after] : []))]
      if (came.some((after) => ago - after >= 0 && ago - after < days)) users++
    }
  }
  return users
}
const weekly = () => activeWithin(7)
const monthly = () => activeWithin(30)

interface Entry {
  readonly id: string
  readonly day: number
  undone: boolean
}

/** Users whom nothing but their events describe. */
class Model {
  readonly users = new Map<string, Array<Entry>>()

  agrees = Effect.fnUntraced(function* (this: Model, engine: Engined) {
    yield* wait
    const days = new Map(
      [...this.users].map(([userId, entries]) => [
        userId,
        new Set(entries.filter(({ undone }) => !undone).map(({ day }) => day)),
      ]),
    )
    const { result } = yield* engine.readActiveUsers(sandbox)
    const activity = result!
    for (let day = today - 110; day <= today; day++) {
      expect([day, activity.on(day)]).toEqual([day, naiveDay(days, day)])
      for (const after of [0, ...shownRetentionDays]) {
        expect(activity.returned(day, after)).toBe(naiveReturned(days, day, after))
      }
    }
  })
}

describe("Active users", () => {
  for (const seed of seeds(3)) {
    it.effect(
      `agree with a naive count after events, undo, merges, erasures and crashes; LAUREL_TEST_SEED=${seed}`,
      () =>
        Effect.gen(function* () {
          yield* TestClock.setTime(now)
          const random = new Random(seed)
          const state = new MemoryStorage.MemoryState()
          let running = yield* startInMemory({ state }, { snapshotIntervalMs: 60_000 })
          const model = new Model()
          let made = 0
          for (let step = 0; step < 240; step++) {
            const { engine } = running
            const known = [...model.users.keys()]
            const userId = random.pick([...known, `user${made++}`])
            const entries = model.users.get(userId) ?? []
            const what = random.integer(0, 19)
            const undoable = entries.filter(({ undone }) => !undone)
            if (what < 13 || entries.length === 0) {
              const day = today - random.integer(0, 100)
              const { reply } = yield* engine.askUser(sandbox, did(userId, day))
              const { eventId: id } = reply as { readonly eventId: string }
              model.users.set(userId, [...entries, { id, day, undone: false }])
            } else if (what < 17 && undoable.length > 0) {
              const entry = random.pick(undoable)
              const name = recordNameOf("evt", entry.id)!
              const command = { kind: "revocation", of: "event", ...name } as const
              yield* engine.askUser(sandbox, { userId, command })
              entry.undone = true
            } else if (what === 17) {
              yield* engine.askUser(sandbox, { userId, command: { kind: "erasure" } })
              model.users.delete(userId)
            } else if (what === 18 && known.length > 1) {
              const into = random.pick(known.filter((other) => other !== userId))
              yield* engine.askUser(sandbox, { userId, command: { kind: "merge", into } })
              model.users.set(into, [...model.users.get(into)!, ...entries])
              model.users.delete(userId)
            } else if (what === 19) {
              yield* running.close("kill")
              running = yield* startInMemory({ state }, { snapshotIntervalMs: 60_000 })
            }
            if (step % 40 === 0) yield* model.agrees(running.engine)
          }
          yield* model.agrees(running.engine)
          yield* running.close()
        }),
    )
  }

  it.effect(
    "are counted again for a read that follows a write, and once while nothing is old",
    () =>
      Effect.gen(function* () {
        yield* TestClock.setTime(now)
        const { engine } = yield* startInMemory()
        yield* engine.askUser(sandbox, event("ada", "TAP"))
        const first = yield* engine.readActiveUsers(sandbox)
        expect(first.result!.on(today).daily).toBe(1)
        expect((yield* engine.readActiveUsers(sandbox)).result).toBe(first.result)
        yield* engine.askUser(sandbox, event("bob", "TAP"))
        yield* wait
        const second = yield* engine.readActiveUsers(sandbox)
        expect(second.result!.on(today).daily).toBe(2)
        expect(second).toMatchObject({ counting: false, countedAt: now + 600_000 })
      }),
  )

  it.effect("of the environments that were read last are kept, and counted anew for others", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(now)
      const { engine } = yield* startInMemory()
      const read = (n: number) =>
        Effect.map(engine.readActiveUsers(`p${n}:sandbox`), ({ result }) => result!)
      const first = yield* read(0)
      const second = yield* read(1)
      for (let n = 2; n < limits.activityResultsMax; n++) yield* read(n)
      expect(yield* read(0)).toBe(first)
      // One more than are kept: the second was read longest ago.
      yield* read(limits.activityResultsMax)
      expect(yield* read(0)).toBe(first)
      expect(yield* read(1)).not.toBe(second)
    }),
  )

  it.effect("of more ranges at once than are kept are all counted", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(now)
      const { engine } = yield* startInMemory()
      yield* engine.askUser(sandbox, event("ada", "TAP"))
      const ranges = Array.from({ length: 3 * limits.activityResultsMax }, (_, ago) => today - ago)
      const counts = yield* Effect.forEach(
        ranges,
        (from) => engine.readUsersOfRange(sandbox, from, today, "counted"),
        { concurrency: "unbounded" },
      )
      expect(counts.map(({ result }) => result?.users)).toEqual(ranges.map(() => 1))
    }),
  )
})
