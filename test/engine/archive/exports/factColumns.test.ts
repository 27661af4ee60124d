import { describe, expect, it } from "vitest"
import { isShown } from "../../../../src/domain/message/FactMembers.ts"
import { historyFact } from "../../../../src/domain/message/HistoryFact.ts"
import type { JournalRecord } from "../../../../src/domain/record/Record.ts"
import { recordId } from "../../../../src/domain/values/Ids.ts"
import { factColumns } from "../../../../src/engine/archive/exports/factColumns.ts"
import { World } from "../../../domain/decide/World.ts"

const causesOf = (record: JournalRecord): ReadonlySet<string | null> =>
  new Set(
    record.facts.filter(isShown).map((fact) => factColumns(historyFact(record, fact)).causeId),
  )

describe("The columns of a fact", () => {
  it("name the event, reward, spend or purchase that caused it or was taken back", () => {
    const world = new World()
    const item = world.item({ price: { points: 2 }, reward: { xp: 5, points: 0, badgeId: null } })
    world.rule({ reward: { xp: 1, points: 0, badgeId: null } })
    const reward = world.do({ kind: "reward", type: "points", amount: 9 })
    const event = world.track()
    const spend = world.spend(1)
    const purchase = world.buy(item.id)
    const pairs = [
      ["rwd", reward],
      ["evt", event],
      ["spd", spend],
      ["pur", purchase],
    ] as const
    for (const [prefix, { record }] of pairs) {
      expect(causesOf(record)).toEqual(new Set([recordId(prefix, record)]))
    }
    const bought = recordId("pur", purchase.record)
    expect(causesOf(world.giveBack(purchase).record)).toEqual(new Set([bought]))
  })
})
