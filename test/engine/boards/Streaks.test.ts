import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { streakWith } from "../../domain/definitions.ts"
import * as MemoryStorage from "../../storage/MemoryStorage.ts"
import { event, type Fixture, sandbox, start } from "../fixture.ts"

const day = 86_400_000

const lengths = ({ engine }: Fixture) =>
  Effect.map(
    engine.readBoard(sandbox, { board: "ldb_run", limit: 100, offset: 0 }),
    ({ entries }) => entries.map(({ score, userId }) => [userId, score]),
  )

describe("A leaderboard of a streak", () => {
  it.effect("no longer lists a user whose streak a change of time zone finds broken", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(Date.parse("2026-11-02T12:00:00Z"))
      const state = new MemoryStorage.MemoryState()
      const before = yield* start(MemoryStorage.make({ state }))
      const streak = streakWith({ id: "stk_daily" })
      yield* before.engine.askProject(sandbox, { kind: "createStreak", streak })
      const leaderboard = { id: "ldb_run", name: "Run", score: { streak: "daily" } }
      yield* before.engine.askProject(sandbox, { kind: "createLeaderboard", leaderboard })
      for (const userId of ["ada", "bob"]) {
        yield* before.engine.askUser(sandbox, event(userId, "TAP"))
      }
      expect((yield* lengths(before)).sort()).toEqual([
        ["ada", 1],
        ["bob", 1],
      ])
      yield* before.close()

      // The change comes before the clock has looked at the streaks that ended meanwhile.
      yield* TestClock.adjust(3 * day)
      const after = yield* start(MemoryStorage.make({ state }))
      const command = { kind: "profile", change: { timezone: "Asia/Tokyo" } } as const
      yield* after.engine.askUser(sandbox, { userId: "ada", command })
      const facts = after.committed.find(({ cause }) => cause.kind === "profile")?.facts
      expect(facts?.map(({ kind }) => kind)).toEqual(["streak.broken", "user.updated"])
      expect((yield* lengths(after)).map(([userId]) => userId)).not.toContain("ada")
      yield* after.close()
    }),
  )
})
