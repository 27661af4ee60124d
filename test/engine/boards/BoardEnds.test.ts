import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import type { BoardWindow } from "../../../src/domain/project/BoardDefinition.ts"
import type { BoardPrize } from "../../../src/domain/project/BoardPrize.ts"
import { recordNameOf } from "../../../src/domain/values/Ids.ts"
import { limits } from "../../../src/Limits.ts"
import { yieldToEventLoop } from "../../../src/storage/yieldToEventLoop.ts"
import { limited, smallBuckets } from "../../limited.ts"
import { dyingDisk } from "../../simulation/dyingDisk.ts"
import * as MemoryStorage from "../../storage/MemoryStorage.ts"
import {
  type Fixture,
  pointsOf,
  recordsOf,
  reward,
  sandbox,
  start,
  startInMemory,
  startStalling,
} from "../fixture.ts"

const quiet = { clockCheckMs: 3_600_000, snapshotIntervalMs: 600_000 }
/** Each user is a step of the payer, and each entry a slice of the snapshot. */
const small = { ...quiet, payoutGroupUsersMax: 1, payoutStepRows: 2, snapshotSliceEntriesMax: 3 }

const at = (time: string) => TestClock.setTime(Date.parse(time))
const begin = Date.parse("2026-11-04T10:00:00Z")
const end = Date.parse("2026-11-04T15:00:00Z")
const board = "ldb_season"

const prize = (window: BoardWindow, from: number, to: number, points: number): BoardPrize => ({
  window,
  ranks: [from, to],
  reward: { xp: 0, points, badgeId: null },
})
const prizes = [prize("all_time", 1, 1, 100), prize("all_time", 2, 3, 10), prize("weekly", 1, 2, 1)]

interface Made {
  readonly endsAt?: number | null
  readonly startsAt?: number | null
}

const create = ({ engine }: Fixture, { endsAt = end, startsAt = null }: Made = {}) =>
  engine.askProject(sandbox, {
    kind: "createLeaderboard",
    leaderboard: {
      id: board,
      name: "Season",
      score: { currency: "xp" },
      windows: ["all_time", "weekly", "daily"],
      prizes,
      startsAt,
      endsAt,
    },
  })

const update = ({ engine }: Fixture, change: { readonly endsAt: number | null }) =>
  engine.askProject(sandbox, { kind: "updateLeaderboard", leaderboardId: board, change })

const closeNow = ({ engine }: Fixture) =>
  engine.askProject(sandbox, { kind: "closeLeaderboard", leaderboardId: board })

const grant = ({ engine }: Fixture, userId: string, amount: number) =>
  engine.askUser(sandbox, reward(userId, amount))

const scores = { ada: 50, bob: 40, cyd: 40, dan: 30 }

const grantAll = Effect.fnUntraced(function* (fixture: Fixture) {
  for (const [userId, xp] of Object.entries(scores)) yield* grant(fixture, userId, xp)
})

/** Lets the clock close what has ended, and pays. */
const settled = Effect.fnUntraced(function* ({ engine }: Fixture) {
  for (let turn = 0; turn < 200; turn++) {
    yield* TestClock.adjust(limits.payoutPauseMs)
    yield* yieldToEventLoop
    const { payouts } = yield* engine.readProject(sandbox)
    if (turn > 5 && payouts.size === 0) return
  }
  throw new Error("The payouts have not ended")
})

const read = ({ engine }: Fixture, window: BoardWindow) =>
  engine.readBoard(sandbox, { board, window, limit: 100, offset: 0 })

const rows = (fixture: Fixture, window: BoardWindow) =>
  Effect.map(read(fixture, window), ({ entries }) =>
    entries.map(({ rank, score, userId }) => [rank, userId, score]),
  )

const pointsOfAll = (fixture: Fixture) => pointsOf(fixture, Object.keys(scores))

type Closing = ReadonlyArray<string | number>

