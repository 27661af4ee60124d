/** What levels of currencies pay. */
import { beforeEach, describe, expect, it } from "vitest"
import type { CurrencyLevels } from "../../../src/domain/project/Currency.ts"
import {
  badgeWith,
  currencyWith,
  levelWith,
  ruleWith,
  segmentWith,
  streakWith,
} from "../definitions.ts"
import { ProjectWorld } from "./ProjectWorld.ts"
import { kindsOf, World } from "./World.ts"

const [bronze, silver, gold] = [
  levelWith("bronze", 2, { reward: { points: 10 } }),
  levelWith("silver", 5, { reward: { xp: 7, points: 20 } }),
  levelWith("gold", 9),
] as const
const levels: CurrencyLevels = { of: "earned", table: [bronze, silver, gold] }
const miles = { id: "cur_miles", key: "miles", levels } as const

const withMiles = (change: Partial<Parameters<World["currency"]>[0]> = {}): World => {
  const world = new World()
  world.currency({ ...miles, ...change })
  return world
}
const paidIn = ({ user }: World) => Object.fromEntries(user!.levelsPaid)

describe("A level of a currency", () => {
  it("pays when it is reached, and all that one event reaches pay", () => {
    const world = withMiles()
    expect(kindsOf(world.give({ miles: 1 }))).not.toContain("level.paid")
    const { facts, reply } = world.give({ miles: 8 })
    expect(reply.points).toEqual({ earned: 30, total: 30 })
    expect(reply.xp.earned).toBe(7)
    // The gold level pays nothing.
    expect(paidIn(world)).toEqual({ "miles bronze": 1, "miles silver": 1 })
    expect(facts).toContainEqual(
      expect.objectContaining({
        kind: "xp.earned",
        amount: 7,
        source: { currencyId: "cur_miles" },
      }),
    )
  })

  it("pays once, ever, also if it is lost and reached again", () => {
    const world = withMiles({ levels: { ...levels, of: "balance" } })
    world.give({ miles: 3 })
    world.spend({ miles: 3 })
    expect(world.give({ miles: 3 }).reply.points.earned).toBe(0)
    expect(world.user!.points).toBe(10)
  })

  it("that ended with the year is earned again without a payment", () => {
    const world = withMiles({ levels: { ...levels, of: "balance" }, expiry: { yearlyOn: "12-31" } })
    world.give({ miles: 5 })
    world.at("2027-01-02T00:00:00Z")
    world.give({ miles: 4 })
    world.give({ miles: 1 })
    expect(world.user!.points).toBe(30)
  })

  it("is forgotten by the undo of the record that paid, and pays again", () => {
    const world = withMiles()
    world.give({ miles: 1 })
    const paid = world.give({ miles: 1 })
    const { reply } = world.undo(paid)
    expect(reply.points).toEqual({ earned: -10, total: 0 })
    expect(world.user!.levelsPaid.size).toBe(0)
    expect(world.give({ miles: 1 }).reply.points.earned).toBe(10)
  })

  it("that is lost since another record was undone keeps its payment, and is not paid again", () => {
    const world = withMiles()
    const first = world.give({ miles: 1 })
    const paid = world.give({ miles: 1 })
    world.undo(first)
    expect(world.user!.points).toBe(10)
    expect(world.give({ miles: 1 }).reply.points.earned).toBe(0)
    // The record that paid takes the payment, whatever was reached since.
    world.undo(paid)
    expect([world.user!.points, world.user!.levelsPaid.size]).toEqual([0, 0])
  })

  it("neither pays nor is taken by an edit", () => {
    const world = withMiles({ levels: null })
    world.give({ miles: 6 })
    world.currency(miles)
    expect(world.give({ miles: 1 }).reply.points.earned).toBe(0)
    const table = [bronze, silver, levelWith("gold", 8, { reward: { points: 5 } })]
    world.currency({ ...miles, levels: { of: "earned", table } })
    expect(world.give({ miles: 1 }).reply.points.earned).toBe(5)
    world.currency({ ...miles, levels: null })
    expect(world.user!.points).toBe(5)
  })

  it("may reach another level or a badge by what it pays, and a badge may reach a level", () => {
    const world = new World()
    const table = [
      levelWith("bronze", 2, { reward: { currencies: { miles: 3 } } }),
      levelWith("silver", 5, { reward: { xp: 10 } }),
      levelWith("gold", 9, { reward: { badgeId: "bdg_gold", freezes: { daily: 1 } } }),
    ]
    world.currency({ ...miles, levels: { of: "earned", table } })
    world.streak({ freezes: { initial: 0, max: 3, everyDays: null } })
    const pays = { xp: 0, points: 0, badgeId: null, currencies: { miles: 4 } }
    world.badge({ id: "bdg_ten", criteria: { kind: "xp", target: 10 }, reward: pays })
    world.badge({ id: "bdg_gold", criteria: { kind: "manual" } })
    const given = world.give({ miles: 2 })
    expect(given.reply.currencies).toEqual({ miles: { earned: 9, total: 9 } })
    expect(given.reply.badges.map(({ id }) => id)).toEqual(["bdg_ten", "bdg_gold"])
    expect(given.reply.freezes).toEqual({ daily: { earned: 1, total: 1 } })
    expect(Object.keys(paidIn(world))).toEqual(["miles bronze", "miles silver", "miles gold"])
    world.undo(given)
    expect([world.user!.xp, world.user!.badges.size, world.user!.levelsPaid.size]).toEqual([
      0, 0, 0,
    ])
  })

  it("counts what the limits of the currency left", () => {
    const world = withMiles({ max: 4 })
    world.give({ miles: 9 })
    expect(paidIn(world)).toEqual({ "miles bronze": 1 })
  })

  it("of points pays by what events earned, also after it was spent", () => {
    const world = new World()
    const table = [levelWith("rich", 10, { reward: { xp: 3 } })]
    world.currency({ id: "cur_points", key: "points", levels: { of: "earned", table } })
    world.rule({ action: "TAP", reward: { points: 6 } })
    world.track()
    world.spend(5)
    expect(world.track().reply.xp).toEqual({ earned: 3, total: 3 })
  })
})

