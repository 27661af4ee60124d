/** Credits that cannot be spent at once. */
import { describe, expect, it } from "vitest"
import { applyUser } from "../../../src/domain/record/applyUser.ts"
import {
  noLots,
  type PendingLots,
  pendingAt,
  pendingLotsAt,
  withPending,
} from "../../../src/domain/user/Lots.ts"
import type { UserState } from "../../../src/domain/user/User.ts"
import { limits } from "../../../src/Limits.ts"
import { World } from "../decide/World.ts"

/** A project with gems that wait three days, on the 4th of November, at noon. */
const withGems = (): World => {
  const world = new World()
  world.currency({ id: "cur_gems", key: "gems", pendingDays: 3 })
  world.currency({ id: "cur_coins", key: "coins" })
  world.rule({ reward: { currencies: { gems: 5, coins: 1 } } })
  return world
}

const pendingOf = ({ now, user }: World) => pendingAt(user, "gems", now)
const lotsOf = ({ now, user }: World) =>
  pendingLotsAt(user, "gems", now).map(([at, amount]) => [new Date(at).toISOString(), amount])
const refusalOf = (world: World, gems: number) =>
  world.refused({ kind: "spend", currencies: { gems } })

describe("A credit of a currency with pending days", () => {
  it("is in the balance at once, and pending until the user's midnight after so many days", () => {
    const world = withGems()
    world.do({ kind: "profile", change: { timezone: "Europe/Berlin" } })
    const { facts, reply } = world.track()
    expect(reply.balances).toMatchObject({ gems: 5, coins: 1 })
    const spendableAt = Date.parse("2026-11-06T23:00:00Z")
    expect(facts).toContainEqual(expect.objectContaining({ currency: "gems", spendableAt }))
    expect(refusalOf(world, 1)).toMatchObject({
      code: "insufficient_balance",
      balances: { gems: 0 },
      detail: "The user has 0 gems (5 more are pending), 1 are needed.",
    })
    expect(world.spend({ coins: 1 }).reply.balances).toMatchObject({ coins: 0 })
    world.now = spendableAt - 1
    expect(refusalOf(world, 5).code).toBe("insufficient_balance")
    world.now = spendableAt
    expect([pendingOf(world), lotsOf(world)]).toEqual([0, []])
    expect(world.spend({ gems: 5 }).reply.balances).toMatchObject({ gems: 0 })
  })

  it("counts the days from the day of the event, and is spendable at once if these have passed", () => {
    const world = withGems()
    world.trackAt("2026-11-02T23:59:59Z")
    world.trackAt("2026-11-01T23:59:59Z")
    world.trackAt("2026-11-04T00:00:00Z")
    expect(lotsOf(world)).toEqual([
      ["2026-11-05T00:00:00.000Z", 5],
      ["2026-11-07T00:00:00.000Z", 5],
    ])
    expect(world.spend({ gems: 5 }).reply.balances).toMatchObject({ gems: 10 })
    expect(refusalOf(world, 1)).toMatchObject({ balances: { gems: 0 } })
  })

  it("of points waits as well", () => {
    const world = withGems()
    const points = { ...world.project.currencies.get("cur_points")!, pendingDays: 1 }
    world.define({ kind: "currency.updated", currency: points })
    const given = world.grant(8, "points")
    expect(world.refused({ kind: "spend", amount: 1 })).toMatchObject({
      code: "insufficient_points",
      balance: 0,
    })
    world.undo(given)
    expect(world.user?.points).toBe(0)
    expect(world.user?.pending.size).toBe(0)
    world.grant(8, "points")
    world.now += 86_400_000
    expect(world.spend(8).reply.total).toBe(0)
  })

  it("is not changed by an edit of the days", () => {
    const world = withGems()
    world.track()
    world.currency({ id: "cur_gems", key: "gems", pendingDays: null })
    expect(pendingOf(world)).toBe(5)
    world.give({ gems: 2 })
    expect(world.spend({ gems: 2 }).reply.balances).toMatchObject({ gems: 5 })
  })
})

describe("An undo", () => {
  it("takes what is pending of its own credit, and not what can be spent", () => {
    const world = withGems()
    world.track()
    world.now += 3 * 86_400_000
    const later = world.track()
    world.undo(later)
    expect([pendingOf(world), world.user?.balances.get("gems")?.amount]).toEqual([0, 5])
    expect(world.spend({ gems: 5 }).reply.balances).toMatchObject({ gems: 0 })
  })

  it("of a credit that was spent takes pending ones, those first that wait longest", () => {
    const world = withGems()
    const first = world.track()
    world.now += 2 * 86_400_000
    world.track()
    world.now += 86_400_000
    world.track()
    world.spend({ gems: 4 })
    const { reply } = world.undo(first)
    expect(reply).toMatchObject({ currencies: { gems: { earned: -5, total: 6 } } })
    expect(lotsOf(world)).toEqual([
      ["2026-11-09T00:00:00.000Z", 5],
      ["2026-11-10T00:00:00.000Z", 1],
    ])
    let replayed: UserState | undefined
    for (const record of JSON.parse(JSON.stringify(world.records))) {
      replayed = applyUser(replayed, record)
    }
    expect(replayed).toEqual(world.user)
  })

  it("of a spend returns what can be spent at once", () => {
    const world = withGems()
    world.track()
    world.now += 3 * 86_400_000
    const spent = world.spend({ gems: 4 })
    world.track()
    world.refund(spent)
    expect([pendingOf(world), refusalOf(world, 6).balances]).toEqual([5, { gems: 5 }])
  })
})

describe("The pending lots of a state", () => {
  it("are at most the limit: one more merges the first two to the later time and day", () => {
    let lots: PendingLots = noLots
    for (let at = 1; at <= limits.lotsMax; at++) lots = withPending(lots, [at * 10, 1, at])
    lots = withPending(lots, [10, 1, 3])
    expect(lots).toHaveLength(limits.lotsMax)
    expect(lots.slice(0, 2)).toEqual([
      [10, 2, 3],
      [20, 1, 2],
    ])
    lots = withPending(lots, [15, 5, 1])
    expect(lots).toHaveLength(limits.lotsMax)
    expect(lots.slice(0, 2)).toEqual([
      [15, 7, 3],
      [20, 1, 2],
    ])
    // A part that never ends keeps that.
    expect(withPending(lots, [15, 1])[0]).toEqual([15, 8])
  })
})
