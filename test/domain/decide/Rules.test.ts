import { describe, expect, it } from "vitest"
import { recounted } from "../../../src/domain/decide/RuleDefinitions.ts"
import type { Rule } from "../../../src/domain/project/Definition.ts"
import { limits } from "../../../src/Limits.ts"
import { Random } from "../../simulation/random.ts"
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
    world.badge({ id: "bdg_1", key: "tapper", name: "Tapper" })
    world.rule({ id: "rul_1", reward: { xp: 10, points: 3, badgeId: "bdg_1" } })
    const { facts, reply } = world.track()
    const source = { ruleId: "rul_1" }
    const badge = { badgeId: "bdg_1", key: "tapper", name: "Tapper" }
    expect(facts).toContainEqual({ kind: "points.earned", amount: 3, total: 3, source })
    expect(facts).toContainEqual({ kind: "badge.earned", ...badge, source, first: true })
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

  it("with another period counts the uses that came before the edit", () => {
    const world = worldWith({ limit: { times: 1, per: "hour" } })
    let rule = world.project.rules.get("rul_0")!
    const edit = (limit: Rule["limit"]) => {
      world.now += 1
      rule = recounted(rule, { ...rule, limit }, world.now)
      world.define({ kind: "rule.updated", rule })
    }
    for (let hour = 0; hour < 3; hour++) {
      expect(world.track().reply.xp.earned).toBe(10)
      world.now += 3_600_000
    }
    edit({ times: 4, per: "day" })
    expect([world.track(), world.track()].map(({ reply }) => reply.xp.earned)).toEqual([10, 0])
    edit(null)
    expect(world.track().reply.xp.earned).toBe(10)
    edit({ times: 6, per: "week" })
    const last = world.track()
    expect([last, world.track()].map(({ reply }) => reply.xp.earned)).toEqual([10, 0])
    edit({ times: 6, per: "ever" })
    expect(world.track().reply).toMatchObject({
      xp: { earned: 0 },
      withheld: [{ ruleId: "rul_0", reason: "limit" }],
    })
    world.undo(last)
    expect([world.track(), world.track()].map(({ reply }) => reply.xp.earned)).toEqual([10, 0])
  })

  it("pays imported history the same in each order of arrival", () => {
    const days = Array.from(
      { length: 100 },
      (_, day) => Date.parse("2026-01-01") + day * 86_400_000,
    )
    for (const per of ["hour", "day", "week", "month", "ever"] as const) {
      const orders = [
        days,
        days.toReversed(),
        ...[1, 2, 3].map((seed) => new Random(seed).shuffled(days)),
      ]
      const totals = orders.map((order) => {
        const world = limited(per, 1)
        // Twice a day.
        for (const at of order.flatMap((day) => [day, day + 60_000])) {
          world.track("TAP", { occurredAt: at, imported: true })
        }
        const { periods } = world.user!.ruleUses.get("rul_0")!
        expect(periods.length).toBeLessThanOrEqual(limits.rulePeriodsMax)
        return world.user!.xp
      })
      const periods = { hour: 100, day: 100, week: 15, month: 4, ever: 1 }[per]
      expect(totals).toEqual(orders.map(() => periods * 10))
    }
  })

  it("counts the uses of a period that the state has dropped, also after an undo", () => {
    const world = limited("hour", 1)
    const hour = 3_600_000
    const first = world.track()
    const at = (hoursAgo: number) =>
      world.track("TAP", { occurredAt: world.now - hoursAgo * hour }).reply.xp.earned
    for (let ago = 2; ago < limits.rulePeriodsMax + 3; ago++) expect(at(ago)).toBe(10)
    expect(at(limits.rulePeriodsMax + 2)).toBe(0)
    world.now += (limits.rulePeriodsMax + 5) * hour
    for (let ago = 0; ago < limits.rulePeriodsMax; ago++) expect(at(ago)).toBe(10)
    expect(at(limits.rulePeriodsMax + 5)).toBe(0)
    world.undo(first)
    expect(at(limits.rulePeriodsMax + 5)).toBe(10)
    expect(at(limits.rulePeriodsMax + 5)).toBe(0)
  })

  it("per hour uses the clock hours of the project's zone, also where they begin at half past", () => {
    const world = limited("hour", 1)
    world.settings({ timezone: "Asia/Kolkata" })
    const times = ["12:29:59.999", "12:30:00", "13:29:59.999", "13:30:00"]
    expect(times.map((time) => earned(world, `2026-11-04T${time}Z`))).toEqual([10, 10, 0, 10])
    world.settings({ timezone: "America/St_Johns" })
    const west = ["14:29:59.999", "14:30:00", "15:29:59.999"]
    expect(west.map((time) => earned(world, `2026-11-05T${time}Z`))).toEqual([10, 10, 0])
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

  it.each([
    ["is there from the start", { times: 1, per: "ever" }],
    ["is added later", null],
  ] as const)("that %s is not used up by a badge that the user has already", (_, limit) => {
    const world = worldGivingBadge({ limit })
    for (const _ of [1, 2]) expect(badgeAgain(world)).toEqual([])
    const rule = world.project.rules.get("rul_0")!
    world.now += 1
    const limited: Rule = { ...rule, limit: { times: 1, per: "ever" } }
    world.define({ kind: "rule.updated", rule: recounted(rule, limited, world.now) })
    expect([earnedTwice(world), earnedTwice(world)]).toEqual([20, 0])
  })

  it("is not used up by an archived badge", () => {
    const world = worldGivingBadge({ limit: { times: 1, per: "ever" } })
    world.badge({ id: "bdg_0", set: "archived" })
    expect([badgeAgain(world), earnedTwice(world)]).toEqual([[], 20])
  })
})

