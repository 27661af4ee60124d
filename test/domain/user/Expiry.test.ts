/** Amounts that end: lots, their order, and what spends, refunds and undos do to them. */
import { describe, expect, it } from "vitest"
import type { Currency } from "../../../src/domain/project/Currency.ts"
import { applyUser } from "../../../src/domain/record/applyUser.ts"
import { endingsOf, nextEndOf } from "../../../src/domain/user/Expiry.ts"
import {
  type DayLots,
  keptUntil,
  noLots,
  sumOfDays,
  takeFirst,
  withDayLot,
} from "../../../src/domain/user/Lots.ts"
import { dueAt } from "../../../src/domain/user/Progress.ts"
import { balanceAt } from "../../../src/domain/user/Refill.ts"
import { pointsEarned, type UserState } from "../../../src/domain/user/User.ts"
import { limits } from "../../../src/Limits.ts"
import { kindsOf, World } from "../decide/World.ts"

const day = 86_400_000

/** A project with gems that end, on the 4th of November, at noon. An event gives five. */
const withGems = (expiry: Currency["expiry"], more: Partial<Currency> = {}): World => {
  const world = new World()
  world.currency({ id: "cur_gems", key: "gems", expiry, ...more })
  world.rule({ reward: { currencies: { gems: 5 } } })
  return world
}

const balance = ({ now, project, user }: World) => balanceAt(user, project, "gems", now).amount
const endings = ({ now, project, user }: World) =>
  endingsOf(user!, project, "gems", now).map(({ amount, expiresAt }) => [
    new Date(expiresAt).toISOString(),
    amount,
  ])
const due = ({ now, project, user }: World) => {
  const at = dueAt(user!, project, now)
  return Number.isFinite(at) ? new Date(at).toISOString() : at
}
const tick = (world: World) => world.do({ kind: "tick" })

/** The user is the fold of the records after a round trip through the journal's text. */
const expectReplay = ({ records, user }: World): void => {
  let replayed: UserState | undefined
  for (const record of JSON.parse(JSON.stringify(records))) replayed = applyUser(replayed, record)
  expect(replayed).toEqual(user)
}

describe("A pending lot within the days of another lot", () => {
  it("is due when that lot ends, also once its own last day is over", () => {
    const world = withGems({ afterDays: 3 })
    world.track()
    const today = Math.floor(world.now / day)
    const user: UserState = {
      ...world.user!,
      expiring: new Map([["gems", { open: [[today - 9, today + 9, 12]], expired: [] }]]),
      pending: new Map([["gems", [[world.now - day, 7, today - 2]]]]),
    }
    expect(nextEndOf(user, world.project, world.now)).toBe((today + 10) * day)
    const later = {
      ...user,
      pending: new Map([["gems", [[world.now + day, 7, today + 2]] as const]]),
    }
    expect(nextEndOf(later, world.project, world.now)).toBe((today + 10) * day)
  })
})

