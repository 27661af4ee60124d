/** Streaks of weeks and months, with several needs, rest days, milestones and an end. */
import { describe, expect, it } from "vitest"
import type { Streak } from "../../../src/domain/project/StreakDefinition.ts"
import { dueAt, streakStandings } from "../../../src/domain/user/Progress.ts"
import { limits } from "../../../src/Limits.ts"
import { boostWith } from "../definitions.ts"
import { kindsOf, World } from "./World.ts"

const worldWith = (streak: Partial<Streak>, now: string, timezone = "UTC") => {
  const world = new World(now)
  world.settings({ timezone })
  world.streak(streak)
  return world
}

const standing = (world: World) => streakStandings(world.user!, world.project, world.now)[0]!
const current = (world: World) => standing(world).current
const needs = [{ action: "TAP", target: 1 }]
const paying = (points: number) => ({ xp: 0, points, badgeId: null })
const due = (world: World) => new Date(dueAt(world.user!, world.project, world.now)).toISOString()

describe("A streak of weeks", () => {
  it("goes on over week 53, and breaks at the end of a missed ISO week", () => {
    // 2026 has 53 weeks: the last one is from 28 December to 3 January.
    const world = worldWith({ every: "week", needs }, "2026-12-21T00:00:00Z")
    world.track()
    world.at("2027-01-03T23:59:00Z")
    expect(world.track().reply.streaks).toEqual([{ key: "daily", current: 2, best: 2 }])
    expect(standing(world)).toMatchObject({ lastDay: "2026-12-28", period: { kept: true } })
    world.at("2027-01-04T00:00:00Z")
    expect(world.track().reply.streaks[0]?.current).toBe(3)
    expect(standing(world).lastDay).toBe("2027-01-04")
    expect(due(world)).toBe("2027-01-18T00:00:00.000Z")
    world.at("2027-01-17T23:59:59Z")
    expect(world.refused({ kind: "tick" }).code).toBe("conflict")
    world.at("2027-01-18T00:00:00Z")
    expect(kindsOf(world.do({ kind: "tick" }))).toEqual(["streak.broken"])
  })

  it("begins its weeks at the user's midnight, also in a week of 167 hours", () => {
    const world = worldWith({ every: "week", needs }, "2026-03-23T12:00:00Z", "Europe/Berlin")
    world.track()
    world.at("2026-03-29T21:59:59Z")
    expect(world.track().reply.streaks).toEqual([])
    world.at("2026-03-29T22:00:00Z")
    expect(world.track().reply.streaks[0]?.current).toBe(2)
    expect(due(world)).toBe("2026-04-12T22:00:00.000Z")
  })

  it("uses a freeze for a missed week, and gains one at a multiple of its length", () => {
    const freezes = { initial: 1, max: 1, everyDays: 2 }
    const world = worldWith({ every: "week", needs, freezes }, "2026-11-02T12:00:00Z")
    world.track()
    world.at("2026-11-18T12:00:00Z")
    expect(standing(world)).toMatchObject({ current: 1, freezes: 0 })
    world.track()
    expect(standing(world)).toMatchObject({ current: 2, freezes: 1 })
  })

  it("goes on where the date line skips a day of a week", () => {
    // Samoa had no 30 December 2011.
    const world = worldWith({ every: "week", needs }, "2011-12-20T12:00:00Z", "Pacific/Apia")
    world.track()
    world.at("2011-12-31T12:00:00Z")
    expect(world.track().reply.streaks[0]?.current).toBe(2)
    world.at("2012-01-02T12:00:00Z")
    expect(world.track().reply.streaks[0]?.current).toBe(3)
  })
})

describe("A streak of months", () => {
  it("has the months of the calendar, over the end of a year", () => {
    const world = worldWith({ every: "month", needs }, "2026-11-30T23:59:00Z")
    world.track()
    world.at("2026-12-01T00:00:00Z")
    expect(world.track().reply.streaks[0]?.current).toBe(2)
    world.at("2027-01-31T12:00:00Z")
    expect(world.track().reply.streaks[0]?.current).toBe(3)
    expect(standing(world).lastDay).toBe("2027-01-01")
    expect(due(world)).toBe("2027-03-01T00:00:00.000Z")
  })

  it("counts a late event for the month in which it occurred", () => {
    const world = worldWith({ every: "month", needs }, "2026-10-05T12:00:00Z")
    world.track()
    world.at("2026-12-10T12:00:00Z")
    world.track()
    expect(current(world)).toBe(1)
    expect(world.trackAt("2026-11-20T12:00:00Z").reply.streaks[0]?.current).toBe(3)
  })
})