/** A world with a rule that gives a badge, which the user has, and 10 xp times the number `n`. */
const worldGivingBadge = (more: Pick<Partial<Rule>, "limit" | "cooldownSeconds">) => {
  const world = new World()
  world.badge({ id: "bdg_0" })
  world.do({ kind: "reward", type: "badge", badgeId: "bdg_0" })
  const reward = { xp: 10, badgeId: "bdg_0" }
  world.rule({ id: "rul_0", reward, multiplier: { path: "n", min: 0, max: 9 }, ...more })
  return world
}

/** The facts about rules of an event that earns 0 xp, and the badge once more. */
const badgeAgain = (world: World) =>
  world
    .track("TAP", { metadata: { n: 0 } })
    .facts.filter(({ kind }) => kind === "rule.used" || kind === "rule.withheld")

const earnedTwice = (world: World) => world.track("TAP", { metadata: { n: 2 } }).reply.xp.earned

describe("A cooldown", () => {
  it("concerns events before and after it, and no others", () => {
    const world = worldWith({ cooldownSeconds: 3_600 })
    const at = (time: string) => world.trackAt(`2026-11-0${time}Z`).reply
    expect(at("4T11:00:00").xp.earned).toBe(10)
    expect(at("2T11:00:00").xp.earned).toBe(10)
    expect(at("2T10:00:01")).toMatchObject({
      xp: { earned: 0 },
      withheld: [{ ruleId: "rul_0", reason: "cooldown" }],
    })
    expect(at("3T11:00:00").xp.earned).toBe(10)
    expect(at("3T11:59:59").xp.earned).toBe(0)
    expect(at("3T12:00:00").withheld).toEqual([])
    expect(at("1T11:00:00").xp.earned).toBe(10)
  })

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

  it("is not started by a badge that the user has already", () => {
    const world = worldGivingBadge({ cooldownSeconds: 60 })
    expect([badgeAgain(world), earnedTwice(world), earnedTwice(world)]).toEqual([[], 20, 0])
  })
})