const closings = ({ committed }: Fixture): ReadonlyArray<Closing> =>
  committed.flatMap(({ facts }) =>
    facts.flatMap((fact): ReadonlyArray<Closing> => {
      if (fact.kind === "leaderboard.closed") return [["closed", fact.endsAt]]
      if (fact.kind !== "leaderboard.window_closed" || fact.board?.boardId !== board) return []
      return [[fact.window, fact.startsAt, fact.endsAt, fact.total]]
    }),
  )

const final = [
  [1, "ada", 50],
  [2, "bob", 40],
  [2, "cyd", 40],
  [4, "dan", 30],
]
/** All time and the week pay each winner: equal ranks all win. */
const won = { ada: 101, bob: 11, cyd: 11, dan: 0 }

describe("A leaderboard that ends", () => {
  it.effect("closes all its windows at its end, pays their prizes, and takes no more scores", () =>
    Effect.gen(function* () {
      yield* at("2026-11-04T10:00:00Z")
      const fixture = yield* startInMemory({}, quiet)
      yield* create(fixture)
      yield* grantAll(fixture)
      yield* TestClock.setTime(end - 1)
      yield* yieldToEventLoop
      expect(yield* read(fixture, "all_time")).toMatchObject({ closed: false })
      yield* TestClock.setTime(end)
      yield* settled(fixture)
      expect(closings(fixture)).toEqual([
        ["weekly", Date.parse("2026-11-02T00:00:00Z"), end, 4],
        ["daily", Date.parse("2026-11-04T00:00:00Z"), end, 4],
        ["all_time", begin, end, 4],
        ["closed", end],
      ])
      yield* grant(fixture, "dan", 500)
      yield* at("2026-11-20T10:00:00Z")
      yield* settled(fixture)
      yield* grant(fixture, "eve", 500)
      for (const window of ["all_time", "weekly", "daily"] as const) {
        expect([window, yield* rows(fixture, window)]).toEqual([window, final])
        expect(yield* read(fixture, window)).toMatchObject({ closed: true, paying: false })
      }
      expect(yield* pointsOfAll(fixture)).toEqual(won)
      const { entries } = yield* read(fixture, "all_time")
      expect(entries.map(({ prizes: [first] }) => first?.points ?? 0)).toEqual([100, 10, 10, 0])
      yield* fixture.close()
    }),
  )

  it.effect("shows the same ranks once they are stored, and after a kill and a restart", () =>
    Effect.gen(function* () {
      yield* at("2026-11-04T10:00:00Z")
      const state = new MemoryStorage.MemoryState()
      let fixture = yield* start(MemoryStorage.make({ state }), quiet)
      yield* create(fixture)
      yield* grantAll(fixture)
      yield* TestClock.setTime(end)
      yield* settled(fixture)
      const before = yield* read(fixture, "all_time")
      yield* grant(fixture, "dan", 500)
      for (const how of ["kill", "store", "kill", undefined, "store", "kill"] as const) {
        if (how === "store") {
          yield* TestClock.adjust(quiet.snapshotIntervalMs)
          for (let turn = 0; turn < 50; turn++) yield* yieldToEventLoop
        } else {
          yield* fixture.close(how)
          fixture = yield* start(MemoryStorage.make({ state }), quiet)
        }
        yield* grant(fixture, "ada", 7)
        expect(yield* read(fixture, "all_time")).toEqual({
          ...before,
          entries: before.entries.map((entry) => ({ ...entry, xp: expect.any(Number) })),
        })
        expect(yield* rows(fixture, "weekly")).toEqual(final)
      }
      expect(yield* pointsOfAll(fixture)).toEqual(won)
      yield* fixture.close()
    }),
  )

  it.effect("counts nothing that arrives after its end, and an undo then changes no rank", () =>
    Effect.gen(function* () {
      yield* at("2026-11-04T10:00:00Z")
      const fixture = yield* startInMemory({}, quiet)
      yield* create(fixture)
      yield* grantAll(fixture)
      const granted = yield* grant(fixture, "eve", 70)
      yield* TestClock.setTime(end)
      yield* settled(fixture)
      const { rewardId } = granted.reply as { rewardId: string }
      yield* fixture.engine.askUser(sandbox, {
        userId: "eve",
        command: { kind: "revocation", of: "reward", ...recordNameOf("rwd", rewardId)! },
      })
      expect((yield* fixture.engine.readUser(sandbox, "eve"))?.xp).toBe(0)
      for (const window of ["all_time", "weekly", "daily"] as const) {
        expect((yield* rows(fixture, window))[0]).toEqual([1, "eve", 70])
      }
      yield* fixture.close()
    }),
  )

  it.effect("has gaps for users who are hidden, erased or disqualified after its end", () =>
    Effect.gen(function* () {
      yield* at("2026-11-04T10:00:00Z")
      const state = new MemoryStorage.MemoryState()
      let fixture = yield* start(MemoryStorage.make({ state }), quiet)
      yield* create(fixture)
      yield* grantAll(fixture)
      yield* TestClock.setTime(end)
      yield* settled(fixture)
      const ask = (
        userId: string,
        command: Parameters<Fixture["engine"]["askUser"]>[1]["command"],
      ) => fixture.engine.askUser(sandbox, { userId, command })
      yield* ask("ada", { kind: "profile", change: { hidden: true } })
      yield* ask("bob", { kind: "disqualify", leaderboard: board, disqualified: true })
      const left = [
        [1, "cyd", 40],
        [2, "dan", 30],
      ]
      expect(yield* rows(fixture, "all_time")).toEqual(left)
      // Listed again: a closed board does not take the user back.
      yield* ask("ada", { kind: "profile", change: { hidden: false } })
      yield* ask("bob", { kind: "disqualify", leaderboard: board, disqualified: false })
      expect(yield* rows(fixture, "all_time")).toEqual(left)
      yield* fixture.close("kill")
      fixture = yield* start(MemoryStorage.make({ state }), quiet)
      expect(yield* rows(fixture, "all_time")).toEqual(left)
      yield* fixture.close()
      fixture = yield* start(MemoryStorage.make({ state }), quiet)
      yield* ask("cyd", { kind: "erasure" })
      expect(yield* rows(fixture, "all_time")).toEqual([[1, "dan", 30]])
      // The prize is that of the rank at the close.
      expect((yield* read(fixture, "all_time")).entries[0]?.prizes).toEqual([])
      yield* fixture.close("kill")
      fixture = yield* start(MemoryStorage.make({ state }), quiet)
      expect(yield* rows(fixture, "all_time")).toEqual([[1, "dan", 30]])
      yield* fixture.close()
    }),
  )

  it.effect("closes earlier by a command, and later if its end moves before", () =>
    Effect.gen(function* () {
      yield* at("2026-11-04T10:00:00Z")
      const fixture = yield* startInMemory({}, quiet)
      yield* create(fixture)
      yield* grantAll(fixture)
      yield* update(fixture, { endsAt: end + 3_600_000 })
      yield* TestClock.setTime(end)
      yield* settled(fixture)
      expect(closings(fixture)).toEqual([])
      const past = yield* Effect.flip(update(fixture, { endsAt: end }))
      expect(past.errors).toMatchObject([{ pointer: "/endsAt", code: "out_of_range" }])
      yield* update(fixture, { endsAt: null })
      yield* grant(fixture, "dan", 5)
      yield* at("2026-11-06T10:00:00Z")
      yield* settled(fixture)
      const now = Date.parse("2026-11-06T12:00:00Z")
      yield* TestClock.setTime(now)
      yield* closeNow(fixture)
      yield* settled(fixture)
      expect(closings(fixture)).toEqual([
        ["daily", Date.parse("2026-11-04T00:00:00Z"), Date.parse("2026-11-05T00:00:00Z"), 4],
        ["weekly", Date.parse("2026-11-02T00:00:00Z"), now, 4],
        ["all_time", begin, now, 4],
        ["closed", now],
      ])
      expect((yield* Effect.flip(closeNow(fixture))).code).toBe("invalid_transition")
      const late = yield* Effect.flip(update(fixture, { endsAt: null }))
      expect(late.errors).toMatchObject([{ pointer: "/endsAt", code: "invalid_value" }])
      expect((yield* rows(fixture, "all_time"))[3]).toEqual([4, "dan", 35])
      yield* fixture.close()
    }),
  )

  it.effect("without users closes too, and lists nobody who scores later", () =>
    Effect.gen(function* () {
      yield* at("2026-11-04T10:00:00Z")
      const state = new MemoryStorage.MemoryState()
      let fixture = yield* start(MemoryStorage.make({ state }), quiet)
      yield* create(fixture)
      yield* TestClock.setTime(end)
      yield* settled(fixture)
      expect(closings(fixture)).toEqual([["closed", end]])
      yield* grantAll(fixture)
      for (const how of ["kill", undefined, "kill"] as const) {
        for (const window of ["all_time", "weekly"] as const) {
          expect(yield* read(fixture, window)).toMatchObject({
            closed: true,
            entries: [],
            total: 0,
          })
        }
        yield* fixture.close(how)
        fixture = yield* start(MemoryStorage.make({ state }), quiet)
      }
      yield* fixture.close()
    }),
  )

  it.effect("that is paused closes without prizes, and what it did not count stays uncounted", () =>
    Effect.gen(function* () {
      yield* at("2026-11-04T10:00:00Z")
      const fixture = yield* startInMemory({}, quiet)
      yield* create(fixture)
      yield* grantAll(fixture)
      yield* fixture.engine.askProject(sandbox, {
        kind: "updateLeaderboard",
        leaderboardId: board,
        change: { status: "paused" },
      })
      yield* grant(fixture, "dan", 500)
      yield* TestClock.setTime(end)
      yield* settled(fixture)
      expect(yield* rows(fixture, "all_time")).toEqual(final)
      expect(yield* pointsOfAll(fixture)).toEqual({ ada: 0, bob: 0, cyd: 0, dan: 0 })
      yield* fixture.close()
    }),
  )

  it.effect("ends at its time while a test clock passes ten windows at once", () =>
    Effect.gen(function* () {
      yield* at("2026-11-04T10:00:00Z")
      const fixture = yield* startInMemory({}, quiet)
      yield* create(fixture, { endsAt: Date.parse("2026-11-10T12:00:00Z") })
      yield* grantAll(fixture)
      const to = Date.parse("2026-11-20T00:00:00Z")
      yield* fixture.engine.askProject(sandbox, { kind: "advanceClock", to })
      const isReady = Effect.map(
        fixture.engine.readProject(sandbox),
        ({ testClock }) => testClock?.status === "ready",
      )
      for (let turn = 0; turn < 1_000 && !(yield* isReady); turn++) {
        yield* TestClock.adjust(limits.testClockPauseMs)
        yield* yieldToEventLoop
      }
      expect(closings(fixture).map(([window]) => window)).toEqual([
        "daily",
        "weekly",
        "all_time",
        "closed",
      ])
      expect(yield* pointsOfAll(fixture)).toEqual(won)
      yield* fixture.close()
    }),
  )
})