describe("A credit of a currency with afterDays", () => {
  it("ends at the end of the day so many days after that of the event, at the user's midnight", () => {
    const world = withGems({ afterDays: 2 })
    world.do({ kind: "profile", change: { timezone: "Europe/Berlin" } })
    world.track()
    const end = "2026-11-06T23:00:00.000Z"
    expect([endings(world), due(world)]).toEqual([[[end, 5]], end])
    world.now = Date.parse(end) - 1
    expect([balance(world), world.refused({ kind: "tick" }).code]).toEqual([5, "conflict"])
    world.now = Date.parse(end)
    expect([balance(world), endings(world), due(world)]).toEqual([0, [], end])
    expect(tick(world).facts).toEqual([
      { kind: "currency.expired", currency: "gems", amount: 5, total: 0, today: 20_764 },
    ])
    expect([balance(world), due(world)]).toEqual([0, Number.POSITIVE_INFINITY])
    expect(world.refused({ kind: "tick" }).code).toBe("conflict")
    expectReplay(world)
  })

  it("counts days from the day of the event, and lasts until the end of the day of its receipt", () => {
    const world = withGems({ afterDays: 2 })
    world.trackAt("2026-11-03T23:59:59Z")
    world.trackAt("2026-10-10T12:00:00Z")
    expect(endings(world)).toEqual([
      ["2026-11-05T00:00:00.000Z", 5],
      ["2026-11-06T00:00:00.000Z", 5],
    ])
  })

  it("is not available once it has ended, also before a record has it", () => {
    const world = withGems({ afterDays: 1 })
    world.track()
    world.now += 2 * day
    const spend = { kind: "spend", currencies: { gems: 1 } } as const
    expect(world.refused(spend)).toMatchObject({
      code: "insufficient_balance",
      balances: { gems: 0 },
    })
    // The next decision records it first.
    const { facts, reply } = world.track()
    expect(facts[0]).toMatchObject({ kind: "currency.expired", amount: 5, total: 0 })
    expect(reply).toMatchObject({ currencies: { gems: { earned: 5, total: 5 } } })
    expect(endings(world)).toEqual([["2026-11-08T00:00:00.000Z", 5]])
    expectReplay(world)
  })

  it("makes room below max when it ends", () => {
    const world = withGems({ afterDays: 1 }, { max: 6 })
    world.track()
    expect(world.track().reply.capped).toMatchObject([{ amount: 4, by: "max" }])
    world.now += 2 * day
    expect(world.track().reply).toMatchObject({ currencies: { gems: { earned: 5, total: 5 } } })
  })

  it("keeps its last day when the definition is edited; what had none never ends", () => {
    const world = withGems(null)
    world.track()
    world.currency({ id: "cur_gems", key: "gems", expiry: { afterDays: 1 } })
    world.track()
    world.currency({ id: "cur_gems", key: "gems", expiry: { afterDays: 9 } })
    world.track()
    world.currency({ id: "cur_gems", key: "gems", expiry: null })
    world.track()
    expect(endings(world)).toEqual([
      ["2026-11-06T00:00:00.000Z", 5],
      ["2026-11-14T00:00:00.000Z", 5],
    ])
    world.now += 30 * day
    tick(world)
    expect([balance(world), due(world)]).toEqual([10, Number.POSITIVE_INFINITY])
  })

  it("of points ends as well, and still counts as earned for badges and as no score", () => {
    const world = withGems(null)
    const points = { ...world.project.currencies.get("cur_points")!, expiry: { afterDays: 1 } }
    world.define({ kind: "currency.updated", currency: points })
    world.badge({ criteria: { kind: "points", target: 8 } })
    world.grant(5, "points")
    world.now += 2 * day
    expect(tick(world).facts).toMatchObject([{ currency: "points", amount: 5, total: 0 }])
    expect([world.user!.points, pointsEarned(world.user!)]).toEqual([0, 5])
    expect(kindsOf(world.grant(3, "points"))).toContain("badge.earned")
    expectReplay(world)
  })
})

