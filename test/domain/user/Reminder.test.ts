/** When users are reminded of quests and amounts that end. */
import { describe, expect, it } from "vitest"
import type { Reminders } from "../../../src/domain/project/Project.ts"
import type { Fact } from "../../../src/domain/record/Record.ts"
import { dueAt } from "../../../src/domain/user/Progress.ts"
import { limits } from "../../../src/Limits.ts"
import { World } from "../decide/World.ts"

const hour = 3_600_000
const settings: Reminders = {
  hour: 10,
  inactiveDays: [],
  unless: null,
  questDays: 2,
  expiryDays: 3,
}

const begin = (time: string, reminders: Reminders | undefined = settings): World => {
  const world = new World(time)
  if (reminders !== undefined) world.settings({ reminders })
  return world
}

const step = { key: "taps", action: "TAP", where: [], target: 4 } as const

/** The due time of the user, which must be that of the next reminder. */
const dueOf = (world: World): string | undefined => {
  const due = dueAt(world.user!, world.project, world.now)
  return Number.isFinite(due) ? new Date(due).toISOString() : undefined
}

/** What a tick decides at a time; none: nothing is due. */
const tickAt = (world: World, time: string): ReadonlyArray<Fact> => {
  world.at(time)
  const isDue = dueAt(world.user!, world.project, world.now) <= world.now
  return isDue ? world.do({ kind: "tick" }).record.facts : []
}

const remindersAt = (world: World, time: string) =>
  tickAt(world, time).filter(({ kind }) => /ending|expiring/.test(kind))

describe("A reminder of a quest", () => {
  const quest = { id: "qst_1", steps: [step], endsAt: Date.parse("2026-03-10T00:00:00Z") }

  it("comes at the hour of the user's clock, so many days before the end, with what is done", () => {
    const world = begin("2026-03-01T12:00:00Z")
    world.quest(quest)
    world.track()
    expect(dueOf(world)).toBe("2026-03-08T10:00:00.000Z")
    world.do({ kind: "profile", change: { timezone: "Asia/Tokyo" } })
    // The quest ends at nine in Tokyo, so the hour comes for the last time on the day before.
    expect(dueOf(world)).toBe("2026-03-08T01:00:00.000Z")
    expect(remindersAt(world, "2026-03-08T01:00:00Z")).toEqual([
      {
        kind: "quest.ending",
        questId: "qst_1",
        key: expect.any(String),
        title: expect.any(String),
        period: 0,
        endsAt: quest.endsAt,
        progress: 0.25,
      },
    ])
  })

  it("comes once in each period of a quest that recurs, and not if it is completed", () => {
    const world = begin("2026-03-02T12:00:00Z")
    world.quest({ ...quest, endsAt: null, recurrence: "weekly", steps: [{ ...step, target: 2 }] })
    world.track()
    expect(remindersAt(world, "2026-03-07T10:00:00Z")).toHaveLength(1)
    expect(remindersAt(world, "2026-03-08T10:00:00Z")).toEqual([])
    world.at("2026-03-09T12:00:00Z")
    world.track()
    expect(dueOf(world)).toBe("2026-03-14T10:00:00.000Z")
    world.track()
    expect(remindersAt(world, "2026-03-14T10:00:00Z")).toEqual([])
    world.at("2026-03-16T12:00:00Z")
    world.track()
    expect(remindersAt(world, "2026-03-21T10:00:00Z")).toHaveLength(1)
  })

  it("comes no sooner than the user has begun the quest, nor again after an undo", () => {
    const world = begin("2026-03-08T10:00:00Z")
    world.quest(quest)
    const event = world.track()
    expect(dueOf(world)).toBe("2026-03-09T10:00:00.000Z")
    expect(remindersAt(world, "2026-03-09T10:00:00Z")).toHaveLength(1)
    world.undo(event)
    world.track()
    expect(dueOf(world)).toBe("2026-03-10T00:00:00.000Z")
    const late = begin("2026-03-09T10:00:00Z")
    late.quest(quest)
    late.track()
    expect(dueOf(late)).toBe("2026-03-10T00:00:00.000Z")
  })

  it("comes up to three hours late, then at the next such hour, and not after the end", () => {
    const world = begin("2026-03-01T12:00:00Z")
    world.quest(quest)
    world.track()
    world.now = Date.parse("2026-03-08T10:00:00Z") + limits.reminderLateMs - 1
    expect(dueOf(world)).toBe("2026-03-08T10:00:00.000Z")
    world.now++
    expect(dueOf(world)).toBe("2026-03-09T10:00:00.000Z")
    world.now += 24 * hour
    expect(dueOf(world)).toBe("2026-03-10T00:00:00.000Z")
  })

  it("is not sent for a paused quest, to users with the attribute, or without the setting", () => {
    const world = begin("2026-03-01T12:00:00Z", { ...settings, unless: "quiet" })
    world.quest(quest)
    world.track()
    const reminder = "2026-03-08T10:00:00.000Z"
    const end = "2026-03-10T00:00:00.000Z"
    expect(dueOf(world)).toBe(reminder)
    world.do({ kind: "profile", change: { attributes: { quiet: true } } })
    expect(dueOf(world)).toBe(end)
    world.do({ kind: "profile", change: { attributes: { quiet: "true" } } })
    expect(dueOf(world)).toBe(reminder)
    world.quest({ ...quest, set: "paused" })
    expect(dueOf(world)).toBe(end)
    world.quest(quest)
    const { questDays: _, ...others } = settings
    world.settings({ reminders: others })
    expect(dueOf(world)).toBe(end)
  })
})

