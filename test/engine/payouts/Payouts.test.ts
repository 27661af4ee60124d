import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber, Stream } from "effect"
import { TestClock } from "effect/testing"
import type { BoardTies } from "../../../src/domain/project/BoardDefinition.ts"
import type { BoardPrize } from "../../../src/domain/project/BoardPrize.ts"
import type { Gives } from "../../../src/domain/project/Definition.ts"
import { decidedAt } from "../../../src/domain/record/Record.ts"
import { windowKinds } from "../../../src/domain/values/Calendar.ts"
import { recordNameOf } from "../../../src/domain/values/Ids.ts"
import { limits } from "../../../src/Limits.ts"
import { Metrics } from "../../../src/metrics/Metrics.ts"
import { yieldToEventLoop } from "../../../src/storage/yieldToEventLoop.ts"
import { sampleValue } from "../../metrics/exposition.ts"
import { dyingDisk } from "../../simulation/dyingDisk.ts"
import * as MemoryStorage from "../../storage/MemoryStorage.ts"
import {
  defective,
  type Fixture,
  pointsOf,
  recordsOf,
  reward,
  sandbox,
  start,
  startInMemory,
} from "../fixture.ts"

const quiet = { clockCheckMs: 3_600_000, snapshotIntervalMs: 600_000 }
/** Each user is a step of its own. */
const small = { ...quiet, payoutGroupUsersMax: 1, payoutStepRows: 2 }

const at = (time: string) => TestClock.setTime(Date.parse(time))

const gives = (points: number): Gives => ({ xp: 0, points, badgeId: null })
const ranks = (from: number, to: number, points: number): BoardPrize => ({
  window: "daily",
  ranks: [from, to],
  reward: gives(points),
})
const percent = (share: number, points: number): BoardPrize => ({
  window: "daily",
  percent: share,
  reward: gives(points),
})

/** The prizes of the board `xp`. */
const offer = (
  { engine }: Fixture,
  prizes: ReadonlyArray<BoardPrize>,
  ties: BoardTies = "shared",
) =>
  engine.askProject(sandbox, {
    kind: "updateLeaderboard",
    leaderboardId: "xp",
    change: { prizes, ties },
  })

const grantAll = Effect.fnUntraced(function* (
  { engine }: Fixture,
  scores: Readonly<Record<string, number>>,
) {
  for (const [userId, xp] of Object.entries(scores)) {
    yield* engine.askUser(sandbox, reward(userId, xp))
  }
})

const hide = ({ engine }: Fixture, userId: string, hidden = true) =>
  engine.askUser(sandbox, { userId, command: { kind: "profile", change: { hidden } } })

const merge = ({ engine }: Fixture, userId: string, into: string) =>
  engine.askUser(sandbox, { userId, command: { kind: "merge", into } })

/** Lets time pass meanwhile: an actor restarts after a pause. */
const passing = Effect.fnUntraced(function* <A, E, R>(work: Effect.Effect<A, E, R>) {
  const fiber = yield* Effect.forkChild(work)
  for (let turn = 0; turn < 1_000 && fiber.pollUnsafe() === undefined; turn++) {
    yield* Effect.andThen(TestClock.adjust(limits.payoutPauseMs), yieldToEventLoop)
  }
  return yield* Fiber.join(fiber)
})

/** Lets payouts go on until none is under way, and snapshots be taken. */
const paid = Effect.fnUntraced(function* ({ engine }: Fixture, turns = 1_000) {
  for (let turn = 0; turn < turns; turn++) {
    yield* TestClock.adjust(limits.payoutPauseMs)
    yield* yieldToEventLoop
    if ((yield* engine.readProject(sandbox)).payouts.size === 0) return
  }
  throw new Error("The payouts have not ended")
})

