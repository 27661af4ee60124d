import { describe, expect, it } from "vitest"
import { actionIndexOf } from "../../../src/domain/project/ActionIndex.ts"
import {
  defaultSettings,
  emptyProject,
  type ProjectState,
} from "../../../src/domain/project/Project.ts"
import { crossedBy } from "../../../src/domain/project/Thresholds.ts"
import type { Fact } from "../../../src/domain/record/Record.ts"
import { Random } from "../../simulation/random.ts"
import { badgeWith, questWith, ruleWith, streakWith, withFacts } from "../definitions.ts"

const indexOf = (...facts: ReadonlyArray<Fact>) => actionIndexOf(withFacts(emptyProject, facts), 0)

describe("The index of definitions", () => {
  it("is kept when a record changes no definition, and rebuilt when one does", () => {
    const after = (project: ProjectState, fact: Fact) => withFacts(project, [fact])
    const project = after(emptyProject, { kind: "rule.created", rule: ruleWith({}) })
    const index = actionIndexOf(project, 0)
    const answered = after(project, { kind: "batch.answered", answer: { outcomes: [] } })
    expect(actionIndexOf(answered, 0)).toBe(index)
    const changes: ReadonlyArray<Fact> = [
      { kind: "rule.updated", rule: ruleWith({ set: "archived" }) },
      { kind: "quest.created", quest: questWith({}) },
      { kind: "badge.created", badge: badgeWith({}) },
      { kind: "project.updated", settings: { ...defaultSettings, name: "New" } },
    ]
    for (const change of changes) {
      expect(actionIndexOf(after(answered, change), 0)).not.toBe(index)
    }
  })

  it("has only the rules and badges that are open now, and all published ones for late events", () => {
    const criteria = { kind: "xp", target: 1 } as const
    const project = withFacts(emptyProject, [
      { kind: "rule.created", rule: ruleWith({ id: "always" }) },
      { kind: "rule.created", rule: ruleWith({ id: "past", endsAt: 100 }) },
      { kind: "rule.created", rule: ruleWith({ id: "coming", startsAt: 200 }) },
      {
        kind: "badge.created",
        badge: badgeWith({ id: "b", criteria, startsAt: 100, endsAt: 200 }),
      },
    ])
    const found = (now: number, at = now) => {
      const { byAction, thresholds } = actionIndexOf(project, now, at)
      const rules = byAction
        .get("TAP")!
        .matching({})
        .rules.map(({ id }) => id)
      return [...rules, ...thresholds.xp.awards.map(({ badge }) => badge.id)]
    }
    expect(found(99)).toEqual(["always", "past"])
    expect(found(100)).toEqual(["always", "b"])
    expect(found(199)).toEqual(["always", "b"])
    expect(actionIndexOf(project, 150)).toBe(actionIndexOf(project, 199, 100))
    expect(found(200)).toEqual(["always", "coming"])
    expect(found(250, 199)).toEqual(["always", "past", "coming", "b"])
    expect(actionIndexOf(project, 250)).toBe(actionIndexOf(project, 260, 200))
  })

  it("lists the definitions of an action in the order of creation", () => {
    const step = (key: string, action: string) => ({ key, action, where: [], target: 1 })
    const index = indexOf(
      { kind: "rule.created", rule: ruleWith({ id: "r1", action: "A" }) },
      { kind: "rule.created", rule: ruleWith({ id: "off", action: "A", set: "paused" }) },
      { kind: "rule.created", rule: ruleWith({ id: "r2", action: "B" }) },
      { kind: "rule.created", rule: ruleWith({ id: "r3", action: "A" }) },
      {
        kind: "quest.created",
        quest: questWith({ id: "q1", steps: [step("x", "A"), step("y", "B"), step("z", "A")] }),
      },
      {
        kind: "quest.created",
        quest: questWith({ id: "q2", set: "draft", steps: [step("x", "A")] }),
      },
      {
        kind: "badge.created",
        badge: badgeWith({ criteria: { kind: "action_count", action: "A", where: [], target: 1 } }),
      },
      { kind: "streak.created", streak: streakWith({ id: "stk_any" }) },
      {
        kind: "streak.created",
        streak: streakWith({ id: "stk_a", needs: [{ action: "A", target: 2 }] }),
      },
      { kind: "streak.created", streak: streakWith({ id: "stk_draft", set: "draft" }) },
    )
    const entry = index.byAction.get("A")!
    const { badges, rules, steps } = entry.matching(undefined)
    expect(rules.map(({ id }) => id)).toEqual(["r1", "r3"])
    expect(steps.map(({ quest, steps }) => [quest.id, steps.map(({ key }) => key)])).toEqual([
      ["q1", ["x", "z"]],
    ])
    expect(badges.map(({ badge }) => badge.id)).toEqual(["bdg_1"])
    expect(entry.streaks.map(({ key }) => key)).toEqual(["any", "a"])
    expect(index.byAction.get("B")?.streaks.map(({ key }) => key)).toEqual(["any"])
    expect(index.other.streaks).toMatchObject([{ key: "any" }])
    expect(index.other.matching({})).toEqual({
      metrics: [],
      rules: [],
      steps: [],
      badges: [],
      work: 0,
    })
  })

  it("finds the badges whose target a number passes, like a scan of all badges", () => {
    const random = new Random(1)
    const badges = Array.from({ length: 60 }, (_, n) =>
      badgeWith({ id: `b${n}`, criteria: { kind: "xp", target: random.integer(1, 40) } }),
    )
    const { xp } = indexOf(
      ...badges.map((badge) => ({ kind: "badge.created", badge }) as const),
    ).thresholds
    for (let before = -1; before <= 41; before++) {
      for (let after = before - 1; after <= 42; after++) {
        const found = crossedBy(xp, before, after).map(({ badge }) => badge.id)
        const expected = badges.filter(
          ({ criteria }) =>
            "target" in criteria && criteria.target > before && criteria.target <= after,
        )
        expect(found.toSorted()).toEqual(expected.map(({ id }) => id).toSorted())
      }
    }
  })
})
