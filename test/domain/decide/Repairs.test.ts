/** Repairs of streaks: what they cover and cost, when they are refused, and their undo. */
import { describe, expect, it } from "vitest"
import type { Streak } from "../../../src/domain/project/StreakDefinition.ts"
import type { Revocation, Spending } from "../../../src/domain/record/Record.ts"
import { streakStandings } from "../../../src/domain/user/Progress.ts"
import { streakCalendar } from "../../../src/domain/user/StreakCalendar.ts"
import { userZones } from "../../../src/domain/user/User.ts"
import { limits } from "../../../src/Limits.ts"
import { kindsOf, World } from "./World.ts"

/** The number of a day of November 2026. */
const day = (date: number): number => Date.parse("2026-11-01") / 86_400_000 + date - 1
const at = (date: number, time = "12:00"): string =>
  `2026-11-${String(date).padStart(2, "0")}T${time}:00Z`

const worldWith = (streak: Partial<Streak> = {}): World => {
  const world = new World(at(2))
  world.streak({ repair: { withinDays: 3, price: null }, ...streak })
  return world
}

const trackOn = (world: World, ...dates: ReadonlyArray<number>) => {
  for (const date of dates) {
    world.at(at(date))
    world.track()
  }
}

const repairing = (streak: string): Spending => ({ kind: "spend", currencies: {}, repair: streak })

const repair = (world: World) => world.do<Spending>(repairing("daily"))
const refusal = (world: World, streak = "daily") => world.refused(repairing(streak))

const standing = ({ now, project, user }: World) => streakStandings(user!, project, now)[0]!

const undo = (world: World, { record }: ReturnType<typeof repair>) =>
  world.do<Revocation<"spend">>(
    { kind: "revocation", of: "spend", sequence: record.sequence, at: record.at },
    record,
  )

const calendar = ({ now, project, user }: World, from: number, to: number) => {
  const definition = [...project.streaks.values()][0]!
  const times = { createdAt: user!.createdAt, now }
  const days = [day(from), day(to)] as const
  const zones = userZones(user, project)
  return streakCalendar(user!.streaks.get("daily"), definition, zones, times, days).map(
    ({ status }) => status,
  )
}

describe("A repair", () => {
  it("covers the missed days, which do not count, and the streak runs on", () => {
    const world = worldWith()
    trackOn(world, 2, 3)
    world.at(at(6))
    world.do({ kind: "tick" })
    const { facts, reply } = repair(world)
    expect(facts).toMatchObject([
      { kind: "streak.repaired", key: "daily", from: day(4), to: day(5), current: 2 },
      { kind: "balances.settled", points: 0 },
    ])
    expect(reply).toMatchObject({
      amount: 0,
      total: 0,
      repaired: { key: "daily", from: "2026-11-04", to: "2026-11-05", current: 2 },
    })
    expect(standing(world)).toMatchObject({ current: 2, best: 2 })
    expect(world.track().reply.streaks).toMatchObject([{ current: 3, best: 3 }])
    expect(calendar(world, 2, 6)).toEqual(["kept", "kept", "repaired", "repaired", "kept"])
  })

  it("leaves the days to freezes that these covered, and rest days as they are", () => {
    const world = worldWith({
      freezes: { initial: 1, max: 1, everyDays: null },
      restDays: ["saturday"],
    })
    trackOn(world, 4)
    world.at(at(9))
    expect(repair(world).facts[0]).toMatchObject({ from: day(6), to: day(8), current: 1 })
    expect(standing(world)).toMatchObject({ current: 1, freezes: 0 })
    const shown = ["kept", "frozen", "repaired", "rest", "repaired", "open"]
    expect(calendar(world, 4, 9)).toEqual(shown)
  })

  it("joins a streak that has begun since, with its frozen days", () => {
    const world = worldWith({ freezes: { initial: 1, max: 1, everyDays: null } })
    trackOn(world, 2, 5, 7)
    expect(standing(world)).toMatchObject({ current: 2, best: 2 })
    expect(repair(world).facts[0]).toMatchObject({ from: day(4), to: day(6), current: 3 })
    expect(calendar(world, 2, 7)).toEqual([
      "kept",
      "frozen",
      "repaired",
      "kept",
      "repaired",
      "kept",
    ])
    world.at(at(8))
    expect(world.track().reply.streaks).toMatchObject([{ current: 4, best: 4 }])
  })

  it("covers weeks and months, for days after their end", () => {
    for (const [every, next, late] of [
      ["week", "2026-11-18T12:00:00Z", "2026-11-19T12:00:00Z"],
      ["month", "2027-01-03T12:00:00Z", "2027-01-04T12:00:00Z"],
    ] as const) {
      const world = worldWith({ every })
      world.track()
      world.at(late)
      expect(refusal(world).code).toBe("repair_too_late")
      world.at(next)
      repair(world)
      expect(world.track().reply.streaks).toMatchObject([{ current: 2 }])
    }
  })

  it("costs its price, all or nothing, and names each balance that is too small", () => {
    const price = { gems: 5, points: 30 }
    const world = worldWith({ repair: { withinDays: 3, price } })
    world.currency({ key: "gems" })
    trackOn(world, 2)
    world.at(at(5))
    world.do({ kind: "reward", reward: { points: 29 } })
    expect(refusal(world)).toMatchObject({
      code: "insufficient_balance",
      balances: { gems: 0, points: 29 },
    })
    expect(standing(world).repair).toEqual({
      days: [day(3), day(4)],
      until: day(6),
      price,
    })
    const currencies = { gems: 6 }
    world.do({ kind: "reward", reward: { points: 2, currencies } })
    const done = repair(world)
    expect(kindsOf(done)).toEqual([
      "currency.spent",
      "points.spent",
      "streak.repaired",
      "balances.settled",
    ])
    expect(done.reply).toMatchObject({
      amount: 30,
      total: 1,
      currencies: { gems: { spent: 5, total: 1 } },
    })
    expect(standing(world).repair).toBeUndefined()
  })

  it("is refused after its days, of a streak that is not broken, or has none", () => {
    const world = worldWith()
    expect(refusal(world).code).toBe("user_not_found")
    trackOn(world, 2)
    expect(refusal(world).code).toBe("streak_not_broken")
    world.at(at(3))
    expect(refusal(world).code).toBe("streak_not_broken")
    world.at(at(7))
    expect(refusal(world)).toMatchObject({
      code: "repair_too_late",
      detail: "The streak broke in the day of 2026-11-03, and can be repaired for 3 days.",
    })
    world.at(at(6))
    expect(refusal(world, "none").code).toBe("streak_not_found")
    world.streak({ set: "paused", repair: { withinDays: 3, price: null } })
    expect(refusal(world).code).toBe("streak_not_active")
    world.streak({ endsAt: Date.parse(at(5)), repair: { withinDays: 3, price: null } })
    expect(refusal(world).code).toBe("streak_not_active")
    world.streak({ repair: null })
    expect(refusal(world).code).toBe("streak_not_repairable")
    world.streak({ set: "archived", repair: { withinDays: 3, price: null } })
    expect(refusal(world).code).toBe("streak_not_found")
    world.streak({ repair: { withinDays: 3, price: null } })
    repair(world)
    expect(refusal(world).code).toBe("streak_not_broken")
  })

  it("pays a milestone and a badge of the longer streak with the next kept day", () => {
    const reward = { xp: 0, points: 30, badgeId: null }
    const world = worldWith({ milestones: [{ target: 3, reward }] })
    world.badge({ id: "bdg_3", criteria: { kind: "streak", target: 3, streak: null } })
    trackOn(world, 2, 3, 5)
    expect(kindsOf(repair(world))).toEqual(["streak.repaired", "balances.settled"])
    expect(world.user!.points).toBe(0)
    world.at(at(6))
    const paying = world.track()
    expect(paying.reply.points.earned).toBe(30)
    expect(paying.reply.badges).toMatchObject([{ id: "bdg_3" }])
    world.at(at(7))
    expect(world.track().reply).toMatchObject({ points: { earned: 0 }, badges: [] })
  })

  it("is refused once the user has the most repairs since the last kept day", () => {
    const world = worldWith()
    trackOn(world, 2)
    const start = Date.parse(at(4))
    for (let count = 0; count < limits.streakRepairsMax; count++) {
      world.at(new Date(start + count * 86_400_000).toISOString())
      repair(world)
    }
    world.at(new Date(start + limits.streakRepairsMax * 86_400_000).toISOString())
    expect(refusal(world).code).toBe("quota_exceeded")
    expect(standing(world).current).toBe(0)
  })
})