describe("A server that is killed at the end of a leaderboard", () => {
  for (const isKept of [true, false]) {
    const words = isKept ? "is in the journal and has no answer" : "is lost"
    it.effect(`closes it once and pays each winner once, whichever append ${words}`, () =>
      Effect.gen(function* () {
        let isOver = false
        for (let writes = 0; !isOver; writes++) {
          yield* at("2026-11-04T10:00:00Z")
          const state = new MemoryStorage.MemoryState()
          const first = yield* start(MemoryStorage.make({ state }), small)
          yield* create(first)
          yield* grantAll(first)
          yield* first.close("kill")
          const disk = {
            appendsLeft: writes,
            lastAppendKept: isKept,
            writesLeft: Number.POSITIVE_INFINITY,
          }
          const second = yield* start(dyingDisk(MemoryStorage.make({ state }), disk), small)
          yield* TestClock.setTime(end)
          for (let turn = 0; turn < 60; turn++) {
            yield* TestClock.adjust(limits.payoutPauseMs)
            yield* yieldToEventLoop
          }
          const paid = second.committed.flatMap(({ facts }) =>
            facts.filter(({ kind }) => kind === "leaderboard.prizes_paid"),
          )
          isOver = paid.length === 2
          yield* second.close("kill")
          const third = yield* start(MemoryStorage.make({ state }), small)
          if (writes % 3 === 0) yield* TestClock.adjust(quiet.snapshotIntervalMs)
          yield* settled(third)
          expect(yield* pointsOfAll(third)).toEqual(won)
          expect(yield* rows(third, "all_time")).toEqual(final)
          yield* third.close()
          const ends = recordsOf(state).filter(({ facts }) =>
            facts.some(({ kind }) => kind === "leaderboard.closed"),
          )
          expect(ends).toHaveLength(1)
          const payments = recordsOf(state).filter(({ cause }) => cause.kind === "payment")
          expect(payments).toHaveLength(6)
        }
      }),
    )
  }

  it.effect("stores the final ranks whichever write of the snapshot is its last", () =>
    Effect.gen(function* () {
      for (let writes = 0; writes < 25; writes++) {
        yield* at("2026-11-04T10:00:00Z")
        const state = new MemoryStorage.MemoryState()
        const disk = { writesLeft: Number.POSITIVE_INFINITY }
        const first = yield* startStalling(state, disk, small)
        yield* create(first)
        yield* grantAll(first)
        yield* TestClock.setTime(end)
        yield* settled(first)
        yield* grant(first, "dan", 500)
        disk.writesLeft = writes
        yield* TestClock.adjust(quiet.snapshotIntervalMs)
        for (let turn = 0; turn < 60; turn++) yield* yieldToEventLoop
        yield* grant(first, "ada", 500)
        yield* first.close("kill")
        const second = yield* start(MemoryStorage.make({ state }), small)
        for (const window of ["all_time", "weekly", "daily"] as const) {
          expect([writes, window, yield* rows(second, window)]).toEqual([writes, window, final])
        }
        expect(yield* pointsOfAll(second)).toEqual(won)
        yield* second.close()
      }
    }),
  )
})

