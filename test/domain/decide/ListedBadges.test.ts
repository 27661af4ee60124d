/** Badges that a user earns by badges: by all of a list. */
import { describe, expect, it } from "vitest"
import type { Badge } from "../../../src/domain/project/Definition.ts"
import { badgeProgress, qualifies } from "../../../src/domain/user/Progress.ts"
import { kindsOf, World } from "./World.ts"

const pays = (xp: number) => ({ xp, points: 0, badgeId: null })
const counting = (action: string): Badge["criteria"] => ({
  kind: "action_count",
  action,
  where: [],
  target: 1,
})
const all = (...badges: ReadonlyArray<string>): Badge["criteria"] => ({
  kind: "badges",
  target: badges.length,
  badges,
})

/** The badges `a` and `b` by the actions A and B, and `both` by these two. */
const define = (world: World, both: Partial<Badge> = {}): World => {
  for (const id of ["a", "b"]) {
    world.badge({ id, key: id, criteria: counting(id.toUpperCase()) })
  }
  world.badge({ id: "both", key: "both", criteria: all("a", "b"), reward: pays(10), ...both })
  return world
}
const worldWith = (both: Partial<Badge> = {}) => define(new World(), both)
const heldBy = ({ user }: World) => [...user!.badges.keys()].sort()
const idsIn = ({ reply }: { readonly reply: object }) =>
  "badges" in reply ? (reply.badges as ReadonlyArray<{ id: string }>).map(({ id }) => id) : []

describe("A badge by badges", () => {
  it("is earned, and pays, with the last badge of its list", () => {
    const world = worldWith()
    expect(idsIn(world.track("A"))).toEqual(["a"])
    const [, , progress] = badgeProgress(world.user!, world.project, world.now)
    expect(progress).toMatchObject({ id: "both", current: 1, target: 2, earnedAt: null })
    const last = world.track("B")
    expect(last.reply).toMatchObject({ xp: { earned: 10 }, badges: [{ id: "b" }, { id: "both" }] })
    expect(world.user!.badges.get("both")).toMatchObject([{ tier: "", target: 2 }])
    expect(idsIn(world.track("B"))).toEqual([])
  })

  it("is earned by one event that gives the whole list, and by badges that it is listed with", () => {
    const world = worldWith({ criteria: all("a", "b") })
    world.badge({ id: "top", key: "top", criteria: all("both", "level") })
    world.badge({ id: "level", key: "level", criteria: { kind: "xp", target: 10 } })
    world.badge({ id: "b", key: "b", criteria: counting("A") })
    expect(idsIn(world.track("A"))).toEqual(["a", "b", "both", "level", "top"])
  })

  it("counts a badge in any tier, a repeatable one, and one that a person gave", () => {
    const world = worldWith({ criteria: all("a", "b", "hand") })
    const tiers = [1, 5].map((target) => ({
      key: `t${target}`,
      name: "T",
      target,
      icon: null,
      reward: pays(0),
    }))
    world.badge({ id: "a", key: "a", criteria: counting("A"), tiers })
    world.badge({ id: "b", key: "b", criteria: counting("B"), repeatable: true })
    world.badge({ id: "hand", key: "hand" })
    world.track("A")
    world.track("B")
    const given = world.do({ kind: "reward", type: "badge", badgeId: "hand" })
    expect(idsIn(given)).toEqual(["hand", "both"])
  })

  it("is not earned while it is paused, and not by a new badge of a list that was complete", () => {
    const world = worldWith({ set: "paused" })
    world.track("A")
    world.track("B")
    world.badge({ id: "both", key: "both", criteria: all("a", "b"), reward: pays(10) })
    world.badge({ id: "c", key: "c", criteria: counting("C") })
    expect(idsIn(world.track("C"))).toEqual(["c"])
    const both = world.project.badges.get("both")!
    expect(qualifies(both, world.user!, world.project)).toBe(true)
    const filled = world.do({ kind: "backfill", badgeId: "both", notify: false })
    expect(kindsOf(filled)).toEqual(["badge.earned", "badge.paid", "xp.earned"])
    expect(qualifies(both, world.user!, world.project)).toBe(false)
  })

  it("is earned only by members of its segment", () => {
    const world = worldWith({ segment: "vip" })
    const conditions = [{ kind: "attribute", name: "vip", op: "eq", value: true }] as const
    world.segment({ id: "sgm_vip", key: "vip", conditions })
    world.track("A")
    expect(idsIn(world.track("B"))).toEqual(["b"])
  })
})

