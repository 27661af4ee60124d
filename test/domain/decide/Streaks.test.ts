import { describe, expect, it } from "vitest"
import type { Streak } from "../../../src/domain/project/StreakDefinition.ts"
import { dueAt } from "../../../src/domain/user/Progress.ts"
import { streakNow } from "../../../src/domain/user/Streak.ts"
import { userZones } from "../../../src/domain/user/User.ts"
import { limits } from "../../../src/Limits.ts"
import { Random, seeds } from "../../simulation/random.ts"
import { kindsOf, World } from "./World.ts"

const worldWith = (
  streak: Partial<Streak> = {},
  timezone = "UTC",
  now = "2026-11-04T12:00:00Z",
) => {
  const world = new World(now)
  world.settings({ timezone })
  world.streak(streak)
  return world
}

const streakOf = (world: World) => world.user!.streaks.get("daily")!

const now = (world: World) => {
  const { now, project, user } = world
  return streakNow(
    streakOf(world),
    project.streaks.get("stk_daily")!,
    userZones(user, project),
    now,
  )
}

const day = (date: string, time = "12:00") => `2026-11-${date}T${time}:00Z`

const trackOn = (world: World, ...dates: ReadonlyArray<string>) => {
  for (const date of dates) {
    world.at(day(date))
    world.track()
  }
}

const moveTo = (world: World, timezone: string) =>
  world.do({ kind: "profile", change: { timezone } })

describe("A streak", () => {
  it("grows by one on each day with an event that counts, once a day", () => {
    const world = worldWith({ needs: [{ action: "TAP", target: 1 }] })
    expect(world.track("OTHER").reply.streaks).toEqual([])
    expect(world.track().reply.streaks).toEqual([{ key: "daily", current: 1, best: 1 }])
    expect(world.track().reply.streaks).toEqual([])
    world.at(day("05", "23:59"))
    expect(world.track().reply.streaks).toEqual([{ key: "daily", current: 2, best: 2 }])
    world.at(day("06", "00:00"))
    expect(world.track().reply.streaks).toEqual([{ key: "daily", current: 3, best: 3 }])
  })

  it("breaks after a missed day, with one message, and restarts", () => {
    const world = worldWith()
    trackOn(world, "04", "05")
    expect(dueAt(world.user!, world.project, world.now)).toBe(Date.parse(day("07", "00:00")))
    world.at(day("07"))
    expect(now(world).current).toBe(0)
    const next = world.track()
    expect(kindsOf(next)).toEqual(["streak.broken", "streak.extended", "event.tracked"])
    expect(next.facts[0]).toMatchObject({ kind: "streak.broken", key: "daily", length: 2 })
    expect(next.reply.streaks).toEqual([{ key: "daily", current: 1, best: 2 }])
  })

  it("that breaks while the user is away is noted by the clock, once", () => {
    const world = worldWith()
    trackOn(world, "04", "05")
    world.at(day("07", "00:00"))
    expect(kindsOf(world.do({ kind: "tick" }))).toEqual(["streak.broken"])
    expect(world.refused({ kind: "tick" }).detail).toBe("Nothing is due for the user.")
    expect(dueAt(world.user!, world.project, world.now)).toBe(Number.POSITIVE_INFINITY)
    expect(kindsOf(world.track())).toEqual(["streak.extended", "event.tracked"])
  })

  it("uses the user's local days, not UTC", () => {
    const world = worldWith({}, "America/New_York")
    world.at("2026-11-05T04:30:00Z")
    world.track()
    world.at("2026-11-06T04:30:00Z")
    expect(world.track().reply.streaks[0]?.current).toBe(2)
    moveTo(world, "Asia/Tokyo")
    world.at("2026-11-07T10:00:00Z")
    expect(world.track().reply.streaks[0]?.current).toBe(3)
  })

  it("is not broken by a day of 23 or 25 hours", () => {
    const spring = worldWith({}, "Europe/Berlin", "2026-03-28T00:30:00+01:00")
    spring.track()
    spring.at("2026-03-29T23:30:00+02:00")
    expect(spring.track().reply.streaks[0]?.current).toBe(2)
    const autumn = worldWith({}, "Europe/Berlin", "2026-10-24T00:30:00+02:00")
    autumn.track()
    autumn.at("2026-10-25T23:30:00+01:00")
    expect(autumn.track().reply.streaks[0]?.current).toBe(2)
    expect(dueAt(autumn.user!, autumn.project, autumn.now)).toBe(
      Date.parse("2026-10-27T00:00:00+01:00"),
    )
  })
})

