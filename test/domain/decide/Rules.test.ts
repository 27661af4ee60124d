import { describe, expect, it } from "vitest"
import type { Rule } from "../../../src/domain/project/Rule.ts"
import { limits } from "../../../src/Limits.ts"
import { World } from "./World.ts"

const worldWith = (...rules: ReadonlyArray<Parameters<World["rule"]>[0]>) => {
  const world = new World()
  rules.forEach((rule, index) => {
    world.rule({ id: `rul_${index}`, reward: { xp: 10 }, ...rule })
  })
  return world
}

describe("A rule", () => {
  it("gives xp, points and a badge, each with its source", () => {
    const world = new World()
    world.badge({ id: "bdg_1", name: "Tapper" })
    world.rule({ id: "rul_1", reward: { xp: 10, points: 3, badgeId: "bdg_1" } })
    const { facts, reply } = world.track()
    const source = { ruleId: "rul_1" }
    expect(facts).toContainEqual({ kind: "points.earned", amount: 3, total: 3, source })
    expect(facts).toContainEqual({ kind: "badge.earned", badgeId: "bdg_1", name: "Tapper", source })
    expect(reply).toMatchObject({
      xp: { earned: 10, total: 10 },
      points: { earned: 3, total: 3 },
      badges: [{ id: "bdg_1", name: "Tapper" }],
    })
    expect(world.track().reply).toMatchObject({ points: { earned: 3, total: 6 }, badges: [] })
  })

  it("gives only where every condition holds", () => {
    const world = worldWith({
      where: [
        { path: "cart.total", op: "gte", value: 20 },
        { path: "country", op: "in", value: ["DE", "AT"] },
      ],
    })
    const earned = (metadata: object) =>
      world.track("TAP", { metadata: metadata as Record<string, unknown> }).reply.xp.earned
    expect(earned({ cart: { total: 20 }, country: "AT" })).toBe(10)
    expect(earned({ cart: { total: 19.99 }, country: "AT" })).toBe(0)
    expect(earned({ cart: { total: 20 }, country: "FR" })).toBe(0)
    expect(earned({})).toBe(0)
  })

  it("that does not match still leaves the event to the others", () => {
    const world = worldWith({ where: [{ path: "a", op: "exists" }] }, { reward: { xp: 1 } })
    expect(world.track().reply.xp.earned).toBe(1)
  })
})

describe("A multiplier", () => {
  const multiplier = { path: "amount", min: 0.5, max: 3 }
  const earned = (amount: unknown, reward = { xp: 100, points: 10 }) => {
    const { reply } = worldWith({ multiplier, reward }).track("TAP", { metadata: { amount } })
    return [reply.xp.earned, reply.points.earned]
  }

  it("multiplies xp and points with the number in the metadata, within its bounds", () => {
    expect(earned(2)).toEqual([200, 20])
    expect(earned(3)).toEqual([300, 30])
    expect(earned(3.01)).toEqual([300, 30])
    expect(earned(0.5)).toEqual([50, 5])
    expect(earned(-7)).toEqual([50, 5])
  })

  it("rounds down, and not by the noise of binary fractions", () => {
    expect(earned(1.15)).toEqual([115, 11])
    expect(earned(2.999)).toEqual([299, 29])
  })

  it("gives nothing where there is no number", () => {
    for (const amount of ["2", true, null, undefined, {}, [2]])
      expect(earned(amount)).toEqual([0, 0])
  })
})

