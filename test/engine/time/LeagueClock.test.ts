import { describe, expect, it } from "@effect/vitest"
import { Effect, Latch } from "effect"
import { TestClock } from "effect/testing"
import type { JournalRecord } from "../../../src/domain/record/Record.ts"
import { limits } from "../../../src/Limits.ts"
import { Metrics } from "../../../src/metrics/Metrics.ts"
import { yieldToEventLoop } from "../../../src/storage/yieldToEventLoop.ts"
import { leagueWith } from "../../domain/definitions.ts"
import { limited } from "../../limited.ts"
import { sampleValue } from "../../metrics/exposition.ts"
import { dyingDisk } from "../../simulation/dyingDisk.ts"
import * as MemoryStorage from "../../storage/MemoryStorage.ts"
import {
  defective,
  event,
  type Fixture,
  recordsOf,
  reward,
  rule,
  sandbox,
  start,
  startInMemory,
} from "../fixture.ts"

const minute = 60_000
const day = 1_440 * minute
const settle = Effect.gen(function* () {
  for (let turn = 0; turn < 16; turn++) {
    yield* Effect.andThen(TestClock.adjust(limits.leagueRetryMs), yieldToEventLoop)
  }
})

describe("The close of a league's window", () => {
  it.effect("counts a user whom a defect keeps from being settled, until it is over", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(Date.parse("2026-11-04T10:00:00Z"))
      const metrics = new Metrics()
      let isDefect = true
      const explosive = defective(
        ({ kind }, user) => isDefect && kind === "tick" && user?.id === "bob",
      )
      const options = { metrics, clockCheckMs: minute, domain: explosive }
      const fixture = yield* startInMemory({}, options)
      const failing = () => sampleValue(metrics.text(), "laurel_payments_failing")
      yield* createLeague(fixture.engine, {})
      for (const userId of ["ada", "bob"]) {
        yield* fixture.engine.askUser(sandbox, reward(userId, userId === "ada" ? 5 : 3))
      }
      yield* TestClock.setTime(Date.parse("2026-11-05T00:00:00Z"))
      yield* settle
      const outcomes = () =>
        fixture.committed.flatMap(({ facts, subject }) =>
          facts.some(({ kind }) => kind === "league.promoted" || kind === "league.stayed")
            ? [subject.actor === "user" && subject.userId]
            : [],
        )
      expect([failing(), outcomes()]).toEqual([1, ["ada"]])
      isDefect = false
      yield* settle
      expect([failing(), outcomes()]).toEqual([0, ["ada", "bob"]])
      expect(fixture.broken).toEqual([])
      yield* fixture.close()
    }),
  )

  it.effect("counts members whose records become durable only after another window is over", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(Date.parse("2026-11-04T23:59:00Z"))
      const disk = { appended: 0, writes: Latch.makeUnsafe(true) }
      const onAppend = () =>
        Effect.suspend(() => {
          disk.appended++
          return disk.writes.await
        })
      const { close, committed, engine } = yield* startInMemory(
        { onAppend },
        { clockCheckMs: minute },
      )
      yield* engine.askProject(sandbox, rule("TAP", 5))
      for (const graceMinutes of [0, 1]) {
        yield* createLeague(engine, { id: `lga_${graceMinutes}`, graceMinutes })
      }
      const ask = (message: Parameters<typeof engine.askUser>[1]) =>
        Effect.forkChild(engine.askUser(sandbox, message), { startImmediately: true })
      const turns = Effect.gen(function* () {
        for (let turn = 0; turn < 10; turn++) yield* yieldToEventLoop
      })
      yield* engine.askUser(sandbox, reward("ada", 5))
      disk.writes.closeUnsafe()
      const { appended } = disk
      yield* ask(reward("bob", 5))
      yield* turns
      expect(disk.appended).toBe(appended + 1)
      // The window of the league without a grace is over. Its clock waits for bob's record.
      yield* TestClock.adjust(minute)
      yield* turns
      const late = event("cyd", "TAP", { occurredAt: Date.parse("2026-11-04T23:59:30Z") })
      yield* ask(late)
      // Now the grace of the other league ends too, and the record of cyd waits behind that of bob.
      yield* TestClock.adjust(minute)
      disk.writes.openUnsafe()
      yield* settle
      const totals = committed.flatMap(({ facts }) =>
        facts.flatMap((fact) =>
          fact.kind === "league.window_closed" ? [[fact.leagueId, fact.total]] : [],
        ),
      )
      expect(totals).toEqual([
        ["lga_0", 2],
        ["lga_1", 3],
      ])
      yield* close()
    }),
  )

  it.effect(
    "goes on without a user who is not settled, and settles it later with the rank it had",
    () =>
      Effect.gen(function* () {
        yield* TestClock.setTime(Date.parse("2026-11-04T10:00:00Z"))
        const state = new MemoryStorage.MemoryState()
        const bug = bugFor("bob")
        let fixture = yield* start(MemoryStorage.make({ state }), bug.options)
        yield* createLeague(fixture.engine)
        for (const date of [4, 5, 6]) {
          if (date > 4) yield* TestClock.setTime(Date.parse(`2026-11-0${date}T00:00:00Z`))
          yield* settle
          // Bob is second on the first day, and refuses from then on.
          const scores = { ada: 9, bob: 7, cyd: 5, dan: 3 }
          for (const [userId, amount] of Object.entries(scores)) {
            if (userId === "bob" && date > 4) continue
            yield* fixture.engine.askUser(sandbox, reward(userId, amount))
          }
          yield* fixture.close()
          fixture = yield* start(MemoryStorage.make({ state }), bug.options)
        }
        yield* TestClock.setTime(Date.parse("2026-11-07T00:00:00Z"))
        yield* settle
        const told = outcomesIn(recordsOf(state))
        expect(sorted(told)).toEqual([
          ["2026-11-04", "ada", 1, 4],
          ["2026-11-04", "cyd", 3, 4],
          ["2026-11-04", "dan", 4, 4],
          ["2026-11-05", "ada", 1, 1],
          ["2026-11-05", "cyd", 1, 2],
          ["2026-11-05", "dan", 2, 2],
          ["2026-11-06", "ada", 1, 1],
          ["2026-11-06", "cyd", 1, 1],
          ["2026-11-06", "dan", 1, 1],
        ])
        const open = fixture.engine.oldestCohorts(sandbox, "lga_1")
        expect(open).toBeUndefined()
        expect(fixture.engine.readCohort(sandbox, bobsCohort)).toMatchObject({
          members: [{ userId: "bob", rank: 2 }],
          of: 4,
        })
        bug.isThere = false
        yield* settle
        const [late, ...others] = outcomesIn(recordsOf(state)).slice(told.length)
        expect([late, others]).toEqual([["2026-11-04", "bob", 2, 4], []])
        // Bob plays on.
        yield* fixture.engine.askUser(sandbox, reward("bob", 1))
        yield* TestClock.setTime(Date.parse("2026-11-08T00:00:00Z"))
        yield* settle
        expect(outcomesIn(recordsOf(state)).at(-1)).toEqual(["2026-11-07", "bob", 1, 1])
        expect(fixture.broken).toEqual([])
        yield* fixture.close()
      }),
  )

  for (const [most, goesOn] of [
    [2, true],
    [1, false],
  ] as const) {
    it.effect(
      `${goesOn ? "goes on without" : "waits for"} two users who refuse if ${most} may`,
      () =>
        Effect.gen(function* () {
          yield* limited({ leagueLateMax: most })
          yield* TestClock.setTime(Date.parse("2026-11-04T10:00:00Z"))
          const bug = bugFor("bob", "cyd")
          const fixture = yield* startInMemory({}, bug.options)
          yield* createLeague(fixture.engine)
          for (const userId of ["ada", "bob", "cyd"]) {
            yield* fixture.engine.askUser(sandbox, reward(userId, 1))
          }
          yield* TestClock.setTime(Date.parse("2026-11-05T00:00:00Z"))
          yield* settle
          yield* fixture.engine.askUser(sandbox, reward("ada", 1))
          yield* TestClock.setTime(Date.parse("2026-11-06T00:00:00Z"))
          yield* settle
          const closes = () =>
            fixture.committed.filter(({ facts }) =>
              facts.some(({ kind }) => kind === "league.window_closed"),
            ).length
          expect(closes()).toBe(goesOn ? 2 : 1)
          bug.isThere = false
          yield* settle
          expect(closes()).toBe(2)
          expect(outcomesIn(fixture.committed)).toHaveLength(4)
          yield* fixture.close()
        }),
    )
  }

  for (const isKept of [true, false]) {
    const words = isKept ? "is in the journal and has no answer" : "is lost"
    it.effect(
      `without a user who refuses is the same if the server is killed and a write ${words}`,
      () =>
        Effect.gen(function* () {
          for (let writes = 0; writes < 12; writes++) {
            const begins = Date.parse("2026-11-04T00:00:00Z") + writes * 10 * day
            yield* TestClock.setTime(begins + day / 2)
            const state = new MemoryStorage.MemoryState()
            const disk = {
              appendsLeft: Number.POSITIVE_INFINITY,
              lastAppendKept: isKept,
              writesLeft: Number.POSITIVE_INFINITY,
            }
            const bug = bugFor("bob")
            const first = yield* start(dyingDisk(MemoryStorage.make({ state }), disk), bug.options)
            yield* createLeague(first.engine)
            const scores = { ada: 9, bob: 7, cyd: 5 }
            for (const [userId, amount] of Object.entries(scores)) {
              yield* first.engine.askUser(sandbox, reward(userId, amount))
            }
            yield* TestClock.setTime(begins + day)
            yield* settle
            yield* first.engine.askUser(sandbox, reward("ada", 1))
            yield* first.engine.askUser(sandbox, reward("cyd", 2))
            disk.appendsLeft = writes
            yield* TestClock.setTime(begins + 2 * day)
            yield* settle
            // Bob is settled while the power fails.
            bug.isThere = false
            yield* settle
            yield* first.close("kill")
            const second = yield* start(MemoryStorage.make({ state }), bug.options)
            yield* settle
            yield* second.close()
            const told = sorted(outcomesIn(recordsOf(state)))
            expect([
              writes,
              told.map(([date, ...one]) => [Date.parse(`${date}`) - begins, ...one]),
            ]).toEqual([
              writes,
              [
                [0, "ada", 1, 3],
                [0, "bob", 2, 3],
                [0, "cyd", 3, 3],
                [day, "ada", 1, 1],
                [day, "cyd", 1, 1],
              ],
            ])
          }
        }),
    )
  }
})