describe("An expiry by inactivity", () => {
  it("moves with each event, and with nothing else", () => {
    const world = withGems({ inactivityDays: 3 })
    world.track()
    world.now += day
    const { facts } = world.track("OTHER")
    expect(facts).toContainEqual({ kind: "currency.kept", currency: "gems", lastDay: 20_765 })
    expect(endings(world)).toEqual([["2026-11-09T00:00:00.000Z", 5]])
    // A second event of the day keeps nothing more.
    expect(kindsOf(world.track("OTHER"))).not.toContain("currency.kept")
    world.now += day
    world.give({ gems: 2 })
    world.spend({ gems: 1 })
    expect(endings(world)).toEqual([
      ["2026-11-09T00:00:00.000Z", 4],
      ["2026-11-10T00:00:00.000Z", 2],
    ])
    // A late event, whose credit ends with the balance.
    world.trackAt("2026-11-04T12:00:00Z")
    expect(endings(world)[0]).toEqual(["2026-11-09T00:00:00.000Z", 9])
    world.at("2026-11-09T00:00:00Z")
    expect([balance(world), endings(world)]).toEqual([2, [["2026-11-10T00:00:00.000Z", 2]]])
    // An event after the end brings nothing back.
    expect(world.track("OTHER").facts.slice(0, 2)).toMatchObject([
      { kind: "currency.expired", amount: 9, total: 2 },
      { kind: "currency.kept", lastDay: 20_769 },
    ])
    expectReplay(world)
  })

  it("is undone by the own lot, wherever events have moved it", () => {
    const world = withGems({ inactivityDays: 3 })
    const first = world.track()
    world.now += day
    world.track()
    world.now += 5 * day
    const { reply } = world.undo(first)
    expect(reply).toMatchObject({ expired: { gems: 5 }, shortfall: { xp: 0, points: 0 } })
    expect(reply.currencies).toBeUndefined()
    expectReplay(world)
  })
})

describe("An expiry once a year", () => {
  it("ends with the next such day, which may be today, or the 28th of February", () => {
    const world = withGems({ yearlyOn: "11-04" })
    world.track()
    expect(endings(world)).toEqual([["2026-11-05T00:00:00.000Z", 5]])
    world.now += day
    world.track()
    expect(endings(world)).toEqual([["2027-11-05T00:00:00.000Z", 5]])
    world.currency({ id: "cur_gems", key: "gems", expiry: { yearlyOn: "02-29" } })
    world.track()
    expect(endings(world)[0]).toEqual(["2027-03-01T00:00:00.000Z", 5])
  })
})

describe("Spends", () => {
  it("take what ends first, then what never ends, and leave nothing that has ended", () => {
    const world = withGems({ afterDays: 5 })
    world.currency({ id: "cur_gems", key: "gems", expiry: null })
    world.give({ gems: 4 })
    world.currency({ id: "cur_gems", key: "gems", expiry: { afterDays: 5 } })
    world.track()
    world.now += 2 * day
    world.track()
    const { facts } = world.spend({ gems: 7 })
    expect(facts[0]).toMatchObject({
      lots: [
        [20_766, 5],
        [20_768, 2],
      ],
    })
    expect([balance(world), endings(world)]).toEqual([7, [["2026-11-12T00:00:00.000Z", 3]]])
    expect(world.refused({ kind: "spend", currencies: { gems: 8 } }).balances).toEqual({ gems: 7 })
    world.spend({ gems: 5 })
    expect([balance(world), endings(world)]).toEqual([2, []])
    world.now += 30 * day
    expect(balance(world)).toBe(2)
    expectReplay(world)
  })

  it("are refunded to the lots, which live at least seven days more", () => {
    const world = withGems({ afterDays: 30 })
    world.track()
    world.now += 28 * day
    world.track()
    const spent = world.spend({ gems: 7 })
    world.now += 20 * day
    const { reply } = world.refund(spent)
    expect(reply.currencies).toMatchObject({ gems: { refunded: 7, total: 10 } })
    // The first lot had ended on the 4th of December; now it is the 22nd.
    expect(endings(world)).toEqual([
      ["2026-12-30T00:00:00.000Z", 5],
      ["2027-01-02T00:00:00.000Z", 5],
    ])
    world.at("2026-12-30T00:00:00Z")
    expect(balance(world)).toBe(5)
    expectReplay(world)
  })

  it("return the part that lives longest, if a source was undone", () => {
    const world = withGems({ afterDays: 30 })
    world.track()
    world.now += 10 * day
    const later = world.track()
    const spent = world.spend({ gems: 10 })
    world.undo(later)
    expect(world.refund(spent).reply.currencies).toMatchObject({
      gems: { refunded: 5, shortfall: 5 },
    })
    expect(endings(world)).toEqual([["2026-12-15T00:00:00.000Z", 5]])
  })
})

