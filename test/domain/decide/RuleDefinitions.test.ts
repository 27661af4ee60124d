import { beforeEach, describe, expect, it } from "@effect/vitest"
import type { RuleChange } from "../../../src/domain/decide/RuleDefinitions.ts"
import type { Rule } from "../../../src/domain/project/Definition.ts"
import { limits } from "../../../src/Limits.ts"
import { badgeWith, ruleWith, withFacts } from "../definitions.ts"
import { ProjectWorld } from "./ProjectWorld.ts"

let world: ProjectWorld
beforeEach(() => {
  world = new ProjectWorld()
})

const creating = (rule: Partial<Rule>) =>
  ({ kind: "createRule", rule: { ...ruleWith({ id: "r" }), ...rule } }) as const
const updating = (change: RuleChange) => ({ kind: "updateRule", ruleId: "r", change }) as const
const ruleNow = () => world.state.rules.get("r")!

describe("A rule", () => {
  it("changes the members of a patch, and keeps the rest", () => {
    world.ask(creating({ reward: { xp: 5, points: 2, badgeId: null }, cooldownSeconds: 60 }))
    const createdAt = world.now
    world.now += 1_000
    const facts = world.ask(
      updating({ reward: { xp: 7 }, status: "paused", cooldownSeconds: null }),
    )
    expect(facts).toEqual([{ kind: "rule.updated", rule: ruleNow() }])
    expect(ruleNow()).toMatchObject({
      action: "TAP",
      reward: { xp: 7, points: 2, badgeId: null },
      set: "paused",
      cooldownSeconds: null,
      createdAt,
      updatedAt: world.now,
      version: 2,
    })
  })

  it("that gave nothing before this was refused may be paused, not given nothing again", () => {
    const rule = ruleWith({ id: "r", reward: { xp: 0, points: 0, badgeId: null } })
    world.state = withFacts(world.state, [{ kind: "rule.created", rule }])
    world.ask(updating({ status: "paused" }))
    expect(ruleNow().set).toBe("paused")
    expect(world.faults(updating({ reward: { points: 0 } }))).toEqual([["/reward", "missing"]])
    world.ask(updating({ reward: { points: 1 } }))
  })

  it("has its limit patched by member, removed, and added only as a whole", () => {
    world.ask(creating({ limit: { times: 3, per: "day" } }))
    world.ask(updating({ limit: { times: 5 } }))
    expect(ruleNow().limit).toEqual({ times: 5, per: "day" })
    world.ask(updating({ limit: null }))
    expect(ruleNow().limit).toBeNull()
    expect(world.faults(updating({ limit: { times: 1 } }))).toEqual([["/limit/per", "missing"]])
    expect(world.faults(updating({ limit: {} }))).toEqual([
      ["/limit/times", "missing"],
      ["/limit/per", "missing"],
    ])
    world.ask(updating({ limit: { per: "hour", times: 1 } }))
    expect(ruleNow().limit).toEqual({ times: 1, per: "hour" })
  })

  it("has a multiplier whose bounds belong to a path, and the smaller one first", () => {
    world.ask(creating({}))
    expect(world.faults(updating({ multiplierMin: 1, multiplierMax: 2 }))).toEqual([
      ["/multiplierMin", "unknown_member"],
      ["/multiplierMax", "unknown_member"],
    ])
    world.ask(updating({ multiplierPath: "amount" }))
    expect(ruleNow().multiplier).toEqual({ path: "amount", min: 0, max: limits.multiplierMax })
    world.ask(updating({ multiplierMin: 1.5, multiplierMax: 1.5 }))
    expect(ruleNow().multiplier).toEqual({ path: "amount", min: 1.5, max: 1.5 })
    expect(world.faults(updating({ multiplierMax: 1.4 }))).toEqual([
      ["/multiplierMax", "out_of_range"],
    ])
    world.ask(updating({ multiplierPath: null }))
    expect(ruleNow().multiplier).toBeNull()
  })

  it("gives only existing badges", () => {
    const reward = { xp: 0, points: 0, badgeId: "b" }
    expect(world.faults(creating({ reward }))).toEqual([["/reward/badgeId", "unknown_reference"]])
    world.ask({ kind: "createBadge", badge: badgeWith({ id: "b" }) })
    world.ask(creating({ reward }))
    world.ask(updating({ reward: { xp: 1, badgeId: null } }))
    world.ask({ kind: "deleteBadge", badgeId: "b" })
    expect(world.faults(updating({ reward: { badgeId: "b" } }))).toEqual([
      ["/reward/badgeId", "unknown_reference"],
    ])
  })

  it("is archived by a delete, cannot change then, and is not found by a second one", () => {
    world.ask(creating({}))
    expect(world.ask({ kind: "deleteRule", ruleId: "r" })).toMatchObject([
      { kind: "rule.updated", rule: { id: "r", set: "archived" } },
    ])
    expect(world.refusal({ kind: "deleteRule", ruleId: "r" }).code).toBe("rule_not_found")
    expect(world.refusal(updating({})).code).toBe("invalid_transition")
    expect(world.refusal({ ...updating({}), ruleId: "other" }).code).toBe("rule_not_found")
  })

  it("may be one of as many as an environment holds", () => {
    const rules = new Map<string, Rule>()
    for (let index = 0; index < limits.rulesMax - 1; index++) {
      rules.set(`r${index}`, ruleWith({ id: `r${index}` }))
    }
    world.state = { ...world.state, rules }
    world.ask(creating({}))
    expect(world.refusal(creating({ id: "more", key: "more" })).code).toBe("quota_exceeded")
    world.ask({ kind: "deleteRule", ruleId: "r" })
    world.ask(creating({ id: "more", key: "more" }))
  })
})