describe("A change of time zone", () => {
  it("to the east, over a day that vanishes, breaks nothing", () => {
    const world = worldWith({}, "Pacific/Pago_Pago", "2026-11-05T10:30:00Z")
    world.track()
    moveTo(world, "Pacific/Kiritimati")
    world.at("2026-11-06T10:30:00Z")
    expect(world.track().reply.streaks).toEqual([{ key: "daily", current: 2, best: 2 }])
    expect(streakOf(world)).toMatchObject({ length: 2 })
  })

  it("to the east breaks nothing at once: the last day ends where it was counted", () => {
    const world = worldWith({}, "UTC", day("01", "00:10"))
    world.track()
    world.at(day("02", "23:00"))
    expect(now(world).current).toBe(1)
    moveTo(world, "Pacific/Apia")
    expect(now(world).current).toBe(1)
    expect(dueAt(world.user!, world.project, world.now)).toBe(Date.parse(day("03", "11:00")))
    expect(world.track().reply.streaks).toEqual([{ key: "daily", current: 2, best: 2 }])
  })

  it("to the west does not mend a broken streak, noted or not", () => {
    const world = worldWith({}, "Asia/Tokyo", "2026-11-01T12:00:00+09:00")
    world.track()
    world.at("2026-11-03T00:00:00+09:00")
    expect(kindsOf(moveTo(world, "America/New_York"))).toEqual(["streak.broken", "user.updated"])
    expect(now(world).current).toBe(0)
  })

  it("to an alias of the same zone changes nothing", () => {
    const world = worldWith({}, "Asia/Calcutta", "2026-11-04T23:30:00+05:30")
    world.track()
    const before = streakOf(world)
    moveTo(world, "Asia/Kolkata")
    expect(streakOf(world)).toBe(before)
    expect(world.track().reply.streaks).toEqual([])
    world.at("2026-11-05T00:00:00+05:30")
    expect(world.track().reply.streaks).toEqual([{ key: "daily", current: 2, best: 2 }])
    const { dueSequence } = world.project
    world.settings({ timezone: "Asia/Kolkata" })
    expect(world.project.dueSequence).toBe(dueSequence)
    world.settings({ timezone: "Asia/Kathmandu" })
    expect(world.project.dueSequence).toBeGreaterThan(dueSequence)
  })

  it("to the west gains nothing for a day that was counted", () => {
    const world = worldWith({}, "Pacific/Kiritimati", "2026-11-05T10:30:00Z")
    world.track()
    moveTo(world, "Pacific/Pago_Pago")
    world.at("2026-11-05T11:30:00Z")
    expect(world.track().reply.streaks).toEqual([])
    world.at("2026-11-06T12:00:00Z")
    expect(world.track().reply.streaks).toEqual([])
    world.at("2026-11-07T12:00:00Z")
    expect(world.track().reply.streaks).toEqual([{ key: "daily", current: 2, best: 2 }])
  })
})

describe("Freezes", () => {
  const freezes = { initial: 1, max: 2, everyDays: 3 }

  it("forgive missed days, one each, and are gained by consecutive days, up to a maximum", () => {
    const world = worldWith({ freezes })
    trackOn(world, "01", "02")
    expect(now(world)).toEqual({ current: 2, freezes: 1 })
    world.at(day("04"))
    expect(now(world)).toEqual({ current: 2, freezes: 0 })
    expect(world.track().reply.streaks[0]?.current).toBe(3)
    expect(now(world)).toEqual({ current: 3, freezes: 1 })
    trackOn(world, "05", "06", "07", "08", "09", "10")
    expect(now(world)).toEqual({ current: 9, freezes: 2 })
    expect(dueAt(world.user!, world.project, world.now)).toBe(Date.parse(day("14", "00:00")))
  })

  it("do not help when more days were missed; a new streak begins with its own", () => {
    const world = worldWith({ freezes })
    trackOn(world, "01", "02")
    world.at(day("05"))
    expect(kindsOf(world.track())).toContain("streak.broken")
    expect(now(world)).toEqual({ current: 1, freezes: 1 })
  })

  it("come back when a late event fills the day that was forgiven", () => {
    const world = worldWith({ freezes: { initial: 1, max: 1, everyDays: null } })
    trackOn(world, "01", "03")
    expect(now(world)).toEqual({ current: 2, freezes: 0 })
    expect(world.trackAt(day("02")).reply.streaks[0]?.current).toBe(3)
    expect(now(world)).toEqual({ current: 3, freezes: 1 })
  })
})

