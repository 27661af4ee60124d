import { describe, expect, it } from "vitest"
import type { Fact, JournalRecord } from "../../../src/domain/record/Record.ts"
import { loadGoalRow } from "../../../src/engine/actor/GoalRows.ts"
import { GoalTotals } from "../../../src/engine/actor/GoalTotals.ts"
import type { Entry } from "../../../src/storage/Storage.ts"
import { openValue } from "../../../src/storage/Values.ts"

const goal = { goalId: "gol_1", key: "cup", name: "Cup", period: 0 }

const record = (sequence: number, ...facts: ReadonlyArray<Fact>): JournalRecord => ({
  sequence,
  at: sequence,
  subject: { actor: "user", environment: "e", userId: "ada" },
  cause: { kind: "event" } as never,
  facts,
})

const contributed = (team: number, amount: number): Fact => ({
  kind: "goal.contributed",
  ...goal,
  team,
  amount,
  mine: amount,
  first: true,
})

const folded = (totals: GoalTotals, each: JournalRecord) => {
  for (const fact of each.facts) totals.durable(fact, each)
}

/** What a start reads of these rows. */
const loaded = (entries: Iterable<Entry>) => {
  const totals = new GoalTotals()
  for (const { key, value } of entries) {
    const body = value === null ? "" : openValue(value)
    if (typeof body !== "string") loadGoalRow(key, body, () => totals)
  }
  return totals
}

describe("The rows of a snapshot for shared goals", () => {
  it("are those of the teams that changed since the last snapshot", () => {
    const totals = new GoalTotals()
    for (let team = 1; team <= 100; team++) folded(totals, record(team, contributed(team, 5)))
    expect([...totals.rows.begin("e")]).toHaveLength(100)
    totals.rows.ended()
    folded(totals, record(101, contributed(7, 5)))
    const rows = [...totals.rows.begin("e")]
    expect(rows).toHaveLength(1)
    expect(loaded(rows).durableOf("gol_1", 7)).toMatchObject({ total: 10, contributors: 2 })
    totals.rows.ended()
    expect([...totals.rows.begin("e")]).toEqual([])
  })

  it("are as of the snapshot's begin, also if they are read later", () => {
    const totals = new GoalTotals()
    folded(totals, record(1, contributed(1, 5)))
    const rows = totals.rows.begin("e")
    folded(totals, record(2, contributed(1, 5)))
    expect(loaded(rows).durableOf("gol_1", 1)).toMatchObject({ total: 5 })
    totals.rows.ended()
    expect(loaded(totals.rows.begin("e")).durableOf("gol_1", 1)).toMatchObject({ total: 10 })
  })

  it("come again, with the latest values, after a snapshot that failed", () => {
    const totals = new GoalTotals()
    folded(totals, record(1, contributed(1, 5), contributed(2, 5)))
    expect([...totals.rows.begin("e")]).toHaveLength(2)
    folded(totals, record(2, contributed(1, 5)))
    const again = [...totals.rows.begin("e")]
    expect(again).toHaveLength(2)
    expect(loaded(again).durableOf("gol_1", 1)).toMatchObject({ total: 10 })
    expect(loaded(again).durableOf("gol_1", 2)).toMatchObject({ total: 5 })
  })

  it("have what is gone, and which rewards are owed, until they are paid", () => {
    const totals = new GoalTotals()
    const reached = { total: 5, target: 5, contributors: 1 }
    const owed = { reward: { xp: 0, points: 1, badgeId: null }, min: 1 }
    folded(
      totals,
      record(1, contributed(1, 5), { kind: "goal.completed", ...goal, team: 1, ...reached, owed }),
    )
    totals.erased([["gol_1", 0, 1, 5]])
    const before = loaded(totals.rows.begin("e"))
    expect(before.gone.of({ ...goal, team: 1 })).toMatchObject({ total: 5, contributors: 1 })
    expect([...before.owed.values()]).toEqual([...totals.owed.values()])
    expect(before.owed.size).toBe(1)
    totals.rows.ended()
    folded(totals, record(2, { kind: "goal.rewards_paid", ...goal, team: 1, paid: 0 }))
    const rows = [...totals.rows.begin("e")]
    expect(rows.map(({ value }) => value === null)).toEqual([false, true])
  })
})
