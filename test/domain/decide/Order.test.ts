/** The order in which one event counts and pays, seen where a limit cuts. */
import { describe, expect, it } from "vitest"
import { World } from "./World.ts"

const gems = (amount: number) => ({
  xp: 0,
  points: 0,
  badgeId: null,
  currencies: { gems: amount },
})

/** A world in which an event `A` reaches something of each kind; each pays 4 gems. */
const fullWorld = (max: number | null): World => {
  const world = new World()
  world.currency({ key: "gems", max })
  // In the opposite order of the payments.
  world.badge({
    id: "bdg_gems",
    key: "counted",
    criteria: { kind: "action_count", action: "A", target: 1, where: [] },
    reward: gems(4),
  })
  world.badge({
    id: "bdg_streak",
    key: "streaky",
    criteria: { kind: "streak", streak: null, target: 1 },
    reward: gems(4),
  })
  world.streak({
    id: "stk_1",
    key: "daily",
    needs: [{ action: "A", target: 1 }],
    milestones: [{ target: 1, reward: gems(4) }],
  })
  const steps = [{ key: "a", action: "A", where: [], target: 1 }]
  world.quest({ id: "qst_1", steps, reward: gems(4), createdAt: 0 })
  world.rule({ id: "rul_1", action: "A", reward: gems(4) })
  return world
}

const sources = (world: World) =>
  world.track("A").facts.flatMap((fact) => {
    if (fact.kind !== "currency.earned" && fact.kind !== "currency.capped") return []
    const [id] = typeof fact.source === "string" ? [fact.source] : Object.values(fact.source)
    return [`${id} ${fact.kind === "currency.earned" ? "" : "-"}${fact.amount}`]
  })

describe("An event that reaches something of each kind", () => {
  it("counts for streaks, then quests, then badges, before anything but rules pays", () => {
    const kinds = fullWorld(null)
      .track("A")
      .facts.map(({ kind }) => kind)
    expect(kinds).toEqual([
      "user.created",
      "currency.earned",
      "streak.extended",
      "streak.milestone_reached",
      "quest.started",
      "quest.progressed",
      "quest.completed",
      "badge.counted",
      "currency.earned",
      "currency.earned",
      "badge.earned",
      "badge.paid",
      "currency.earned",
      "badge.earned",
      "badge.paid",
      "currency.earned",
      "event.tracked",
    ])
  })

  it("pays the rule, the quest, the milestone, then badges, each with the room that is left", () => {
    expect(sources(fullWorld(null))).toEqual([
      "rul_1 4",
      "qst_1 4",
      "stk_1 4",
      "bdg_streak 4",
      "bdg_gems 4",
    ])
    expect(sources(fullWorld(10))).toEqual([
      "rul_1 4",
      "qst_1 4",
      "stk_1 -2",
      "stk_1 2",
      "bdg_streak -4",
      "bdg_gems -4",
    ])
  })
})

describe("A QUEST_COMPLETE event", () => {
  it("pays its quest before the milestone of the streak for which it counts", () => {
    const world = fullWorld(6)
    world.quest({ id: "qst_2", steps: [], reward: gems(4), createdAt: 0 })
    world.streak({
      id: "stk_1",
      key: "daily",
      needs: [{ action: "QUEST_COMPLETE", target: 1 }],
      milestones: [{ target: 1, reward: gems(4) }],
    })
    const { facts } = world.complete("qst_2")
    const paid = facts.flatMap((fact) => (fact.kind === "currency.earned" ? [fact.source] : []))
    expect(paid).toEqual([{ questId: "qst_2" }, { streakId: "stk_1" }])
    expect(world.user?.balances.get("gems")?.amount).toBe(6)
  })
})

describe("A merge of users who reach a quest and a milestone together", () => {
  it("pays the quest, then the milestone, with the room that is left", () => {
    const worldWith = (time: string, action: string): World => {
      const world = new World(time)
      world.currency({ key: "gems", max: 6 })
      world.streak({ id: "stk_1", key: "daily", milestones: [{ target: 2, reward: gems(4) }] })
      const steps = ["A", "B"].map((each) => ({ key: each, action: each, where: [], target: 1 }))
      world.quest({ id: "qst_1", steps, reward: gems(4), createdAt: 0 })
      world.track(action)
      return world
    }
    const visitor = worldWith("2026-11-03T12:00:00Z", "A")
    const world = worldWith("2026-11-04T12:00:00Z", "B")
    const { facts } = world.absorb(visitor, "visitor")
    const paid = facts.flatMap((fact) =>
      fact.kind === "currency.earned" ? [[fact.source, fact.amount]] : [],
    )
    expect(paid).toEqual([
      [{ questId: "qst_1" }, 4],
      [{ streakId: "stk_1" }, 2],
    ])
  })
})
