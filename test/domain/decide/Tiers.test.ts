/** Badges that pay: rewards, tiers, what pays once, and what an undo takes back. */
import { Result } from "effect"
import { describe, expect, it } from "vitest"
import { decideProject } from "../../../src/domain/decide/Project.ts"
import type { Badge, BadgeTier } from "../../../src/domain/project/Definition.ts"
import { emptyProject } from "../../../src/domain/project/Project.ts"
import { limits } from "../../../src/Limits.ts"
import { World } from "./World.ts"

const pays = (xp: number) => ({ xp, points: 0, badgeId: null })
const tier = (key: string, target: number, xp = 0): BadgeTier => ({
  key,
  name: key.toUpperCase(),
  target,
  icon: null,
  reward: pays(xp),
})
const taps = (target: number) =>
  ({ kind: "action_count", action: "TAP", where: [], target }) as const

const tiered: Partial<Badge> = {
  id: "bdg_taps",
  criteria: taps(2),
  tiers: [tier("bronze", 2, 10), tier("silver", 3), tier("gold", 5, 100)],
}

const tapped = (world: World, times: number) =>
  Array.from({ length: times }, () => world.track("TAP"))

const earnedBy = ({ reply }: ReturnType<World["track"]>) =>
  reply.badges.map(({ id, tier }) => [id, tier?.key])

describe("A tier of a badge", () => {
  it("is earned at its target, and pays with the event that reaches it", () => {
    const world = new World()
    world.badge(tiered)
    const replies = tapped(world, 5)
    expect(replies.map(earnedBy)).toEqual([
      [],
      [["bdg_taps", "bronze"]],
      [["bdg_taps", "silver"]],
      [],
      [["bdg_taps", "gold"]],
    ])
    expect(replies.map(({ reply }) => reply.xp.earned)).toEqual([0, 10, 0, 0, 100])
    const paid = replies[1]!.facts.find(({ kind }) => kind === "xp.earned")
    expect(paid).toMatchObject({ amount: 10, source: { badgeId: "bdg_taps" } })
    expect([...world.user!.badgesPaid]).toEqual([
      ["bdg_taps bronze", 1],
      ["bdg_taps gold", 1],
    ])
  })

  it("pays once if one event passes two targets, as the tier below does", () => {
    const world = new World()
    world.badge({
      id: "bdg_xp",
      criteria: { kind: "xp", target: 10 },
      tiers: [tier("bronze", 10, 1), tier("silver", 20, 2)],
    })
    const { reply } = world.grant(25)
    expect(reply.badges.map(({ tier }) => tier?.key)).toEqual(["bronze", "silver"])
    expect(reply.xp).toEqual({ earned: 28, total: 28 })
    expect(world.grant(25).reply.xp.earned).toBe(25)
  })

  it("pays until nothing changes: a payment may reach the next tier and other badges", () => {
    const world = new World()
    world.settings({ levelCurve: { kind: "linear", xpPerLevel: 50 } })
    world.badge({
      id: "bdg_xp",
      criteria: { kind: "xp", target: 10 },
      tiers: [tier("bronze", 10, 15), tier("silver", 20, 30), tier("gold", 100)],
    })
    world.badge({ id: "bdg_rich", criteria: { kind: "points", target: 5 } })
    world.badge({
      id: "bdg_level",
      criteria: { kind: "level", target: 2 },
      reward: { ...pays(0), points: 5 },
    })
    const { reply } = world.grant(10)
    expect(reply.xp).toEqual({ earned: 55, total: 55 })
    expect(reply.badges.map(({ id, tier }) => [id, tier?.key])).toEqual([
      ["bdg_xp", "bronze"],
      ["bdg_xp", "silver"],
      ["bdg_level", undefined],
      ["bdg_rich", undefined],
    ])
  })

  it("is the lowest if a reward gives the badge, and no boost multiplies what it pays", () => {
    const world = new World()
    world.badge(tiered)
    const { reply } = world.do({ kind: "reward", type: "badge", badgeId: "bdg_taps" })
    expect([reply.badges[0]?.tier?.key, reply.xp.earned]).toEqual(["bronze", 10])
    expect(world.do({ kind: "reward", type: "badge", badgeId: "bdg_taps" }).reply.badges).toEqual(
      [],
    )
    tapped(world, 2)
    expect(earnedBy(world.track("TAP"))).toEqual([["bdg_taps", "silver"]])
  })

  it("stays after an edit, which neither pays nor takes", () => {
    const world = new World()
    world.badge(tiered)
    tapped(world, 2)
    world.badge({
      ...tiered,
      tiers: [tier("bronze", 1, 500), tier("new", 2, 7), tier("gold", 3, 9)],
    })
    expect(world.user!.xp).toBe(10)
    const { reply } = world.track("TAP")
    expect([reply.badges.map(({ tier }) => tier?.key), reply.xp.earned]).toEqual([["gold"], 9])
    world.badge({ ...tiered, criteria: taps(1), tiers: [] })
    expect(world.track("TAP").reply.badges).toEqual([])
  })
})

