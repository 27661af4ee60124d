import { describe, expect, it } from "vitest"
import type { ProjectCommand } from "../../../src/domain/decide/Project.ts"
import type { Condition } from "../../../src/domain/project/Definition.ts"
import { limits } from "../../../src/Limits.ts"
import { questWith, ruleWith } from "../definitions.ts"
import { ProjectWorld } from "./ProjectWorld.ts"

const { textSearchesOfActionMax: most } = limits
const search = (value: string): Condition => ({ path: "note", op: "contains", value })

const rule = (id: string, where: ReadonlyArray<Condition>, action = "TAP"): ProjectCommand => ({
  kind: "createRule",
  rule: ruleWith({ id, action, where }),
})
const quest = (id: string, ...wheres: ReadonlyArray<ReadonlyArray<Condition>>): ProjectCommand => {
  const steps = wheres.map((where, n) => ({ key: `s${n}`, action: "TAP", where, target: 1 }))
  return { kind: "createQuest", quest: questWith({ id, steps }) }
}
const badge = (id: string, where: ReadonlyArray<Condition>): ProjectCommand => ({
  kind: "createBadge",
  badge: {
    id,
    name: id,
    description: null,
    icon: null,
    criteria: { kind: "action_count", action: "TAP", where, target: 1 },
    secret: false,
  },
})

/** Rules, a quest and a badge that leave room for one more `contains` of the action. */
const worldWithRoomForOne = () => {
  const world = new ProjectWorld()
  for (let n = 0; n < most - 3; n++) world.ask(rule(`r${n}`, [search(`r${n}`)]))
  world.ask(quest("q", [search("q")]))
  world.ask(badge("b", [search("b")]))
  return world
}

describe("The contains conditions of an action", () => {
  it("are bounded in rules, quests and badges together", () => {
    const world = worldWithRoomForOne()
    world.ask(rule("last", [search("last")]))
    expect(world.faults(rule("more", [search("more")]))).toEqual([["/where", "too_long"]])
    expect(world.faults(quest("more", [], [search("more")]))).toEqual([
      ["/steps/1/where", "too_long"],
    ])
    expect(world.faults(badge("more", [search("more")]))).toEqual([["/criteria/where", "too_long"]])
    const where = [search("more")]
    const updates: ReadonlyArray<ProjectCommand> = [
      {
        kind: "updateQuest",
        questId: "q",
        change: { steps: [{ key: "s", action: "TAP", where: [search("q"), ...where], target: 1 }] },
      },
      {
        kind: "updateBadge",
        badgeId: "b",
        change: { criteria: { where: [search("b"), ...where] } },
      },
      { kind: "updateRule", ruleId: "last", change: { where: [search("last"), ...where] } },
    ]
    expect(updates.map((update) => world.faults(update).length)).toEqual([1, 1, 1])
  })

  it("count once where several definitions have the same", () => {
    const world = worldWithRoomForOne()
    for (let n = 0; n < 5; n++) world.ask(rule(`last${n}`, [search("last"), search("r0")]))
    world.ask(quest("same", [search("last")], [search("b")]))
  })

  it("do not count for other actions; other conditions and archived or deleted definitions do not count", () => {
    const world = worldWithRoomForOne()
    world.ask(rule("last", [search("last")]))
    world.ask(rule("other", [search("other")], "SWIPE"))
    world.ask(rule("equal", [{ path: "note", op: "eq", value: "other" }]))
    world.ask({ kind: "deleteQuest", questId: "q" })
    world.ask({ kind: "deleteBadge", badgeId: "b" })
    world.ask({ kind: "deleteRule", ruleId: "r0" })
    for (const id of ["x", "y", "z"]) world.ask(rule(id, [search(id)]))
    expect(world.faults(rule("more", [search("more")]))).toEqual([["/where", "too_long"]])
  })

  it("beyond the bound may change, but not increase", () => {
    const world = new ProjectWorld()
    const rules = Array.from({ length: most + 5 }, (_, n) =>
      ruleWith({ id: `r${n}`, where: [search(`r${n}`)] }),
    )
    world.state = { ...world.state, rules: new Map(rules.map((one) => [one.id, one])) }
    world.ask({ kind: "updateRule", ruleId: "r0", change: { where: [search("other")] } })
    world.ask({ kind: "updateRule", ruleId: "r1", change: { status: "paused" } })
    const where = [search("r2"), search("more")]
    expect(world.faults({ kind: "updateRule", ruleId: "r2", change: { where } })).toHaveLength(1)
  })
})
