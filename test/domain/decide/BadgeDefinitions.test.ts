import { beforeEach, describe, expect, it } from "@effect/vitest"
import type { BadgeChange, CriterionParts } from "../../../src/domain/decide/BadgeDefinitions.ts"
import type { Badge } from "../../../src/domain/project/Definition.ts"
import { limits } from "../../../src/Limits.ts"
import { badgeWith, streakWith } from "../definitions.ts"
import { ProjectWorld } from "./ProjectWorld.ts"

let world: ProjectWorld
beforeEach(() => {
  world = new ProjectWorld()
  world.ask({ kind: "createStreak", streak: streakWith({}) })
})

const creating = (criteria: CriterionParts, id = "b") =>
  ({
    kind: "createBadge",
    badge: { id, name: "B", description: null, icon: null, secret: false, criteria },
  }) as const
const updating = (change: BadgeChange) => ({ kind: "updateBadge", badgeId: "b", change }) as const
const deleting = { kind: "deleteBadge", badgeId: "b" } as const
const badgeNow = () => world.state.badges.get("b")!

describe("A badge", () => {
  it("is earned by criteria with the members of their kind", () => {
    const where = [{ path: "a", op: "exists" }] as const
    const made: ReadonlyArray<readonly [CriterionParts, Badge["criteria"]]> = [
      [
        { kind: "xp", target: 5 },
        { kind: "xp", target: 5 },
      ],
      [{ kind: "manual" }, { kind: "manual" }],
      [
        { kind: "action_count", target: 2, action: "TAP" },
        { kind: "action_count", target: 2, action: "TAP", where: [] },
      ],
      [
        { kind: "action_count", target: 2, action: "TAP", where },
        { kind: "action_count", target: 2, action: "TAP", where },
      ],
      [
        { kind: "action_sum", target: 2, action: "RUN", sumPath: "km" },
        { kind: "action_sum", target: 2, action: "RUN", sumPath: "km", where: [] },
      ],
      [
        { kind: "streak", target: 7 },
        { kind: "streak", target: 7, streak: null },
      ],
      [
        { kind: "streak", target: 7, streak: "daily" },
        { kind: "streak", target: 7, streak: "daily" },
      ],
    ]
    made.forEach(([parts, criteria], index) => {
      world.ask(creating(parts, `b${index}`))
      expect(world.state.badges.get(`b${index}`)?.criteria).toEqual(criteria)
    })
  })

  it.each<readonly [CriterionParts, ReadonlyArray<readonly [string, string]>]>([
    [{}, [["/criteria/kind", "missing"]]],
    [{ kind: "action_sum", target: 1, action: "RUN" }, [["/criteria/sumPath", "missing"]]],
    [{ kind: "xp" }, [["/criteria/target", "missing"]]],
    [{ kind: "manual", target: 1 }, [["/criteria/target", "unknown_member"]]],
    [
      { kind: "action_count", streak: "daily" },
      [
        ["/criteria/target", "missing"],
        ["/criteria/action", "missing"],
        ["/criteria/streak", "unknown_member"],
      ],
    ],
    [{ kind: "streak", target: 1, streak: "x" }, [["/criteria/streak", "unknown_reference"]]],
    [{ kind: "level", target: 1, where: [] }, [["/criteria/where", "unknown_member"]]],
  ])("can not be earned by %j", (parts, faults) => {
    expect(world.faults(creating(parts))).toEqual(faults)
  })

  it("changes the members of a patch; a new kind of criteria replaces the old members", () => {
    world.ask(creating({ kind: "action_count", target: 2, action: "TAP" }))
    world.now += 1_000
    expect(world.ask(updating({ name: "Taps", criteria: { target: 9 } }))).toEqual([
      { kind: "badge.updated", badge: badgeNow() },
    ])
    expect(badgeNow()).toMatchObject({
      name: "Taps",
      criteria: { kind: "action_count", target: 9, action: "TAP", where: [] },
      updatedAt: world.now,
      version: 2,
    })
    world.ask(updating({ criteria: { kind: "streak", target: 3, streak: "daily" } }))
    expect(badgeNow().criteria).toEqual({ kind: "streak", target: 3, streak: "daily" })
    world.ask(updating({ criteria: { streak: null } }))
    expect(badgeNow().criteria).toEqual({ kind: "streak", target: 3, streak: null })
    expect(world.faults(updating({ criteria: { kind: "xp" } }))).toEqual([
      ["/criteria/target", "missing"],
    ])
  })

  it("is archived by a delete, cannot change then, and is not found by a second one", () => {
    world.ask(creating({ kind: "manual" }))
    expect(world.ask(deleting)).toMatchObject([
      { kind: "badge.updated", badge: { id: "b", set: "archived", version: 2 } },
    ])
    expect(world.refusal(deleting).code).toBe("badge_not_found")
    expect(world.refusal(updating({ name: "Again" })).code).toBe("invalid_transition")
  })

  it("that does not exist is not found", () => {
    expect(world.refusal(updating({})).code).toBe("badge_not_found")
    expect(world.refusal(deleting).code).toBe("badge_not_found")
  })

  it("may be one of as many as an environment holds; archived ones do not count", () => {
    const badges = new Map<string, Badge>()
    for (let index = 0; index < limits.badgesMax - 1; index++) {
      badges.set(`b${index}`, badgeWith({ id: `b${index}` }))
    }
    world.state = { ...world.state, badges }
    world.ask(creating({ kind: "manual" }))
    expect(world.refusal(creating({ kind: "manual" }, "more")).code).toBe("quota_exceeded")
    world.ask(deleting)
    world.ask(creating({ kind: "manual" }, "more"))
  })
})