describe("A change of the level in a currency", () => {
  const changesIn = ({ facts }: Pick<ReturnType<World["give"]>, "facts">) =>
    facts.flatMap((fact) =>
      fact.kind === "currency.level_changed"
        ? [[fact.currency, fact.from?.key ?? null, fact.to?.key ?? null]]
        : [],
    )
  const byBalance = () =>
    withMiles({ levels: { ...levels, of: "balance" }, expiry: { yearlyOn: "12-31" } })

  it("is told by the record, up or down, once for any number of levels, and by the reply", () => {
    const world = byBalance()
    const given = world.give({ miles: 6 })
    expect(changesIn(given)).toEqual([["miles", null, "silver"]])
    const named = { number: 2, key: "silver", name: "Silver" }
    expect(given.reply.levels).toEqual({ miles: { before: null, after: named } })
    expect(given.facts.at(-1)?.kind).toBe("reward.granted")
    expect(world.give({ miles: 1 }).reply.levels).toBeUndefined()
    const spent = world.spend({ miles: 4 })
    expect(changesIn(spent)).toEqual([["miles", "silver", "bronze"]])
    expect(changesIn(world.refund(spent))).toEqual([["miles", "bronze", "silver"]])
    const undone = world.undo(given)
    expect(changesIn(undone)).toEqual([["miles", "silver", null]])
    expect(undone.reply.levels).toEqual({ miles: { before: named, after: null } })
  })

  it("by an expiry is told by the record that has it, whatever its cause", () => {
    const [ticked, told] = [byBalance(), byBalance()]
    for (const world of [ticked, told]) {
      world.give({ miles: 6 })
      world.at("2027-01-01T00:00:00Z")
    }
    expect(changesIn(ticked.do({ kind: "tick" }))).toEqual([["miles", "silver", null]])
    expect(changesIn(ticked.give({ miles: 2 }))).toEqual([["miles", null, "bronze"]])
    // The status of the past year and the credit of the new one are one change.
    expect(changesIn(told.give({ miles: 2 }))).toEqual([["miles", "silver", "bronze"]])
  })

  it("by what was earned is none if it is spent or ends, and one if it is undone", () => {
    const world = withMiles({ expiry: { afterDays: 1 } })
    const given = world.give({ miles: 6 })
    world.spend({ miles: 5 })
    world.now += 3 * 86_400_000
    expect(changesIn(world.do({ kind: "tick" }))).toEqual([])
    expect(changesIn(world.undo(given))).toEqual([["miles", "silver", null]])
  })

  it("of a curve has numbers, and an edit of the levels tells nobody", () => {
    const curve = { kind: "linear", xpPerLevel: 2 } as const
    const world = withMiles({ levels: { of: "earned", curve } })
    const { reply } = world.give({ miles: 5 })
    const unnamed = { key: null, name: null }
    expect(reply.levels?.miles).toEqual({
      before: { number: 1, ...unnamed },
      after: { number: 3, ...unnamed },
    })
    world.currency(miles)
    expect(changesIn(world.give({ miles: 1 }))).toEqual([])
  })

  it("by a merge is that of the user who stays", () => {
    const [member, visitor] = [byBalance(), byBalance()]
    visitor.give({ miles: 3 })
    member.give({ miles: 2 })
    expect(changesIn(member.absorb(visitor, "visitor"))).toEqual([["miles", "bronze", "silver"]])
  })
})

