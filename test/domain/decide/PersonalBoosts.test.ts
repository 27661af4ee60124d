/** Boosts that rewards give to a user: when they run, how they end, and how an undo takes them back. */
import { describe, expect, it } from "vitest"
import type { GrantedReward } from "../../../src/domain/record/Record.ts"
import { limits } from "../../../src/Limits.ts"
import { boostWith, streakWith } from "../definitions.ts"
import { ProjectWorld } from "./ProjectWorld.ts"
import { World } from "./World.ts"

const double = { key: "double", minutes: 60 }
const source = { ruleId: "rul_gift" }

/** A world with a personal boost of xp by 2, and a rule that pays 5 xp for a tap. */
const giftWorld = (): World => {
  const world = new World()
  const boost = { id: "bst_double", key: "double", name: "Double", currencies: ["xp"] }
  world.define({ kind: "boost.created", boost: boostWith({ ...boost, personal: true }) })
  world.rule({ id: "rul_tap", reward: { xp: 5 } })
  return world
}

const grant = (world: World, boost = double, more: Partial<GrantedReward> = {}) =>
  world.do({ kind: "reward", reward: { boost }, ...more } as GrantedReward)
const earned = (world: World) => world.track().reply.xp.earned
const start = Date.parse("2026-11-04T12:00:00Z")

describe("A personal boost", () => {
  it("runs for nobody by itself", () => {
    const world = giftWorld()
    expect(world.track().reply).toMatchObject({ xp: { earned: 5 }, boosts: [] })
  })

  it("runs for the minutes of the reward, its start in it and its end not", () => {
    const world = giftWorld()
    world.now = start
    const { facts, reply } = grant(world)
    const times = { startsAt: start, endsAt: start + 3_600_000 }
    const of = { boostId: "bst_double", key: "double", name: "Double" }
    expect(facts).toContainEqual({ kind: "boost.earned", ...of, ...times, source: "reward" })
    expect(reply.boostsEarned).toEqual([
      { ...of, startsAt: "2026-11-04T12:00:00.000Z", endsAt: "2026-11-04T13:00:00.000Z" },
    ])
    expect(reply).toMatchObject({ type: null, amount: null, reward: { boost: double } })
    expect(world.track().reply).toMatchObject({
      xp: { earned: 10 },
      boosts: [{ key: "double", factor: 2 }],
    })
    world.now = start + 3_600_000 - 1
    expect(earned(world)).toBe(10)
    world.now++
    expect(earned(world)).toBe(5)
    // An event that occurred before the end and arrives later is multiplied.
    expect(world.trackAt("2026-11-04T12:59:59.999Z").reply.xp.earned).toBe(10)
    expect(world.trackAt("2026-11-04T11:59:59.999Z").reply.xp.earned).toBe(5)
  })

  it("begins when the event occurred that a rule pays, and counts from the next event on", () => {
    const world = giftWorld()
    world.rule({ id: "rul_gift", action: "GIFT", reward: { xp: 1, boost: double } })
    world.at("2026-11-04T15:00:00Z")
    const late = world.trackAt("2026-11-04T14:30:00Z", "GIFT")
    expect(late.reply).toMatchObject({ xp: { earned: 1 }, boosts: [] })
    expect(late.facts).toContainEqual(
      expect.objectContaining({ kind: "boost.earned", startsAt: start + 9_000_000, source }),
    )
    expect(earned(world)).toBe(10)
    world.at("2026-11-04T15:30:00Z")
    expect(earned(world)).toBe(5)
  })

  it("multiplies once while rewards of it overlap, until the last of them ends", () => {
    const world = giftWorld()
    world.now = start
    grant(world)
    world.now = start + 30 * 60_000
    grant(world)
    grant(world)
    expect(world.track().reply).toMatchObject({ xp: { earned: 10 }, boosts: [{ key: "double" }] })
    world.now = start + 89 * 60_000
    expect(earned(world)).toBe(10)
    world.now = start + 90 * 60_000
    expect(earned(world)).toBe(5)
  })

  it("runs in both hours that daylight saving repeats, for its minutes and no longer", () => {
    const world = giftWorld()
    world.do({ kind: "profile", change: { timezone: "Europe/Berlin" } })
    // At 01:00 UTC of this day the clock goes from 03:00 back to 02:00.
    world.at("2026-10-25T00:30:00Z")
    grant(world)
    const at = (time: string) => {
      world.at(time)
      return earned(world)
    }
    expect(at("2026-10-25T00:59:59.999Z")).toBe(10)
    expect(at("2026-10-25T01:29:59.999Z")).toBe(10)
    expect(at("2026-10-25T01:30:00Z")).toBe(5)
  })

  it("multiplies with other boosts, together by at most 10", () => {
    const world = giftWorld()
    world.define({ kind: "boost.created", boost: boostWith({ id: "bst_all", factor: 8 }) })
    expect(earned(world)).toBe(40)
    grant(world)
    const { reply } = world.track()
    expect(reply.xp.earned).toBe(5 * limits.boostProductMax)
    expect(reply.boosts).toEqual([
      { key: "all", factor: 8 },
      { key: "double", factor: 2 },
    ])
  })

  it("follows its definition: paused it multiplies nothing, and cannot be given", () => {
    const world = giftWorld()
    grant(world)
    const changed = (change: object) => {
      const boost = { id: "bst_double", key: "double", currencies: ["xp"], personal: true }
      world.define({ kind: "boost.updated", boost: boostWith({ ...boost, ...change }) })
    }
    changed({ factor: 3 })
    expect(earned(world)).toBe(15)
    changed({ set: "paused" })
    expect(earned(world)).toBe(5)
    const command = { kind: "reward", reward: { boost: double } } as const
    expect(world.refused(command).code).toBe("boost_not_active")
    changed({ personal: false })
    expect(world.refused(command).code).toBe("boost_not_found")
    expect(world.refused({ ...command, reward: { boost: { key: "x", minutes: 1 } } }).code).toBe(
      "boost_not_found",
    )
  })

  it("is given by quests, badges and milestones of streaks", () => {
    const world = giftWorld()
    const steps = [{ key: "a", action: "Q", where: [], target: 1 }]
    const reward = { xp: 0, points: 0, badgeId: null, boost: double }
    world.quest({ id: "qst_1", steps, reward, createdAt: 0 })
    world.badge({ criteria: { kind: "action_count", action: "B", target: 1, where: [] }, reward })
    world.streak(
      streakWith({ milestones: [{ target: 1, reward }], needs: [{ action: "S", target: 1 }] }),
    )
    for (const action of ["Q", "B", "S"]) {
      expect(world.track(action).reply.boostsEarned).toMatchObject([{ key: "double" }])
    }
    expect(world.user?.boosts).toHaveLength(3)
  })
})