/** Time for a snapshot, whose slices are paced. */
const snapshot = Effect.gen(function* () {
  for (let turn = 0; turn < 60; turn++) {
    yield* TestClock.adjust(quiet.snapshotIntervalMs / 30)
    yield* yieldToEventLoop
  }
})

describe("A leaderboard that was made shortly before a snapshot", () => {
  it.effect("has the same scores after a kill, whichever write of the snapshot is the last", () =>
    Effect.gen(function* () {
      yield* limited(smallBuckets)
      const slow = { ...small, snapshotSliceEntriesMax: 1 }
      // The states of all users do not fit into a slice.
      const users = Array.from({ length: 40 }, (_, index) => `${index}-`.repeat(60))
      let isWhole = false
      for (let writes = 0; !isWhole; writes++) {
        yield* at("2026-11-04T10:00:00Z")
        const state = new MemoryStorage.MemoryState()
        const disk = { writesLeft: Number.POSITIVE_INFINITY }
        const first = yield* startStalling(state, disk, slow)
        for (const userId of users) yield* grant(first, userId, 1)
        yield* snapshot
        // The records of these rewards do not name the leaderboard.
        for (const [index, userId] of users.entries()) yield* grant(first, userId, index + 1)
        yield* create(first, { endsAt: null })
        disk.writesLeft = writes
        yield* snapshot
        isWhole = disk.writesLeft > 0
        const before = yield* rows(first, "all_time")
        expect(before).toHaveLength(users.length)
        yield* first.close("kill")
        const second = yield* start(MemoryStorage.make({ state }), slow)
        expect([writes, yield* rows(second, "all_time")]).toEqual([writes, before])
        yield* second.close()
      }
    }),
  )
})
