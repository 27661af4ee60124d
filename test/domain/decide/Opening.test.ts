/** Opening balances, in single cases. The simulation has random ones. */
import { describe, expect, it } from "vitest"
import type { Opening } from "../../../src/domain/record/Opening.ts"
import { endingsOf, nextEndOf } from "../../../src/domain/user/Expiry.ts"
import { dateOf } from "../../../src/domain/values/Calendar.ts"
import { limits } from "../../../src/Limits.ts"
import { kindsOf, World } from "./World.ts"

const day = 86_400_000

const opening = (had: Omit<Opening, "kind">): Opening => ({ kind: "opening", ...had })

/** A world whose user had `had`, with what `define` defines. */
const opened = (had: Omit<Opening, "kind">, define: (world: World) => void = () => {}): World => {
  const world = new World()
  define(world)
  world.do(opening(had))
  return world
}

const pointersOf = (world: World, had: Omit<Opening, "kind">) =>
  world.refused(opening(had)).errors!.map(({ code, pointer }) => `${pointer} ${code}`)

describe("Opening balances", () => {
  it("of a new user are the balances, with the level, and pay nothing", () => {
    const world = new World()
    world.badge({
      id: "rich",
      criteria: { kind: "xp", target: 100 },
      reward: { xp: 5, points: 5, badgeId: null },
    })
    world.badge({ id: "three", criteria: { kind: "level", target: 3 } })
    const { facts, reply } = world.do(opening({ balances: { xp: 620, points: 40 } }))
    expect(kindsOf({ facts })).toEqual(["user.created", "user.opened"])
    expect(reply.opened).toEqual({
      balances: { xp: 620, points: 40 },
      level: expect.any(Number),
      streaks: [],
      badges: [],
    })
    expect(world.user).toMatchObject({ xp: 620, points: 40, badges: new Map() })
    expect(world.user!.windows.daily.sequence).toBe(0)
    // What was reached before pays no more.
    expect(kindsOf(world.grant(1))).not.toContain("badge.earned")
  })

  it("with more earned than there is count the difference as spent", () => {
    const criteria = { kind: "points", target: 901 } as const
    const world = opened({ balances: { points: 340 }, earned: { points: 900 } }, (one) =>
      one.badge({ id: "b", criteria }),
    )
    expect(world.user).toMatchObject({ points: 340, pointsSpent: 560 })
    expect(kindsOf(world.grant(1, "points"))).toContain("badge.earned")
  })

  it("are neither cut by max and earnLimit nor pending", () => {
    const world = opened({ balances: { gems: 50 } }, (one) =>
      one.currency({
        key: "gems",
        max: 10,
        earnLimit: { amount: 1, per: "day" },
        pendingDays: 14,
      }),
    )
    expect(world.user!.balances.get("gems")).toEqual({ amount: 50, spent: 0 })
    expect(kindsOf(world.spend({ gems: 50 }))).toContain("currency.spent")
  })

  it("of a currency with refill wait for the next amount from the opening on", () => {
    const world = new World()
    world.currency({ key: "hearts", max: 5, refill: { amount: 1, everyMinutes: 60 } })
    world.do({ kind: "profile", change: { displayName: "Ada" } })
    world.now += day
    world.do(opening({ balances: { hearts: 2 } }))
    expect(world.user!.balances.get("hearts")).toEqual({ amount: 2, spent: 0, since: world.now })
    world.now += 3 * 3_600_000
    expect(world.refused({ kind: "spend", currencies: { hearts: 6 } }).code).toBe(
      "insufficient_balance",
    )
    expect(kindsOf(world.spend({ hearts: 5 }))).toContain("currency.spent")
  })

  it("of a currency with expiry end on the given days, and the rest as if earned now", () => {
    const world = opened(
      {
        balances: { coins: 100 },
        expiring: {
          coins: [
            { amount: 30, lastDay: "2026-11-20" },
            { amount: 20, lastDay: "2026-11-06" },
            { amount: 1, lastDay: "2026-11-20" },
          ],
        },
      },
      (one) => one.currency({ key: "coins", expiry: { afterDays: 30 } }),
    )
    const endings = endingsOf(world.user!, world.project, "coins", world.now)
    expect(
      endings.map(({ amount, expiresAt }) => [amount, dateOf(Math.floor(expiresAt / day) - 1)]),
    ).toEqual([
      [20, "2026-11-06"],
      [31, "2026-11-20"],
      [49, "2026-12-04"],
    ])
    world.now = nextEndOf(world.user!, world.project, world.now)
    world.do({ kind: "tick" })
    expect(world.user!.balances.get("coins")!.amount).toBe(80)
  })

  it("do not pay a level that they reach, also when the balance reaches it again", () => {
    const silver = {
      key: "silver",
      name: "Silver",
      from: 100,
      icon: null,
      reward: { xp: 5, points: 0, badgeId: null },
    }
    const gold = { ...silver, key: "gold", from: 200 }
    const world = opened({ balances: { coins: 150 }, earned: { coins: 300 } }, (one) =>
      one.currency({ key: "coins", levels: { of: "balance", table: [silver, gold] } }),
    )
    world.spend({ coins: 100 })
    world.give({ coins: 100 })
    expect(world.user!.xp).toBe(0)
    world.give({ coins: 50 })
    expect(world.user!.xp).toBe(5)
    expect([...world.user!.levelsPaid.keys()]).toEqual(["coins silver", "coins gold"])
  })

  it("can be spent but not undone, and an undo of what came later leaves them", () => {
    const world = opened({ balances: { xp: 500, points: 10 } })
    const { sequence } = world.user!
    const reward = world.grant(25)
    expect(world.user).toMatchObject({ xp: 525, scoreSequence: reward.record.sequence })
    world.undo(reward)
    expect(world.user).toMatchObject({ xp: 500, scoreSequence: sequence })
    const { at } = world.records[0]!
    for (const of of ["event", "reward", "spend"] as const) {
      const command = { kind: "revocation", of, sequence, at } as const
      expect(world.refused(command, world.records[0]).code).toBe(`${of}_not_found`)
    }
  })
})