describe("A limit", () => {
  const limited = (per: NonNullable<Rule["limit"]>["per"], times = 2) =>
    worldWith({ limit: { times, per } })
  const earned = (world: World, time: string) => {
    world.at(time)
    return world.track().reply.xp.earned
  }

  it("allows a number of rewards per period of the project's zone", () => {
    const spans = {
      hour: ["2026-11-04T12:00:00Z", "2026-11-04T12:59:59.999Z", "2026-11-04T13:00:00Z"],
      day: ["2026-11-03T23:00:00Z", "2026-11-04T22:59:59.999Z", "2026-11-04T23:00:00Z"],
      week: ["2026-11-01T23:00:00Z", "2026-11-08T22:59:59.999Z", "2026-11-08T23:00:00Z"],
      month: ["2026-10-31T23:00:00Z", "2026-11-30T22:59:59.999Z", "2026-11-30T23:00:00Z"],
    } as const
    for (const [per, [first, last, next]] of Object.entries(spans)) {
      const world = limited(per as keyof typeof spans)
      world.settings({ timezone: "Europe/Berlin" })
      expect([first, last, last, next].map((time) => earned(world, time))).toEqual([10, 10, 0, 10])
    }
    const world = limited("ever", 1)
    expect([earned(world, "2026-01-01T00:00:00Z"), earned(world, "2030-01-01T00:00:00Z")]).toEqual([
      10, 0,
    ])
  })

  it("counts a late event for the period in which it occurred", () => {
    const world = limited("day", 1)
    expect(world.track().reply.xp.earned).toBe(10)
    expect(world.trackAt("2026-11-03T12:00:00Z").reply.xp.earned).toBe(10)
    expect(world.trackAt("2026-11-03T13:00:00Z").reply.xp.earned).toBe(0)
  })

  it("with a new period restarts at 0", () => {
    const world = worldWith({ limit: { times: 1, per: "hour" } })
    for (let hour = 0; hour < limits.rulePeriodsMax * 2; hour++) {
      expect(world.track().reply.xp.earned).toBe(10)
      world.now += 3_600_000
    }
    for (const per of ["day", "week", "month", "ever", "hour"] as const) {
      world.rule({ id: "rul_0", reward: { xp: 10 }, limit: { times: 1, per } })
      world.now += 40 * 86_400_000
      expect(world.track().reply.xp.earned).toBe(10)
      expect(world.track().reply.xp.earned).toBe(0)
    }
  })

  it("keeps a bounded number of periods, and gives nothing for older ones", () => {
    const world = limited("hour", 1)
    const hour = 3_600_000
    const at = (hoursAgo: number) =>
      world.track("TAP", { occurredAt: world.now - hoursAgo * hour }).reply.xp.earned
    for (let ago = limits.rulePeriodsMax; ago > 0; ago--) expect(at(ago)).toBe(10)
    expect(world.user?.ruleUses.get("rul_0")?.periods).toHaveLength(limits.rulePeriodsMax)
    expect(at(limits.rulePeriodsMax + 1)).toBe(0)
    expect(at(0)).toBe(10)
    expect(world.user?.ruleUses.get("rul_0")?.periods).toHaveLength(limits.rulePeriodsMax)
  })

  it("gives nothing for a dropped period, even when a later one has uses left", () => {
    const world = limited("hour", 1)
    const first = world.now
    for (let hour = 0; hour < limits.rulePeriodsMax; hour++) {
      world.track()
      world.now += 3_600_000
    }
    world.undo(world.track())
    expect(world.track("TAP", { occurredAt: first }).reply.xp.earned).toBe(0)
    expect(world.track().reply.xp.earned).toBe(10)
  })

  it("is not used up by an event without a reward", () => {
    const world = worldWith({
      limit: { times: 1, per: "ever" },
      multiplier: { path: "n", min: 0, max: 9 },
    })
    expect(world.track("TAP", { metadata: { n: 0 } }).reply.xp.earned).toBe(0)
    expect(world.track("TAP", { metadata: { n: 2 } }).reply.xp.earned).toBe(20)
    expect(world.track("TAP", { metadata: { n: 2 } }).reply.xp.earned).toBe(0)
  })
})

describe("A cooldown", () => {
  it("lets a rule give again when so many seconds have passed since it gave", () => {
    const world = worldWith({ cooldownSeconds: 60 })
    const earned = (time: string) => {
      world.at(time)
      return world.track().reply.xp.earned
    }
    expect(earned("2026-11-04T12:00:00.000Z")).toBe(10)
    expect(earned("2026-11-04T12:00:59.999Z")).toBe(0)
    expect(earned("2026-11-04T12:01:00.000Z")).toBe(10)
    expect(earned("2026-11-04T12:01:59.999Z")).toBe(0)
  })
})
