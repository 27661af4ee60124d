import { describe, expect, it } from "vitest"
import { GoalDays, type StoredDays } from "../../../src/engine/actor/GoalDays.ts"
import { limits } from "../../../src/Limits.ts"
import { keyParts } from "../../../src/storage/Keys.ts"
import type { Entry } from "../../../src/storage/Storage.ts"
import { jsonOf, openValue } from "../../../src/storage/Values.ts"

const contributed = (day: number, amount: number, goalId = "gol_1") =>
  ({
    kind: "goal.contributed",
    goalId,
    key: "cup",
    name: "Cup",
    period: 0,
    amount,
    mine: amount,
    day,
  }) as const

const folded = (...facts: ReadonlyArray<ReturnType<typeof contributed>>): GoalDays => {
  const days = new GoalDays()
  for (const fact of facts) days.fold(fact)
  return days
}

/** The days that a start reads from these rows. */
const loaded = (entries: ReadonlyArray<Entry>): GoalDays => {
  const days = new GoalDays()
  for (const { key, value } of entries) {
    const [, , goalId] = keyParts(key)
    days.load(goalId as string, jsonOf<StoredDays>(openValue(value!) as Buffer))
  }
  return days
}

describe("The days of a goal", () => {
  it("are the last ones, whatever the order of the contributions", () => {
    const last = 20_000
    const kept = last - limits.goalDaysMax
    const facts = [
      contributed(kept - 1, 1),
      contributed(kept, 2),
      contributed(kept + 1, 3),
      contributed(last, 4),
      contributed(last, -1),
    ]
    for (const order of [
      facts,
      facts.toReversed(),
      [facts[3]!, facts[0]!, ...facts.slice(1, 3), facts[4]!],
    ]) {
      const days = folded(...order)
      const amounts = [kept - 1, kept, kept + 1, last].map((day) => days.amountOn("gol_1", day))
      expect(amounts).toEqual([0, 2, 3, 3])
    }
  })

  it("do not come back once they were left behind, also after an undo of the last one and a start", () => {
    const days = folded(contributed(20_000, 5), contributed(20_500, 5), contributed(20_500, -5))
    for (const each of [days, loaded(days.begin("e"))]) {
      each.fold(contributed(20_000, 7))
      expect(each.amountOn("gol_1", 20_000)).toBe(0)
    }
  })

  it("are rows of a snapshot for the goals that changed, as of its begin", () => {
    const days = folded(contributed(20_000, 5), contributed(20_001, 1, "gol_2"))
    const rows = days.begin("e")
    days.fold(contributed(20_000, 5))
    expect(rows).toHaveLength(2)
    expect(loaded(rows).amountOn("gol_1", 20_000)).toBe(5)
    days.ended()
    const next = days.begin("e")
    expect(next).toHaveLength(1)
    expect(loaded(next).amountOn("gol_1", 20_000)).toBe(10)
  })

  it("come again, with the latest values, after a snapshot that failed", () => {
    const days = folded(contributed(20_000, 5), contributed(20_001, 1, "gol_2"))
    days.begin("e")
    days.fold(contributed(20_000, 5))
    const again = loaded(days.begin("e"))
    expect(again.amountOn("gol_1", 20_000)).toBe(10)
    expect(again.amountOn("gol_2", 20_001)).toBe(1)
    days.ended()
    expect(days.begin("e")).toEqual([])
  })
})
