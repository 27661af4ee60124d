import { describe, expect, it } from "@effect/vitest"
import { Effect, Latch } from "effect"
import { TestClock } from "effect/testing"
import { limits } from "../../../src/Limits.ts"
import { Metrics } from "../../../src/metrics/Metrics.ts"
import { yieldToEventLoop } from "../../../src/storage/yieldToEventLoop.ts"
import { leagueWith } from "../../domain/definitions.ts"
import { sampleValue } from "../../metrics/exposition.ts"
import { defective, event, reward, rule, sandbox, startInMemory } from "../fixture.ts"

const minute = 60_000
const settle = Effect.gen(function* () {
  for (let turn = 0; turn < 40; turn++) {
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
      const { createdAt: _, set: __, updatedAt: ___, version: ____, ...league } = leagueWith({})
      yield* fixture.engine.askProject(sandbox, { kind: "createLeague", league })
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
        const {
          createdAt: _,
          set: __,
          updatedAt: ___,
          version: ____,
          ...league
        } = leagueWith({
          id: `lga_${graceMinutes}`,
          graceMinutes,
        })
        yield* engine.askProject(sandbox, { kind: "createLeague", league })
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
})
