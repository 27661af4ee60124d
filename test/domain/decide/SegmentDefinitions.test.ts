import { beforeEach, describe, expect, it } from "vitest"
import type { Versioned } from "../../../src/domain/project/Definition.ts"
import type { SegmentCondition } from "../../../src/domain/project/Segment.ts"
import { limits } from "../../../src/Limits.ts"
import {
  badgeWith,
  boostWith,
  currencyWith,
  levelWith,
  metricWith,
  questWith,
  ruleWith,
  segmentWith,
  streakWith,
} from "../definitions.ts"
import { ProjectWorld } from "./ProjectWorld.ts"

const level = { kind: "level", op: "gte", value: 2 } as const

let world: ProjectWorld
beforeEach(() => {
  world = new ProjectWorld()
  world.ask({ kind: "createStreak", streak: streakWith({}) })
  world.ask({ kind: "createBadge", badge: badgeWith({ id: "bdg_first" }) })
  world.ask({ kind: "createMetric", metric: metricWith({ id: "mtr_taps" }) })
  const levels = { of: "earned", table: [levelWith("silver", 5)] } as const
  world.ask({
    kind: "createCurrency",
    currency: currencyWith({ id: "cur_miles", key: "miles", levels }),
  })
})

const creating = (
  conditions: ReadonlyArray<SegmentCondition> = [level],
  id = "seg_a",
  key = id.slice(4),
) => ({ kind: "createSegment", segment: { id, key, name: "A", match: "all", conditions } }) as const
const deleting = { kind: "deleteSegment", segmentId: "a" } as const

