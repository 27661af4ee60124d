/** Segments of rules, quests and badges: who earns, counts and sees. */
import { describe, expect, it } from "vitest"
import { ActionCount, heldSegments } from "../../../src/domain/record/ActionCount.ts"
import type { Fact } from "../../../src/domain/record/Record.ts"
import { percentOf } from "../../../src/domain/user/Membership.ts"
import { badgeProgress, questProgress } from "../../../src/domain/user/Progress.ts"
import { World } from "./World.ts"

const step = { key: "taps", action: "TAP", where: [], target: 2 }
const segment = "pro"

/** A world with the segment `pro`, of the users with the attribute `plan: "pro"`. */
const proWorld = (): World => {
  const world = new World()
  world.segment({ id: "seg_pro" })
  return world
}

const shown = ({ now, project, user }: World) => [
  ...questProgress(user!, project, now).map(({ questId }) => questId),
  ...badgeProgress(user!, project, now).map(({ id }) => id),
]

const without = (facts: ReadonlyArray<Fact>, kind: Fact["kind"]) =>
  facts.every((fact) => fact.kind !== kind)

describe("A rule with a segment", () => {
  it("pays only members, by the state before the event", () => {
    const world = proWorld()
    world.rule({ reward: { xp: 5 }, segment })
    expect(world.track().reply.xp.earned).toBe(0)
    world.attributes({ plan: "pro" })
    expect(world.track().reply.xp.earned).toBe(5)
    world.attributes({ plan: "free" })
    expect(world.track().reply.xp.earned).toBe(0)
  })

  it("does not pay for what the event itself changes", () => {
    const world = new World()
    world.segment({
      id: "seg_rich",
      conditions: [{ kind: "balance", currency: "xp", op: "gte", value: 10 }],
    })
    world.rule({ id: "rul_1", reward: { xp: 10 } })
    world.rule({ id: "rul_2", reward: { xp: 100 }, segment: "rich" })
    expect(world.track().reply.xp).toEqual({ earned: 10, total: 10 })
    expect(world.track().reply.xp).toEqual({ earned: 110, total: 120 })
  })

  it("uses no limit for an event of others", () => {
    const world = proWorld()
    world.rule({ reward: { xp: 5 }, segment, limit: { times: 1, per: "day" } })
    for (const _ of [1, 2]) expect(without(world.track().facts, "rule.withheld")).toBe(true)
    world.attributes({ plan: "pro" })
    expect(world.track().reply.xp.earned).toBe(5)
  })

  it("knows a percentage of users before their first event", () => {
    const world = new World()
    const value = percentOf("s", "u1")
    for (const [id, op] of [
      ["seg_below", "lt"],
      ["seg_from", "gte"],
    ] as const) {
      world.segment({ id, conditions: [{ kind: "percent", salt: "s", op, value }] })
    }
    world.rule({ id: "rul_1", reward: { xp: 1 }, segment: "below" })
    world.rule({ id: "rul_2", reward: { xp: 10 }, segment: "from" })
    expect(world.track().reply.xp.earned).toBe(10)
  })

  it("follows the time, for days since the creation and since the latest event", () => {
    const world = new World()
    world.segment({
      id: "seg_back",
      conditions: [
        { kind: "inactive_days", op: "gte", value: 7 },
        { kind: "account_age_days", op: "gte", value: 7 },
      ],
    })
    world.rule({ reward: { xp: 5 }, segment: "back" })
    expect(world.track().reply.xp.earned).toBe(0)
    world.at("2026-11-11T11:59:59.999Z")
    // A reward and a change of the profile are no activity.
    world.grant(1)
    world.attributes({})
    expect(world.track().reply.xp.earned).toBe(0)
    world.at("2026-11-18T11:59:59.999Z")
    expect(world.track().reply.xp.earned).toBe(5)
    // A late event does not set the latest one back.
    world.at("2026-11-19T12:00:00Z")
    world.trackAt("2026-11-05T12:00:00Z")
    expect(world.track().reply.xp.earned).toBe(0)
  })
})

describe("A quest with a segment", () => {
  const quest = { id: "qst_1", reward: { xp: 50 }, steps: [step], segment }

  it("is visible and counts only for members; progress of former members stays", () => {
    const world = proWorld()
    world.quest(quest)
    expect(without(world.track().facts, "quest.started")).toBe(true)
    expect(shown(world)).toEqual([])
    world.attributes({ plan: "pro" })
    expect(shown(world)).toEqual(["qst_1"])
    expect(world.track().reply.quests).toMatchObject([{ progress: 0.5 }])
    world.attributes({})
    expect(world.track().reply.quests).toEqual([])
    expect(shown(world)).toEqual(["qst_1"])
    world.attributes({ plan: "pro" })
    expect(world.track().reply).toMatchObject({ xp: { earned: 50 }, quests: [{ progress: 1 }] })
  })

  it("without steps is locked for others", () => {
    const world = proWorld()
    world.quest({ ...quest, steps: [] })
    const event = {
      kind: "event",
      action: "QUEST_COMPLETE",
      metadata: { questId: "qst_1" },
    } as const
    expect(world.refused(event)).toMatchObject({
      code: "quest_locked",
      detail: "The user is not in the segment of the quest.",
    })
    world.attributes({ plan: "pro" })
    expect(world.complete("qst_1").reply.xp.earned).toBe(50)
  })
})