describe("A badge by badges", () => {
  beforeEach(() => {
    for (const id of ["bdg_one", "bdg_two"]) {
      world.ask({
        kind: "createBadge",
        badge: { ...creating({ kind: "manual" }, id).badge, key: `key-${id}` },
      })
    }
  })
  const listing = (...badges: ReadonlyArray<string>) => creating({ kind: "badges", badges })

  it("has the keys of its list, given as ids or keys, and their number as its target", () => {
    world.ask(listing("bdg_two", "key-bdg_one", "key-bdg_two"))
    const badges = ["key-bdg_two", "key-bdg_one"]
    expect(badgeNow().criteria).toEqual({ kind: "badges", target: 2, badges })
    world.ask(updating({ name: "Both" }))
    expect(badgeNow().criteria).toEqual({ kind: "badges", target: 2, badges })
    world.ask(updating({ criteria: { badges: ["bdg_one"] } }))
    expect(badgeNow().criteria).toEqual({ kind: "badges", target: 1, badges: ["key-bdg_one"] })
    world.ask(updating({ criteria: { kind: "xp", target: 5 } }))
    expect(badgeNow().criteria).toEqual({ kind: "xp", target: 5 })
    world.ask(updating({ criteria: { kind: "badges", badges: ["bdg_one"] } }))
    expect(badgeNow().criteria).toEqual({ kind: "badges", target: 1, badges: ["key-bdg_one"] })
  })

  it("has no target, no tiers and no repetitions, and lists live badges that do not lead back", () => {
    const tier = {
      key: "t",
      name: "T",
      target: 1,
      icon: null,
      reward: { xp: 0, points: 0, badgeId: null },
    }
    const faultsOf = (more: object, ...badges: ReadonlyArray<string>) =>
      world.faults({ ...listing(), badge: { ...listing(...badges).badge, ...more } })
    const criteria = { kind: "badges", target: 1, badges: ["bdg_one"] } as const
    expect(world.faults(creating({ kind: "badges" }))).toEqual([["/criteria/badges", "missing"]])
    expect(world.faults(creating(criteria))).toEqual([["/criteria/target", "unknown_member"]])
    expect(faultsOf({ tiers: [tier] }, "bdg_one")).toEqual([["/tiers", "unknown_member"]])
    expect(faultsOf({ repeatable: true }, "bdg_one")).toEqual([["/repeatable", "invalid_value"]])
    expect(faultsOf({}, "bdg_one", "none")).toEqual([["/criteria/badges/1", "unknown_reference"]])
    world.ask(listing("bdg_one"))
    const change = { criteria: { kind: "badges", badges: ["b"] } } as const
    expect(world.faults(updating(change))).toEqual([["/criteria/badges/0", "cycle"]])
    expect(world.faults({ kind: "updateBadge", badgeId: "bdg_one", change })).toEqual([
      ["/criteria/badges/0", "cycle"],
    ])
    expect(world.refusal({ kind: "deleteBadge", badgeId: "bdg_one" }).code).toBe("in_use")
    world.ask({ kind: "deleteBadge", badgeId: "bdg_two" })
    expect(world.faults(updating({ criteria: { badges: ["bdg_two"] } }))).toEqual([
      ["/criteria/badges/0", "unknown_reference"],
    ])
    world.ask(deleting)
    world.ask({ kind: "deleteBadge", badgeId: "bdg_one" })
  })
})

describe("The runs of a badge's backfill", () => {
  const starting = { kind: "startBackfill", badgeId: "b", notify: true } as const
  const finishing = { kind: "finishBackfill", definitionId: "b", checked: 5, awarded: 2 } as const

  it("run one after the other, and the latest is kept", () => {
    world.ask(creating({ kind: "xp", target: 5 }))
    expect(world.refusal(finishing).code).toBe("conflict")
    expect(world.ask(starting)).toEqual([
      { kind: "backfill.started", definitionId: "b", notify: true },
    ])
    const startedAt = world.now
    const begun = { notify: true, startedAt, finishedAt: null, checked: 0, awarded: 0 }
    expect(world.state.backfills.get("b")).toEqual(begun)
    expect(world.refusal(starting).code).toBe("conflict")
    world.now += 1_000
    world.ask(finishing)
    const done = { ...begun, finishedAt: world.now, checked: 5, awarded: 2 }
    expect(world.state.backfills.get("b")).toEqual(done)
    expect(world.refusal(finishing).code).toBe("conflict")
    world.ask({ ...starting, notify: false })
    expect(world.state.backfills.get("b")).toMatchObject({ notify: false, checked: 0 })
  })

  it("are for existing badges with criteria", () => {
    expect(world.refusal(starting).code).toBe("badge_not_found")
    world.ask(creating({ kind: "manual" }))
    expect(world.refusal(starting).code).toBe("conflict")
  })

  it("are forgotten with a badge that is archived", () => {
    world.ask(creating({ kind: "xp", target: 5 }))
    world.ask(starting)
    world.ask(deleting)
    expect(world.state.backfills.size).toBe(0)
    expect(world.refusal(finishing).code).toBe("conflict")
    expect(world.refusal(starting).code).toBe("invalid_transition")
  })
})
