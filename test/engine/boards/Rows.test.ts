import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { Storage } from "../../../src/storage/Storage.ts"
import { yieldToEventLoop } from "../../../src/storage/yieldToEventLoop.ts"
import * as MemoryStorage from "../../storage/MemoryStorage.ts"
import { type Fixture, reward, sandbox, start, startInMemory } from "../fixture.ts"

const grant = ({ engine }: Fixture, userId: string, amount: number) =>
  engine.askUser(sandbox, reward(userId, amount))

const change = (
  { engine }: Fixture,
  userId: string,
  change: { readonly displayName?: string | null; readonly hidden?: boolean },
) => engine.askUser(sandbox, { userId, command: { kind: "profile", change } })

const erase = ({ engine }: Fixture, userId: string) =>
  engine.askUser(sandbox, { userId, command: { kind: "erasure" } })

const named = ({ engine }: Fixture, window: "all_time" | "daily" = "all_time", at?: number) =>
  Effect.map(
    engine.readBoard(sandbox, { window, limit: 10, offset: 0, ...(at !== undefined && { at }) }),
    ({ entries }) => entries.map(({ displayName, userId, xp }) => [userId, displayName, xp]),
  )

/** Storage that counts reads of single values. */
const counting = (state: MemoryStorage.MemoryState) => {
  const storage = MemoryStorage.make({ state })
  const read = { times: 0 }
  return {
    read,
    storage: Storage.of({
      ...storage,
      readEntry: (table, key) =>
        Effect.suspend(() => {
          read.times++
          return storage.readEntry(table, key)
        }),
    }),
  }
}

describe("A row's user", () => {
  it.effect("has the latest display name, also of a user who had none or no xp before", () =>
    Effect.gen(function* () {
      const running = yield* startInMemory()
      yield* change(running, "early", { displayName: "Early" })
      yield* grant(running, "early", 30)
      yield* grant(running, "late", 20)
      expect(yield* named(running)).toEqual([
        ["early", "Early", 30],
        ["late", null, 20],
      ])
      yield* change(running, "late", { displayName: "Late" })
      yield* change(running, "early", { displayName: null })
      expect(yield* named(running)).toEqual([
        ["early", null, 30],
        ["late", "Late", 20],
      ])
      yield* change(running, "late", { hidden: true })
      yield* change(running, "late", { displayName: "Later" })
      yield* change(running, "late", { hidden: false })
      expect(yield* named(running)).toEqual([
        ["early", null, 30],
        ["late", "Later", 20],
      ])
    }),
  )

  it.effect("has no name of an erased user whose member number it reuses", () =>
    Effect.gen(function* () {
      const running = yield* startInMemory()
      yield* change(running, "gone", { displayName: "Gone" })
      yield* grant(running, "gone", 30)
      yield* erase(running, "gone")
      yield* grant(running, "next", 10)
      yield* grant(running, "gone", 5)
      expect(yield* named(running)).toEqual([
        ["next", null, 10],
        ["gone", null, 5],
      ])
    }),
  )

  it.effect("is the same after a start, from snapshot or journal", () =>
    Effect.gen(function* () {
      const state = new MemoryStorage.MemoryState()
      const first = yield* startInMemory({ state }, { snapshotIntervalMs: 1_000 })
      for (const [userId, name] of [
        ["u1", 'The "first" \\ ü 🦊'],
        ["u2", "Second"],
        ["u3", "Third"],
        ["nothing earned", "Fourth"],
      ] as const) {
        yield* change(first, userId, { displayName: name })
      }
      for (const [place, userId] of ["u1", "u2", "u3", "u4"].entries()) {
        yield* grant(first, userId, 40 - place)
      }
      yield* TestClock.adjust(1_000)
      for (let turn = 0; turn < 50; turn++) yield* yieldToEventLoop
      yield* change(first, "u2", { displayName: null })
      yield* change(first, "u4", { displayName: "Renamed" })
      yield* erase(first, "u3")
      yield* first.close("kill")
      const { read, storage } = counting(state)
      const second = yield* start(storage)
      const expected = [
        ["u1", 'The "first" \\ ü 🦊', 40],
        ["u2", null, 39],
        ["u4", "Renamed", 37],
      ]
      expect(yield* named(second)).toEqual(expected)
      yield* second.close()
      const third = yield* start(storage)
      read.times = 0
      expect(yield* named(third)).toEqual(expected)
      expect(yield* named(third, "daily")).toEqual(expected)
      expect(read.times).toBe(0)
      yield* grant(third, "nothing earned", 1)
      expect((yield* named(third))[3]).toEqual(["nothing earned", "Fourth", 1])
    }),
  )

  it.effect("has the present name and xp on boards of past windows", () =>
    Effect.gen(function* () {
      const first = Date.parse("2026-11-04T10:00:00Z")
      yield* TestClock.setTime(first)
      const options = { clockCheckMs: 60_000, snapshotIntervalMs: 600_000 }
      const running = yield* startInMemory({}, options)
      yield* grant(running, "ada", 10)
      yield* grant(running, "bob", 20)
      yield* TestClock.setTime(first + 86_400_000)
      yield* grant(running, "ada", 7)
      yield* change(running, "ada", { displayName: "Ada" })
      const expected = [
        ["bob", null, 20],
        ["ada", "Ada", 17],
      ]
      expect(yield* named(running, "daily", first)).toEqual(expected)
      // Also when the board is on disk.
      yield* TestClock.adjust(options.snapshotIntervalMs)
      for (let turn = 0; turn < 100; turn++) yield* yieldToEventLoop
      expect(yield* named(running, "daily", first)).toEqual(expected)
    }),
  )
})
