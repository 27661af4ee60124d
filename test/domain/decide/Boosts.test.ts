import { Result } from "effect"
import { describe, expect, it } from "vitest"
import { decideProject } from "../../../src/domain/decide/Project.ts"
import { heldSegments } from "../../../src/domain/record/ActionCount.ts"
import { limits } from "../../../src/Limits.ts"
import { boostWith, withFacts } from "../definitions.ts"
import { World } from "./World.ts"

const worldWith = (...boosts: ReadonlyArray<Parameters<typeof boostWith>[0]>): World => {
  const world = new World()
  for (const [index, boost] of boosts.entries()) {
    world.define({ kind: "boost.created", boost: boostWith({ id: `bst_b${index}`, ...boost }) })
  }
  return world
}

const hour = {
  startsAt: Date.parse("2026-11-04T12:00:00Z"),
  endsAt: Date.parse("2026-11-04T13:00:00Z"),
}

describe("A boost that runs", () => {
  it("multiplies what a rule pays, and is named by fact and reply", () => {
    const world = worldWith({ factor: 1.5 })
    world.rule({ reward: { xp: 5, points: 3 } })
    const { facts, reply } = world.track()
    const boosts = [{ key: "b0", factor: 1.5 }]
    const source = { ruleId: "rul_1" }
    expect(facts).toContainEqual({ kind: "xp.earned", amount: 7, total: 7, source, boosts })
    expect(facts).toContainEqual({ kind: "points.earned", amount: 4, total: 4, source, boosts })
    expect(reply.boosts).toEqual(boosts)
  })

  it("multiplies further currencies, and a reward of them that it cuts to nothing is none", () => {
    const world = worldWith({ factor: 0.5, currencies: ["gems"] })
    world.currency({ id: "cur_gems", key: "gems" })
    world.rule({ reward: { xp: 5, currencies: { gems: 3 } } })
    const { facts, reply } = world.track()
    const boosts = [{ key: "b0", factor: 0.5 }]
    const source = { ruleId: "rul_1" }
    const gems = { kind: "currency.earned", currency: "gems", amount: 1, total: 1, source, boosts }
    expect(facts).toContainEqual(gems)
    expect(facts).toContainEqual({ kind: "xp.earned", amount: 5, total: 5, source })
    expect(reply.boosts).toEqual(boosts)
    world.rule({ id: "rul_1", reward: { currencies: { gems: 1 } } })
    expect(world.track().reply.currencies).toBeUndefined()
  })

  it("multiplies together with the multiplier, rounded down once", () => {
    const world = worldWith({ factor: 1.5 })
    world.rule({ reward: { xp: 3 }, multiplier: { path: "n", min: 0, max: 100 } })
    // 3 × 1.1 × 1.5 is 4.95; rounded twice it would be 3 × 1.5 = 4 as well, and 3 × 1.5 × 1.5 = 6.
    const earned = (n: number) => world.track("TAP", { metadata: { n } }).reply.xp.earned
    expect([earned(1.1), earned(1.5), earned(0.1), earned(0.3)]).toEqual([4, 6, 0, 1])
  })

  it("multiplies what a quest pays", () => {
    const world = worldWith({ factor: 2 })
    const steps = [{ key: "a", action: "TAP", where: [], target: 1 }]
    world.quest({ id: "qst_1", steps, reward: { xp: 20 }, createdAt: 0 })
    const { facts, reply } = world.track()
    expect(facts).toContainEqual({
      kind: "xp.earned",
      amount: 40,
      total: 40,
      source: { questId: "qst_1" },
      boosts: [{ key: "b0", factor: 2 }],
    })
    expect(reply.xp.earned).toBe(40)
  })

  it("leaves rewards that are granted as they are", () => {
    const { facts } = worldWith({ factor: 2 }).grant(10)
    expect(facts).toContainEqual({ kind: "xp.earned", amount: 10, total: 10, source: "reward" })
  })

  it("counts by the time at which the event occurred", () => {
    const world = worldWith({ factor: 2, ...hour })
    world.rule({ reward: { xp: 5 } })
    world.at("2026-11-04T15:00:00Z")
    const earned = (time: string) => world.trackAt(time).reply.xp.earned
    expect(earned("2026-11-04T11:59:59.999Z")).toBe(5)
    expect(earned("2026-11-04T12:00:00Z")).toBe(10)
    expect(earned("2026-11-04T12:59:59.999Z")).toBe(10)
    expect(earned("2026-11-04T13:00:00Z")).toBe(5)
    expect(world.track().reply).toMatchObject({ xp: { earned: 5 }, boosts: [] })
  })

  it("follows the zone that the user had when the event occurred", () => {
    const world = worldWith({
      factor: 2,
      timeZone: "user",
      weekly: [{ days: ["wednesday"], from: "12:00", to: "13:00" }],
    })
    world.rule({ reward: { xp: 5 } })
    expect(world.track().reply.xp.earned).toBe(10)
    world.at("2026-11-04T12:10:00Z")
    world.do({ kind: "profile", change: { timezone: "Asia/Tokyo" } })
    expect(world.track().reply.xp.earned).toBe(5)
    expect(world.trackAt("2026-11-04T12:09:00Z").reply.xp.earned).toBe(10)
  })

  it("reduces to nothing what is below 1, which is then no use of a limit", () => {
    const world = worldWith({ factor: 0.1, ...hour })
    world.rule({ reward: { xp: 9 }, limit: { times: 1, per: "day" } })
    const { facts, reply } = world.track()
    expect(facts.map(({ kind }) => kind)).toEqual(["user.created", "event.tracked"])
    expect(reply).toMatchObject({ xp: { earned: 0 }, boosts: [], withheld: [] })
    world.at("2026-11-04T13:00:00Z")
    expect(world.track().reply.xp.earned).toBe(9)
    expect(world.track().reply).toMatchObject({
      xp: { earned: 0 },
      withheld: [{ reason: "limit" }],
    })
  })

  it("leads to the refusal of a balance above the largest safe integer", () => {
    const world = worldWith({ factor: 10 })
    const multiplier = { path: "n", min: 0, max: limits.multiplierMax }
    world.rule({ reward: { xp: limits.amountMax }, multiplier })
    const event = (n: number) => ({ kind: "event", action: "TAP", metadata: { n } }) as const
    expect(world.refused(event(limits.multiplierMax)).code).toBe("balance_overflow")
    expect(world.do(event(900_719.925474)).reply.xp.earned).toBe(9_007_199_254_740_000)
    expect(world.refused(event(1)).code).toBe("balance_overflow")
  })
})