describe("An undo", () => {
  it("takes from its own lot, then from the newest, then reports what is missing", () => {
    const world = withGems({ afterDays: 30 })
    const first = world.track()
    world.now += day
    const second = world.track()
    world.now += day
    world.track()
    world.undo(second)
    expect(endings(world).map(([, amount]) => amount)).toEqual([5, 5])
    world.spend({ gems: 7 })
    const { reply } = world.undo(first)
    expect(reply).toMatchObject({
      currencies: { gems: { earned: -3, total: 0 } },
      shortfall: { currencies: { gems: 2 } },
    })
    expect(reply.expired).toBeUndefined()
    expectReplay(world)
  })

  it("takes from the newest lot, not from the one that ends next, if its own was spent", () => {
    const world = withGems({ afterDays: 30 })
    const first = world.track()
    for (let n = 0; n < 2; n++) {
      world.now += day
      world.track()
    }
    world.spend({ gems: 5 })
    world.undo(first)
    expect(endings(world)).toEqual([["2026-12-06T00:00:00.000Z", 5]])
  })

  it("does not take again what has expired: it is reported, spent parts are missing", () => {
    const world = withGems({ afterDays: 1 })
    const first = world.track()
    const second = world.track()
    world.spend({ gems: 4 })
    world.now += 2 * day
    const third = world.track()
    expect(world.undo(first).reply).toMatchObject({ expired: { gems: 5 } })
    expect([balance(world), world.user!.balances.get("gems")?.spent]).toEqual([5, 4])
    // One more of the six has expired; the newest lot gives four.
    const { reply } = world.undo(second)
    expect(reply).toMatchObject({ expired: { gems: 1 }, currencies: { gems: { earned: -4 } } })
    expect(world.undo(third).reply).toMatchObject({ shortfall: { currencies: { gems: 4 } } })
    expect(world.user!.balances.get("gems")).toMatchObject({ amount: 0, spent: 0 })
    expectReplay(world)
  })

  it("gives room below max and earnLimit, and what expired counts for earnLimit", () => {
    const limit = { earnLimit: { amount: 7, per: "month" }, max: 6 } as const
    const world = withGems({ afterDays: 1 }, limit)
    const first = world.track()
    world.now += 2 * day
    expect(world.track().reply.capped).toMatchObject([{ amount: 3, by: "earnLimit" }])
    world.undo(first)
    expect(world.track().reply.capped).toMatchObject([{ amount: 1, by: "max" }])
  })
})

describe("What is pending", () => {
  it("does not end before it can be spent", () => {
    const world = withGems({ yearlyOn: "11-10" }, { pendingDays: 10 })
    world.track()
    expect(endings(world)).toEqual([["2027-11-11T00:00:00.000Z", 5]])
    const late = withGems({ afterDays: 12 }, { pendingDays: 10 })
    late.track()
    late.give({ gems: 1 })
    late.at("2026-11-13T23:59:59Z")
    expect(late.refused({ kind: "spend", currencies: { gems: 1 } }).balances).toEqual({ gems: 0 })
    late.at("2026-11-14T00:00:00Z")
    late.spend({ gems: 2 })
    late.at("2026-11-17T00:00:00Z")
    expect(tick(late).facts).toMatchObject([{ amount: 4, total: 0 }])
    expectReplay(late)
  })

  it("is undone first of its own, then day lots, then what waits longest", () => {
    const world = withGems({ afterDays: 30 }, { pendingDays: 3 })
    const first = world.track()
    world.now += 2 * day
    const second = world.track()
    world.now += day
    world.track()
    // The first can be spent, two others are pending.
    world.undo(second)
    expect(balance(world)).toBe(10)
    expect(world.user!.pending.get("gems")).toHaveLength(1)
    world.spend({ gems: 5 })
    world.undo(first)
    expect([balance(world), world.user!.pending.size]).toEqual([0, 0])
    expectReplay(world)
  })
})