/** What each user wins, from the scores alone. */
const expected = (
  scores: Readonly<Record<string, number>>,
  prizes: ReadonlyArray<BoardPrize>,
): Record<string, number> => {
  const all = Object.values(scores)
  return Object.fromEntries(
    Object.entries(scores).map(([userId, score]) => {
      const rank = 1 + all.filter((other) => other > score).length
      const won = prizes.filter((prize) =>
        prize.percent === undefined
          ? prize.ranks[0] <= rank && rank <= prize.ranks[1]
          : rank <= Math.ceil((all.length * prize.percent) / 100),
      )
      return [userId, won.reduce((sum, { reward: { points } }) => sum + points, 0)]
    }),
  )
}

const factsOf = ({ committed }: Fixture, kind: string) =>
  committed.flatMap(({ facts }) => facts.filter((fact) => fact.kind === kind))

const scores = { ada: 50, bob: 40, cyd: 40, dan: 30, eve: 20, fay: 20, gus: 10 }
const prizes = [ranks(1, 1, 100), ranks(2, 3, 50), percent(60, 10), ranks(5, 5, 1)]

describe("Prizes of a leaderboard", () => {
  it.effect("are paid by the ranks at the close: equal ranks all win, and every match pays", () =>
    Effect.gen(function* () {
      yield* at("2026-11-04T10:00:00Z")
      const fixture = yield* startInMemory({}, quiet)
      yield* offer(fixture, prizes)
      yield* grantAll(fixture, scores)
      yield* at("2026-11-05T00:00:00Z")
      yield* paid(fixture)
      const won = yield* pointsOf(fixture, Object.keys(scores))
      expect(won).toEqual({ ada: 110, bob: 60, cyd: 60, dan: 10, eve: 11, fay: 11, gus: 0 })
      expect(won).toEqual(expected(scores, prizes))
      expect(factsOf(fixture, "leaderboard.prizes_paid")).toMatchObject([
        { place: { boardId: "ldb_xp", key: "xp", window: "daily" }, paid: 6 },
      ])
      expect(factsOf(fixture, "leaderboard.prize_won")).toHaveLength(11)
      yield* fixture.close()
    }),
  )

  it.effect("skip hidden users before ranking, and follow who was first where ties do", () =>
    Effect.gen(function* () {
      yield* at("2026-11-04T10:00:00Z")
      const fixture = yield* startInMemory({}, quiet)
      yield* offer(fixture, [ranks(2, 2, 7)], "first")
      yield* grantAll(fixture, scores)
      yield* hide(fixture, "ada")
      yield* at("2026-11-05T00:00:00Z")
      yield* paid(fixture)
      // Bob is first now, and Cyd reached the same score after him.
      expect(yield* pointsOf(fixture, Object.keys(scores))).toMatchObject({
        ada: 0,
        bob: 0,
        cyd: 7,
      })
      yield* fixture.close()
    }),
  )

  it.effect("are those of the close: later edits, scores and undos change none", () =>
    Effect.gen(function* () {
      yield* at("2026-11-04T10:00:00Z")
      const fixture = yield* startInMemory({}, small)
      yield* offer(fixture, [ranks(1, 2, 5)])
      const granted = yield* fixture.engine.askUser(sandbox, reward("ada", 50))
      yield* grantAll(fixture, { bob: 40, cyd: 30 })
      yield* at("2026-11-05T00:00:00Z")
      yield* offer(fixture, [ranks(1, 3, 1_000)])
      yield* grantAll(fixture, { cyd: 100 })
      const { rewardId } = granted.reply as { rewardId: string }
      const name = recordNameOf("rwd", rewardId)!
      yield* fixture.engine.askUser(sandbox, {
        userId: "ada",
        command: { kind: "revocation", of: "reward", ...name },
      })
      yield* paid(fixture)
      expect(yield* pointsOf(fixture, ["ada", "bob", "cyd"])).toEqual({ ada: 5, bob: 5, cyd: 0 })
      yield* fixture.close()
    }),
  )

  it.effect("go to nobody else when a winner is hidden or erased before the payment", () =>
    Effect.gen(function* () {
      yield* at("2026-11-04T10:00:00Z")
      const fixture = yield* startInMemory({}, small)
      yield* offer(fixture, [ranks(1, 3, 5)])
      yield* grantAll(fixture, { ada: 50, bob: 40, cyd: 30, dan: 20 })
      yield* at("2026-11-05T00:00:00Z")
      yield* hide(fixture, "bob")
      yield* fixture.engine.askUser(sandbox, { userId: "cyd", command: { kind: "erasure" } })
      // Another user with the id of the erased one.
      yield* grantAll(fixture, { cyd: 1 })
      yield* paid(fixture)
      expect(yield* pointsOf(fixture, ["ada", "bob", "cyd", "dan"])).toEqual({
        ada: 5,
        bob: 0,
        cyd: 0,
        dan: 0,
      })
      yield* fixture.close()
    }),
  )

  it.effect("go to who stays when a winner is merged before the payment, once", () =>
    Effect.gen(function* () {
      yield* at("2026-11-04T10:00:00Z")
      const fixture = yield* startInMemory({}, small)
      yield* offer(fixture, [ranks(1, 4, 5)])
      yield* grantAll(fixture, { ada: 50, bob: 40, cyd: 30, dan: 20 })
      yield* at("2026-11-05T00:00:00Z")
      // Who stays is created after the close, and a merge leads on to another.
      yield* grantAll(fixture, { kim: 1, lea: 1 })
      for (const [from, into] of [
        ["cyd", "kim"],
        ["dan", "lea"],
        ["lea", "bob"],
      ] as const) {
        yield* merge(fixture, from, into)
      }
      yield* paid(fixture)
      // A merge of a user who was paid moves the prize with the balance.
      yield* merge(fixture, "ada", "kim")
      expect(yield* pointsOf(fixture, ["bob", "kim"])).toEqual({ bob: 10, kim: 10 })
      const payments = fixture.committed.filter(({ cause }) => cause.kind === "payment")
      expect(payments.map(({ cause }) => "to" in cause && cause.to).toSorted()).toEqual([
        "ada",
        "bob",
        "cyd",
        "dan",
      ])
      yield* fixture.close()
    }),
  )

  it.effect("of an erased user do not go to who takes in another user with the same id", () =>
    Effect.gen(function* () {
      yield* at("2026-11-04T10:00:00Z")
      const fixture = yield* startInMemory({}, small)
      yield* offer(fixture, [ranks(1, 3, 5)])
      yield* grantAll(fixture, { ada: 50, bob: 40, cyd: 30 })
      yield* at("2026-11-05T00:00:00Z")
      yield* fixture.engine.askUser(sandbox, { userId: "cyd", command: { kind: "erasure" } })
      yield* grantAll(fixture, { cyd: 1 })
      yield* merge(fixture, "cyd", "bob")
      yield* paid(fixture)
      expect(yield* pointsOf(fixture, ["ada", "bob"])).toEqual({ ada: 5, bob: 5 })
      yield* fixture.close()
    }),
  )

  for (const [isKilled, words] of [
    [false, "at the next try"],
    [true, "after a kill"],
  ] as const) {
    it.effect(`reach a winner whose payment met a defect ${words}, and all others at once`, () =>
      Effect.gen(function* () {
        yield* at("2026-11-04T10:00:00Z")
        const state = new MemoryStorage.MemoryState()
        const metrics = new Metrics()
        const failing = () => sampleValue(metrics.text(), "laurel_payments_failing")
        let isDefect = true
        const explosive = defective(
          (command) => isDefect && command.kind === "payment" && command.to === "bob",
        )
        const options = { ...small, metrics, domain: explosive }
        const fixture = yield* start(MemoryStorage.make({ state }), options)
        yield* offer(fixture, prizes)
        yield* grantAll(fixture, scores)
        yield* at("2026-11-05T00:00:00Z")
        for (let turn = 0; turn < 1_000 && failing() !== 1; turn++) {
          yield* Effect.andThen(TestClock.adjust(limits.payoutPauseMs), yieldToEventLoop)
        }
        const all = expected(scores, prizes)
        expect([failing(), yield* pointsOf(fixture, Object.keys(scores))]).toEqual([
          1,
          { ...all, bob: 0 },
        ])
        expect(factsOf(fixture, "leaderboard.prizes_paid")).toEqual([])
        // The next day has its prizes although those of the day before wait.
        yield* grantAll(fixture, { ada: 5 })
        yield* at("2026-11-06T00:00:00Z")
        const won = () => factsOf(fixture, "leaderboard.prizes_paid").length
        for (let turn = 0; turn < 1_000 && won() === 0; turn++) {
          yield* Effect.andThen(TestClock.adjust(limits.payoutPauseMs), yieldToEventLoop)
        }
        expect([won(), yield* pointsOf(fixture, ["ada", "bob"])]).toEqual([
          1,
          { ada: all.ada! + 110, bob: 0 },
        ])
        isDefect = false
        if (isKilled) yield* fixture.close("kill")
        const last = isKilled ? yield* start(MemoryStorage.make({ state }), small) : fixture
        for (let turn = 0; turn < 40; turn++) {
          yield* Effect.andThen(TestClock.adjust(limits.payoutCrashRetryMs / 20), yieldToEventLoop)
        }
        yield* paid(last)
        const ada = all.ada! + 110
        expect(yield* pointsOf(last, Object.keys(scores))).toEqual({ ...all, ada })
        if (!isKilled) expect(failing()).toBe(0)
        expect([...fixture.broken, ...last.broken]).toEqual([])
        yield* last.close()
        const payments = recordsOf(state).filter(({ cause }) => cause.kind === "payment")
        expect(payments).toHaveLength(7)
      }),
    )
  }

  it.effect(
    "are paid once although a winner refuses for longer than the journal keeps payments",
    () =>
      Effect.gen(function* () {
        yield* at("2026-11-04T10:00:00Z")
        const state = new MemoryStorage.MemoryState()
        let isDefect = true
        const asked: Array<string> = []
        const explosive = defective((command) => {
          if (command.kind === "payment") asked.push(command.to)
          return isDefect && command.kind === "payment" && command.to === "bob"
        })
        const options = { ...small, domain: explosive }
        let fixture = yield* start(MemoryStorage.make({ state }), options)
        yield* offer(fixture, prizes)
        yield* grantAll(fixture, scores)
        yield* at("2026-11-05T00:00:00Z")
        for (const isKilled of [true, false, true]) {
          for (let turn = 0; turn < 60; turn++) {
            yield* Effect.andThen(TestClock.adjust(limits.payoutPauseMs), yieldToEventLoop)
          }
          yield* fixture.close(isKilled ? "kill" : undefined)
          asked.length = 0
          fixture = yield* start(MemoryStorage.make({ state }), options)
        }
        for (let turn = 0; turn < 60; turn++) {
          yield* Effect.andThen(TestClock.adjust(limits.payoutPauseMs), yieldToEventLoop)
        }
        // A start asks who is left, and nobody who may have left the journal.
        expect(new Set(asked)).toEqual(new Set(["bob"]))
        isDefect = false
        for (let turn = 0; turn < 40; turn++) {
          yield* Effect.andThen(TestClock.adjust(limits.payoutCrashRetryMs / 20), yieldToEventLoop)
        }
        yield* paid(fixture)
        const all = expected(scores, prizes)
        expect(yield* pointsOf(fixture, Object.keys(scores))).toEqual(all)
        const winners = Object.values(all).filter((points) => points > 0).length
        expect(factsOf(fixture, "leaderboard.prizes_paid")).toMatchObject([{ paid: winners }])
        yield* fixture.close()
        const payments = recordsOf(state).filter(({ cause }) => cause.kind === "payment")
        expect(payments).toHaveLength(winners)
      }),
  )

  it.effect("are not lost when a payment to who takes in a winner meets a defect", () =>
    Effect.gen(function* () {
      for (let after = 0; after < 5; after++) {
        yield* at(`2026-11-${10 + 2 * after}T10:00:00Z`)
        let isDefect = true
        const explosive = defective(
          (command) => isDefect && command.kind === "payment" && command.to === "dan",
        )
        const options = { ...small, domain: explosive }
        const fixture = yield* startInMemory({}, options)
        yield* offer(fixture, [ranks(1, 4, 5)])
        yield* grantAll(fixture, { ada: 50, bob: 40, cyd: 30, dan: 20, kim: 1 })
        yield* at(`2026-11-${11 + 2 * after}T00:00:00Z`)
        for (let turn = 0; turn < after; turn++) {
          yield* Effect.andThen(TestClock.adjust(limits.payoutPauseMs), yieldToEventLoop)
        }
        yield* passing(Effect.ignore(merge(fixture, "dan", "kim")))
        isDefect = false
        for (let turn = 0; turn < 40; turn++) {
          yield* Effect.andThen(TestClock.adjust(limits.payoutCrashRetryMs / 20), yieldToEventLoop)
        }
        yield* passing(merge(fixture, "dan", "kim"))
        yield* paid(fixture)
        expect([after, yield* pointsOf(fixture, ["ada", "kim"])]).toEqual([
          after,
          { ada: 5, kim: 5 },
        ])
        yield* fixture.close()
      }
    }),
  )

  it.effect("of many windows that meet defects in a user leave its other commands alone", () =>
    Effect.gen(function* () {
      yield* at("2026-11-04T10:00:00Z")
      let isDefect = true
      let defects = 0
      const explosive = defective((command) => {
        const isMet = isDefect && command.kind === "payment" && command.to === "bob"
        if (isMet) defects++
        return isMet
      })
      const options = { ...quiet, domain: explosive }
      const fixture = yield* startInMemory({}, options)
      yield* offer(fixture, [ranks(1, 2, 1)])
      const windows = 8
      for (let n = 0; n < windows; n++) {
        yield* at(`2026-11-${String(4 + n).padStart(2, "0")}T10:00:00Z`)
        yield* passing(grantAll(fixture, { ada: 5, bob: 5 }))
      }
      yield* at("2026-11-12T00:00:00Z")
      const before = defects
      for (let turn = 0; turn < 400; turn++) {
        yield* Effect.andThen(TestClock.adjust(limits.payoutCrashRetryMs / 20), yieldToEventLoop)
        if (turn % 7 === 0) yield* passing(grantAll(fixture, { bob: 1 }))
      }
      expect(defects - before).toBeGreaterThan(10)
      isDefect = false
      for (let turn = 0; turn < 40; turn++) {
        yield* Effect.andThen(TestClock.adjust(limits.payoutCrashRetryMs / 20), yieldToEventLoop)
      }
      yield* paid(fixture)
      expect(yield* pointsOf(fixture, ["ada", "bob"])).toEqual({ ada: windows, bob: windows })
      yield* fixture.close()
    }),
  )

  it.effect("go on after a defect, without a restart", () =>
    Effect.gen(function* () {
      yield* at("2026-11-04T10:00:00Z")
      const state = new MemoryStorage.MemoryState()
      const first = yield* start(MemoryStorage.make({ state }), small)
      yield* first.engine.askProject(sandbox, {
        kind: "createLeaderboard",
        leaderboard: {
          id: "ldb_1",
          name: "More xp",
          score: { currency: "xp" },
          prizes: [ranks(1, 7, 1_000)],
        },
      })
      yield* offer(first, prizes)
      yield* grantAll(first, scores)
      yield* at("2026-11-05T00:00:00Z")
      yield* yieldToEventLoop
      // The last snapshot stores the closed boards.
      yield* first.close()
      const memory = MemoryStorage.make({ state })
      let defects = 0
      const fixture = yield* start(
        {
          ...memory,
          readEntries: (range) =>
            range.table === "boards" && range.reverse === true && defects < 2
              ? Stream.die(new Error(`Defect ${++defects}`))
              : memory.readEntries(range),
        },
        small,
      )
      expect((yield* fixture.engine.readProject(sandbox)).payouts.size).toBe(2)
      const isPaid = Effect.map(
        fixture.engine.readProject(sandbox),
        ({ payouts }) => payouts.size === 0,
      )
      for (let turn = 0; turn < 200 && !(yield* isPaid); turn++) {
        yield* TestClock.adjust(limits.payoutCrashRetryMs / 20)
        yield* yieldToEventLoop
      }
      expect([defects, yield* isPaid]).toEqual([2, true])
      const won = expected(scores, [...prizes, ranks(1, 7, 1_000)])
      expect(yield* pointsOf(fixture, Object.keys(scores))).toEqual(won)
      expect(fixture.broken).toEqual([])
      yield* fixture.close()
    }),
  )

  it.effect("count in no window and on no further leaderboard of the currency", () =>
    Effect.gen(function* () {
      yield* at("2026-11-04T10:00:00Z")
      const fixture = yield* startInMemory({}, quiet)
      yield* fixture.engine.askProject(sandbox, {
        kind: "createLeaderboard",
        leaderboard: { id: "ldb_1", name: "More xp", score: { currency: "xp" } },
      })
      yield* offer(fixture, [{ window: "daily", ranks: [1, 1], reward: { ...gives(0), xp: 500 } }])
      yield* grantAll(fixture, { ada: 50, bob: 40 })
      yield* at("2026-11-05T00:00:00Z")
      yield* paid(fixture)
      const read = (window: "all_time" | "daily" | "weekly", board?: string) =>
        Effect.map(
          fixture.engine.readBoard(sandbox, {
            window,
            limit: 10,
            offset: 0,
            ...(board !== undefined && { board }),
          }),
          ({ entries }) => entries.map(({ score, userId }) => [userId, score]),
        )
      expect((yield* fixture.engine.readUser(sandbox, "ada"))?.xp).toBe(550)
      expect(yield* read("daily")).toEqual([])
      const week = [
        ["ada", 50],
        ["bob", 40],
      ]
      expect(yield* read("weekly")).toEqual(week)
      expect(yield* read("weekly", "ldb_1")).toEqual(week)
      expect(yield* read("all_time", "ldb_1")).toEqual(week)
      yield* fixture.close()
    }),
  )

  it.effect("of a leaderboard that is archived before the payment are not paid", () =>
    Effect.gen(function* () {
      yield* at("2026-11-04T10:00:00Z")
      const fixture = yield* startInMemory({}, small)
      yield* fixture.engine.askProject(sandbox, {
        kind: "createLeaderboard",
        leaderboard: {
          id: "ldb_1",
          name: "More xp",
          score: { currency: "xp" },
          prizes: [ranks(1, 3, 5)],
        },
      })
      yield* grantAll(fixture, { ada: 50, bob: 40, cyd: 30 })
      yield* at("2026-11-05T00:00:00Z")
      yield* fixture.engine.askProject(sandbox, {
        kind: "deleteLeaderboard",
        leaderboardId: "ldb_1",
      })
      expect((yield* fixture.engine.readProject(sandbox)).payouts.size).toBe(0)
      yield* TestClock.adjust(1_000)
      yield* yieldToEventLoop
      const won = yield* pointsOf(fixture, ["ada", "bob", "cyd"])
      expect(won.cyd).toBe(0)
      yield* fixture.close()
    }),
  )

  it.effect("are paid at the times of the closes while a test clock passes twelve windows", () =>
    Effect.gen(function* () {
      yield* at("2026-11-04T10:00:00Z")
      const fixture = yield* startInMemory({}, quiet)
      const all = windowKinds.map((window) => ({ ...ranks(1, 1, 5), window }))
      yield* offer(fixture, all)
      for (const id of ["ldb_1", "ldb_2", "ldb_3"]) {
        yield* fixture.engine.askProject(sandbox, {
          kind: "createLeaderboard",
          leaderboard: { id, name: id, score: { currency: "xp" }, prizes: all },
        })
      }
      yield* grantAll(fixture, { ada: 10, bob: 5 })
      const to = Date.parse("2026-12-20T00:00:00Z")
      yield* fixture.engine.askProject(sandbox, { kind: "advanceClock", to })
      const isReady = Effect.map(
        fixture.engine.readProject(sandbox),
        ({ testClock }) => testClock?.status === "ready",
      )
      for (let turn = 0; turn < 1_000 && !(yield* isReady); turn++) {
        yield* TestClock.adjust(limits.testClockPauseMs)
        yield* yieldToEventLoop
      }
      expect(yield* isReady).toBe(true)
      expect(yield* pointsOf(fixture, ["ada", "bob"])).toEqual({ ada: 60, bob: 0 })
      const days = fixture.committed.flatMap((record) =>
        record.cause.kind === "payment" && record.cause.prize !== undefined
          ? [
              `${record.cause.prize.window} ${new Date(decidedAt(record)).toISOString().slice(0, 10)}`,
            ]
          : [],
      )
      const ends = ["daily 2026-11-05", "weekly 2026-11-09", "monthly 2026-12-01"]
      expect(days).toEqual(ends.flatMap((end) => [end, end, end, end]))
      yield* fixture.close()
    }),
  )
})

