/** The calendar of a streak: what became of each day, week or month. */
import { describe, expect, it } from "vitest"
import type { Streak } from "../../../src/domain/project/StreakDefinition.ts"
import { streakCalendar } from "../../../src/domain/user/StreakCalendar.ts"
import { firstDayOfPeriod, periodOfDay } from "../../../src/domain/user/StreakPeriods.ts"
import { userZones } from "../../../src/domain/user/User.ts"
import { dateOf, dayOf } from "../../../src/domain/values/Calendar.ts"
import { limits } from "../../../src/Limits.ts"
import { World } from "../decide/World.ts"

const worldWith = (streak: Partial<Streak>, now: string, timezone = "UTC") => {
  const world = new World(now)
  world.settings({ timezone })
  world.streak(streak)
  return world
}

const calendar = ({ now, project, user }: World, from: string, to: string) => {
  const definition = [...project.streaks.values()][0]!
  const { createdAt, streaks } = user!
  const range = [from, to].map((date) => periodOfDay(definition, dayOf(date)!))
  const zones = userZones(user, project)
  return streakCalendar(
    streaks.get("daily"),
    definition,
    zones,
    { createdAt, now },
    range as [number, number],
  ).map(({ period, status }) => `${dateOf(firstDayOfPeriod(definition, period))} ${status}`)
}

const trackOn = (world: World, ...dates: ReadonlyArray<string>) => {
  for (const date of dates) {
    world.at(`${date}T12:00:00Z`)
    world.track()
  }
}

describe("The calendar of a streak", () => {
  it("lists kept, frozen, rest and missed days, and the present one while it is open", () => {
    const freezes = { initial: 1, max: 1, everyDays: null }
    // 2026-11-02 is a Monday.
    const world = worldWith({ freezes, restDays: ["sunday"] }, "2026-11-02T12:00:00Z")
    trackOn(world, "2026-11-02", "2026-11-04", "2026-11-10")
    world.at("2026-11-11T12:00:00Z")
    const expected = [
      "2026-11-02 kept",
      "2026-11-03 frozen",
      "2026-11-04 kept",
      // The freeze was used up already.
      "2026-11-05 missed",
      "2026-11-06 missed",
      "2026-11-07 missed",
      "2026-11-08 rest",
      "2026-11-09 missed",
      "2026-11-10 kept",
      "2026-11-11 open",
    ]
    expect(calendar(world, "2026-10-01", "2026-12-31")).toEqual(expected)
    expect(calendar(world, "2026-11-06", "2026-11-08")).toEqual(expected.slice(4, 7))
  })

  it("shows the freezes that a streak used up before it broke, also from the middle of the gap on", () => {
    const freezes = { initial: 2, max: 2, everyDays: null }
    const world = worldWith({ freezes }, "2026-11-02T12:00:00Z")
    world.track()
    world.at("2026-11-07T12:00:00Z")
    const gap = ["2026-11-04 frozen", "2026-11-05 missed", "2026-11-06 missed", "2026-11-07 open"]
    expect(calendar(world, "2026-11-04", "2026-11-07")).toEqual(gap)
    expect(calendar(world, "2026-11-06", "2026-11-07")).toEqual(gap.slice(2))
  })

  it("leaves out a day that the date line skips, and days before the start and after the end", () => {
    const world = worldWith({}, "2011-12-29T12:00:00-10:00", "Pacific/Apia")
    world.track()
    world.at("2011-12-31T12:00:00+14:00")
    expect(calendar(world, "2011-12-28", "2012-01-05")).toEqual([
      "2011-12-29 kept",
      "2011-12-30 skipped",
      "2011-12-31 open",
    ])
    const times = { startsAt: Date.parse("2026-11-03"), endsAt: Date.parse("2026-11-05") }
    const ended = worldWith(times, "2026-11-01T12:00:00Z")
    trackOn(ended, "2026-11-02", "2026-11-04", "2026-11-09")
    expect(calendar(ended, "2026-11-01", "2026-11-09")).toEqual([
      "2026-11-03 missed",
      "2026-11-04 kept",
    ])
  })

  it("goes over a change of the user's zone, and over days of 23 and 25 hours", () => {
    const world = worldWith({}, "2026-03-28T12:00:00Z", "Europe/Berlin")
    trackOn(world, "2026-03-28", "2026-03-29", "2026-03-30")
    world.do({ kind: "profile", change: { timezone: "Pacific/Kiritimati" } })
    world.at("2026-04-01T12:00:00Z")
    expect(calendar(world, "2026-03-28", "2026-04-03")).toEqual([
      "2026-03-28 kept",
      "2026-03-29 kept",
      "2026-03-30 kept",
      "2026-03-31 skipped",
      "2026-04-01 missed",
      "2026-04-02 open",
    ])
  })

  it("lists ISO weeks over week 53, and months", () => {
    const weeks = worldWith({ every: "week" }, "2026-12-21T00:00:00Z")
    trackOn(weeks, "2026-12-21", "2027-01-04")
    expect(calendar(weeks, "2026-12-23", "2027-01-05")).toEqual([
      "2026-12-21 kept",
      "2026-12-28 missed",
      "2027-01-04 kept",
    ])
    const months = worldWith({ every: "month" }, "2026-12-21T00:00:00Z")
    trackOn(months, "2026-12-21", "2027-02-01")
    expect(calendar(months, "2026-12-31", "2027-02-01")).toEqual([
      "2026-12-01 kept",
      "2027-01-01 missed",
      "2027-02-01 kept",
    ])
  })

  it("begins after the periods that the state has forgotten", () => {
    const world = worldWith({}, "2024-01-01T12:00:00Z")
    for (let range = 0; range <= limits.streakRangesMax; range++) {
      world.track()
      world.now += 2 * 86_400_000
    }
    expect(calendar(world, "2024-01-01", "2024-01-04")).toEqual([
      "2024-01-02 missed",
      "2024-01-03 kept",
      "2024-01-04 missed",
    ])
  })
})
