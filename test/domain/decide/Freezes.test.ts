/** Freezes that rewards give, up to the maximum of a streak, and their undo. */
import { describe, expect, it } from "vitest"
import type { Streak } from "../../../src/domain/project/StreakDefinition.ts"
import { dueAt, streakProgress } from "../../../src/domain/user/Progress.ts"
import { limits } from "../../../src/Limits.ts"
import { kindsOf, World } from "./World.ts"

const worldWith = (
  streak: Partial<Streak> = {},
  now = "2026-11-02T12:00:00Z",
  timezone = "UTC",
) => {
  const world = new World(now)
  world.settings({ timezone })
  world.streak({ freezes: { initial: 0, max: 2, everyDays: null }, ...streak })
  return world
}
const give = (world: World, daily: number) =>
  world.do({ kind: "reward", reward: { freezes: { daily } } })
const shown = (world: World) => streakProgress(world.user!, world.project, world.now)[0]!
const due = (world: World) => new Date(dueAt(world.user!, world.project, world.now)).toISOString()
const streakOf = (world: World) => world.user!.streaks.get("daily")!
const later = (world: World, days: number) => {
  world.now += days * 86_400_000
}

describe("A reward with freezes", () => {
  it("gives them to a running streak, up to its maximum, and tells what was cut", () => {
    const world = worldWith()
    world.track()
    expect(due(world)).toBe("2026-11-04T00:00:00.000Z")
    expect(give(world, 3).reply.freezes).toEqual({ daily: { earned: 2, total: 2, capped: 1 } })
    expect(due(world)).toBe("2026-11-06T00:00:00.000Z")
    expect(kindsOf(give(world, 1))).toEqual(["streak.freezes_capped", "reward.granted"])
    later(world, 3)
    expect(world.track().reply.streaks[0]).toMatchObject({ current: 2 })
    expect(shown(world).freezes).toBe(0)
  })

  it("before a first streak, or after a broken one, keeps them for the next streak", () => {
    const world = worldWith({ freezes: { initial: 1, max: 3, everyDays: null } })
    expect(give(world, 1).reply.freezes).toEqual({ daily: { earned: 1, total: 2 } })
    expect(shown(world)).toMatchObject({ current: 0, best: 0, lastDay: null, freezes: 2 })
    world.track()
    expect(shown(world)).toMatchObject({ current: 1, freezes: 2 })
    later(world, 9)
    // The record of the break may come later than the reward.
    expect(give(world, 5).reply.freezes).toEqual({ daily: { earned: 2, total: 2, capped: 3 } })
    expect(kindsOf(world.do({ kind: "tick" }))).toEqual(["streak.broken"])
    expect(shown(world)).toMatchObject({ current: 0, freezes: 2 })
    world.track()
    expect(shown(world)).toMatchObject({ current: 1, freezes: 3 })
  })

  it("covers the day of the decision, and no day before it", () => {
    const world = worldWith()
    world.track()
    later(world, 1)
    give(world, 1)
    later(world, 1)
    expect(shown(world)).toMatchObject({ current: 1, freezes: 0 })
    later(world, 1)
    expect(shown(world).current).toBe(0)
    give(world, 1)
    expect(shown(world).current).toBe(0)
  })

  it("by a milestone of the same streak is paid once, and the streak keeps it", () => {
    const reward = { xp: 0, points: 0, badgeId: null, freezes: { daily: 1 } }
    const world = worldWith({ milestones: [{ target: 1, reward }] })
    expect(world.track().reply.freezes).toEqual({ daily: { earned: 1, total: 1 } })
    expect(streakOf(world).paid).toEqual([1])
    later(world, 5)
    expect(world.track().reply.freezes).toBeUndefined()
  })

  it("by a rule that gives nothing else uses its limit", () => {
    const world = worldWith()
    const reward = { xp: 0, points: 0, badgeId: null, freezes: { daily: 1 } }
    world.rule({ action: "TAP", reward, limit: { times: 1, per: "day" } })
    expect(world.track().reply.freezes).toEqual({ daily: { earned: 1, total: 1 } })
    expect(kindsOf(world.track())).toContain("rule.withheld")
  })

  it("does not give to a draft or to a streak that has ended, and refuses an unknown or archived one", () => {
    for (const change of [
      { set: "draft" as const },
      { endsAt: Date.parse("2026-11-02T12:00:00Z") },
    ]) {
      const world = worldWith(change)
      expect(kindsOf(give(world, 1))).toEqual(["user.created", "reward.granted"])
    }
    const paused = worldWith({ set: "paused" })
    expect(give(paused, 1).reply.freezes).toBeDefined()
    const archived = worldWith({ set: "archived" })
    const command = { kind: "reward", reward: { freezes: { daily: 1 } } } as const
    expect(archived.refused(command)).toMatchObject({ code: "streak_not_found" })
    expect(new World().refused(command)).toMatchObject({
      code: "streak_not_found",
      detail: "/reward/freezes/daily matches no streak of this project.",
    })
  })

  it("is not used on a rest day, nor on a day that the date line skips", () => {
    const rest = worldWith({ restDays: ["tuesday"] })
    rest.track()
    give(rest, 1)
    later(rest, 2)
    expect(shown(rest)).toMatchObject({ current: 1, freezes: 1 })
    later(rest, 1)
    expect(shown(rest)).toMatchObject({ current: 1, freezes: 0 })
    const skipped = worldWith({}, "2011-12-29T12:00:00-10:00", "Pacific/Apia")
    skipped.track()
    give(skipped, 1)
    skipped.at("2011-12-31T12:00:00+14:00")
    expect(shown(skipped)).toMatchObject({ current: 1, freezes: 1 })
  })

  it("over a change to daylight saving time covers a day of 23 hours", () => {
    const world = worldWith({}, "2026-03-28T12:00:00Z", "Europe/Berlin")
    world.track()
    give(world, 1)
    expect(due(world)).toBe("2026-03-30T22:00:00.000Z")
  })

  it("covers week 53", () => {
    const world = worldWith({ every: "week" }, "2026-12-21T00:00:00Z")
    world.track()
    give(world, 1)
    world.at("2027-01-04T00:00:00Z")
    expect(shown(world)).toMatchObject({ current: 1, freezes: 0 })
    expect(world.track().reply.streaks[0]?.current).toBe(2)
  })

  it("keeps its place when a late event comes, and is forgotten beyond the limit of grants", () => {
    const world = worldWith()
    world.track()
    give(world, 1)
    later(world, 2)
    world.track()
    expect(shown(world)).toMatchObject({ current: 2, freezes: 0 })
    world.trackAt("2026-11-03T12:00:00Z")
    expect(shown(world)).toMatchObject({ current: 3, freezes: 1 })
    const long = worldWith({ freezes: { initial: 0, max: 366, everyDays: null } })
    for (let day = 0; day < limits.streakGrantsMax; day++) {
      long.track()
      give(long, 1)
      later(long, 1)
    }
    expect(streakOf(long).grants).toHaveLength(limits.streakGrantsMax)
    expect(streakOf(long)).not.toHaveProperty("forgotten")
    long.track()
    give(long, 1)
    expect(streakOf(long).grants).toHaveLength(limits.streakGrantsMax)
    expect(streakOf(long).forgotten).toMatchObject({ days: 1, freezes: 1 })
    expect(shown(long)).toMatchObject({ current: 65, best: 65, freezes: 65 })
  })
})

