/** How many reminders were sent, and how many users came back: over kills, snapshots, merges and days. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import type { JournalRecord } from "../../../src/domain/record/Record.ts"
import { comebackMs } from "../../../src/domain/user/Comeback.ts"
import { ReminderCounts } from "../../../src/engine/actor/ReminderCounts.ts"
import { limits } from "../../../src/Limits.ts"
import { yieldToEventLoop } from "../../../src/storage/yieldToEventLoop.ts"
import * as MemoryStorage from "../../storage/MemoryStorage.ts"
import { event, type Fixture, sandbox, startInMemory } from "../fixture.ts"

const dayMs = 86_400_000
const at = (time: string) => TestClock.setTime(Date.parse(time))
const dayOf = (time: string) => Math.floor(Date.parse(time) / dayMs)

const tap = ({ engine }: Fixture, userId: string, more: object = {}) =>
  engine.askUser(sandbox, event(userId, "TAP", more))

const counted = Effect.fnUntraced(function* ({ engine }: Fixture, date: string) {
  const counts = yield* engine.readReminders(sandbox)
  const { returned, sent } = counts.on(dayOf(`${date}T00:00:00Z`), "user.inactive")
  return [sent, returned]
})

/** Reminders are sent in turns of the event loop, after the time has passed. */
const sentUntil = Effect.fnUntraced(function* (fixture: Fixture, date: string, count: number) {
  for (let turns = 0; turns < 1_000; turns++) {
    const [sent] = yield* counted(fixture, date)
    if (sent === count) return
    yield* yieldToEventLoop
  }
})

const quiet = { clockCheckMs: 3_600_000, snapshotIntervalMs: 3_600_000 }
const reminders = { hour: 10, inactiveDays: [1], unless: null }

describe("Reminders", () => {
  it.effect("count with those that an event follows within a day, also over kills", () =>
    Effect.gen(function* () {
      yield* at("2026-11-04T12:00:00Z")
      const state = new MemoryStorage.MemoryState()
      const first = yield* startInMemory({ state }, quiet)
      yield* first.engine.askProject(sandbox, { kind: "updateSettings", change: { reminders } })
      const users = ["ada", "bob", "cyd", "dan", "eve", "fay"]
      for (const userId of users) yield* tap(first, userId)
      yield* at("2026-11-05T10:00:01Z")
      yield* sentUntil(first, "2026-11-05", users.length)
      expect(yield* counted(first, "2026-11-05")).toEqual([6, 0])
      yield* tap(first, "ada")
      yield* tap(first, "ada")
      // It occurred before the reminder.
      yield* tap(first, "bob", { occurredAt: Date.parse("2026-11-05T09:59:59Z") })
      yield* tap(first, "cyd", { occurredAt: Date.parse("2026-11-05T10:00:01Z"), imported: true })
      expect(yield* counted(first, "2026-11-05")).toEqual([6, 1])
      yield* first.close("kill")
      const second = yield* startInMemory({ state }, quiet)
      expect(yield* counted(second, "2026-11-05")).toEqual([6, 1])
      yield* at("2026-11-05T23:00:00Z")
      yield* tap(second, "bob")
      const into = { userId: "eve", command: { kind: "merge", into: "fay" } } as const
      yield* second.engine.askUser(sandbox, into)
      yield* second.close()
      const third = yield* startInMemory({ state }, quiet)
      // Both were reminded, and one event of the user that they are now follows both.
      yield* tap(third, "fay")
      expect(yield* counted(third, "2026-11-05")).toEqual([6, 4])
      yield* at("2026-11-06T10:00:02Z")
      yield* tap(third, "dan")
      expect(yield* counted(third, "2026-11-05")).toEqual([6, 4])
    }),
  )
})

describe("The counts of reminders", () => {
  const record = (day: number, facts: JournalRecord["facts"]): JournalRecord => ({
    sequence: 1,
    at: day * dayMs,
    subject: { actor: "user", environment: sandbox, userId: "ada" },
    cause: { kind: "tick" },
    facts,
  })
  const inactive = { kind: "user.inactive", days: 1, lastDay: 1, day: 2 } as const

  it("are those of the latest days, and are stored whole", () => {
    const counts = new ReminderCounts()
    expect(counts.stored()).toEqual({})
    const first = 20_000
    expect(counts.fold(record(first, [inactive, inactive]))).toBe(true)
    const followed = [["user.inactive", first * dayMs + 1]] as const
    counts.fold(record(first + 1, [{ kind: "reminders.followed", reminders: followed }]))
    expect(counts.fold(record(first, [{ kind: "user.created" }]))).toBe(false)
    expect(counts.on(first, "user.inactive")).toEqual({ sent: 2, returned: 1 })
    expect(counts.on(first, "quest.ending")).toEqual({ sent: 0, returned: 0 })
    const last = first + limits.dayCountsMax - 1
    counts.fold(record(last, [inactive]))
    const loaded = new ReminderCounts()
    loaded.load(counts.stored().reminders!)
    expect(loaded.stored()).toEqual(counts.stored())
    expect(loaded.on(first, "user.inactive")).toEqual({ sent: 2, returned: 1 })
    loaded.fold(record(last + 1, [inactive]))
    expect(loaded.on(first, "user.inactive")).toEqual({ sent: 0, returned: 0 })
    loaded.fold(record(first, [inactive]))
    expect(loaded.on(first, "user.inactive")).toEqual({ sent: 0, returned: 0 })
    expect(comebackMs).toBe(dayMs)
  })
})