describe("A boost with a segment", () => {
  const heldBy = ({ records }: World) => heldSegments(records.at(-1)!)
  const rich = { kind: "balance", currency: "xp", op: "gte", value: 10 } as const

  it("multiplies only for members, by the state before the event", () => {
    const world = new World()
    world.segment({ id: "seg_rich", conditions: [rich] })
    world.define({ kind: "boost.created", boost: boostWith({ factor: 2, segment: "rich" }) })
    world.rule({ id: "rul_1", reward: { xp: 10 } })
    world.rule({ id: "rul_2", reward: { xp: 1 } })
    const first = world.track()
    // The first rule makes the user a member, which counts from the next event on.
    expect(first.reply).toMatchObject({ xp: { earned: 11 }, boosts: [] })
    expect(heldBy(world)).toEqual([])
    const second = world.track()
    expect(second.reply).toMatchObject({ xp: { earned: 22 }, boosts: [{ key: "k1", factor: 2 }] })
    expect(heldBy(world)).toEqual(["rich"])
    world.undo(first)
    expect(world.track().reply.xp.earned).toBe(22)
  })

  it("multiplies with those for everyone, and users of other segments do not share the product", () => {
    const world = new World()
    const plan = (value: string) =>
      [{ kind: "attribute", attribute: "plan", op: "eq", value }] as const
    for (const key of ["pro", "team"]) world.segment({ id: `seg_${key}`, conditions: plan(key) })
    for (const [index, segment] of [null, "pro", "team"].entries()) {
      const boost = boostWith({ id: `bst_b${index}`, factor: index + 2, segment })
      world.define({ kind: "boost.created", boost })
    }
    world.rule({ reward: { xp: 1 } })
    const earned = () => world.track().reply.xp.earned
    const of = (value: string) => {
      world.attributes({ plan: value })
      return earned()
    }
    expect([earned(), of("pro"), of("team"), of("none"), of("pro")]).toEqual([2, 6, 8, 2, 6])
  })

  it("asks for its segment only if a rule or a quest pays while it runs", () => {
    const world = new World()
    const all = [{ kind: "level", op: "gte", value: 1 }] as const
    world.segment({ id: "seg_all", conditions: all })
    world.define({ kind: "boost.created", boost: boostWith({ segment: "all", ...hour }) })
    world.track()
    expect(heldBy(world)).toEqual([])
    world.rule({ reward: { xp: 1 } })
    world.track()
    expect(heldBy(world)).toEqual(["all"])
    world.track("OTHER")
    expect(heldBy(world)).toEqual([])
    world.at("2026-11-04T13:00:00Z")
    world.track()
    expect(heldBy(world)).toEqual([])
  })

  it("follows more sets of segments than it keeps", () => {
    const world = new World()
    const bits = [0, 1, 2, 3, 4, 5]
    for (const bit of bits) {
      const conditions = [
        { kind: "attribute", attribute: `b${bit}`, op: "eq", value: true },
      ] as const
      world.segment({ id: `seg_b${bit}`, conditions })
      const boost = boostWith({ id: `bst_b${bit}`, factor: 1 + 2 ** bit / 100, segment: `b${bit}` })
      world.define({ kind: "boost.created", boost })
    }
    world.rule({ reward: { xp: 1 } })
    for (const _ of [1, 2]) {
      for (let set = 0; set < 64; set++) {
        world.attributes(
          Object.fromEntries(bits.map((bit) => [`b${bit}`, ((set >> bit) & 1) === 1])),
        )
        const asked = bits.filter((bit) => ((set >> bit) & 1) === 1)
        const { boosts } = world.track().reply
        expect(boosts.map(({ key }) => key)).toEqual(asked.map((bit) => `b${bit}`))
      }
    }
  })
})