describe("The undo of a reward with freezes", () => {
  it("takes back those that are left, and reports the used ones", () => {
    const world = worldWith()
    world.track()
    const granted = give(world, 2)
    later(world, 2)
    const undone = world.undo(granted).reply
    expect(undone.freezes).toEqual({ daily: { earned: -1, total: 0 } })
    expect(undone.shortfall).toEqual({ xp: 0, points: 0, freezes: { daily: 1 } })
    // The covered day stays covered.
    expect(shown(world)).toMatchObject({ current: 1, freezes: 0 })
    expect(world.track().reply.streaks[0]?.current).toBe(2)
  })

  it("on the same day leaves no grant", () => {
    const world = worldWith()
    const granted = give(world, 2)
    expect(streakOf(world).grants).toHaveLength(1)
    world.undo(granted)
    expect(streakOf(world)).not.toHaveProperty("grants")
    expect(shown(world).freezes).toBe(0)
  })

  it("of the event that paid a milestone takes its freezes and forgets it", () => {
    const reward = { xp: 0, points: 0, badgeId: null, freezes: { daily: 1 } }
    const world = worldWith({ milestones: [{ target: 1, reward }] })
    const tracked = world.track()
    expect(kindsOf(world.undo(tracked))).toEqual([
      "streak.milestone_revoked",
      "streak.freezes_revoked",
      "event.revoked",
      "activity.reverted",
    ])
    expect(streakOf(world)).not.toHaveProperty("paid")
    expect(shown(world)).toMatchObject({ current: 1, freezes: 0 })
  })
})