describe("Levels of two users", () => {
  const pair = () => [withMiles(), withMiles()] as const

  it("that both together reach pay at the merge, and those that one had reached do not", () => {
    const [member, visitor] = pair()
    visitor.give({ miles: 3 })
    member.give({ miles: 2 })
    member.absorb(visitor, "visitor")
    expect(paidIn(member)).toEqual({ "miles bronze": 2, "miles silver": 1 })
    expect([member.user!.points, member.user!.xp]).toEqual([40, 7])
    expect(member.give({ miles: 1 }).reply.points.earned).toBe(0)
  })

  it("that both were paid for are not paid again until both payments are undone", () => {
    const [member, visitor] = pair()
    const [theirs, own] = [visitor.give({ miles: 2 }), member.give({ miles: 2 })]
    member.absorb(visitor, "visitor")
    member.undo(theirs)
    expect(paidIn(member)).toEqual({ "miles bronze": 1 })
    member.undo(own)
    expect(paidIn(member)).toEqual({})
    expect(member.give({ miles: 2 }).reply.points.earned).toBe(10)
  })
})

describe("The definition of levels", () => {
  let world: ProjectWorld
  beforeEach(() => {
    world = new ProjectWorld()
    world.ask({ kind: "createBadge", badge: badgeWith({ id: "bdg_first" }) })
    world.ask({ kind: "createStreak", streak: streakWith({}) })
  })
  const creating = (table: ReadonlyArray<ReturnType<typeof levelWith>>) =>
    ({
      kind: "createCurrency",
      currency: currencyWith({ ...miles, levels: { of: "earned", table } }),
    }) as const

  it("names badges, streaks and currencies that exist, and may name its own", () => {
    const reward = { badgeId: "none", freezes: { none: 1 }, currencies: { none: 1, miles: 1 } }
    expect(world.faults(creating([levelWith("a", 1), levelWith("b", 2, { reward })]))).toEqual([
      ["/levels/table/1/reward/badgeId", "unknown_reference"],
      ["/levels/table/1/reward/currencies/none", "unknown_reference"],
      ["/levels/table/1/reward/freezes/none", "unknown_reference"],
    ])
    const known = { badgeId: "bdg_first", freezes: { daily: 1 }, currencies: { miles: 1 } }
    world.ask(creating([levelWith("a", 1, { reward: known })]))
    for (const [command, thing] of [
      [{ kind: "deleteBadge", badgeId: "bdg_first" }, "badge"],
      [{ kind: "deleteStreak", streakId: "daily" }, "streak"],
    ] as const) {
      expect(world.refusal(command)).toMatchObject({
        code: "in_use",
        detail: expect.stringContaining(`The ${thing} is used by currency cur_miles`),
      })
    }
    const gems = currencyWith({
      levels: {
        of: "earned",
        table: [levelWith("a", 1, { reward: { currencies: { miles: 1 } } })],
      },
    })
    world.ask({ kind: "createCurrency", currency: gems })
    const deleting = { kind: "deleteCurrency", currencyId: "miles" } as const
    expect(world.refusal(deleting).code).toBe("in_use")
    world.ask({ kind: "updateCurrency", currencyId: "gems", change: { levels: null } })
    world.ask(deleting)
  })

  it("is none of a currency that refills or refilled", () => {
    const refill = { amount: 1, everyMinutes: 1 }
    const hearts = currencyWith({ id: "cur_hearts", key: "hearts", max: 5, refill })
    world.ask({ kind: "createCurrency", currency: hearts })
    const change = { levels: { of: "earned", table: [levelWith("a", 1)] } } as const
    const editing = { kind: "updateCurrency", currencyId: "hearts", change } as const
    expect(world.faults(editing)).toEqual([["/levels", "not_allowed"]])
    world.now += 60_000
    world.ask({ kind: "updateCurrency", currencyId: "hearts", change: { refill: null } })
    expect(world.faults(editing)).toEqual([["/levels", "not_allowed"]])
  })

  it("has no reward for a level from 0, which everybody has", () => {
    const reward = { xp: 1 }
    expect(world.faults(creating([levelWith("a", 0, { reward })]))).toEqual([
      ["/levels/table/0/reward", "not_allowed"],
    ])
    world.ask(creating([levelWith("a", 0), levelWith("b", 1, { reward })]))
  })

  it("in a file may name a badge, a streak and a currency that come later", () => {
    const reward = { badgeId: "bdg_other", freezes: { runs: 1 }, currencies: { gems: 1 } }
    const currencies = [creating([levelWith("a", 1, { reward })]).currency, currencyWith({})]
    const file = (more: object = {}) => ({
      kind: "applyDefinitions" as const,
      removes: true,
      definitions: {
        currencies,
        badges: [badgeWith({ id: "bdg_other" })],
        streaks: [streakWith({ id: "stk_runs", key: "runs" })],
        ...more,
      },
    })
    world.ask(file())
    expect(world.state.currencies.get("cur_miles")?.levels?.table?.[0]?.reward).toMatchObject(
      reward,
    )
    // All that refer to each other go together.
    world.ask({ ...file(), definitions: { currencies: [], badges: [], streaks: [] } })
    expect(world.state.currencies.get("cur_miles")?.set).toBe("archived")
  })
})

it("A rule for a segment asks for the level before the event", () => {
  const world = withMiles()
  const condition = {
    kind: "currency_level",
    currency: "miles",
    op: "gte",
    value: "bronze",
  } as const
  world.segment(segmentWith({ id: "seg_flyers", conditions: [condition] }))
  world.rule(ruleWith({ id: "rul_a", action: "FLY", reward: { currencies: { miles: 2 } } }))
  world.rule(ruleWith({ id: "rul_b", action: "FLY", segment: "flyers", reward: { xp: 50 } }))
  expect(world.track("FLY").reply.xp.earned).toBe(0)
  expect(world.track("FLY").reply.xp.earned).toBe(50)
})