describe("The undo of a repair", () => {
  it("returns the price, uncovers the days and breaks the streak", () => {
    const world = worldWith({ repair: { withinDays: 3, price: { points: 5 } } })
    trackOn(world, 2, 3)
    world.do({ kind: "reward", reward: { points: 5 } })
    world.at(at(5))
    const done = repair(world)
    const undone = undo(world, done)
    expect(kindsOf(undone)).toEqual(["points.refunded", "streak.repair_undone", "streak.broken"])
    expect(undone.reply).toMatchObject({
      amount: 5,
      total: 5,
      repairUndone: { key: "daily", from: "2026-11-04", to: "2026-11-04", current: 0 },
    })
    expect(standing(world)).toMatchObject({ current: 0, best: 2 })
    expect(world.track().reply.streaks).toMatchObject([{ current: 1, best: 2 }])
  })

  it("splits the streak again, and what it would have paid is not paid", () => {
    const reward = { xp: 0, points: 30, badgeId: null }
    const world = worldWith({ milestones: [{ target: 3, reward }] })
    trackOn(world, 2, 3, 5)
    const done = repair(world)
    expect(standing(world)).toMatchObject({ current: 3, best: 3 })
    expect(kindsOf(undo(world, done))).toEqual(["streak.repair_undone", "balances.settled"])
    expect(standing(world)).toMatchObject({ current: 1, best: 2 })
    world.at(at(6))
    expect(world.track().reply).toMatchObject({
      points: { earned: 0 },
      streaks: [{ current: 2, best: 2 }],
    })
  })

  it("keeps the days of another repair of a user who was merged", () => {
    const [world, other] = [worldWith(), worldWith()]
    trackOn(world, 2)
    trackOn(other, 2)
    for (const one of [world, other]) one.at(at(4))
    const done = repair(world)
    repair(other)
    world.absorb(other, "u2")
    expect(kindsOf(undo(world, done))).toEqual(["streak.repair_undone", "balances.settled"])
    expect(standing(world).current).toBe(1)
  })
})

describe("A repair and a spend of one user", () => {
  it("name one another, whichever comes first", () => {
    const world = worldWith({ repair: { withinDays: 3, price: { points: 1 } } })
    trackOn(world, 2, 3)
    world.grant(10, "points")
    const first = world.spend(1).record
    world.at(at(6))
    world.do({ kind: "tick" })
    const repaired = repair(world).record
    const last = world.spend(1).record
    const before = ({ facts }: typeof first) =>
      facts.flatMap((fact) => (fact.kind === "points.spent" ? [fact.before] : []))
    expect([before(repaired), before(last)]).toEqual([[first.sequence], [repaired.sequence]])
    expect(world.user?.lastSpend).toBe(last.sequence)
  })
})
