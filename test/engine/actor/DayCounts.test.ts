/** What happened in an environment on each day, also after a restart. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import type { JournalRecord } from "../../../src/domain/record/Record.ts"
import { recordNameOf } from "../../../src/domain/values/Ids.ts"
import { DayCounts } from "../../../src/engine/actor/DayCounts.ts"
import { limits } from "../../../src/Limits.ts"
import * as MemoryStorage from "../../storage/MemoryStorage.ts"
import { event, production, reward, rule, sandbox, start } from "../fixture.ts"

const dayMs = 86_400_000
const noon = Date.parse("2026-11-04T12:00:00Z")
const today = Math.floor(noon / dayMs)
const nothing = { events: 0, xp: 0, badges: 0, quests: 0 }

const eventOn = (day: number): JournalRecord => ({
  sequence: 1,
  at: day * dayMs,
  subject: { actor: "user", environment: sandbox, userId: "ada" },
  cause: { kind: "event", action: "TAP" },
  facts: [
    { kind: "xp.earned", amount: 5, total: 5, source: "reward" },
    { kind: "event.tracked", xp: 5, points: 0, level: 1 },
  ],
})

describe("The counts of days", () => {
  it("are kept for so many days up to the latest, whatever their order, and in a snapshot", () => {
    const counts = new DayCounts()
    const oldest = today - limits.dayCountsMax + 1
    for (const day of [oldest, today, oldest - 1, oldest, today - 3]) {
      expect(counts.fold(eventOn(day))).toBe(true)
    }
    const days = [
      [oldest, 2, 10, 0, 0],
      [today - 3, 1, 5, 0, 0],
      [today, 1, 5, 0, 0],
    ] as const
    expect(counts.stored()).toEqual(days)
    const loaded = new DayCounts()
    loaded.load(JSON.parse(JSON.stringify(counts.stored())))
    expect(loaded.stored()).toEqual(days)
    loaded.fold(eventOn(today + 1))
    expect(loaded.on(oldest)).toEqual(nothing)
    expect(loaded.on(today + 1)).toEqual({ ...nothing, events: 1, xp: 5 })
  })

  it("are of nothing that only changes a profile", () => {
    const { cause: _, facts: __, ...of } = eventOn(today)
    const record: JournalRecord = {
      ...of,
      cause: { kind: "profile", change: {} },
      facts: [{ kind: "user.created" }],
    }
    expect(new DayCounts().fold(record)).toBe(false)
  })
})

describe("The days of an environment", () => {
  it.effect("have what was received and earned, also after undo, erasure and restarts", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(noon)
      const state = new MemoryStorage.MemoryState()
      const first = yield* start(MemoryStorage.make({ state }))
      yield* first.engine.askProject(sandbox, rule("TAP", 10))
      const { reply } = yield* first.engine.askUser(sandbox, event("ada", "TAP"))
      yield* first.engine.askUser(sandbox, event("bob", "TAP", { occurredAt: noon - dayMs }))
      yield* first.engine.askUser(sandbox, reward("bob", 7))
      const name = recordNameOf("evt", (reply as { readonly eventId: string }).eventId)!
      const undo = { kind: "revocation", of: "event", ...name } as const
      yield* first.engine.askUser(sandbox, { userId: "ada", command: undo })
      yield* first.engine.askUser(sandbox, { userId: "ada", command: { kind: "erasure" } })
      const shown = Effect.fnUntraced(function* (engine: typeof first.engine, environment: string) {
        const counts = yield* engine.readDayCounts(environment)
        return [today - 1, today].map((day) => counts.on(day))
      })
      const expected = [
        { ...nothing, events: 1, xp: 10 },
        { ...nothing, events: 1, xp: 17 },
      ]
      expect(yield* shown(first.engine, sandbox)).toEqual(expected)
      expect(yield* shown(first.engine, production)).toEqual([nothing, nothing])
      yield* first.close("kill")
      const replayed = yield* start(MemoryStorage.make({ state }))
      expect(yield* shown(replayed.engine, sandbox)).toEqual(expected)
      yield* replayed.close()
      const loaded = yield* start(MemoryStorage.make({ state }))
      expect(yield* shown(loaded.engine, sandbox)).toEqual(expected)
      yield* loaded.close()
    }),
  )
})