describe("A reminder of amounts that expire", () => {
  const coins = { id: "cur_coins", key: "coins", expiry: { afterDays: 10 } } as const

  it("comes so many days before, once for each day of expiry, with the amounts and their ends", () => {
    const world = begin("2026-03-01T12:00:00Z")
    world.currency(coins)
    world.give({ coins: 5 })
    world.at("2026-03-02T12:00:00Z")
    world.give({ coins: 7 })
    expect(dueOf(world)).toBe("2026-03-09T10:00:00.000Z")
    const ends = ["2026-03-12T00:00:00Z", "2026-03-13T00:00:00Z"].map((end) => Date.parse(end))
    expect(remindersAt(world, "2026-03-09T10:00:00Z")).toEqual([
      { kind: "currency.expiring", currency: "coins", endings: [[ends[0], 5]], through: 20_523 },
    ])
    expect(dueOf(world)).toBe("2026-03-10T10:00:00.000Z")
    world.spend({ coins: 9 })
    expect(remindersAt(world, "2026-03-10T10:00:00Z")).toEqual([
      { kind: "currency.expiring", currency: "coins", endings: [[ends[1], 3]], through: 20_524 },
    ])
    expect(dueOf(world)).toBe("2026-03-13T00:00:00.000Z")
  })

  it("names together what is due when the setting is switched on", () => {
    const world = begin("2026-03-01T12:00:00Z", undefined)
    world.currency(coins)
    for (const day of ["01", "02", "05"]) {
      world.at(`2026-03-${day}T12:00:00Z`)
      world.give({ coins: 1 })
    }
    world.at("2026-03-10T12:00:00Z")
    world.settings({ reminders: settings })
    const [told] = remindersAt(world, "2026-03-10T12:00:00Z")
    expect(told).toMatchObject({ endings: [expect.anything(), expect.anything()], through: 20_524 })
    expect(dueOf(world)).toBe("2026-03-12T00:00:00.000Z")
  })

  it("moves with an event if the amounts end by inactivity, and comes again", () => {
    const world = begin("2026-03-01T12:00:00Z")
    world.currency({ ...coins, expiry: { inactivityDays: 5 } })
    world.give({ coins: 5 })
    expect(dueOf(world)).toBe("2026-03-04T10:00:00.000Z")
    world.at("2026-03-03T12:00:00Z")
    world.track()
    expect(dueOf(world)).toBe("2026-03-06T10:00:00.000Z")
    expect(remindersAt(world, "2026-03-06T10:00:00Z")).toHaveLength(1)
    world.track()
    expect(dueOf(world)).toBe("2026-03-09T10:00:00.000Z")
  })

  it("waits for amounts that cannot be spent yet, and is not sent to users with the attribute", () => {
    const world = begin("2026-03-01T12:00:00Z", { ...settings, unless: "quiet" })
    world.currency({ ...coins, expiry: { afterDays: 5 }, pendingDays: 4 })
    world.give({ coins: 5 })
    const due = dueOf(world)
    expect(due).toBe("2026-03-05T10:00:00.000Z")
    expect(remindersAt(world, "2026-03-04T10:00:00Z")).toEqual([])
    world.do({ kind: "profile", change: { attributes: { quiet: true } } })
    expect(dueOf(world)).toBe("2026-03-07T00:00:00.000Z")
    world.do({ kind: "profile", change: { attributes: {} } })
    expect(remindersAt(world, due!)).toHaveLength(1)
  })
})

describe("Reminders of two users who are merged", () => {
  it("are not sent again for what one of them was reminded of", () => {
    const quest = { id: "qst_1", steps: [step], endsAt: Date.parse("2026-03-10T00:00:00Z") }
    const make = () => {
      const world = begin("2026-03-01T12:00:00Z")
      world.quest(quest)
      world.track()
      return world
    }
    const [into, visitor] = [make(), make()]
    expect(remindersAt(visitor, "2026-03-08T10:00:00Z")).toHaveLength(1)
    into.at("2026-03-08T10:00:00Z")
    into.absorb(visitor, "visitor")
    expect(dueOf(into)).toBe("2026-03-10T00:00:00.000Z")
  })
})
