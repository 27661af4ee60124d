import { describe, expect, it } from "vitest"
import { metricValue } from "../../../src/domain/project/Metric.ts"
import { metricProgress } from "../../../src/domain/user/Progress.ts"
import { limits } from "../../../src/Limits.ts"
import { metricWith } from "../definitions.ts"
import { kindsOf, World } from "./World.ts"

/** The values of a user's only metric. */
const shown = ({ now, project, user }: World) => {
  const [{ key: _key, name: _name, unit: _unit, ...values }] = metricProgress(
    user!,
    project,
    now,
  ) as [ReturnType<typeof metricProgress>[number]]
  return values
}

const total = (world: World) => shown(world).total

/** The current and the previous day, week and month. */
const periods = (world: World) => {
  const { day, month, week } = shown(world)
  return [day, week, month].map(({ current, previous }) => [current, previous])
}

const amount = (value: unknown, more: object = {}) => ({ metadata: { amount: value }, ...more })

const measured = (aggregate: "sum" | "max" | "min" | "last", decimals = 0): World => {
  const world = new World()
  world.metric({ aggregate, value: "amount", decimals })
  return world
}

describe("A value of an event", () => {
  const scaled = (value: unknown, aggregate: "sum" | "min" = "min", decimals = 2) =>
    metricValue(metricWith({ aggregate, value: "amount", decimals }), { amount: value })

  it("is scaled by the decimals and rounded half away from 0, without the noise of fractions", () => {
    const cases: ReadonlyArray<readonly [number, number]> = [
      [4.25, 425],
      [1.005, 101],
      [-1.005, -101],
      [0.004, 0],
      [-0.004, 0],
      [0.1 + 0.2, 30],
      [7, 700],
    ]
    for (const [value, is] of cases) expect([value, scaled(value)]).toEqual([value, is])
    expect(Object.is(scaled(-0.004), 0)).toBe(true)
  })

  it("counts up to the largest size on both sides of 0, and not beyond", () => {
    const largest = limits.metricScaledMax / 100
    expect(scaled(largest)).toBe(limits.metricScaledMax)
    expect(scaled(-largest)).toBe(-limits.metricScaledMax)
    expect(scaled(largest + 0.01)).toBeUndefined()
    expect(scaled(-largest - 0.01)).toBeUndefined()
    expect(scaled(1e300)).toBeUndefined()
  })

  it("does not count unless it is a number, and in a sum unless it is above 0", () => {
    for (const value of ["3", null, true, undefined, [3], { a: 3 }])
      expect([value, scaled(value)]).toEqual([value, undefined])
    expect(metricValue(metricWith({ aggregate: "max", value: "a.length" }), { a: [1] })).toBe(
      undefined,
    )
    for (const value of [0, -1, 0.004]) expect(scaled(value, "sum")).toBeUndefined()
    expect(scaled(0.005, "sum")).toBe(1)
  })
})

describe("A metric", () => {
  it("counts the events with one of its actions that satisfy its conditions", () => {
    const world = new World()
    world.track("TAP")
    const where = [{ path: "amount", op: "gte", value: 3 } as const]
    world.metric({ actions: ["TAP", "BUY"], where })
    world.track("TAP", amount(3))
    world.track("BUY", amount(4))
    world.track("TAP", amount(2))
    world.track("SWIPE", amount(5))
    expect(total(world)).toBe(2)
    expect(world.track("SWIPE", amount(5)).reply.metrics).toEqual([])
    expect(world.track("TAP", amount(5)).reply.metrics).toEqual(
      [{ key: "1", total: 3 }].map((metric) => ({
        ...metric,
        key: world.project.metrics.get("mtr_1")!.key,
      })),
    )
  })

  it("comes before rules, and names the action as one that is known", () => {
    const world = new World()
    world.rule({ action: "TAP", reward: { xp: 5 } })
    world.metric({ actions: ["TAP", "ONLY_METRIC"] })
    expect(kindsOf(world.track("TAP"))).toEqual([
      "user.created",
      "metric.changed",
      "xp.earned",
      "windows.credited",
      "event.tracked",
    ])
    expect(world.track("ONLY_METRIC").reply.matched).toBe(true)
    expect(world.track("UNKNOWN").reply.matched).toBe(false)
  })

  it("sums exactly, in any order, and stops at the largest exact integer", () => {
    const world = measured("sum", 1)
    for (let n = 0; n < 10; n++) world.track("TAP", amount(0.1))
    expect(total(world)).toBe(1)
    const most = limits.metricScaledMax / 10
    let last = world.track("TAP", amount(most))
    while (total(world)! * 10 < Number.MAX_SAFE_INTEGER) last = world.track("TAP", amount(most))
    const full = total(world)
    expect(world.track("TAP", amount(1)).reply.metrics).toEqual([])
    expect(total(world)).toBe(full)
    world.undo(last)
    expect(total(world)).toBeLessThan(full!)
    expect(world.track("TAP", amount(most)).reply.metrics).toHaveLength(1)
    expect(total(world)).toBe(full)
  })

  it("of an event that counted for nothing else pays nothing and is in the state alone", () => {
    const world = measured("max")
    expect(world.track("TAP", amount("none")).facts.map(({ kind }) => kind)).toEqual([
      "user.created",
      "event.tracked",
    ])
    expect(world.user!.metrics.size).toBe(0)
    expect(shown(world)).toMatchObject({ total: null, day: { current: null, previous: null } })
  })
})

