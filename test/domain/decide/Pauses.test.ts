/** Pauses of streaks: of one user, for everyone and for a segment, before and after the fact. */
import { describe, expect, it } from "vitest"
import type { Streak, StreakPause } from "../../../src/domain/project/StreakDefinition.ts"
import { dueAt, streakStandings } from "../../../src/domain/user/Progress.ts"
import { limits } from "../../../src/Limits.ts"
import { kindsOf, World } from "./World.ts"

/** The number of a day of November 2026. */
const day = (date: number): number => Date.parse("2026-11-01") / 86_400_000 + date - 1
const at = (date: number, time = "12:00"): string =>
  `2026-11-${String(date).padStart(2, "0")}T${time}:00Z`

const worldWith = (streak: Partial<Streak> = {}): World => {
  const world = new World(at(4))
  world.streak(streak)
  return world
}

const trackOn = (world: World, ...dates: ReadonlyArray<number>) => {
  for (const date of dates) {
    world.at(at(date))
    world.track()
  }
}

const pause = (world: World, from: number, to: number, streak = "daily") =>
  world.do({ kind: "pause", streak, from: day(from), to: day(to) })

const standing = ({ now, project, user }: World) => streakStandings(user!, project, now)[0]!

const forDays = (from: number, to: number, more: Partial<StreakPause> = {}): StreakPause => ({
  from: day(from),
  to: day(to),
  segment: null,
  number: 1,
  ...more,
})

const define = (world: World, streak: Partial<Streak>, ...pauses: ReadonlyArray<StreakPause>) =>
  world.streak({ ...streak, pauses, pausesMade: pauses.length })

const dueOf = ({ now, project, user }: World): string => {
  const due = dueAt(user!, project, now)
  return Number.isFinite(due) ? new Date(due).toISOString() : "never"
}

describe("A pause of a user's streak", () => {
  it("covers days to come, on which nothing is missed, at risk or frozen", () => {
    const world = worldWith({
      atRisk: { hoursBefore: 4 },
      freezes: { initial: 1, max: 1, everyDays: null },
    })
    world.track()
    pause(world, 5, 7)
    expect(dueOf(world)).toBe("2026-11-08T20:00:00.000Z")
    world.at(at(8))
    expect(standing(world)).toMatchObject({ current: 1, freezes: 1 })
    world.track()
    expect(standing(world)).toMatchObject({ current: 2, pauses: [[day(5), day(7)]] })
  })

  it("revives a streak that broke on its days, and joins two runs, which pays", () => {
    const reward = { xp: 0, points: 30, badgeId: null }
    const world = worldWith({ milestones: [{ target: 3, reward }] })
    world.badge({ id: "bdg_3", criteria: { kind: "streak", target: 3, streak: null } })
    trackOn(world, 4, 5)
    world.at(at(7))
    world.do({ kind: "tick" })
    expect(standing(world).current).toBe(0)
    const revived = pause(world, 6, 6)
    expect(revived.facts).toMatchObject([{ kind: "streak.paused", key: "daily", current: 2 }])
    expect(standing(world).current).toBe(2)
    world.at(at(9))
    world.do({ kind: "tick" })
    world.track()
    const joined = pause(world, 7, 8)
    expect(kindsOf(joined)).toEqual([
      "streak.paused",
      "streak.milestone_reached",
      "points.earned",
      "badge.earned",
    ])
    expect(standing(world)).toMatchObject({ current: 3, best: 3 })
    expect(world.user!.points).toBe(30)
    // The same days again change nothing, and a repeat pays nothing.
    expect(pause(world, 6, 8).facts).toEqual([])
    expect(world.track().reply.points.earned).toBe(0)
  })

  it("that does not cover all missed days revives nothing", () => {
    const world = worldWith()
    trackOn(world, 4)
    world.at(at(9))
    world.do({ kind: "tick" })
    pause(world, 6, 8)
    expect(standing(world).current).toBe(0)
    pause(world, 5, 5)
    expect(standing(world).current).toBe(1)
  })

  it("covers a week or a month with one of its days", () => {
    for (const [every, next] of [
      ["week", "2026-11-17T12:00:00Z"],
      ["month", "2027-01-05T12:00:00Z"],
    ] as const) {
      const world = worldWith({ every })
      world.track()
      pause(world, 15, 15)
      world.do({ kind: "pause", streak: "daily", from: day(40), to: day(40) })
      world.at(next)
      expect(world.track().reply.streaks).toMatchObject([{ current: 2 }])
    }
  })

  it("waits for a streak that has not begun, and is refused for one that has ended", () => {
    const world = worldWith()
    world.grant(1)
    pause(world, 5, 6)
    trackOn(world, 4, 7)
    expect(standing(world).current).toBe(2)
    world.streak({ endsAt: Date.parse(at(8)) })
    world.at(at(9))
    const command = { kind: "pause", streak: "daily", from: 1, to: 2 } as const
    expect(world.refused(command).code).toBe("conflict")
    expect(world.refused({ ...command, streak: "none" }).code).toBe("streak_not_found")
  })

  it("is forgotten beyond the limit of ranges, with the runs up to then", () => {
    const world = worldWith()
    world.track()
    const ranges = limits.streakPauseRangesMax
    for (let index = 0; index < ranges; index++) {
      const from = day(-1_000 + 2 * index)
      world.do({ kind: "pause", streak: "daily", from, to: from })
    }
    expect(standing(world).pauses).toHaveLength(ranges)
    pause(world, 5, 5)
    expect(standing(world).pauses).toHaveLength(ranges)
    world.at(at(6))
    expect(world.track().reply.streaks).toMatchObject([{ current: 2 }])
  })
})