describe("Streaks of an opening", () => {
  const daily = (world: World) =>
    world.streak({
      key: "daily",
      milestones: [5, 13].map((target) => ({
        target,
        reward: { xp: 0, points: target, badgeId: null },
      })),
    })

  it("go on from their last day, and pay only milestones that the best did not reach", () => {
    const world = opened(
      { streaks: { daily: { current: 4, best: 12, lastDay: "2026-11-03" } } },
      daily,
    )
    const { facts } = world.track()
    expect(facts).toContainEqual(
      expect.objectContaining({ kind: "streak.extended", key: "daily", current: 5 }),
    )
    expect(kindsOf({ facts })).not.toContain("streak.milestone_reached")
    for (let n = 0; n < 8; n++) {
      world.now += day
      world.track()
    }
    expect(world.user!.streaks.get("daily")).toMatchObject({ length: 13, best: 13 })
    expect(world.user!.points).toBe(13)
  })

  it("whose last day is too long ago are broken at once, and keep their best", () => {
    const world = opened(
      { streaks: { daily: { current: 4, best: 12, lastDay: "2026-10-20" } } },
      daily,
    )
    expect(world.records[0]!.facts).toContainEqual(expect.objectContaining({ kind: "user.opened" }))
    expect(world.user!.streaks.get("daily")).toMatchObject({ broken: true, best: 12 })
    const { facts } = world.track()
    expect(facts).toContainEqual(
      expect.objectContaining({
        kind: "streak.extended",
        current: 1,
        streak: expect.objectContaining({ best: 12 }),
      }),
    )
  })

  it("have their days kept, and the freezes that so many days earn", () => {
    const world = opened(
      { streaks: { daily: { current: 4, best: 4, lastDay: "2026-11-03" } } },
      (one) => one.streak({ key: "daily", freezes: { initial: 1, max: 5, everyDays: 2 } }),
    )
    expect(world.user!.streaks.get("daily")).toMatchObject({ length: 4, freezes: 3 })
    expect(kindsOf(world.trackAt("2026-10-31T12:00:00Z"))).not.toContain("streak.extended")
    expect(kindsOf(world.trackAt("2026-11-03T12:00:00Z"))).not.toContain("streak.extended")
    // The day before the first one belongs to the streak, too.
    world.trackAt("2026-10-30T12:00:00Z")
    expect(world.user!.streaks.get("daily")!.length).toBe(5)
  })
})