describe("Needs", () => {
  const twice = [
    { action: "TAP", target: 2 },
    { action: "READ", target: 1 },
  ]

  it("are all reached before a day is kept", () => {
    const world = worldWith({ needs: twice }, "2026-11-04T12:00:00Z")
    expect(kindsOf(world.track())).toEqual(["user.created", "streak.progressed", "event.tracked"])
    expect(world.track("READ").reply.streaks).toEqual([])
    expect(standing(world).period).toMatchObject({
      kept: false,
      needs: [
        { action: "TAP", current: 1, target: 2 },
        { action: "READ", current: 1, target: 1 },
      ],
    })
    expect(world.track().reply.streaks).toEqual([{ key: "daily", current: 1, best: 1 }])
    expect(standing(world).period).toMatchObject({ kept: true, needs: [{ current: 2 }, {}] })
    expect(world.user!.streakCounts.size).toBe(0)
    expect(kindsOf(world.track())).toEqual(["event.tracked"])
  })

  it("are reached by any of them with match: any", () => {
    const world = worldWith({ needs: twice, match: "any" }, "2026-11-04T12:00:00Z")
    world.track()
    expect(world.track("READ").reply.streaks[0]?.current).toBe(1)
  })

  it("count per day, and late events for their day", () => {
    const world = worldWith({ needs: [{ action: "TAP", target: 2 }] }, "2026-11-04T12:00:00Z")
    world.track()
    world.at("2026-11-05T12:00:00Z")
    expect(world.track().reply.streaks).toEqual([])
    expect(world.trackAt("2026-11-04T13:00:00Z").reply.streaks[0]?.current).toBe(1)
    expect(world.track().reply.streaks[0]?.current).toBe(2)
  })

  it("lose the count of an undone event, while a kept day stays", () => {
    const world = worldWith({ needs: [{ action: "TAP", target: 2 }] }, "2026-11-04T12:00:00Z")
    const first = world.track()
    const undone = world.undo(first)
    expect(undone.facts[0]).toMatchObject({ kind: "streak.progressed", current: 0 })
    expect(world.user!.streakCounts.size).toBe(0)
    world.track()
    const keeps = world.track()
    expect(current(world)).toBe(1)
    expect(kindsOf(world.undo(keeps))).toEqual(["event.revoked"])
    expect(current(world)).toBe(1)
  })

  it("count an event for a bounded number of days that are not kept", () => {
    const world = worldWith({ needs: [{ action: "TAP", target: 2 }] }, "2026-11-04T12:00:00Z")
    const on = (ago: number) =>
      kindsOf(world.track("TAP", { occurredAt: world.now - ago * 86_400_000, imported: true }))
    for (let ago = 1; ago <= limits.streakCountsMax; ago++) {
      expect(on(ago)).toContain("streak.progressed")
    }
    expect(on(limits.streakCountsMax + 1)).toEqual(["event.tracked"])
    expect(on(0)).toContain("streak.progressed")
    expect(on(limits.streakCountsMax)).toEqual(["event.tracked"])
    expect(on(1)).toContain("streak.extended")
  })
})

describe("Rest days", () => {
  const weekend = ["saturday", "sunday"] as const

  it("break nothing and use up no freeze; an event on one counts", () => {
    // 2026-11-06 is a Friday.
    const freezes = { initial: 1, max: 1, everyDays: null }
    const world = worldWith({ restDays: weekend, freezes }, "2026-11-06T12:00:00Z")
    world.track()
    world.at("2026-11-09T12:00:00Z")
    expect(standing(world)).toMatchObject({ current: 1, freezes: 1 })
    expect(world.track().reply.streaks[0]?.current).toBe(2)
    world.at("2026-11-14T12:00:00Z")
    expect(standing(world)).toMatchObject({ current: 0, freezes: 0 })
    const other = worldWith({ restDays: weekend }, "2026-11-06T12:00:00Z")
    other.track()
    expect(due(other)).toBe("2026-11-10T00:00:00.000Z")
    other.at("2026-11-07T12:00:00Z")
    expect(other.track().reply.streaks[0]?.current).toBe(2)
  })

  it("are skipped when freezes are used up one by one", () => {
    const freezes = { initial: 2, max: 2, everyDays: null }
    const world = worldWith({ restDays: weekend, freezes }, "2026-11-05T12:00:00Z")
    world.track()
    // Friday and Monday use up the freezes, Tuesday breaks it.
    expect(due(world)).toBe("2026-11-11T00:00:00.000Z")
    world.at("2026-11-10T23:59:59Z")
    expect(standing(world)).toMatchObject({ current: 1, freezes: 0 })
    world.at("2026-11-11T00:00:00Z")
    expect(current(world)).toBe(0)
  })

  it("of a long absence are not counted as missed, whatever the distance", () => {
    const restDays = ["tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"] as const
    const freezes = { initial: 9, max: 9, everyDays: null }
    const world = worldWith({ restDays, freezes }, "2026-11-02T12:00:00Z")
    world.track()
    world.at("2027-01-04T12:00:00Z")
    expect(standing(world)).toMatchObject({ current: 1, freezes: 1 })
    world.at("2027-01-19T12:00:00Z")
    expect(current(world)).toBe(0)
  })

  it("of an edit do not change the days before it", () => {
    const world = worldWith({ restDays: weekend }, "2026-11-06T12:00:00Z")
    world.track()
    world.at("2026-11-09T12:00:00Z")
    world.track()
    const termsBefore = [
      { restDays: weekend, freezes: { initial: 0, max: 0, everyDays: null }, until: world.now },
    ]
    world.streak({ restDays: [], termsBefore })
    world.at("2026-11-10T12:00:00Z")
    expect(world.track().reply.streaks[0]?.current).toBe(3)
  })
})