describe("The undo of the event that gave a badge", () => {
  it("takes the badges that list it, along with those that list these", () => {
    const world = worldWith()
    world.badge({ id: "top", key: "top", criteria: all("both") })
    world.track("B")
    const last = world.track("A")
    expect(heldBy(world)).toEqual(["a", "b", "both", "top"])
    const undone = world.undo(last)
    expect(heldBy(world)).toEqual(["b"])
    expect(kindsOf(undone).filter((kind) => kind === "badge.revoked").length).toBe(3)
    expect(world.user!.xp).toBe(0)
    expect(idsIn(world.track("A"))).toEqual(["a", "both", "top"])
    expect(world.user!.xp).toBe(10)
  })

  it("keeps the payment of a badge that another record completed, which does not pay again", () => {
    const world = worldWith()
    const first = world.track("A")
    world.track("B")
    world.undo(first)
    expect(heldBy(world)).toEqual(["b"])
    expect(world.user!.xp).toBe(10)
    world.track("A")
    expect([heldBy(world), world.user!.xp]).toEqual([["a", "b", "both"], 10])
  })

  it("keeps a badge if the user has each of its list by something else", () => {
    const world = worldWith()
    world.badge({ id: "a", key: "a", criteria: { kind: "xp", target: 5 } })
    const given = world.do({ kind: "reward", type: "badge", badgeId: "a" })
    world.grant(5)
    world.track("B")
    const { facts } = world.undo(given)
    expect(heldBy(world)).toEqual(["a", "b", "both"])
    expect(facts.flatMap((fact) => ("badgeId" in fact ? [fact.badgeId] : []))).toEqual(["a", "a"])
  })

  it("takes no badge that lists one of which a tier is left", () => {
    const world = worldWith()
    const tiers = [1, 2].map((target) => ({
      key: `t${target}`,
      name: "T",
      target,
      icon: null,
      reward: pays(0),
    }))
    world.badge({ id: "a", key: "a", criteria: counting("A"), tiers })
    world.track("A")
    world.track("B")
    world.undo(world.track("A"))
    expect(heldBy(world)).toEqual(["a", "b", "both"])
  })

  it("takes a badge that lists a repeatable one only with its last repetition", () => {
    const world = worldWith()
    world.badge({ id: "a", key: "a", criteria: counting("A"), repeatable: true })
    const [first, second] = [world.track("A"), world.track("A")]
    world.track("B")
    world.undo(first)
    expect(heldBy(world)).toEqual(["a", "b", "both"])
    world.undo(second)
    expect(heldBy(world)).toEqual(["b"])
  })

  it("leaves a badge that a person gave, whatever becomes of its list", () => {
    const world = worldWith()
    const first = world.track("A")
    const given = world.do({ kind: "reward", type: "badge", badgeId: "both" })
    world.track("B")
    world.undo(first)
    expect(heldBy(world)).toEqual(["b", "both"])
    world.undo(given)
    expect(heldBy(world)).toEqual(["b"])
  })

  it("takes a badge that was earned before all badges of its present list", () => {
    const world = worldWith({ criteria: all("a") })
    world.track("A")
    world.badge({ id: "both", key: "both", criteria: all("b"), reward: pays(10) })
    world.undo(world.track("B"))
    expect(heldBy(world)).toEqual(["a"])
  })

  it("leaves a badge whose list no longer has the lost badge", () => {
    const world = worldWith()
    const first = world.track("A")
    world.track("B")
    world.badge({ id: "both", key: "both", criteria: all("b"), reward: pays(10) })
    world.undo(first)
    expect(heldBy(world)).toEqual(["b", "both"])
  })
})

describe("Two users who have the list of a badge only together", () => {
  it("earn it at their merge, once", () => {
    const [member, visitor] = [worldWith(), worldWith()]
    member.track("A")
    visitor.track("B")
    const { facts } = member.absorb(visitor, "visitor")
    expect(facts.flatMap((fact) => (fact.kind === "badge.earned" ? [fact.badgeId] : []))).toEqual([
      "both",
    ])
    expect([heldBy(member), member.user!.xp]).toEqual([["a", "b", "both"], 10])
  })
})