describe("Badges of an opening", () => {
  it("have their own dates, do not pay, and are not lost by an undo", () => {
    const earnedAt = Date.parse("2025-03-01T00:00:00Z")
    const reward = { xp: 7, points: 0, badgeId: null }
    const criteria = { kind: "action_count", action: "TAP", where: [], target: 1 } as const
    const world = opened({ badges: [{ badge: "one", earnedAt }] }, (one) =>
      one.badge({ id: "bdg_one", key: "one", criteria, reward }),
    )
    expect(world.user!.badges.get("bdg_one")).toEqual([{ tier: "", earnedAt }])
    const event = world.track()
    expect(world.user!.xp).toBe(0)
    world.undo(event)
    expect(world.user!.badges.get("bdg_one")).toEqual([{ tier: "", earnedAt }])
  })

  it("have tiers, each of which is an entry", () => {
    const tiers = ["bronze", "gold"].map((key, index) => ({
      key,
      name: key,
      description: null,
      icon: null,
      target: index + 1,
      reward: { xp: 0, points: 0, badgeId: null },
    }))
    const criteria = { kind: "xp", target: 1 } as const
    const define = (one: World) => one.badge({ id: "b", key: "b", criteria, tiers })
    const world = opened({ badges: [{ badge: "b", tier: "gold", earnedAt: 5 }] }, define)
    expect(world.user!.badges.get("b")).toEqual([{ tier: "gold", earnedAt: 5 }])
    const other = new World()
    define(other)
    expect(
      pointersOf(other, {
        badges: [
          { badge: "b", earnedAt: 5 },
          { badge: "b", tier: "lead", earnedAt: 5 },
          { badge: "b", tier: "gold", earnedAt: 5 },
          { badge: "b", tier: "gold", earnedAt: 6 },
        ],
      }),
    ).toEqual(["/badges/0/tier missing", "/badges/1/tier unknown_reference", "/badges/3 duplicate"])
  })
})

