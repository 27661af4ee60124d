/** Warnings of streaks that are at risk: when a tick decides them, and when it does not. */
import { describe, expect, it } from "vitest"
import type { Streak } from "../../../src/domain/project/StreakDefinition.ts"
import { dueAt } from "../../../src/domain/user/Progress.ts"
import { kindsOf, World } from "./World.ts"

const atRisk = { hoursBefore: 4 }
const worldWith = (
  streak: Partial<Streak> = {},
  timezone = "UTC",
  now = "2026-11-04T12:00:00Z",
) => {
  const world = new World(now)
  world.settings({ timezone })
  world.streak({ atRisk, ...streak })
  return world
}

const dueOf = ({ now, project, user }: World): string => {
  const due = dueAt(user!, project, now)
  return Number.isFinite(due) ? new Date(due).toISOString() : "never"
}

/** Goes to the time at which something is due, and lets a tick decide it. */
const tickAt = (world: World, time: string) => {
  expect(dueOf(world)).toBe(new Date(time).toISOString())
  world.at(time)
  return kindsOf(world.do({ kind: "tick" }))
}

describe("A streak at risk", () => {
  it("is warned of once, so many hours before the end of the day, and breaks at the end", () => {
    const world = worldWith()
    world.track()
    // The day of the event is kept.
    expect(dueOf(world)).toBe("2026-11-05T20:00:00.000Z")
    world.at("2026-11-05T19:59:59Z")
    expect(world.refused({ kind: "tick" }).detail).toBe("Nothing is due for the user.")
    world.at("2026-11-05T20:00:00Z")
    const { facts } = world.do({ kind: "tick" })
    const endsAt = Date.parse("2026-11-06T00:00:00Z")
    const expected = { kind: "streak.at_risk", key: "daily", current: 1, freezes: 0, endsAt }
    expect(facts).toEqual([{ ...expected, period: 20_762 }])
    expect(world.refused({ kind: "tick" }).detail).toBe("Nothing is due for the user.")
    expect(tickAt(world, "2026-11-06T00:00:00Z")).toEqual(["streak.broken"])
    expect(dueOf(world)).toBe("never")
  })

  it("is not warned of while the user has the attribute that switches reminders off", () => {
    const world = worldWith()
    const reminders = { inactiveDays: [], hour: 9, unless: "quiet" }
    world.track()
    const change = (attributes: Record<string, boolean | string>) =>
      world.do({ kind: "profile", change: { attributes } })
    change({ quiet: true })
    expect(dueOf(world)).toBe("2026-11-05T20:00:00.000Z")
    world.settings({ timezone: "UTC", reminders })
    expect(dueOf(world)).toBe("2026-11-06T00:00:00.000Z")
    world.at("2026-11-05T21:00:00Z")
    expect(world.refused({ kind: "tick" }).detail).toBe("Nothing is due for the user.")
    change({ quiet: "true" })
    expect(kindsOf(world.do({ kind: "tick" }))).toEqual(["streak.at_risk"])
    change({ quiet: true })
    expect(tickAt(world, "2026-11-06T00:00:00Z")).toEqual(["streak.broken"])
  })

  it("has no warning on a kept day or a rest day, and one on each day that a freeze covers", () => {
    const freezes = { initial: 2, max: 2, everyDays: null }
    const world = worldWith({ freezes, restDays: ["friday"] })
    world.track()
    world.at("2026-11-05T12:00:00Z")
    world.track()
    // The 6th is a Friday.
    expect(tickAt(world, "2026-11-07T20:00:00Z")).toEqual(["streak.at_risk"])
    expect(tickAt(world, "2026-11-08T20:00:00Z")).toEqual(["streak.at_risk"])
    const last = tickAt(world, "2026-11-09T20:00:00Z")
    expect(last).toEqual(["streak.at_risk"])
    expect(world.records.at(-1)!.facts).toMatchObject([{ current: 2, freezes: 0 }])
    world.track()
    expect(dueOf(world)).toBe("2026-11-10T20:00:00.000Z")
  })

  it("is warned of late if the server was away, but not after the day", () => {
    const freezes = { initial: 1, max: 1, everyDays: null }
    const world = worldWith({ freezes })
    world.track()
    world.at("2026-11-05T23:30:00Z")
    expect(kindsOf(world.do({ kind: "tick" }))).toEqual(["streak.at_risk"])
    const away = worldWith({ freezes })
    away.track()
    away.at("2026-11-06T00:00:00Z")
    expect(away.refused({ kind: "tick" }).detail).toBe("Nothing is due for the user.")
    expect(dueOf(away)).toBe("2026-11-06T20:00:00.000Z")
  })

  it("counts real hours where the clock changes, and never warns before the day begins", () => {
    const autumn = worldWith(
      { atRisk: { hoursBefore: 23 } },
      "Europe/Berlin",
      "2026-10-24T12:00:00+02:00",
    )
    autumn.track()
    // A day of 25 hours.
    expect(dueOf(autumn)).toBe("2026-10-25T00:00:00.000Z")
    const spring = worldWith(
      { atRisk: { hoursBefore: 23 } },
      "America/Santiago",
      "2026-09-05T12:00:00-04:00",
    )
    spring.track()
    // A day of 23 hours, which begins at 01:00.
    expect(dueOf(spring)).toBe("2026-09-06T04:00:00.000Z")
  })

  it("warns by the user's present zone, and of a day only once, also if a move prolongs it", () => {
    const world = worldWith({}, "Europe/Berlin")
    world.track()
    const moveTo = (timezone: string) => world.do({ kind: "profile", change: { timezone } })
    world.at("2026-11-04T13:00:00Z")
    moveTo("America/New_York")
    expect(dueOf(world)).toBe("2026-11-06T01:00:00.000Z")
    world.at("2026-11-04T14:00:00Z")
    moveTo("Europe/Berlin")
    expect(tickAt(world, "2026-11-05T19:00:00Z")).toEqual(["streak.at_risk"])
    world.at("2026-11-05T20:00:00Z")
    moveTo("America/New_York")
    expect(tickAt(world, "2026-11-06T05:00:00Z")).toEqual(["streak.broken"])
  })

  it("has no warning before it begins, and none while it is paused, archived, late or over", () => {
    const world = worldWith()
    world.grant(1)
    expect(dueOf(world)).toBe("never")
    world.track()
    world.at("2026-11-05T21:00:00Z")
    for (const change of [
      { set: "paused" },
      { set: "archived" },
      { startsAt: Date.parse("2026-11-06T00:00:00Z") },
      { endsAt: Date.parse("2026-11-06T00:00:00Z") },
      { atRisk: null },
    ] satisfies ReadonlyArray<Partial<Streak>>) {
      world.streak({ atRisk, ...change })
      expect(world.refused({ kind: "tick" }).detail).toBe("Nothing is due for the user.")
    }
    world.streak({ atRisk, endsAt: Date.parse("2026-11-06T00:00:01Z") })
    expect(kindsOf(world.do({ kind: "tick" }))).toEqual(["streak.at_risk"])
  })

  it("of weeks or months is warned of before the week or the month ends", () => {
    const weekly = worldWith({ every: "week", atRisk: { hoursBefore: 48 } })
    weekly.track()
    expect(tickAt(weekly, "2026-11-14T00:00:00Z")).toEqual(["streak.at_risk"])
    expect(tickAt(weekly, "2026-11-16T00:00:00Z")).toEqual(["streak.broken"])
    const monthly = worldWith({ every: "month" })
    monthly.track()
    expect(tickAt(monthly, "2026-12-31T20:00:00Z")).toEqual(["streak.at_risk"])
  })

  it("that two merged users have is not warned of again for a day of either", () => {
    const world = worldWith({ freezes: { initial: 1, max: 1, everyDays: null } })
    world.track()
    const other = worldWith({ freezes: { initial: 1, max: 1, everyDays: null } })
    other.track()
    for (const one of [world, other]) one.at("2026-11-05T20:00:00Z")
    other.do({ kind: "tick" })
    world.absorb(other, "u2")
    expect(dueOf(world)).toBe("2026-11-06T20:00:00.000Z")
  })
})