/** A league whose first of each cohort move up. */
const createLeague = (
  engine: Fixture["engine"],
  members: Parameters<typeof leagueWith>[0] = { cohortSize: 10 },
) => {
  const { createdAt: _, set: __, updatedAt: ___, version: ____, ...league } = leagueWith(members)
  return engine.askProject(sandbox, { kind: "createLeague", league })
}

/** A defect in the settling of users. */
const bugFor = (...userIds: ReadonlyArray<string>) => {
  const explosive = defective(
    ({ kind }, user) => bug.isThere && kind === "tick" && userIds.includes(user?.id ?? ""),
  )
  const rare = { clockCheckMs: 60 * minute, snapshotIntervalMs: 360 * minute }
  const bug = { isThere: true, options: { ...rare, domain: explosive } }
  return bug
}

/** The outcomes in the order of the journal: day, user, rank, and among how many. */
const outcomesIn = (records: ReadonlyArray<JournalRecord>) =>
  records.flatMap(({ facts, subject }) =>
    facts.flatMap((fact) =>
      fact.kind === "league.promoted" ||
      fact.kind === "league.stayed" ||
      fact.kind === "league.demoted"
        ? [
            [
              new Date(fact.startsAt).toISOString().slice(0, 10),
              subject.actor === "user" && subject.userId,
              fact.rank,
              fact.of,
            ],
          ]
        : [],
    ),
  )

const sorted = (told: ReturnType<typeof outcomesIn>) =>
  told.toSorted((one, other) => (`${one}` < `${other}` ? -1 : 1))

const bobsCohort = {
  leagueId: "lga_1",
  window: Date.parse("2026-11-04") / 86_400_000,
  division: 0,
  cohort: 1,
}
