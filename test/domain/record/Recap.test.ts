/** Recaps of undone records, and of merged users. */
import { describe, expect, it } from "vitest"
import { Recap } from "../../../src/domain/record/Recap.ts"
import type { Fact, JournalRecord } from "../../../src/domain/record/Record.ts"
import { zoneOf } from "../../../src/domain/values/Calendar.ts"
import { World } from "../decide/World.ts"

const dayMs = 86_400_000
const zone = zoneOf("UTC")

/** The recap of the days of the records, which are oldest first, of `ada`. */
const recapOf = (records: ReadonlyArray<JournalRecord>, userId: string, level = 1, days = 400) => {
  const today = Math.floor(records.at(-1)!.at / dayMs)
  const recap = new Recap(zone, today - days, today, { userId, level })
  for (const record of records.toReversed()) recap.add(record)
  return recap
}

describe("A recap of undone records", () => {
  it("has a badge that the user keeps although its event is undone, and none that is lost", () => {
    const world = new World()
    world.streak({})
    const streak = { kind: "streak", streak: "daily", target: 1 } as const
    world.badge({ id: "bdg_kept", key: "kept", criteria: streak })
    const count = { kind: "action_count", action: "TAP", where: [], target: 1 } as const
    world.badge({ id: "bdg_lost", key: "lost", criteria: count })
    const event = world.track()
    world.undo(event)
    const held = [...world.user!.badges.keys()]
    expect(held).toEqual(["bdg_kept"])
    const recap = recapOf(world.records, "u1")
    expect(recap.badges.map(({ badgeId }) => badgeId)).toEqual(held)
    expect(recap.events).toBe(0)
  })
})

describe("A recap of merged users", () => {
  let sequence = 0
  const record = (userId: string, daysAgo: number, facts: ReadonlyArray<Fact>): JournalRecord => ({
    sequence: ++sequence,
    at: (20_800 - daysAgo) * dayMs,
    subject: { actor: "user", environment: "demo:sandbox", userId },
    cause: { kind: "tick" },
    facts,
  })
  const badge = { kind: "badge.earned", badgeId: "bdg_1", key: "one", name: "One" } as const
  const source = { ruleId: "rul_1" }
  const level = (from: number, to: number): Fact => ({ kind: "level.changed", from, to })

  it("has the levels of the user who stays, and not those of the merged user", () => {
    const records = [
      record("ada", 50, [level(1, 4)]),
      record("visitor", 9, [level(1, 2)]),
      record("ada", 5, [level(4, 5)]),
    ]
    expect(recapOf(records, "ada", 5, 20).levels).toEqual({ from: 4, to: 5 })
  })

  it("has a badge that both had earned once, with the earlier day, and not if that is before", () => {
    const records = [
      record("visitor", 30, [{ ...badge, source }]),
      record("ada", 9, [{ ...badge, source }]),
    ]
    const earned = recapOf(records, "ada").badges
    expect(earned.map(({ at, key }) => [key, at])).toEqual([["one", (20_800 - 30) * dayMs]])
    expect(recapOf(records, "ada", 1, 20).badges).toEqual([])
  })

  it("has each award of a badge that is earned again and again", () => {
    const records = [
      record("visitor", 30, [{ ...badge, source, times: 1 }]),
      record("ada", 9, [{ ...badge, source, times: 1 }]),
      record("ada", 8, [{ ...badge, source, times: 2 }]),
    ]
    expect(recapOf(records, "ada").badges).toHaveLength(3)
  })
})
