import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { limits } from "../../../src/Limits.ts"
import { Metrics } from "../../../src/metrics/Metrics.ts"
import { yieldToEventLoop } from "../../../src/storage/yieldToEventLoop.ts"
import { leagueWith } from "../../domain/definitions.ts"
import { sampleValue } from "../../metrics/exposition.ts"
import { defective, reward, sandbox, startInMemory } from "../fixture.ts"

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
})