describe("An undo of a badge that paid", () => {
  const paying: Partial<Badge> = { id: "bdg_taps", criteria: taps(3), reward: pays(50) }

  it("takes the payment of its record back and forgets it, and the badge pays again", () => {
    const world = new World()
    world.badge(paying)
    const [, , third] = tapped(world, 3)
    expect(world.user!.xp).toBe(50)
    const undone = world.undo(third!)
    expect(undone.reply).toMatchObject({ xp: { earned: -50, total: 0 } })
    expect(undone.reply.badgesRevoked).toMatchObject([{ id: "bdg_taps" }])
    expect(world.user!.badgesPaid.size).toBe(0)
    expect(world.track("TAP").reply.xp).toEqual({ earned: 50, total: 50 })
  })

  it("keeps the payment if another record is undone, and the badge does not pay again", () => {
    const world = new World()
    world.badge(paying)
    const [first, , third] = tapped(world, 3)
    expect(world.undo(first!).reply.badgesRevoked).toMatchObject([{ id: "bdg_taps" }])
    expect(world.user!.xp).toBe(50)
    const again = world.track("TAP")
    expect([again.reply.badges.length, again.reply.xp.earned]).toEqual([1, 0])
    // Now the record that paid: the badge is lost, and pays with the next event.
    expect(world.undo(third!).reply.xp).toEqual({ earned: -50, total: 0 })
    expect(world.track("TAP").reply.xp).toEqual({ earned: 50, total: 50 })
  })

  it("leaves a badge whose target is still reached without its payment", () => {
    const world = new World()
    world.badge(paying)
    const [, , third] = tapped(world, 4)
    expect(world.undo(third!).reply).toMatchObject({
      xp: { earned: -50, total: 0 },
      badgesRevoked: [],
    })
    expect(world.track("TAP").reply).toMatchObject({ xp: { earned: 0 }, badges: [] })
  })

  it("pays nothing if the criteria keep a badge that a reward gave", () => {
    const world = new World()
    world.badge(paying)
    const granted = world.do({ kind: "reward", type: "badge", badgeId: "bdg_taps" })
    tapped(world, 3)
    const { reply } = world.undo(granted!)
    expect(reply).toMatchObject({ xp: { earned: -50, total: 0 }, badgesRevoked: [] })
    expect(reply.badges).toMatchObject([{ id: "bdg_taps" }])
  })

  it("loses the tiers above the number that is left, and no others", () => {
    const world = new World()
    world.badge(tiered)
    const records = tapped(world, 5)
    expect(world.undo(records[4]!).reply.badgesRevoked).toMatchObject([
      { id: "bdg_taps", tier: { key: "gold" } },
    ])
    const { reply } = world.undo(records[0]!)
    expect(reply.badgesRevoked).toEqual([])
    expect(world.user!.badges.get("bdg_taps")?.map(({ tier }) => tier)).toEqual([
      "bronze",
      "silver",
    ])
    expect(world.undo(records[2]!).reply.badgesRevoked).toMatchObject([{ tier: { key: "silver" } }])
  })
})