describe("The periods of a metric", () => {
  it("are the current and the previous day, week and month, as of the read", () => {
    // A Wednesday.
    const world = new World("2026-11-04T12:00:00Z")
    world.metric({ aggregate: "count" })
    world.track()
    world.trackAt("2026-11-03T23:00:00Z")
    world.trackAt("2026-11-01T12:00:00Z")
    world.trackAt("2026-10-20T12:00:00Z")
    expect(total(world)).toBe(4)
    expect(periods(world)).toEqual([
      [1, 1],
      [2, 1],
      [3, 1],
    ])
    expect(shown(world)).toMatchObject({
      day: { from: "2026-11-04" },
      week: { from: "2026-11-02" },
      month: { from: "2026-11-01" },
    })
    world.at("2026-11-05T12:00:00Z")
    expect(periods(world)[0]).toEqual([0, 1])
    world.at("2026-11-09T12:00:00Z")
    expect(periods(world)).toEqual([
      [0, 0],
      [0, 2],
      [3, 1],
    ])
    world.at("2027-01-01T12:00:00Z")
    expect(periods(world)).toEqual([
      [0, 0],
      [0, 0],
      [0, 0],
    ])
    expect(total(world)).toBe(4)
  })

  it("leave out an event of a day before yesterday, which counts in the total", () => {
    const world = measured("max")
    world.track("TAP", amount(5))
    world.track("TAP", amount(9, { occurredAt: Date.parse("2026-11-02T12:00:00Z") }))
    expect([total(world), periods(world)[0]]).toEqual([9, [5, null]])
  })

  it("use the day of the user's zone at the decision; a move changes no event's day", () => {
    const world = new World("2026-11-04T10:30:00Z")
    world.settings({ timezone: "UTC" })
    world.metric({ aggregate: "count" })
    world.do({ kind: "profile", change: { timezone: "Pacific/Auckland" } })
    // 23:30 of 4 November in Auckland; an hour later it is the 5th there.
    world.track()
    world.at("2026-11-04T11:30:00Z")
    world.track()
    expect([shown(world).day.from, periods(world)[0]]).toEqual(["2026-11-05", [1, 1]])
    world.now++
    world.do({ kind: "profile", change: { timezone: "America/Los_Angeles" } })
    // It is 4 November there: the user stays on the 5th until the calendar has caught up.
    expect([shown(world).day.from, periods(world)[0]]).toEqual(["2026-11-05", [1, 1]])
    world.track()
    expect([shown(world).day.from, periods(world)[0]]).toEqual(["2026-11-05", [1, 2]])
    world.at("2026-11-06T12:00:00Z")
    expect([shown(world).day.from, periods(world)[0]]).toEqual(["2026-11-06", [0, 1]])
  })
})