/** Ends when the window is closed. */
const closed = Effect.fnUntraced(function* (state: MemoryStorage.MemoryState) {
  const isClosed = () =>
    recordsOf(state).some(({ facts }) => facts[0]?.kind === "leaderboard.window_closed")
  while (!isClosed()) yield* yieldToEventLoop
})

describe("A server that is killed while it pays prizes", () => {
  for (const [isKept, isMerging] of [
    [true, false],
    [false, false],
    [true, true],
    [false, true],
  ] as const) {
    const words = isKept ? "is in the journal and has no answer" : "is lost"
    const also = isMerging ? " and merges a winner" : ""
    it.effect(`pays each winner once${also}, whichever write ${words}`, () =>
      Effect.gen(function* () {
        let isOver = false
        for (let writes = 0; !isOver; writes++) {
          yield* at("2026-11-04T10:00:00Z")
          const state = new MemoryStorage.MemoryState()
          const first = yield* start(MemoryStorage.make({ state }), small)
          yield* offer(first, prizes)
          yield* grantAll(first, scores)
          yield* first.close("kill")
          const disk = {
            appendsLeft: writes,
            lastAppendKept: isKept,
            writesLeft: Number.POSITIVE_INFINITY,
          }
          const second = yield* start(dyingDisk(MemoryStorage.make({ state }), disk), small)
          yield* at("2026-11-05T00:00:00Z")
          const merging = yield* Effect.forkChild(
            isMerging
              ? Effect.andThen(closed(state), Effect.ignore(merge(second, "dan", "gus")))
              : Effect.void,
          )
          for (let turn = 0; turn < 40; turn++) {
            yield* TestClock.adjust(limits.payoutPauseMs)
            yield* yieldToEventLoop
          }
          isOver = factsOf(second, "leaderboard.prizes_paid").length > 0
          yield* Fiber.interrupt(merging)
          yield* second.close("kill")
          // Some of these starts store the closed board before they pay.
          const third = yield* start(MemoryStorage.make({ state }), small)
          if (writes % 3 === 0) yield* TestClock.adjust(quiet.snapshotIntervalMs)
          if (isMerging) yield* Effect.andThen(closed(state), merge(third, "dan", "gus"))
          yield* paid(third)
          const all = expected(scores, prizes)
          const { dan, gus, ...others } = all
          const won = isMerging ? { ...others, gus: dan! + gus! } : all
          expect(yield* pointsOf(third, Object.keys(won))).toEqual(won)
          yield* third.close()
          const payments = recordsOf(state).filter(({ cause }) => cause.kind === "payment")
          expect(payments).toHaveLength(6)
          const fourth = yield* start(MemoryStorage.make({ state }), small)
          expect(yield* pointsOf(fourth, Object.keys(won))).toEqual(won)
          yield* fourth.close()
        }
      }),
    )
  }
})