describe("The reward of a quest that is undone and earned again", () => {
  it("is paid once in all, since each undo takes back what its record paid", () => {
    const world = new World()
    world.quest({
      id: "qst_1",
      reward: pays(100),
      steps: [{ key: "taps", action: "TAP", where: [], target: 2 }],
    })
    for (let round = 0; round < 3; round++) {
      const [first, second] = tapped(world, 2)
      expect(world.user!.xp).toBe(100)
      world.undo(second!)
      expect(world.user!.xp).toBe(0)
      const again = world.track("TAP")
      expect(again.reply.xp.earned).toBe(100)
      world.undo(again!)
      world.undo(first!)
      expect(world.user!.xp).toBe(0)
    }
  })
})

describe("A backfill", () => {
  it("gives each tier that the user lacks, and pays it once", () => {
    const world = new World()
    world.grant(60)
    world.badge({
      id: "bdg_xp",
      criteria: { kind: "xp", target: 10 },
      tiers: [tier("bronze", 10, 1), tier("silver", 20, 2), tier("gold", 100)],
    })
    const { reply } = world.do({ kind: "backfill", badgeId: "bdg_xp", notify: false })
    expect(reply).toMatchObject({
      badges: [{ tier: { key: "bronze" } }, { tier: { key: "silver" } }],
    })
    expect(world.user!.xp).toBe(63)
    world.do({ kind: "backfill", badgeId: "bdg_xp", notify: false })
    expect(world.user!.xp).toBe(63)
  })
})

describe("The definition of a badge with tiers", () => {
  const made = (badge: object) => {
    const command = { kind: "createBadge", badge: { id: "bdg_1", name: "A", ...badge } } as never
    const decided = decideProject(emptyProject, command, 1)
    return Result.isFailure(decided)
      ? "errors" in decided.failure
        ? decided.failure.errors?.map(({ code, pointer }) => [pointer, code])
        : decided.failure.code
      : decided.success
  }
  const criteria = { kind: "action_count", action: "TAP" }

  it("has the lowest target as the target of its criteria, which may be absent", () => {
    const tiers = [tier("a", 3), tier("b", 4)]
    for (const target of [{}, { target: 3 }]) {
      expect(made({ criteria: { ...criteria, ...target }, tiers })).toMatchObject([
        { badge: { criteria: { target: 3 }, tiers } },
      ])
    }
    expect(made({ criteria: { ...criteria, target: 4 }, tiers })).toEqual([
      ["/criteria/target", "invalid_value"],
    ])
  })

  it("is refused if targets do not rise, with a reward beside, and for a manual badge", () => {
    expect(made({ criteria, tiers: [tier("a", 3), tier("b", 3)] })).toEqual([
      ["/tiers/1/target", "out_of_range"],
    ])
    expect(made({ criteria, tiers: [tier("a", 3)], reward: pays(1) })).toEqual([
      ["/reward", "unknown_member"],
    ])
    expect(made({ criteria: { kind: "manual" }, tiers: [tier("a", 3)] })).toEqual([
      ["/tiers", "unknown_member"],
    ])
    const gems = { ...pays(0), currencies: { gems: 1 } }
    expect(made({ criteria, tiers: [{ ...tier("a", 3), reward: gems }] })).toEqual([
      ["/tiers/0/reward/currencies/gems", "unknown_reference"],
    ])
    const sum = { kind: "action_sum", action: "RUN", sumPath: "km" }
    expect(made({ criteria: sum, tiers: [tier("a", limits.sumTargetMax + 1)] })).toEqual([
      ["/tiers/0/target", "out_of_range"],
    ])
  })
})
