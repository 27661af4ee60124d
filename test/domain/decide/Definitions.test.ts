import { Result } from "effect"
import { beforeEach, describe, expect, it } from "vitest"
import type { CriterionParts } from "../../../src/domain/decide/BadgeDefinitions.ts"
import type { DefinitionsInput } from "../../../src/domain/decide/Definitions.ts"
import type { Definition } from "../../../src/domain/project/Definition.ts"
import { limits } from "../../../src/Limits.ts"
import { badgeWith, questWith, ruleWith, streakWith } from "../definitions.ts"
import { ProjectWorld } from "./ProjectWorld.ts"

let world: ProjectWorld
beforeEach(() => {
  world = new ProjectWorld()
})

/** The definition as a file has it, without a status. */
const unversioned = <A extends Definition>(definition: A) => {
  const { createdAt: _, set: __, updatedAt: ___, version: ____, ...members } = definition
  return members
}
const quest = (id: string, more: Parameters<typeof questWith>[0] = {}) => {
  return unversioned(questWith({ id, ...more }))
}
const badge = (id: string, more: { readonly criteria?: CriterionParts } = {}) => ({
  ...unversioned(badgeWith({ id })),
  ...more,
})
const rule = (id: string, more: Parameters<typeof ruleWith>[0] = {}) => {
  return unversioned(ruleWith({ id, reward: { xp: 5 }, ...more }))
}
const apply = (definitions: DefinitionsInput, removes = false) =>
  world.ask({ kind: "applyDefinitions", definitions, removes })
const kinds = (definitions: DefinitionsInput, removes = false) =>
  apply(definitions, removes).map(({ kind }) => kind)
const faults = (definitions: DefinitionsInput, removes = false) => {
  const { code, errors } = world.refusal({ kind: "applyDefinitions", definitions, removes })
  expect(code).toBe("invalid_request")
  return errors?.map(({ code, pointer }) => [pointer.replace("/definitions", ""), code])
}

