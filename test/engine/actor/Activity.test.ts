import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { Activity } from "../../../src/engine/actor/Counts.ts"
import { limits } from "../../../src/Limits.ts"
import * as MemoryStorage from "../../storage/MemoryStorage.ts"
import { event, production, sandbox, start as startEngine } from "../fixture.ts"

const minute = 60_000
const start = 1_000_000 * minute
const minutes = limits.activityMinutes
const nothing = Array<number>(minutes).fill(0)

describe("Activity", () => {
  it("counts events by the minute of their decision, oldest first", () => {
    const activity = new Activity()
    activity.count(start)
    activity.count(start + minute - 1)
    activity.count(start + 2 * minute)
    expect(activity.perMinute(start + 2 * minute)).toEqual([...nothing.slice(3), 2, 0, 1])
    expect(activity.perMinute(start + 4 * minute)).toEqual([...nothing.slice(5), 2, 0, 1, 0, 0])
  })

  it("forgets a minute after activityMinutes, and ignores events of earlier minutes", () => {
    const activity = new Activity()
    activity.count(start)
    const last = start + (minutes - 1) * minute
    expect(activity.perMinute(last)).toEqual([1, ...nothing.slice(1)])
    expect(activity.perMinute(last + minute)).toEqual(nothing)
    activity.count(start + minute)
    expect(activity.perMinute(last + minute)).toEqual([1, ...nothing.slice(1)])
    activity.count(start)
    expect(activity.perMinute(last + minute)).toEqual([1, ...nothing.slice(1)])
    expect(activity.perMinute(last + 1_000 * minute)).toEqual(nothing)
  })

  it("counts an event of an earlier minute in that minute", () => {
    const activity = new Activity()
    activity.count(start + 5 * minute)
    activity.count(start + 3 * minute)
    expect(activity.perMinute(start + 5 * minute)).toEqual([...nothing.slice(3), 1, 0, 1])
  })

  it("loads the minutes with events that it stored", () => {
    const activity = new Activity()
    expect(activity.stored()).toEqual([])
    activity.count(start)
    activity.count(start + 3 * minute)
    activity.count(start + 3 * minute)
    const stored = activity.stored()
    expect(stored).toEqual([
      [1_000_000, 1],
      [1_000_003, 2],
    ])
    const loaded = new Activity()
    loaded.load(stored)
    expect(loaded.stored()).toEqual(stored)
    for (const later of [3, 30, minutes, 2 * minutes]) {
      const now = start + later * minute
      expect(loaded.perMinute(now)).toEqual(activity.perMinute(now))
    }
  })
})

describe("Events a minute of an environment", () => {
  it.effect("are the same after a restart, from the snapshot or from the journal", () =>
    Effect.gen(function* () {
      const state = new MemoryStorage.MemoryState()
      const open = Effect.suspend(() => startEngine(MemoryStorage.make({ state })))
      const first = yield* open
      yield* first.engine.askUser(sandbox, event("u1", "TAP"))
      yield* TestClock.adjust(2 * minute)
      yield* first.engine.askUser(sandbox, event("u1", "TAP"))
      yield* first.engine.askUser(sandbox, event("u2", "TAP"))
      const before = yield* first.engine.readActivity(sandbox)
      expect(before).toEqual([...nothing.slice(3), 1, 0, 2])
      expect(yield* first.engine.readActivity(production)).toEqual(nothing)
      yield* first.close("kill")
      const replayed = yield* open
      expect(yield* replayed.engine.readActivity(sandbox)).toEqual(before)
      yield* replayed.close()
      const loaded = yield* open
      expect(yield* loaded.engine.readActivity(sandbox)).toEqual(before)
      yield* loaded.engine.askUser(sandbox, event("u1", "TAP"))
      expect(yield* loaded.engine.readActivity(sandbox)).toEqual([...nothing.slice(3), 1, 0, 3])
      yield* loaded.close()
    }),
  )

  it.effect("count an imported event when it occurred, and a late event when it was received", () =>
    Effect.gen(function* () {
      const now = start
      yield* TestClock.setTime(now)
      const { close, engine } = yield* startEngine(MemoryStorage.make())
      const imported = (minutesAgo: number) =>
        event("u1", "TAP", { imported: true, occurredAt: now - minutesAgo * minute })
      yield* engine.askUser(sandbox, imported(minutes * 1_000))
      yield* engine.askUser(sandbox, imported(minutes))
      expect(yield* engine.readActivity(sandbox)).toEqual(nothing)
      yield* engine.askUser(sandbox, imported(2))
      yield* engine.askUser(sandbox, event("u1", "TAP", { occurredAt: now - 5 * minute }))
      expect(yield* engine.readActivity(sandbox)).toEqual([...nothing.slice(3), 1, 0, 1])
      yield* close()
    }),
  )
})
