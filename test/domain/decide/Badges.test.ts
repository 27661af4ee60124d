import { describe, expect, it } from "vitest"
import { kindsOf, World } from "./World.ts"

const earnedBy = ({
  reply,
}: {
  readonly reply: { readonly badges: ReadonlyArray<{ id: string }> }
}) => reply.badges.map(({ id }) => id)

describe("A badge is earned once, when its number reaches the target:", () => {
  it("xp, points, level", () => {
    const world = new World()
    world.badge({ id: "xp", criteria: { kind: "xp", target: 100 } })
    world.badge({ id: "points", criteria: { kind: "points", target: 5 } })
    world.badge({ id: "level", criteria: { kind: "level", target: 3 } })
    expect(earnedBy(world.grant(99))).toEqual([])
    expect(earnedBy(world.grant(1))).toEqual(["xp"])
    expect(earnedBy(world.grant(5, "points"))).toEqual(["points"])
    expect(earnedBy(world.grant(199))).toEqual([])
    expect(earnedBy(world.grant(1))).toEqual(["level"])
    expect(earnedBy(world.grant(1_000))).toEqual([])
    expect(world.user?.badges.get("xp")).toEqual([{ tier: "", earnedAt: world.now, target: 100 }])
  })

  it("level 1 is reached by the first event", () => {
    const world = new World()
    world.badge({ id: "here", criteria: { kind: "level", target: 1 } })
    expect(earnedBy(world.track())).toEqual(["here"])
    expect(earnedBy(world.track())).toEqual([])
  })

  it("actions, those that satisfy its conditions, from its creation on", () => {
    const world = new World()
    world.track("TAP", { metadata: { hard: true } })
    const where = [{ path: "hard", op: "eq", value: true } as const]
    world.badge({ criteria: { kind: "action_count", action: "TAP", where, target: 2 } })
    expect(earnedBy(world.track("TAP", { metadata: { hard: true } }))).toEqual([])
    expect(earnedBy(world.track("TAP"))).toEqual([])
    expect(earnedBy(world.track("TAP", { metadata: { hard: true } }))).toEqual(["bdg_1"])
    expect(world.user?.badgeCounts.get("bdg_1")).toBe(2)
    world.track("TAP", { metadata: { hard: true } })
    expect(world.user?.badgeCounts.get("bdg_1")).toBe(3)
  })

  it("actions that reach a lowered target; users past it need a backfill", () => {
    const world = new World()
    const criteria = { kind: "action_count", action: "TAP", where: [] } as const
    const made = world.badge({ criteria: { ...criteria, target: 4 } })
    for (let tap = 0; tap < 2; tap++) world.track("TAP")
    world.badge({ ...made, criteria: { ...criteria, target: 2 } })
    expect(earnedBy(world.track("TAP"))).toEqual([])
    world.badge({ ...made, criteria: { ...criteria, target: 4 } })
    expect(earnedBy(world.track("TAP"))).toEqual([made.id])
  })

  it("completed quests, each time they are completed", () => {
    const world = new World()
    world.quest({ recurrence: "daily" })
    world.badge({ criteria: { kind: "quest_count", target: 2 } })
    expect(earnedBy(world.complete("qst_1"))).toEqual([])
    world.at("2026-11-05T12:00:00Z")
    expect(earnedBy(world.complete("qst_1"))).toEqual(["bdg_1"])
  })

  it("days of one streak, or of any", () => {
    const world = new World()
    for (const action of ["a", "b"]) {
      world.streak({ id: `stk_${action}`, needs: [{ action, target: 1 }] })
    }
    world.badge({ id: "one", criteria: { kind: "streak", streak: "b", target: 2 } })
    world.badge({ id: "any", criteria: { kind: "streak", streak: null, target: 2 } })
    world.track("a")
    world.track("b")
    world.at("2026-11-05T12:00:00Z")
    expect(earnedBy(world.track("a"))).toEqual(["any"])
    expect(earnedBy(world.track("b"))).toEqual(["one"])
  })

  it("several at once, the lowest target first", () => {
    const world = new World()
    for (const target of [30, 10, 20, 40]) {
      world.badge({ id: `bdg_${target}`, criteria: { kind: "xp", target } })
    }
    expect(earnedBy(world.grant(30))).toEqual(["bdg_10", "bdg_20", "bdg_30"])
  })
})

describe("A badge granted by hand", () => {
  const give = { kind: "reward", type: "badge", badgeId: "bdg_1" } as const

  it("is earned once, whatever its criteria", () => {
    const world = new World()
    world.badge({ criteria: { kind: "xp", target: 1_000 } })
    expect(earnedBy(world.do(give))).toEqual(["bdg_1"])
    expect(earnedBy(world.do(give))).toEqual([])
  })

  it("must be there", () => {
    const world = new World()
    expect(world.refused(give).code).toBe("badge_not_found")
    world.badge({ set: "archived" })
    expect(world.refused(give).code).toBe("badge_not_found")
  })
})

describe("A badge that is archived", () => {
  it("is no longer awarded; users keep it", () => {
    const world = new World()
    const badge = world.badge({ criteria: { kind: "xp", target: 10 } })
    world.grant(10)
    world.badge({ ...badge, set: "archived" })
    expect(world.user?.badges.has("bdg_1")).toBe(true)
    world.user = undefined
    expect(earnedBy(world.grant(10))).toEqual([])
  })
})

describe("A backfill", () => {
  const backfill = { kind: "backfill", badgeId: "bdg_1", notify: false } as const

  it("awards a badge to users past its target when it was created", () => {
    const world = new World()
    world.grant(500)
    world.badge({ criteria: { kind: "xp", target: 100 } })
    expect(earnedBy(world.grant(1))).toEqual([])
    expect(earnedBy(world.do(backfill))).toEqual(["bdg_1"])
    expect(earnedBy(world.do(backfill))).toEqual([])
  })

  it("gives nothing to users below it", () => {
    const world = new World()
    world.grant(99)
    world.badge({ criteria: { kind: "xp", target: 100 } })
    expect(world.do(backfill).facts).toEqual([])
  })

  it("takes over the count of the history, unless the user changed since", () => {
    const world = new World()
    for (let n = 0; n < 3; n++) world.track()
    world.badge({ criteria: { kind: "action_count", action: "TAP", where: [], target: 5 } })
    const countedUpTo = world.user!.sequence
    world.do({ ...backfill, counted: 3, countedUpTo })
    expect(world.user?.badgeCounts.get("bdg_1")).toBe(3)
    expect(world.refused({ ...backfill, counted: 3, countedUpTo }).code).toBe("conflict")
    expect(
      kindsOf(world.do({ ...backfill, counted: 3, countedUpTo: world.user!.sequence })),
    ).toEqual([])
    expect(earnedBy(world.track())).toEqual([])
    expect(earnedBy(world.track())).toEqual(["bdg_1"])
  })
})