describe("The undo of a reward with a boost", () => {
  it("takes it back for later events, also for those that occurred while it ran", () => {
    const world = giftWorld()
    world.now = start
    const gift = grant(world)
    const boosted = world.track()
    world.now = start + 600_000
    const { reply } = world.undo(gift)
    expect(reply.boostsRevoked).toMatchObject([{ key: "double" }])
    expect(earned(world)).toBe(5)
    expect(world.trackAt("2026-11-04T12:01:00Z").reply.xp.earned).toBe(5)
    // What was multiplied before stays, and its own undo takes back just that.
    expect(world.undo(boosted).reply.xp.earned).toBe(-10)
  })

  it("takes back one of several rewards, in any order", () => {
    const world = giftWorld()
    const gifts = [grant(world), grant(world), grant(world, { key: "double", minutes: 30 })]
    for (const [index, gift] of [gifts[1]!, gifts[2]!, gifts[0]!].entries()) {
      expect(earned(world)).toBe(10)
      world.undo(gift)
      expect(world.user?.boosts).toHaveLength(2 - index)
    }
    expect(earned(world)).toBe(5)
  })

  it("takes nothing of a boost that the state has forgotten", () => {
    const world = giftWorld()
    world.now = start
    const first = grant(world, { key: "double", minutes: 1 })
    world.now = start + 60_000
    for (let n = 0; n < limits.ownBoostsMax; n++) grant(world)
    expect(world.user?.boosts).toHaveLength(limits.ownBoostsMax)
    expect(world.undo(first).reply.boostsRevoked).toEqual([])
    expect(world.user?.boosts).toHaveLength(limits.ownBoostsMax)
  })
})

describe("The personal boosts of a user", () => {
  it(`are at most ${limits.ownBoostsMax} at once: a grant is refused, and a rule gives none`, () => {
    const world = giftWorld()
    world.now = start
    for (let n = 0; n < limits.ownBoostsMax; n++) grant(world)
    const command = { kind: "reward", reward: { boost: double } } as const
    expect(world.refused(command).code).toBe("quota_exceeded")
    world.rule({ id: "rul_gift", action: "GIFT", reward: { boost: double } })
    const { facts } = world.track("GIFT")
    expect(facts.map(({ kind }) => kind)).toEqual(["event.tracked"])
    world.now = start + 3_600_000
    expect(grant(world).reply.boostsEarned).toHaveLength(1)
    expect(world.user?.boosts).toHaveLength(limits.ownBoostsMax)
  })
})

describe("A merge of users with personal boosts", () => {
  it("lets those of both run, and further rewards add to them", () => {
    const world = giftWorld()
    const visitor = giftWorld()
    world.now = start
    visitor.now = start
    grant(visitor)
    world.track()
    world.absorb(visitor, "visitor")
    expect(world.user?.boosts).toEqual([
      { key: "double", startsAt: start, endsAt: start + 3_600_000 },
    ])
    expect(earned(world)).toBe(10)
    grant(world)
    expect(world.user?.boosts).toHaveLength(2)
  })
})

describe("The definition of a personal boost", () => {
  const personal = boostWith({ id: "bst_p", key: "p", personal: true })

  it("has no period, spells, clock and segment", () => {
    const world = new ProjectWorld()
    const faults = world.faults({
      kind: "createBoost",
      boost: {
        ...personal,
        startsAt: 1,
        endsAt: Date.parse("2040-01-01T00:00:00Z"),
        weekly: [{ days: ["monday"], from: "10:00", to: "11:00" }],
        timeZone: "user",
      },
    })
    const code = "unknown_member"
    const members = ["startsAt", "endsAt", "weekly", "timeZone"]
    expect(faults).toEqual(members.map((name) => [`/${name}`, code]))
  })

  it(`is not one of the ${limits.runningBoostsMax} that run or will run`, () => {
    const world = new ProjectWorld()
    for (let n = 0; n < limits.runningBoostsMax; n++) {
      world.ask({ kind: "createBoost", boost: boostWith({ id: `bst_b${n}`, key: `b${n}` }) })
    }
    world.ask({ kind: "createBoost", boost: personal })
    const boost = boostWith({ id: "bst_more", key: "more" })
    expect(world.refusal({ kind: "createBoost", boost }).code).toBe("quota_exceeded")
  })
})