describe("A pause of a definition", () => {
  it("begins for a user with its first day, once", () => {
    const world = worldWith()
    trackOn(world, 4)
    define(world, {}, forDays(5, 6))
    expect(dueOf(world)).toBe("2026-11-05T00:00:00.000Z")
    world.at(at(5, "00:00"))
    expect(kindsOf(world.do({ kind: "tick" }))).toEqual(["streak.paused"])
    expect(dueOf(world)).toBe("2026-11-08T00:00:00.000Z")
    // It stays when the definition drops it.
    world.streak({ pausesMade: 1 })
    world.at(at(7))
    expect(world.track().reply.streaks).toMatchObject([{ current: 2 }])
  })

  it("that is made later revives streaks that broke on its days, and nobody else's", () => {
    const world = worldWith()
    trackOn(world, 4)
    world.at(at(8))
    world.do({ kind: "tick" })
    define(world, {}, forDays(5, 6))
    expect(dueOf(world)).toBe("never")
    define(world, {}, forDays(5, 6), forDays(7, 7, { number: 2 }))
    expect(dueOf(world)).toBe(new Date(world.now).toISOString())
    expect(kindsOf(world.do({ kind: "tick" }))).toEqual(["streak.paused", "streak.paused"])
    expect(standing(world).current).toBe(1)
  })

  it("for a segment covers who is in it when the pause begins, and looks at others once", () => {
    for (const isIn of [true, false]) {
      const world = worldWith()
      world.segment({
        id: "seg_away",
        conditions: [{ kind: "attribute", attribute: "away", op: "eq", value: true }],
      })
      world.attributes({ away: isIn })
      trackOn(world, 4)
      define(world, {}, forDays(5, 6, { segment: "away" }))
      world.at(at(5, "00:00"))
      const kind = isIn ? "streak.paused" : "streak.pause_seen"
      expect(kindsOf(world.do({ kind: "tick" }))).toEqual([kind])
      world.attributes({ away: !isIn })
      expect(world.refused({ kind: "tick" }).code).toBe("conflict")
      world.at(at(7))
      expect(world.track().reply.streaks).toMatchObject([{ current: isIn ? 2 : 1 }])
    }
  })

  it("begins with the event that starts a streak on its days, and not for a draft", () => {
    const world = worldWith()
    define(world, {}, forDays(3, 6))
    expect(kindsOf(world.track())).toContain("streak.paused")
    world.at(at(7))
    expect(world.track().reply.streaks).toMatchObject([{ current: 2 }])
    define(world, { set: "draft" }, forDays(3, 6), forDays(8, 9, { number: 2 }))
    world.at(at(9))
    expect(world.refused({ kind: "tick" }).code).toBe("conflict")
  })

  it("reaches users who were merged, with the pauses of both", () => {
    const [world, other] = [worldWith(), worldWith()]
    for (const one of [world, other]) trackOn(one, 4)
    pause(world, 5, 5)
    pause(other, 6, 6)
    world.absorb(other, "u2")
    world.at(at(7))
    expect(world.track().reply.streaks).toMatchObject([{ current: 2 }])
    expect(standing(world).pauses).toEqual([[day(5), day(6)]])
  })
})
