/** What each mechanic did on each day: limits, and a snapshot of it. */
import { describe, expect, it } from "vitest"
import type { Fact, JournalRecord } from "../../../src/domain/record/Record.ts"
import { MechanicDays } from "../../../src/engine/actor/MechanicDays.ts"
import { limits } from "../../../src/Limits.ts"
import { sandbox } from "../fixture.ts"

const today = 20_784

const recordOf = (...facts: ReadonlyArray<Fact>): JournalRecord => ({
  sequence: 1,
  at: 0,
  subject: { actor: "user", environment: sandbox, userId: "ada" },
  cause: { kind: "event", action: "TAP" },
  facts,
})

const earned = (ruleId: string, amount: number): Fact => ({
  ...{ kind: "xp.earned", amount, total: amount, source: { ruleId } },
})

const on = (day: number) => () => day

describe("The days of mechanics", () => {
  it("count an event once for a rule that gives several amounts, and all of its xp", () => {
    const days = new MechanicDays()
    const boosts = [{ key: "double", factor: 2 }]
    const points: Fact = {
      ...{ kind: "points.earned", amount: 3, total: 3, source: { ruleId: "rul_a" } },
      boosts,
    }
    const used: Fact = {
      ...{ kind: "rule.used", ruleId: "rul_a", period: 0, occurredAt: 0, times: 1 },
    }
    const xp = { ...earned("rul_a", 5), boosts } as Fact
    expect(days.fold(recordOf(xp, points, used, earned("rul_b", 7)), on(today))).toBe(true)
    expect(days.on("rul_a", today)).toEqual({ times: 1, xp: 5 })
    expect(days.on("rul_b", today)).toEqual({ times: 1, xp: 7 })
    expect(days.on("boost double", today)).toEqual({ times: 1, xp: 0 })
  })

  it("do not count a use that an undo takes back, nor a record without a mechanic", () => {
    const days = new MechanicDays()
    const undone: Fact = {
      ...{ kind: "rule.used", ruleId: "rul_a", period: 0, occurredAt: 0, times: -1 },
    }
    expect(days.fold(recordOf(undone, { kind: "user.created" }), on(today))).toBe(false)
    expect(days.stored()).toEqual({})
  })

  it("are kept for mechanicDaysMax days up to the latest, and in a snapshot", () => {
    const days = new MechanicDays()
    const oldest = today - limits.mechanicDaysMax + 1
    for (const day of [oldest, today, oldest - 1, oldest]) {
      days.fold(recordOf(earned("rul_a", 5)), on(day))
    }
    const stored = {
      mechanics: [
        [
          "rul_a",
          [
            [oldest, 2, 10],
            [today, 1, 5],
          ],
        ],
      ],
    }
    expect(days.stored()).toEqual(stored)
    const loaded = new MechanicDays()
    loaded.load(JSON.parse(JSON.stringify(stored.mechanics)))
    expect(loaded.stored()).toEqual(stored)
    loaded.fold(recordOf(earned("rul_a", 5)), on(today + 1))
    expect(loaded.on("rul_a", oldest)).toEqual({ times: 0, xp: 0 })
  })

  it("have a place for the first mechanicsCountedMax definitions, also after a restart", () => {
    const days = new MechanicDays()
    for (let n = 0; n < limits.mechanicsCountedMax; n++) {
      expect(days.hasPlaceFor(`rul_${n}`)).toBe(true)
      days.fold(recordOf(earned(`rul_${n}`, 1)), on(today))
    }
    const loaded = new MechanicDays()
    loaded.load(days.stored().mechanics!)
    for (const each of [days, loaded]) {
      expect([each.hasPlaceFor("rul_0"), each.hasPlaceFor("rul_more")]).toEqual([true, false])
      each.fold(recordOf(earned("rul_more", 1), earned("rul_0", 1)), on(today))
      expect([each.on("rul_more", today).xp, each.on("rul_0", today).xp]).toEqual([0, 2])
    }
  })
})
