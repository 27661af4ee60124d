import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { limits } from "../../../src/Limits.ts"
import { compositeKey, rangeOf } from "../../../src/storage/Keys.ts"
import { collectEntries } from "../../../src/storage/Values.ts"
import { yieldToEventLoop } from "../../../src/storage/yieldToEventLoop.ts"
import * as MemoryStorage from "../../storage/MemoryStorage.ts"
import { defective, type Fixture, recordsOf, reward, sandbox, start } from "../fixture.ts"

const quiet = { clockCheckMs: 86_400_000, snapshotIntervalMs: 3_600_000 }

const at = (time: string) => TestClock.setTime(Date.parse(time))

const announce = ({ engine }: Fixture, announceRanks: number | null) =>
  engine.askProject(sandbox, {
    kind: "updateLeaderboard",
    leaderboardId: "xp",
    change: { announceRanks },
  })

const grant = ({ engine }: Fixture, userId: string, amount: number) =>
  engine.askUser(sandbox, reward(userId, amount))

const turns = Effect.repeat(yieldToEventLoop, { times: 60 })

/** Lets one check of ranks come, which needs turns of the event loop besides time. */
const look = Effect.andThen(TestClock.adjust(limits.boardRanksLookMs), turns)

/** The announcements of all time, in the order of the journal. */
const told = (state: MemoryStorage.MemoryState) =>
  recordsOf(state).flatMap(({ facts, subject }) =>
    facts.flatMap((fact) =>
      fact.kind === "leaderboard.rank_changed" && fact.window === "all_time"
        ? [[subject.actor === "user" && subject.userId, fact.previousRank, fact.rank]]
        : [],
    ),
  )

describe("The announcement of ranks", () => {
  it.effect("announces no rank that changes and changes back between two checks", () =>
    Effect.gen(function* () {
      yield* at("2026-11-04T10:00:00Z")
      const state = new MemoryStorage.MemoryState()
      const fixture = yield* start(MemoryStorage.make({ state }), quiet)
      yield* announce(fixture, 1)
      yield* grant(fixture, "ada", 5)
      yield* look
      expect(told(state)).toEqual([["ada", null, 1]])
      yield* grant(fixture, "bob", 9)
      yield* grant(fixture, "ada", 9)
      yield* look
      yield* look
      expect(told(state)).toEqual([["ada", null, 1]])
      yield* grant(fixture, "bob", 9)
      yield* TestClock.adjust(limits.boardRanksLookMs - 1)
      yield* turns
      expect(told(state)).toHaveLength(1)
      yield* TestClock.adjust(1)
      yield* turns
      expect(told(state).slice(1)).toEqual([
        ["ada", 1, null],
        ["bob", null, 1],
      ])
      yield* fixture.close()
    }),
  )

  it.effect("leaves out a user who meets a defect, tells the others, and tries again", () =>
    Effect.gen(function* () {
      yield* at("2026-11-04T10:00:00Z")
      const state = new MemoryStorage.MemoryState()
      let isDefect = true
      let tries = 0
      const explosive = defective((command) => {
        const isTry = command.kind === "ranks" && command.change?.to === "ada"
        if (isTry) tries++
        return isTry && isDefect
      })
      const options = { ...quiet, domain: explosive }
      const fixture = yield* start(MemoryStorage.make({ state }), options)
      const score = { currency: "xp" } as const
      yield* fixture.engine.askProject(sandbox, {
        kind: "createLeaderboard",
        leaderboard: { id: "ldb_1", name: "Top", score, windows: ["all_time"], announceRanks: 2 },
      })
      yield* grant(fixture, "ada", 5)
      yield* grant(fixture, "bob", 3)
      yield* look
      expect(told(state)).toEqual([["bob", null, 2]])
      yield* grant(fixture, "cyd", 1)
      yield* look
      expect(tries).toBe(1)
      isDefect = false
      yield* TestClock.adjust(limits.boardRanksRetryMs)
      yield* turns
      yield* look
      expect(told(state)).toEqual([
        ["bob", null, 2],
        ["ada", null, 1],
      ])
      expect(fixture.broken).toEqual([])
      yield* fixture.close()
    }),
  )

  it.effect("has its last ranks in the snapshot, and drops them when it ends", () =>
    Effect.gen(function* () {
      yield* at("2026-11-04T10:00:00Z")
      const state = new MemoryStorage.MemoryState()
      const storage = MemoryStorage.make({ state })
      const rows = Effect.map(
        collectEntries(storage, { table: "boards", ...rangeOf(compositeKey("a")) }),
        ({ length }) => length,
      )
      const first = yield* start(storage, quiet)
      yield* announce(first, 1)
      yield* grant(first, "ada", 5)
      yield* look
      yield* first.close()
      // All time, the day, the week and the month.
      expect(yield* rows).toBe(4)
      const second = yield* start(MemoryStorage.make({ state }), quiet)
      yield* look
      yield* grant(second, "bob", 9)
      yield* look
      expect(told(state).slice(-2)).toEqual([
        ["ada", 1, null],
        ["bob", null, 1],
      ])
      yield* announce(second, null)
      yield* second.close()
      expect(yield* rows).toBe(0)
      const count = told(state).length
      const third = yield* start(MemoryStorage.make({ state }), quiet)
      yield* grant(third, "cyd", 90)
      yield* look
      expect(told(state)).toHaveLength(count)
      yield* third.close()
    }),
  )
})