describe("A change of time zone", () => {
  it("moves the end of a lot, and never returns one", () => {
    const world = withGems({ afterDays: 1 })
    world.do({ kind: "profile", change: { timezone: "Asia/Tokyo" } })
    world.track()
    expect(due(world)).toBe("2026-11-05T15:00:00.000Z")
    world.do({ kind: "profile", change: { timezone: "America/New_York" } })
    expect(due(world)).toBe("2026-11-06T05:00:00.000Z")
    world.do({ kind: "profile", change: { timezone: "Asia/Tokyo" } })
    world.at("2026-11-05T15:00:00Z")
    expect(balance(world)).toBe(0)
    // The journey west records the end first, and the day does not return.
    const { facts } = world.do({ kind: "profile", change: { timezone: "America/New_York" } })
    expect(facts[0]).toMatchObject({ kind: "currency.expired", amount: 5 })
    expect(balance(world)).toBe(0)
    // So it is if the project moves, without a record of the user.
    const other = withGems({ afterDays: 1 })
    other.settings({ timezone: "Asia/Tokyo" })
    other.now++
    other.track()
    other.at("2026-11-05T15:00:00Z")
    expect(balance(other)).toBe(0)
    other.now++
    other.settings({ timezone: "America/New_York" })
    expect(balance(other)).toBe(0)
    expectReplay(world)
  })
})

describe("The day lots of a state", () => {
  it("are at most the limit: one more merges those neighbours that then span the fewest days", () => {
    let lots: DayLots = noLots
    for (let n = 1; n <= limits.lotsMax; n++) lots = withDayLot(lots, [n * 10, n * 10, 1])
    expect(withDayLot(lots, [50, 50, 2])).toHaveLength(limits.lotsMax)
    const after = withDayLot(lots, [53, 53, 2])
    expect(after).toHaveLength(limits.lotsMax)
    expect(after.slice(3, 6)).toEqual([
      [40, 40, 1],
      [50, 50, 1],
      [53, 60, 3],
    ])
    // A credit with a day of the merged lot joins it.
    expect(withDayLot(after, [55, 55, 4])[5]).toEqual([53, 60, 7])
    expect(sumOfDays(after)).toBe(limits.lotsMax + 2)
  })

  it("of a user who earns each day end at most twice a lot's share of the days late", () => {
    const days = 365
    let lots: DayLots = noLots
    let lateMost = 0
    for (let today = 0; today < 4 * days; today++) {
      lots = withDayLot(lots, [today + days, today + days, 1])
      while (lots[0]![1] < today) {
        lateMost = Math.max(lateMost, lots[0]![1] - lots[0]![0])
        lots = lots.slice(1)
      }
    }
    expect(lots.length).toBeLessThanOrEqual(limits.lotsMax)
    expect(lateMost).toBeGreaterThan(0)
    expect(lateMost).toBeLessThanOrEqual((2 * days) / (limits.lotsMax - 2))
  })

  it("are taken from the first on, and kept together until a day", () => {
    const lots: DayLots = [
      [1, 2, 3],
      [5, 5, 4],
      [9, 12, 1],
    ]
    expect(takeFirst(lots, 5)).toEqual({
      taken: [
        [1, 2, 3],
        [5, 5, 2],
      ],
      left: [
        [5, 5, 2],
        [9, 12, 1],
      ],
    })
    expect(takeFirst(lots, 8).left).toEqual([])
    expect(keptUntil(lots, 7)).toEqual([
      [1, 7, 7],
      [9, 12, 1],
    ])
    expect(keptUntil(lots, 10)).toEqual([[1, 12, 8]])
    expect(keptUntil(lots, 2)).toBe(lots)
  })
})