describe("The record of a boosted event", () => {
  it("is undone exactly, whatever becomes of the boost", () => {
    const world = worldWith({ factor: 2 })
    world.rule({ reward: { xp: 5, points: 1 } })
    const first = world.track()
    world.define({ kind: "boost.updated", boost: boostWith({ id: "bst_b0", factor: 3 }) })
    const second = world.track()
    expect(second.reply).toMatchObject({ xp: { earned: 15 }, boosts: [{ key: "b0", factor: 3 }] })
    const archived = boostWith({ id: "bst_b0", set: "archived" })
    world.define({ kind: "boost.updated", boost: archived })
    expect(world.undo(first).reply).toMatchObject({ xp: { earned: -10, total: 15 } })
    expect(world.undo(second).reply).toMatchObject({ xp: { earned: -15, total: 0 } })
    expect(world.user).toMatchObject({ xp: 0, points: 0 })
  })
})

describe("Boosts that run or will run", () => {
  const made = (count: number) =>
    Array.from({ length: count }, (_, index) => {
      const startsAt = index % 2 === 0 ? null : Date.parse("2030-01-01T00:00:00Z")
      return { kind: "boost.created", boost: boostWith({ id: `bst_b${index}`, startsAt }) } as const
    })
  const now = Date.parse("2026-11-04T12:00:00Z")
  const codeOf = (world: World, command: Parameters<typeof decideProject>[1]) => {
    const decided = decideProject(world.project, command, now)
    return Result.isFailure(decided) ? decided.failure.code : "accepted"
  }
  const create = (id: string, more: Parameters<typeof boostWith>[0] = {}) =>
    ({ kind: "createBoost", boost: boostWith({ id, ...more }) }) as const

  it("are at most 50: a further one is refused, also if it is published later", () => {
    const world = new World()
    expect(limits.runningBoostsMax).toBe(50)
    world.define(...made(limits.runningBoostsMax - 1))
    const draft = boostWith({ id: "bst_draft1", set: "draft" })
    const paused = boostWith({ id: "bst_paused", set: "paused" })
    world.define({ kind: "boost.created", boost: draft }, { kind: "boost.created", boost: paused })
    const publish = (boostId: string) =>
      ({ kind: "updateBoost", boostId, change: { status: "active" } }) as const
    expect(codeOf(world, create("bst_last"))).toBe("accepted")
    expect(codeOf(world, publish(draft.id))).toBe("accepted")
    world.define({ kind: "boost.created", boost: boostWith({ id: "bst_last" }) })
    expect(codeOf(world, create("bst_more"))).toBe("quota_exceeded")
    expect(codeOf(world, publish(draft.id))).toBe("quota_exceeded")
    expect(codeOf(world, publish(paused.id))).toBe("quota_exceeded")
    expect(codeOf(world, create("bst_more", { set: "draft" }))).toBe("accepted")
    const ends = { kind: "updateBoost", boostId: "bst_last", change: { factor: 3 } } as const
    expect(codeOf(world, ends)).toBe("accepted")
    world.define({ kind: "boost.updated", boost: boostWith({ id: "bst_last", set: "archived" }) })
    expect(codeOf(world, publish(paused.id))).toBe("accepted")
  })

  it("count again when an end is moved into the future", () => {
    const world = new World()
    const over = boostWith({ id: "bst_over", endsAt: now - 1 })
    world.define({ kind: "boost.created", boost: over }, ...made(limits.runningBoostsMax))
    const revive = { kind: "updateBoost", boostId: over.id, change: { endsAt: null } } as const
    expect(codeOf(world, revive)).toBe("quota_exceeded")
  })

  it("are defined up to the limit of boosts", () => {
    const world = new World()
    const facts = Array.from({ length: limits.boostsMax - 1 }, (_, index) => ({
      kind: "boost.created" as const,
      boost: boostWith({ id: `bst_b${index}`, set: "draft" }),
    }))
    world.project = withFacts(world.project, facts)
    const draft = (id: string) => create(id, { set: "draft" })
    expect(codeOf(world, draft("bst_last"))).toBe("accepted")
    world.project = withFacts(world.project, [{ ...facts[0]!, boost: draft("bst_last").boost }])
    expect(codeOf(world, draft("bst_more"))).toBe("quota_exceeded")
  })

  it("multiply only currencies that exist", () => {
    const world = new World()
    expect(codeOf(world, create("bst_1", { currencies: ["xp", "gems"] }))).toBe("invalid_request")
    expect(codeOf(world, create("bst_1", { currencies: ["points"] }))).toBe("accepted")
  })
})