describe("Milestones", () => {
  const milestones = [2, 3].map((target) => ({ target, reward: paying(target * 10) }))
  const beginning = "2026-11-04T12:00:00Z"
  const next = (world: World) => {
    world.now += 86_400_000
    return world.track()
  }

  it("pay once, ever, when a streak grows to their length", () => {
    const world = worldWith({ milestones }, beginning)
    world.track()
    const second = next(world)
    expect(second.facts.slice(1, 3)).toMatchObject([
      { kind: "streak.milestone_reached", streakId: "stk_daily", key: "daily", target: 2 },
      { kind: "points.earned", amount: 20, source: { streakId: "stk_daily" } },
    ])
    world.now += 5 * 86_400_000
    world.track()
    expect(next(world).reply.points.earned).toBe(0)
    expect(next(world).reply.points).toEqual({ earned: 30, total: 50 })
    expect(standing(world).milestones).toEqual([
      { target: 2, paid: true },
      { target: 3, paid: true },
    ])
  })

  it("whose payment was taken back are paid by the next event that counts for the run", () => {
    const needs = [{ action: "TAP", target: 2 }]
    for (const more of [{}, { needs }]) {
      const world = worldWith({ milestones, ...more }, beginning)
      const both = (at: () => ReturnType<World["track"]>) => {
        const first = at()
        return "needs" in more ? world.track() : first
      }
      both(() => world.track())
      const second = both(() => next(world))
      expect(second.reply.points.earned).toBe(20)
      world.undo(second)
      expect(standing(world).milestones).toMatchObject([{ paid: false }, { paid: false }])
      // The day is kept: an event that counts for it pays, and any other does not.
      if ("needs" in more) expect(world.track("OTHER").reply.points.earned).toBe(0)
      const corrected = world.track()
      expect(corrected.reply).toMatchObject({ streaks: [], points: { earned: 20, total: 20 } })
      expect(world.track().reply.points.earned).toBe(0)
      world.undo(corrected)
      expect(both(() => next(world)).reply.points).toEqual({ earned: 50, total: 50 })
    }
  })

  it("whose payment was taken back are not paid by a paused streak or by a shorter run", () => {
    const world = worldWith({ milestones }, beginning)
    world.track()
    world.undo(next(world))
    world.streak({ milestones, set: "paused" })
    expect(world.track().reply.points.earned).toBe(0)
    world.streak({ milestones })
    world.now += 5 * 86_400_000
    expect(world.track().reply.points.earned).toBe(0)
    expect(next(world).reply.points.earned).toBe(20)
    expect(world.track().reply.points.earned).toBe(0)
  })

  it("are taken back and forgotten with the record that paid them; the day stays", () => {
    const world = worldWith({ milestones }, beginning)
    world.track()
    const second = next(world)
    const undone = world.undo(second)
    expect(kindsOf(undone)).toEqual([
      "streak.milestone_revoked",
      "points.revoked",
      "event.revoked",
      "activity.reverted",
    ])
    expect([current(world), world.user!.points]).toEqual([2, 0])
    world.now += 5 * 86_400_000
    world.track()
    expect(next(world).reply.points.earned).toBe(20)
  })

  it("are not paid or taken by an edit, nor by a paused streak, which counts on", () => {
    const world = worldWith({ milestones: [] }, beginning)
    world.track()
    next(world)
    world.streak({ milestones })
    expect(next(world).reply.points.earned).toBe(30)
    world.streak({ milestones: [{ target: 4, reward: paying(1) }], set: "paused" })
    expect(next(world).reply).toMatchObject({ points: { earned: 0 }, streaks: [{ current: 4 }] })
    expect(world.user!.points).toBe(30)
  })

  it("pay no boosts, and lead to badges by points", () => {
    const world = worldWith({ milestones }, beginning)
    world.define({ kind: "boost.created", boost: boostWith({ factor: 3 }) })
    world.badge({ id: "bdg_20", criteria: { kind: "points", target: 20 } })
    world.track()
    const { badges, boosts, points } = next(world).reply
    expect([badges.map(({ id }) => id), boosts, points.earned]).toEqual([["bdg_20"], [], 20])
  })
})

describe("A streak with an end", () => {
  it("counts nothing from then on, and stays as it was then", () => {
    const endsAt = Date.parse("2026-11-06T00:00:00Z")
    const world = worldWith({ endsAt }, "2026-11-04T12:00:00Z")
    world.track()
    world.at("2026-11-05T12:00:00Z")
    world.track()
    expect(dueAt(world.user!, world.project, world.now)).toBe(Number.POSITIVE_INFINITY)
    world.at("2026-11-20T12:00:00Z")
    expect(world.track().reply.streaks).toEqual([])
    expect(standing(world)).toMatchObject({ current: 2, breaksAt: null, lastDay: "2026-11-05" })
    expect(world.refused({ kind: "tick" }).code).toBe("conflict")
  })
})