describe("A segment", () => {
  it("is created, changed and archived, by its id or key", () => {
    world.ask(creating())
    const segment = () => world.state.segments.get("seg_a")!
    expect(segment()).toMatchObject({ key: "a", set: "published", version: 1, match: "all" })
    const change = { match: "any", metadata: { a: 1 } } as const
    world.ask({ kind: "updateSegment", segmentId: "a", change })
    expect(segment()).toMatchObject({ version: 2, match: "any", metadata: { a: 1 } })
    world.ask({ kind: "updateSegment", segmentId: "seg_a", change: { status: "archived" } })
    expect(segment()).toMatchObject({ version: 3, set: "archived" })
    expect(world.refusal(deleting).code).toBe("segment_not_found")
    expect(world.refusal({ kind: "updateSegment", segmentId: "a", change }).code).toBe(
      "invalid_transition",
    )
    expect(world.refusal(creating([level], "seg_b", "a")).code).toBe("key_taken")
  })

  it("has conditions of every kind", () => {
    const conditions: ReadonlyArray<SegmentCondition> = [
      level,
      { kind: "attribute", attribute: "__proto__", op: "contains", value: "x" },
      { kind: "balance", currency: "xp", op: "ne", value: 0 },
      { kind: "currency_level", currency: "miles", op: "lt", value: 1 },
      { kind: "currency_level", currency: "miles", op: "gte", value: "silver" },
      { kind: "badge", badge: "first", op: "exists" },
      { kind: "streak", streak: "daily", op: "gte", value: 1 },
      { kind: "metric", metric: "taps", op: "lt", value: -1.5 },
      { kind: "account_age_days", op: "lt", value: 30 },
      { kind: "inactive_days", op: "exists", value: false },
      { kind: "percent", salt: "s", op: "lt", value: 0 },
      { kind: "percent", salt: "s", op: "gte", value: 100 },
    ]
    world.ask(creating(conditions))
    expect(world.state.segments.get("seg_a")?.conditions).toEqual(conditions)
  })

  it.each<[SegmentCondition, ReadonlyArray<readonly [pointer: string, code: string]>]>([
    [{ kind: "attribute", op: "exists" }, [["attribute", "missing"]]],
    [{ kind: "level", attribute: "a", op: "eq", value: 1 }, [["attribute", "unknown_member"]]],
    [{ kind: "level", op: "contains", value: 1 }, [["op", "invalid_value"]]],
    [{ kind: "level", op: "gte", value: "1" }, [["value", "invalid_type"]]],
    [{ kind: "level", op: "gte", value: -1 }, [["value", "invalid_type"]]],
    [{ kind: "currency_level", op: "gte", value: 1 }, [["currency", "missing"]]],
    [
      { kind: "currency_level", currency: "miles", op: "gte", value: "gold" },
      [["value", "invalid_type"]],
    ],
    [
      { kind: "currency_level", currency: "points", op: "gte", value: 1 },
      [["currency", "unknown_reference"]],
    ],
    [{ kind: "percent", salt: "s", op: "lt", value: 100.1 }, [["value", "invalid_type"]]],
    [{ kind: "percent", salt: "s", op: "lt", value: -0.1 }, [["value", "invalid_type"]]],
    [
      { kind: "percent", op: "eq", value: 5 },
      [
        ["salt", "missing"],
        ["op", "invalid_value"],
      ],
    ],
    [
      { kind: "balance", currency: "gems", op: "gt", value: 1 },
      [["currency", "unknown_reference"]],
    ],
    [
      { kind: "balance", currency: "constructor", op: "gt", value: 1 },
      [["currency", "unknown_reference"]],
    ],
    [{ kind: "badge", badge: "bdg_first", op: "exists" }, [["badge", "unknown_reference"]]],
    [{ kind: "badge", badge: "first", op: "eq", value: 1 }, [["op", "invalid_value"]]],
    [{ kind: "streak", streak: "none", op: "gt", value: 1 }, [["streak", "unknown_reference"]]],
    [{ kind: "metric", metric: "none", op: "gt", value: 1 }, [["metric", "unknown_reference"]]],
    [{ kind: "metric", metric: "taps", op: "gt", value: "1" }, [["value", "invalid_type"]]],
  ])("refuses %j", (condition, faults) => {
    const expected = faults.map(([member, code]) => [`/conditions/1/${member}`, code])
    expect(world.faults(creating([level, condition]))).toEqual(expected)
  })

  it("protects the badges, streaks and metrics that its conditions name", () => {
    world.ask(
      creating([
        { kind: "badge", badge: "first", op: "exists" },
        { kind: "streak", streak: "daily", op: "gt", value: 1 },
        { kind: "metric", metric: "taps", op: "exists" },
      ]),
    )
    expect(world.refusal({ kind: "deleteBadge", badgeId: "first" })).toMatchObject({
      code: "in_use",
      detail: "The badge is used by segment seg_a (A). Change or archive these first.",
    })
    expect(world.refusal({ kind: "deleteStreak", streakId: "daily" }).code).toBe("in_use")
    expect(world.refusal({ kind: "deleteMetric", metricId: "taps" }).code).toBe("in_use")
    world.ask(deleting)
    world.ask({ kind: "deleteBadge", badgeId: "first" })
    world.ask({ kind: "deleteMetric", metricId: "taps" })
    world.ask({ kind: "deleteStreak", streakId: "daily" })
  })

  it("is in use while a rule, a quest, a badge or a boost names it that is not archived", () => {
    world.ask(creating())
    const segment = "a"
    world.ask({ kind: "createRule", rule: ruleWith({ id: "rul_1", segment }) })
    world.ask({ kind: "createQuest", quest: questWith({ id: "qst_1", segment }) })
    world.ask({ kind: "createBadge", badge: badgeWith({ id: "bdg_1", segment }) })
    world.ask({ kind: "createBoost", boost: boostWith({ id: "bst_1", segment }) })
    const archiving = {
      kind: "updateSegment",
      segmentId: "a",
      change: { status: "archived" },
    } as const
    for (const command of [deleting, archiving]) {
      const { code, detail } = world.refusal(command)
      expect(code).toBe("in_use")
      for (const id of ["rul_1", "qst_1", "bdg_1", "bst_1"]) expect(detail).toContain(id)
    }
    world.ask({ kind: "deleteRule", ruleId: "rul_1" })
    world.ask({ kind: "updateQuest", questId: "qst_1", change: { segment: null } })
    expect(world.refusal(deleting).detail).toContain("used by badge bdg_1")
    world.ask({ kind: "deleteBadge", badgeId: "bdg_1" })
    expect(world.refusal(deleting).detail).toContain("used by boost bst_1")
    world.ask({ kind: "updateBoost", boostId: "bst_1", change: { segment: null } })
    world.ask(deleting)
    const rule = ruleWith({ id: "rul_2", segment })
    expect(world.faults({ kind: "createRule", rule })).toEqual([["/segment", "unknown_reference"]])
  })

  it("is named only by definitions that know it", () => {
    const fault = [["/segment", "unknown_reference"]]
    const segment = "__proto__"
    expect(world.faults({ kind: "createRule", rule: ruleWith({ segment }) })).toEqual(fault)
    expect(world.faults({ kind: "createQuest", quest: questWith({ segment }) })).toEqual(fault)
    expect(world.faults({ kind: "createBadge", badge: badgeWith({ segment }) })).toEqual(fault)
    expect(world.faults({ kind: "createBoost", boost: boostWith({ segment }) })).toEqual(fault)
  })

  it(`is one of at most ${limits.segmentsMax} that are not archived`, () => {
    for (let n = 1; n < limits.segmentsMax; n++) world.ask(creating([level], `seg_n${n}`))
    world.ask(creating())
    expect(world.refusal(creating([level], "seg_b")).code).toBe("quota_exceeded")
    world.ask(deleting)
    world.ask(creating([level], "seg_b"))
  })
})

describe("A file of definitions", () => {
  const badge = { ...badgeWith({ id: "bdg_new", segment: "new" }), criteria: level }
  const segment = segmentWith({
    id: "seg_new",
    conditions: [{ kind: "badge", badge: "new", op: "exists" }],
  })
  const criteria = { kind: "level", target: 2 } as const
  const bare = <A extends Versioned>({ createdAt: _, updatedAt: __, version: ___, ...rest }: A) =>
    rest
  const file = (definitions: object, removes = false) =>
    ({ kind: "applyDefinitions", definitions, removes }) as const

  it("may have a segment and a badge that refer to each other, and removes them together", () => {
    const both = { segments: [bare(segment)], badges: [bare({ ...badge, criteria })] }
    world.ask(file(both))
    expect(world.state.badges.get("bdg_new")?.segment).toBe("new")
    expect(world.ask(file(both))).toEqual([])
    expect(world.refusal(file({ segments: [] }, true)).code).toBe("invalid_request")
    world.ask(file({ segments: [], badges: [] }, true))
    expect(world.state.segments.get("seg_new")?.set).toBe("archived")
    expect(world.state.badges.get("bdg_new")?.set).toBe("archived")
  })

  it("is refused as a whole if a segment names a badge that neither file nor project has", () => {
    expect(world.faults(file({ segments: [segment] }))).toEqual([
      ["/definitions/segments/0/conditions/0/badge", "unknown_reference"],
    ])
    expect(world.state.segments.size).toBe(0)
  })
})