describe("An undo", () => {
  it.each([
    ["count", 3, 2],
    ["sum", 12, 5],
    ["max", 7, 4],
    ["min", 1, 1],
    ["last", 4, 4],
  ] as const)("of the largest takes it back from a %s", (aggregate, before, after) => {
    const world = new World()
    world.metric({ aggregate, value: aggregate === "count" ? null : "amount" })
    world.track("TAP", amount(1))
    const largest = world.track("TAP", amount(7))
    world.now++
    world.track("TAP", amount(4))
    expect(total(world)).toBe(before)
    const { reply } = world.undo(largest)
    expect(reply.metrics).toMatchObject([{ total: after }])
    expect([total(world), periods(world)[0]![0]]).toEqual([after, after])
  })

  it("of all events leaves no trace of the metric", () => {
    for (const aggregate of ["count", "sum", "max", "min", "last", "distinct_days"] as const) {
      const world = new World()
      const isCounted = aggregate !== "count" && aggregate !== "distinct_days"
      world.metric({ aggregate, value: isCounted ? "amount" : null })
      const done = [1, 7, 4].map((value) => world.track("TAP", amount(value)))
      const replies = [1, 0, 2].map((n) => world.undo(done[n]!).reply.metrics)
      const none = ["max", "min", "last"].includes(aggregate) ? null : 0
      expect(replies.at(-1)).toMatchObject([{ total: none }])
      expect(world.user!.metrics.size).toBe(0)
    }
  })

  it("of the latest brings back the one that occurred before, not the one that came before", () => {
    const world = measured("last")
    const before = world.track("TAP", amount(1))
    world.now += 1_000
    const latest = world.track("TAP", amount(2))
    world.track("TAP", amount(3, { occurredAt: before.record.at - 1_000 }))
    expect(total(world)).toBe(2)
    world.undo(latest)
    expect(total(world)).toBe(1)
    world.undo(before)
    expect(total(world)).toBe(3)
  })

  it("of one of two events of a day keeps the day", () => {
    const world = new World()
    world.metric({ aggregate: "distinct_days" })
    const [one, other] = [world.track(), world.track()]
    world.trackAt("2026-11-03T12:00:00Z")
    expect(total(world)).toBe(2)
    world.undo(one)
    expect(total(world)).toBe(2)
    world.undo(other)
    expect([total(world), periods(world)[0]]).toEqual([1, [0, 1]])
  })

  it("reads no history unless the event gave a value", () => {
    const world = measured("max")
    const small = world.track("TAP", amount(1))
    world.track("TAP", amount(7))
    const { at, sequence } = small.record
    const command = { kind: "revocation", of: "event", sequence, at } as const
    world.records.length = 0
    world.do(command, small.record)
    expect(total(world)).toBe(7)
  })
})

describe("Distinct days", () => {
  const day = 86_400_000
  /** Events on every other day, the oldest first, imported. */
  const scattered = (days: number): World => {
    const world = new World()
    world.metric({ aggregate: "distinct_days" })
    for (let n = days - 1; n >= 0; n--) {
      world.track("TAP", { occurredAt: world.now - 2 * n * day, imported: true })
    }
    return world
  }

  it("are kept up to the largest number of ranges, and counted beyond", () => {
    const world = scattered(limits.metricRangesMax)
    expect(world.user!.metrics.get("mtr_1")!.forgotten).toBeUndefined()
    expect(total(world)).toBe(limits.metricRangesMax)
    const oldest = world.now - 2 * (limits.metricRangesMax + 5) * day
    const more = world.track("TAP", { occurredAt: oldest, imported: true })
    expect(world.user!.metrics.get("mtr_1")!.forgotten).toMatchObject({ days: 1 })
    expect(total(world)).toBe(limits.metricRangesMax + 1)
    // The history tells that the forgotten day has an event, and that the day before has none.
    const again = world.track("TAP", { occurredAt: oldest + 1, imported: true })
    expect(total(world)).toBe(limits.metricRangesMax + 1)
    const before = world.track("TAP", { occurredAt: oldest - day, imported: true })
    expect(total(world)).toBe(limits.metricRangesMax + 2)
    world.undo(more)
    expect(total(world)).toBe(limits.metricRangesMax + 2)
    world.undo(again)
    world.undo(before)
    expect(total(world)).toBe(limits.metricRangesMax)
  })
})

describe("A badge by a metric", () => {
  it("is earned when the total reaches the target, in the unit of the metric", () => {
    const world = measured("sum", 1)
    const metric = world.project.metrics.get("mtr_1")!.key
    world.badge({ criteria: { kind: "metric", metric, target: 5 } })
    expect(world.track("TAP", amount(4.9)).reply.badges).toEqual([])
    const reached = world.track("TAP", amount(0.1))
    expect(reached.reply.badges).toMatchObject([{ id: "bdg_1" }])
    expect(world.track("TAP", amount(3)).reply.badges).toEqual([])
    world.undo(reached)
    expect(world.user!.badges.has("bdg_1")).toBe(true)
  })

  it("is revoked with the event that held the maximum", () => {
    const world = measured("max")
    const metric = world.project.metrics.get("mtr_1")!.key
    world.badge({ criteria: { kind: "metric", metric, target: 5 } })
    world.track("TAP", amount(4))
    const largest = world.track("TAP", amount(9))
    expect(world.user!.badges.has("bdg_1")).toBe(true)
    expect(world.undo(largest).reply.badgesRevoked).toMatchObject([{ id: "bdg_1" }])
  })

  it("is awarded by a backfill to a user who is past the target", () => {
    const world = measured("max")
    const metric = world.project.metrics.get("mtr_1")!.key
    world.track("TAP", amount(9))
    world.badge({ criteria: { kind: "metric", metric, target: 5 } })
    expect(world.track("TAP", amount(9)).reply.badges).toEqual([])
    const { reply } = world.do({ kind: "backfill", badgeId: "bdg_1", notify: false })
    expect(reply.badges).toMatchObject([{ id: "bdg_1" }])
  })
})
