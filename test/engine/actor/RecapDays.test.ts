/** What users earned on each day, and the longest runs: limits, and a snapshot of it. */
import { describe, expect, it } from "vitest"
import type { Fact, JournalRecord } from "../../../src/domain/record/Record.ts"
import { noStreak } from "../../../src/domain/user/Streak.ts"
import { RecapDays } from "../../../src/engine/actor/RecapDays.ts"
import { limits } from "../../../src/Limits.ts"
import { sandbox } from "../fixture.ts"

const recordOf = (...facts: ReadonlyArray<Fact>): JournalRecord => ({
  sequence: 1,
  at: 0,
  subject: { actor: "user", environment: sandbox, userId: "ada" },
  cause: { kind: "event", action: "TAP" },
  facts,
})
const points = (amount: number): Fact => {
  return { kind: "points.earned", amount, total: amount, source: "reward" }
}
const gems = (amount: number): Fact => {
  return { kind: "currency.earned", currency: "gems", amount, total: amount, source: "reward" }
}
const run = (current: number): Fact => {
  return { kind: "streak.extended", key: "daily", period: 1, current, streak: noStreak } as Fact
}

const first = 20_000
const on = (day: number) => () => day

describe("The days of a recap", () => {
  it("have the sums of currencies and the longest run, and are stored whole", () => {
    const days = new RecapDays()
    expect(days.stored()).toEqual({})
    expect(days.fold(recordOf({ kind: "user.created" }), on(first))).toBe(false)
    expect(days.fold(recordOf(points(3), gems(2), run(4)), on(first))).toBe(true)
    days.fold(recordOf(gems(5), run(3), run(0)), on(first))
    const loaded = new RecapDays()
    loaded.load(days.stored().recapDays!)
    for (const { earned, runs } of [days.on(first), loaded.on(first)]) {
      expect([...earned]).toEqual([
        ["points", 3],
        ["gems", 7],
      ])
      expect([...runs]).toEqual([["daily", 4]])
    }
  })

  it("are the latest ones", () => {
    const days = new RecapDays()
    days.fold(recordOf(gems(1)), on(first))
    days.fold(recordOf(gems(1)), on(first + limits.dayCountsMax - 1))
    expect(days.on(first).earned.get("gems")).toBe(1)
    days.fold(recordOf(gems(1)), on(first + limits.dayCountsMax))
    days.fold(recordOf(gems(1)), on(first))
    expect(days.on(first).earned.size).toBe(0)
  })
})