describe("A badge with a segment", () => {
  const criteria = { kind: "action_count", action: "TAP", where: [], target: 2 } as const

  it("is visible, counts and is awarded only for members; owners keep and see it", () => {
    const world = proWorld()
    world.badge({ criteria, segment })
    expect(without(world.track().facts, "badge.counted")).toBe(true)
    expect(shown(world)).toEqual([])
    world.attributes({ plan: "pro" })
    expect(shown(world)).toEqual(["bdg_1"])
    expect(world.track().reply.badges).toEqual([])
    expect(world.track().reply.badges).toMatchObject([{ id: "bdg_1" }])
    world.attributes({})
    expect(shown(world)).toEqual(["bdg_1"])
  })

  it("that others pass by a balance is theirs by a backfill, once they are members", () => {
    const world = proWorld()
    world.badge({ criteria: { kind: "xp", target: 10 }, segment })
    world.grant(10)
    const backfill = { kind: "backfill", badgeId: "bdg_1", notify: false } as const
    expect(world.do(backfill).facts).toEqual([])
    world.attributes({ plan: "pro" })
    expect(world.grant(1).reply.badges).toEqual([])
    expect(world.do(backfill).reply.badges).toMatchObject([{ id: "bdg_1" }])
  })

  it("may be given to anybody by rules, quests and people", () => {
    const world = proWorld()
    world.badge({ segment })
    world.rule({ reward: { badgeId: "bdg_1" } })
    expect(world.track().reply.badges).toMatchObject([{ id: "bdg_1" }])
  })

  it("is counted in the history as it was counted live, whatever became of the user", () => {
    const world = proWorld()
    const badge = world.badge({ criteria: { ...criteria, target: 9 }, segment })
    world.track()
    world.attributes({ plan: "pro" })
    const counted = [world.track(), world.track()]
    world.attributes({})
    world.track()
    world.undo(counted[0]!)
    const count = new ActionCount({ ...badge, criteria })
    for (const record of world.records.toReversed()) count.add(record)
    expect([count.current, world.user!.badgeCounts.get("bdg_1")]).toEqual([1, 1])
    expect(world.records.map((record) => heldSegments(record))).toEqual([
      [],
      [],
      ["pro"],
      ["pro"],
      [],
      [],
      [],
    ])
  })

  it("is not counted in the history for events from before its segment was asked for", () => {
    const world = proWorld()
    world.attributes({ plan: "pro" })
    const early = world.track()
    world.badge({ criteria: { ...criteria, target: 1 }, segment })
    const late = world.track("OTHER")
    const upTo = world.user!.sequence
    const command = { kind: "backfill", badgeId: "bdg_1", notify: false } as const
    world.do({ ...command, counted: 0, countedUpTo: upTo })
    for (const done of [early, late]) world.undo(done)
    expect(world.user!.badgeCounts.get("bdg_1") ?? 0).toBe(0)
  })

  it("that an undo takes from a former member does not return by its criteria", () => {
    const both = (plan: string) => {
      const world = proWorld()
      world.badge({ criteria: { kind: "xp", target: 10 }, segment })
      world.rule({ reward: { badgeId: "bdg_1" } })
      world.grant(20)
      const event = world.track()
      world.attributes({ plan })
      world.undo(event)
      return world.user!.badges.has("bdg_1")
    }
    expect([both("pro"), both("free")]).toEqual([true, false])
  })
})

describe("The record of an event", () => {
  it("has the segments that were asked for and hold, and no others", () => {
    const world = proWorld()
    world.segment({ id: "seg_unused" })
    world.segment({ id: "seg_never", conditions: [{ kind: "level", op: "gt", value: 99 }] })
    world.rule({ id: "rul_1", segment })
    world.rule({ id: "rul_2", segment: "never" })
    world.rule({ id: "rul_3", segment: "unused", action: "OTHER" })
    expect(world.track().facts.at(-1)).not.toHaveProperty("segments")
    world.attributes({ plan: "pro" })
    expect(world.track().facts.at(-1)).toMatchObject({ segments: ["pro"] })
  })
})