describe("A late event", () => {
  it("joins the runs before and after its day", () => {
    const world = worldWith()
    trackOn(world, "01", "02", "04", "05")
    expect(now(world).current).toBe(2)
    expect(world.trackAt(day("03")).reply.streaks).toEqual([{ key: "daily", current: 5, best: 5 }])
    expect(streakOf(world).days).toHaveLength(1)
  })

  it("joins them also over a day that a freeze forgives", () => {
    const world = worldWith({ freezes: { initial: 1, max: 1, everyDays: null } })
    trackOn(world, "01", "04")
    expect(now(world)).toEqual({ current: 1, freezes: 1 })
    expect(world.trackAt(day("02")).reply.streaks).toEqual([{ key: "daily", current: 3, best: 3 }])
    expect(now(world)).toEqual({ current: 3, freezes: 0 })
  })

  it("gives the same streak in any order of arrival", () => {
    const ordersOf = (dates: ReadonlyArray<string>): ReadonlyArray<ReadonlyArray<string>> =>
      dates.length === 0
        ? [[]]
        : dates.flatMap((date) =>
            ordersOf(dates.filter((other) => other !== date)).map((rest) => [date, ...rest]),
          )
    const made = ordersOf(["01", "02", "04", "05", "08", "09"]).map((order) => {
      const world = worldWith({ freezes: { initial: 1, max: 1, everyDays: 3 } })
      world.at(day("10"))
      for (const date of order) world.trackAt(day(date))
      return JSON.stringify(streakOf(world))
    })
    expect(new Set(made).size).toBe(1)
  })

  it("never breaks a streak: a day that was forgiven stays so", () => {
    const world = worldWith({ freezes: { initial: 1, max: 1, everyDays: null } })
    trackOn(world, "02", "03", "05", "06")
    const freezes = { initial: 1, max: 1, everyDays: null }
    world.streak({ termsBefore: [{ freezes, restDays: [], until: world.now }] })
    expect(world.trackAt(day("01")).reply.streaks[0]?.current).toBe(5)
  })

  it("earns the badge for a run of the past", () => {
    const world = worldWith()
    world.badge({ id: "three", criteria: { kind: "streak", target: 3, streak: "daily" } })
    trackOn(world, "20")
    for (const date of ["11", "13"]) expect(world.trackAt(day(date)).reply.badges).toEqual([])
    expect(world.trackAt(day("12")).reply).toMatchObject({ streaks: [], badges: [{ id: "three" }] })
  })

  it("before the streak began lengthens it at its front; of the same day it adds nothing", () => {
    const world = worldWith()
    trackOn(world, "04")
    expect(world.trackAt(day("03")).reply.streaks[0]?.current).toBe(2)
    expect(kindsOf(world.trackAt(day("03", "18:00")))).toEqual(["event.tracked"])
  })

  it("in the past, apart from the streak, counts only for the best", () => {
    const world = worldWith()
    trackOn(world, "20")
    for (const date of ["11", "12", "13"]) world.trackAt(day(date))
    expect(now(world).current).toBe(1)
    expect(streakOf(world).best).toBe(3)
    expect(kindsOf(world.trackAt(day("14")))).toEqual(["streak.counted", "event.tracked"])
  })

  it("mends a broken streak if the streak then reaches up to now", () => {
    const world = worldWith()
    trackOn(world, "01", "02")
    world.at(day("04", "06:00"))
    world.do({ kind: "tick" })
    expect(now(world).current).toBe(0)
    expect(world.trackAt(day("03")).reply.streaks[0]?.current).toBe(3)
    expect(now(world).current).toBe(3)
    world.at(day("10"))
    world.do({ kind: "tick" })
    expect(kindsOf(world.trackAt(day("04")))).toEqual(["streak.counted", "event.tracked"])
    expect(now(world).current).toBe(0)
    expect(world.refused({ kind: "tick" }).detail).toBe("Nothing is due for the user.")
  })

  it("counts within a bounded number of ranges of days; the older days keep their part in the streak", () => {
    const world = worldWith({ freezes: { initial: 1, max: 1, everyDays: 1 } })
    const first = world.now
    const tracked = (at: number) => world.track("TAP", { occurredAt: at, imported: true })
    for (let range = 0; range < limits.streakRangesMax; range++) {
      world.track()
      world.now += 2 * 86_400_000
    }
    expect(streakOf(world).days).toHaveLength(limits.streakRangesMax)
    expect(streakOf(world)).not.toHaveProperty("forgotten")
    expect(kindsOf(tracked(first - 86_400_000))).toContain("streak.extended")
    world.track()
    expect(streakOf(world).days).toHaveLength(limits.streakRangesMax)
    expect(now(world).current).toBe(limits.streakRangesMax + 2)
    expect(kindsOf(tracked(first - 86_400_000))).toEqual(["event.tracked"])
    expect(kindsOf(tracked(first - 2 * 86_400_000))).toEqual(["event.tracked"])
    expect(streakOf(world).best).toBe(limits.streakRangesMax + 2)
  })

  it("gives the same streak in 240 random orders of arrival, over changes of zone and skipped days", () => {
    for (const seed of seeds(8)) {
      const random = new Random(seed)
      const freezes = random.pick([
        { initial: 0, max: 0, everyDays: null },
        { initial: 1, max: 1, everyDays: null },
        { initial: 1, max: 3, everyDays: 4 },
      ])
      const start = Date.parse("2011-12-20T10:00:00Z")
      const world = worldWith({ freezes }, "Pacific/Apia", "2011-12-20T10:00:00Z")
      moveTo(world, "Pacific/Apia")
      for (let move = random.integer(0, 4); move > 0; move--) {
        world.now += random.integer(1, 12 * 24 * 60) * 60_000
        moveTo(
          world,
          random.pick(["Pacific/Auckland", "America/Los_Angeles", "Pacific/Kiritimati"]),
        )
      }
      world.now = start + 65 * 86_400_000
      const times = Array.from(
        { length: random.integer(2, 40) },
        () => start + random.integer(0, 60 * 24 * 60) * 60_000,
      )
      const { project, user } = world
      const made = Array.from({ length: 12 }, () => {
        Object.assign(world, { project, user })
        for (const occurredAt of random.shuffled(times)) {
          world.track("TAP", { occurredAt, imported: true })
        }
        const { broken: _, ...streak } = streakOf(world)
        return JSON.stringify([streak, now(world)])
      })
      expect([...new Set(made)], `seed ${seed}`).toHaveLength(1)
    }
  })

  it("of a long run that arrives after later single days gives the badge and the best of the run", () => {
    const world = worldWith()
    world.badge({ id: "month", criteria: { kind: "streak", target: 30, streak: "daily" } })
    const beginning = Date.parse("2026-01-01T12:00:00Z")
    const imported = (day: number) =>
      world.track("TAP", { occurredAt: beginning + day * 86_400_000, imported: true })
    for (let single = 0; single < 40; single++) imported(100 + 3 * single)
    for (let day = 0; day < 30; day++) imported(day)
    expect(streakOf(world).best).toBe(30)
    expect(world.user!.badges.has("month")).toBe(true)
  })

  it("uses one freeze for one day, in each order", () => {
    for (const dates of [
      ["01", "03", "05"],
      ["05", "03", "01"],
      ["03", "05", "01"],
    ]) {
      const world = worldWith({ freezes: { initial: 1, max: 1, everyDays: null } })
      world.at(day("05", "18:00"))
      for (const date of dates) world.trackAt(day(date))
      expect(now(world).current).toBe(1)
      expect(streakOf(world).best).toBe(2)
    }
  })

  it("from before a change of zone counts on the day of the zone that held then", () => {
    const world = worldWith({}, "UTC", "2026-11-04T20:00:00Z")
    moveTo(world, "Pacific/Auckland")
    world.at("2026-11-05T00:00:00Z")
    moveTo(world, "America/Los_Angeles")
    world.at("2026-11-05T01:00:00Z")
    // Noon of the 5th in Auckland, still the 4th in Los Angeles.
    world.trackAt("2026-11-04T23:00:00Z")
    const fifth = Date.parse("2026-11-05") / 86_400_000
    expect(streakOf(world).days).toEqual([[fifth, fifth]])
  })

  it("goes on over a day that its zone skips", () => {
    for (const [zone, dates] of [
      ["Pacific/Apia", ["2011-12-29T12:00:00-10:00", "2011-12-31T12:00:00+14:00"]],
      ["Pacific/Kwajalein", ["1993-08-20T12:00:00-12:00", "1993-08-22T12:00:00+12:00"]],
    ] as const) {
      for (const order of [dates, dates.toReversed()]) {
        const world = worldWith({}, zone, "2026-11-04T12:00:00Z")
        for (const date of order) {
          world.track("TAP", { occurredAt: Date.parse(date), imported: true })
        }
        expect(streakOf(world).best).toBe(2)
      }
    }
  })

  it("of imported history breaks at once, without a message, and continues if the history reaches up to now", () => {
    const world = worldWith()
    const imported = (date: string) =>
      world.track("TAP", { occurredAt: Date.parse(date), imported: true })
    expect(kindsOf(imported("2025-03-01T12:00:00Z"))).toEqual([
      "user.created",
      "streak.counted",
      "event.tracked",
    ])
    expect(dueAt(world.user!, world.project, world.now)).toBe(Number.POSITIVE_INFINITY)
    imported("2025-03-02T12:00:00Z")
    expect(world.refused({ kind: "tick" }).detail).toBe("Nothing is due for the user.")
    expect(streakOf(world).best).toBe(2)
    imported("2026-11-03T12:00:00Z")
    expect(now(world).current).toBe(1)
    expect(world.track().reply.streaks).toEqual([{ key: "daily", current: 2, best: 2 }])
    world.at(day("06", "00:00"))
    expect(kindsOf(world.do({ kind: "tick" }))).toEqual(["streak.broken"])
  })
})