describe("An opening is refused", () => {
  it("with a fault for each member that does not fit the definitions", () => {
    const world = new World()
    world.currency({ key: "coins", expiry: { afterDays: 30 } })
    world.streak({ key: "daily" })
    world.badge({
      id: "c",
      key: "counted",
      criteria: { kind: "action_count", action: "A", where: [], target: 2 },
      repeatable: true,
    })
    world.badge({ id: "d", key: "drafted", set: "draft" })
    const now = world.now
    expect(
      pointersOf(world, {
        balances: { xp: 5, points: 5, none: 1, coins: 5 },
        earned: { xp: 6, points: 4, constructor: 1 },
        expiring: {
          none: [{ amount: 1, lastDay: "2026-12-01" }],
          points: [{ amount: 1, lastDay: "2026-12-01" }],
          coins: [
            { amount: 5, lastDay: "2026-11-03" },
            { amount: 1, lastDay: "2026-11-04" },
          ],
        },
        streaks: {
          daily: { current: 3, best: 2, lastDay: "2026-11-05" },
          none: { current: 0, best: 0 },
        },
        badges: [
          { badge: "none", earnedAt: 1 },
          { badge: "counted", earnedAt: 1 },
          { badge: "drafted", earnedAt: now + limits.occurredAtFutureMs + 1 },
        ],
      }),
    ).toEqual([
      "/earned/xp out_of_range",
      "/earned/points out_of_range",
      "/balances/none unknown_reference",
      "/earned/constructor unknown_reference",
      "/expiring/none unknown_reference",
      "/expiring/points invalid_value",
      "/expiring/coins/0/lastDay out_of_range",
      "/expiring/coins out_of_range",
      "/streaks/daily/best out_of_range",
      "/streaks/daily/lastDay out_of_range",
      "/streaks/none unknown_reference",
      "/badges/0/badge unknown_reference",
      "/badges/1/badge invalid_value",
      "/badges/2/badge unknown_reference",
    ])
    expect(world.user).toBeUndefined()
  })

  it("if a streak runs but has no last day, or a badge is from the future", () => {
    const world = new World()
    world.streak({ key: "daily" })
    world.badge({ id: "b", key: "b" })
    const soon = world.now + limits.occurredAtFutureMs
    expect(
      pointersOf(world, {
        streaks: { daily: { current: 1, best: 1 } },
        badges: [{ badge: "b", earnedAt: soon + 1 }],
      }),
    ).toEqual(["/streaks/daily/lastDay missing", "/badges/0/earnedAt out_of_range"])
    world.do(opening({ badges: [{ badge: "b", earnedAt: soon }] }))
    // A clock that is a little ahead is no lie.
    expect(world.user!.badges.get("b")).toEqual([{ tier: "", earnedAt: world.now }])
  })

  it("after an event, a reward, a spend or a merge, also if it was undone", () => {
    const had = opening({ balances: { xp: 5 } })
    const worlds = [
      (one: World) => one.undo(one.track()),
      (one: World) => one.undo(one.grant(5)),
      (one: World) => one.grant(5, "points"),
      (one: World) => {
        one.currency({ key: "hearts", max: 5, refill: { amount: 1, everyMinutes: 60 } })
        one.do({ kind: "profile", change: {} })
        one.now += day
        one.spend({ hearts: 1 })
      },
      (one: World) => {
        one.do({ kind: "profile", change: {} })
        const visitor = new World()
        visitor.do({ kind: "profile", change: {} })
        one.absorb(visitor, "visitor")
      },
    ].map((live) => {
      const world = new World()
      live(world)
      return world.refused(had).code
    })
    expect(worlds).toEqual(worlds.map(() => "opening_closed"))
  })

  it("not after a profile, and in the user's own time zone", () => {
    const world = new World("2026-11-04T23:30:00Z")
    world.streak({ key: "daily" })
    world.do({ kind: "profile", change: { timezone: "Asia/Tokyo" } })
    world.do(opening({ streaks: { daily: { current: 2, best: 2, lastDay: "2026-11-05" } } }))
    expect(world.user!.streaks.get("daily")).toMatchObject({ length: 2, broken: false })
  })
})

describe("A merge of users with openings", () => {
  it("adds up balances and lots, unites streaks and badges, and pays none of them again", () => {
    const define = (one: World) => {
      one.currency({ key: "coins", expiry: { afterDays: 30 } })
      one.streak({
        key: "daily",
        milestones: [{ target: 3, reward: { xp: 0, points: 3, badgeId: null } }],
      })
      one.badge({ id: "b", key: "b", reward: { xp: 9, points: 0, badgeId: null } })
    }
    const [member, visitor] = [
      {
        balances: { xp: 10, coins: 4 },
        streaks: { daily: { current: 2, best: 8, lastDay: "2026-11-03" } },
      },
      {
        balances: { xp: 5, points: 1, coins: 6 },
        streaks: { daily: { current: 4, best: 4, lastDay: "2026-11-04" } },
        badges: [{ badge: "b", earnedAt: 7 }],
      },
    ].map((had) => opened(had, define)) as [World, World]
    member.absorb(visitor, "visitor")
    expect(member.user).toMatchObject({ xp: 15, points: 1 })
    expect(member.user!.balances.get("coins")!.amount).toBe(10)
    expect(member.user!.expiring.get("coins")!.open).toEqual([
      [expect.any(Number), expect.any(Number), 10],
    ])
    expect(member.user!.badges.get("b")).toEqual([{ tier: "", earnedAt: 7 }])
    expect(member.user!.streaks.get("daily")).toMatchObject({ best: 8, broken: false, length: 4 })
    member.now += day
    const { facts } = member.track()
    expect(facts).toContainEqual(expect.objectContaining({ kind: "streak.extended", current: 5 }))
    expect(kindsOf({ facts })).not.toContain("streak.milestone_reached")
  })
})