describe("A file of definitions", () => {
  it("creates what is new under the ids of the file, and changes nothing the second time", () => {
    const file = {
      streaks: [unversioned(streakWith({}))],
      badges: [badge("bdg_a")],
      quests: [quest("qst_b", { prerequisites: ["qst_a"] }), quest("qst_a")],
      rules: [rule("rul_a", { reward: { badgeId: "bdg_a" } })],
    }
    const made = ["streak.created", "badge.created", "quest.created", "quest.created"]
    expect(kinds(file)).toEqual([...made, "rule.created"])
    expect([...world.state.quests.keys()]).toEqual(["qst_a", "qst_b"])
    const before = world.state
    world.now += 1_000
    expect(apply(file, true)).toEqual([])
    expect(world.state.rules).toEqual(before.rules)
  })

  it("replaces every member of a definition, and only where one differs", () => {
    apply({ rules: [rule("rul_a", { cooldownSeconds: 60 }), rule("rul_b")] })
    expect(kinds({ rules: [rule("rul_a"), rule("rul_b")] })).toEqual(["rule.updated"])
    expect(world.state.rules.get("rul_a")?.cooldownSeconds).toBe(null)
  })

  it("removes nothing without being told to", () => {
    const streak = (key: string) => unversioned(streakWith({ id: `stk_${key}` }))
    apply({
      streaks: [streak("daily"), streak("weekly")],
      badges: [badge("bdg_a"), badge("bdg_b")],
      quests: [quest("qst_a", { reward: { badgeId: "bdg_a" } })],
      rules: [rule("rul_a", { reward: { badgeId: "bdg_b" } })],
    })
    const less = { streaks: [streak("weekly")], badges: [], quests: [], rules: [] }
    expect(apply(less)).toEqual([])
    expect(apply({}, true)).toEqual([])
    expect(kinds(less, true)).toEqual([
      "rule.updated",
      "quest.updated",
      "badge.updated",
      "badge.updated",
      "streak.updated",
    ])
    expect([...world.state.streaks.values()].map(({ set }) => set)).toEqual([
      "published",
      "archived",
    ])
    expect(world.state.quests.get("qst_a")?.set).toBe("archived")
  })

  it("removes of the kinds that it has, dependents first, and what the rest refers to not at all", () => {
    apply({
      badges: [badge("bdg_a")],
      quests: [quest("qst_a"), quest("qst_b", { prerequisites: ["qst_a"] })],
      rules: [rule("rul_a", { reward: { badgeId: "bdg_a" } })],
    })
    expect(kinds({ quests: [] }, true)).toEqual(["quest.updated", "quest.updated"])
    expect(world.state.rules.get("rul_a")?.set).toBe("published")
    expect(faults({ badges: [] }, true)).toEqual([["/badges", "invalid_value"]])
  })

  it("turns prerequisites round, and refuses those that lead back", () => {
    apply({ quests: [quest("qst_a"), quest("qst_b", { prerequisites: ["qst_a"] })] })
    const turned = [quest("qst_a", { prerequisites: ["qst_b"] }), quest("qst_b")]
    expect(kinds({ quests: turned })).toEqual(["quest.updated", "quest.updated"])
    const circle = [
      quest("qst_c", { prerequisites: ["qst_d"] }),
      quest("qst_d", { prerequisites: ["qst_c"] }),
    ]
    expect(faults({ quests: circle })?.length).toBeGreaterThan(0)
    const own = quest("qst_a", { prerequisites: ["qst_a"] })
    expect(faults({ quests: [own] })).toEqual([["/quests/0/prerequisites/0", "cycle"]])
  })

  it("creates badges after those that they list, by ids of the file or keys, and removes them before", () => {
    const list = (...badges: ReadonlyArray<string>) => ({
      criteria: { kind: "badges" as const, badges },
    })
    const file = {
      badges: [badge("bdg_c", list("bdg_b", "a")), badge("bdg_b", list("bdg_a")), badge("bdg_a")],
    }
    apply(file)
    expect([...world.state.badges.keys()]).toEqual(["bdg_a", "bdg_b", "bdg_c"])
    const { criteria } = world.state.badges.get("bdg_c")!
    expect(criteria).toEqual({ kind: "badges", target: 2, badges: ["b", "a"] })
    expect(apply(file)).toEqual([])
    const turned = [badge("bdg_a", list("bdg_c")), badge("bdg_b"), badge("bdg_c")]
    expect(kinds({ badges: turned }).length).toBe(3)
    const circle = [badge("bdg_b", list("a")), badge("bdg_c", list("b"))]
    expect(faults({ badges: circle })).toEqual([["/badges/0/criteria/badges/0", "cycle"]])
    expect(kinds({ badges: [badge("bdg_c")] }, true)).toEqual(["badge.updated", "badge.updated"])
  })

  it("lists all faults with their places, and changes nothing", () => {
    apply({ badges: [badge("bdg_old")] })
    apply({ badges: [] }, true)
    const before = world.state
    const wrong = {
      settings: { levelCurve: { kind: "linear" as const } },
      badges: [badge("bdg_ok"), badge("bdg_old")],
      quests: [quest("qst_a", { reward: { badgeId: "none" }, endsAt: 1 })],
      rules: [rule("rul_a", { reward: { xp: 0 } })],
    }
    expect(faults(wrong)).toEqual([
      ["/settings/levelCurve/xpPerLevel", "missing"],
      ["/badges/1/key", "unknown_reference"],
      ["/quests/0/endsAt", "out_of_range"],
      ["/quests/0/reward/badgeId", "unknown_reference"],
      ["/rules/0/reward", "missing"],
    ])
    expect(world.state).toBe(before)
  })

  it("changes the status that it names, and keeps the one that it does not", () => {
    apply({ quests: [{ ...quest("qst_a"), set: "draft" }] })
    expect(apply({ quests: [quest("qst_a")] })).toEqual([])
    const setNow = () => world.state.quests.get("qst_a")?.set
    expect(setNow()).toBe("draft")
    for (const set of ["published", "paused", "published"] as const) {
      apply({ quests: [{ ...quest("qst_a"), set }] })
      expect(setNow()).toBe(set)
    }
    const draft = { quests: [{ ...quest("qst_a"), set: "draft" as const }] }
    expect(faults(draft)).toEqual([["/quests/0", "invalid_value"]])
  })

  it("changes as many definitions at once as there may be, and not one more", () => {
    const most = limits.definitionChangesMax
    const rules = Array.from({ length: most + 1 }, (_, index) => rule(`rul_${index}`))
    expect(faults({ rules })).toEqual([["", "too_long"]])
    expect(apply({ rules: rules.slice(1) }).length).toBe(most)
    // Equal definitions do not count.
    expect(apply({ rules }).length).toBe(1)
  })

  it("is refused where its changes look at too many definitions, and applied in parts", () => {
    const where = (value: string) => [{ path: "a", op: "contains" as const, value }]
    const many = Array.from({ length: 400 }, (_, index) =>
      rule(`rul_${index}`, { where: where("x") }),
    )
    const rules = [
      ...many,
      ...many.map((one) => ({ ...one, id: `${one.id}b`, key: `${one.key}b` })),
    ]
    for (let from = 0; from < rules.length; from += 200)
      apply({ rules: rules.slice(from, from + 200) })
    const changed = rules.slice(0, 300).map((one) => ({ ...one, where: where("y") }))
    expect(faults({ rules: changed })).toEqual([["", "too_large"]])
    expect(apply({ rules: changed.slice(0, 100) }).length).toBe(100)
    // Equal definitions take none, and neither do changes that look for nothing.
    expect(apply({ rules: [...changed.slice(0, 100), ...rules.slice(100)] })).toEqual([])
    expect(apply({ rules: rules.map((one) => ({ ...one, where: [] })).slice(0, 400) }).length).toBe(
      400,
    )
    const chain = Array.from({ length: 1_000 }, (_, index) =>
      quest(`qst_${index}`, { prerequisites: index === 0 ? [] : [`qst_${index - 1}`] }),
    )
    expect(apply({ quests: chain.slice(0, 500) }).length).toBe(500)
    expect(faults({ quests: chain.slice(500) })).toEqual([["", "too_large"]])
    expect(apply({ quests: chain.slice(500, 600) }).length).toBe(100)
  })

  it("is refused beyond the definitions that an environment holds", () => {
    const badges = Array.from({ length: limits.badgesMax }, (_, index) => badge(`bdg_${index}`))
    for (let from = 0; from < badges.length; from += limits.definitionChangesMax) {
      apply({ badges: badges.slice(from, from + limits.definitionChangesMax) })
    }
    const more = { badges: [badge("bdg_more")] }
    const command = { kind: "applyDefinitions", definitions: more, removes: false } as const
    expect(world.refusal(command).code).toBe("quota_exceeded")
  })

  it("follows a chain of prerequisites of any length", () => {
    const chain = Array.from({ length: 400 }, (_, index) =>
      quest(`qst_${index}`, { prerequisites: index === 399 ? [] : [`qst_${index + 1}`] }),
    )
    expect(apply({ quests: chain }).length).toBe(400)
    expect(Result.isResult(Result.succeed(apply({ quests: [] }, true)))).toBe(true)
    expect([...world.state.quests.values()].every(({ set }) => set === "archived")).toBe(true)
  })
})
