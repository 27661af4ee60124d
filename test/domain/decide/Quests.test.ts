import { describe, expect, it } from "vitest"
import { statusAt } from "../../../src/domain/project/Definition.ts"
import { dueAt } from "../../../src/domain/user/Progress.ts"
import { questWith } from "../definitions.ts"
import { kindsOf, World } from "./World.ts"

const step = (key: string, action: string, target: number) => ({ key, action, where: [], target })

const twoSteps = { reward: { xp: 100 }, steps: [step("taps", "TAP", 2), step("swipe", "SWIPE", 1)] }

const complete = (questId: string) =>
  ({ kind: "event", action: "QUEST_COMPLETE", metadata: { questId } }) as const

describe("The status of a quest", () => {
  it("follows the clock once it is published, to the millisecond", () => {
    const quest = questWith({ startsAt: 100, endsAt: 200 })
    expect([99, 100, 199, 200].map((now) => statusAt(quest, now))).toEqual([
      "scheduled",
      "active",
      "active",
      "ended",
    ])
    expect(statusAt({ ...quest, set: "paused" }, 150)).toBe("paused")
    expect(statusAt({ ...quest, set: "paused" }, 200)).toBe("ended")
    expect(statusAt({ ...quest, set: "draft" }, 150)).toBe("draft")
    expect(statusAt({ ...quest, set: "archived" }, 150)).toBe("archived")
  })
})

describe("A quest with steps", () => {
  it("starts with the first event that counts and completes by itself with the last", () => {
    const world = new World()
    world.quest(twoSteps)
    const first = world.track("TAP")
    expect(kindsOf(first)).toEqual([
      "user.created",
      "quest.started",
      "quest.progressed",
      "event.tracked",
    ])
    expect(first.reply.quests).toEqual([
      {
        questId: "qst_1",
        key: "k1",
        title: "A quest",
        status: "in_progress",
        progress: 1 / 3,
        alreadyCompleted: false,
      },
    ])
    world.track("SWIPE")
    expect(kindsOf(world.track("SWIPE"))).toEqual(["event.tracked"])
    const last = world.track("TAP")
    expect(last.reply).toMatchObject({
      xp: { earned: 100, total: 100 },
      quests: [{ questId: "qst_1", status: "completed", progress: 1 }],
    })
    expect(world.user?.quests.get("qst_1")).toMatchObject({ completedAt: world.now, times: 1 })
    expect(kindsOf(world.track("TAP"))).toEqual(["event.tracked"])
  })

  it("cannot be completed by QUEST_COMPLETE before its steps; then the event is a repeat", () => {
    const world = new World()
    world.quest({ steps: [step("taps", "TAP", 1)] })
    expect(world.refused(complete("qst_1")).code).toBe("quest_incomplete")
    world.track("TAP")
    expect(world.complete("qst_1").reply.quests[0]).toMatchObject({ alreadyCompleted: true })
  })

  it("counts an event for no completed step", () => {
    const world = new World()
    world.quest({ steps: [step("taps", "TAP", 2), step("first tap", "TAP", 1)] })
    world.track("TAP")
    const last = world.track("TAP")
    expect(kindsOf(last)).toEqual(["quest.progressed", "quest.completed", "event.tracked"])
    expect(world.undo(last).reply.quests[0]?.progress).toBe(2 / 3)
  })

  it("counts an event for each of its steps that the event satisfies", () => {
    const world = new World()
    const where = [{ path: "hard", op: "eq", value: true } as const]
    const hard = { ...step("hard", "TAP", 1), where }
    world.quest({ steps: [step("any", "TAP", 2), hard] })
    world.track("TAP", { metadata: { hard: true } })
    expect(world.user?.quests.get("qst_1")?.steps).toEqual({ any: 1, hard: 1 })
    expect(world.track("TAP").reply.quests[0]?.status).toBe("completed")
  })

  it("collects nothing before it starts, after it ends, while it is paused, or for events from before", () => {
    const world = new World()
    const times = {
      startsAt: Date.parse("2026-11-04T12:00:00Z"),
      endsAt: Date.parse("2026-11-05T12:00:00Z"),
    }
    const quest = world.quest({ ...twoSteps, ...times })
    const taps = () => world.user?.quests.get("qst_1")?.steps.taps ?? 0
    world.at("2026-11-04T11:59:59.999Z")
    world.track()
    expect(taps()).toBe(0)
    world.at("2026-11-04T12:00:00Z")
    world.trackAt("2026-11-04T11:59:59.999Z")
    expect(taps()).toBe(0)
    world.quest({ ...quest, set: "paused" })
    world.track()
    expect(taps()).toBe(0)
    world.quest(quest)
    world.track()
    expect(taps()).toBe(1)
    world.at("2026-11-05T12:00:00Z")
    world.track()
    expect(taps()).toBe(1)
  })

  it("is locked until the quests before it are completed, which may be in the same event", () => {
    const world = new World()
    world.quest({ id: "qst_a", steps: [step("a", "TAP", 2)] })
    world.quest({ id: "qst_b", steps: [step("b", "TAP", 1)], prerequisites: ["a"] })
    world.quest({ id: "qst_c", prerequisites: ["b"] })
    expect(world.refused(complete("qst_c")).code).toBe("quest_locked")
    expect(world.track().reply.quests.map(({ questId }) => questId)).toEqual(["qst_a"])
    expect(world.track().reply.quests).toMatchObject([
      { questId: "qst_a", status: "completed" },
      { questId: "qst_b", status: "completed" },
    ])
    expect(world.complete("qst_c").reply.quests[0]?.status).toBe("completed")
  })
})

describe("An edit to a quest that users are midway in", () => {
  const midway = () => {
    const world = new World()
    const quest = world.quest({ reward: { xp: 10 }, steps: [step("taps", "TAP", 3)] })
    world.track()
    world.track()
    return { quest, world }
  }

  it("keeps the count of a step while its key stays; a new step begins at 0", () => {
    const { quest, world } = midway()
    world.quest({ ...quest, steps: [step("taps", "TAP", 3), step("swipes", "SWIPE", 1)] })
    expect(world.track("TAP").reply.quests[0]).toMatchObject({
      status: "in_progress",
      progress: 0.75,
    })
    expect(world.track("SWIPE").reply.quests[0]?.status).toBe("completed")
  })

  it("drops a removed step, and completes with the next event that counts", () => {
    const { quest, world } = midway()
    world.quest({ ...quest, steps: [step("swipes", "SWIPE", 1)] })
    expect(world.track("SWIPE").reply.quests[0]?.status).toBe("completed")
  })

  it("with a lower target completes with the next event that counts", () => {
    const { quest, world } = midway()
    world.quest({ ...quest, steps: [step("taps", "TAP", 1)] })
    expect(world.user?.quests.get("qst_1")?.completedAt).toBeNull()
    expect(world.track("TAP").reply).toMatchObject({
      xp: { earned: 10 },
      quests: [{ status: "completed" }],
    })
  })

  it("with a lower target can also be completed by QUEST_COMPLETE", () => {
    const { quest, world } = midway()
    world.quest({ ...quest, steps: [step("taps", "TAP", 1)] })
    expect(world.complete("qst_1").reply).toMatchObject({
      xp: { earned: 10 },
      quests: [{ status: "completed", alreadyCompleted: false }],
    })
  })

  it("with another action or other conditions keeps the counts", () => {
    const { quest, world } = midway()
    const where = [{ path: "hard", op: "eq", value: true }] as const
    const taps = { key: quest.steps[0]!.key, action: "SWIPE", where, target: 3 }
    world.quest({ ...quest, steps: [taps] })
    for (const [action, hard] of [
      ["TAP", true],
      ["SWIPE", false],
    ] as const) {
      expect(world.track(action, { metadata: { hard } }).reply.quests).toEqual([])
    }
    const { reply } = world.track("SWIPE", { metadata: { hard: true } })
    expect(reply.quests).toMatchObject([{ status: "completed" }])
  })

  it("that removes all steps lets users complete it by QUEST_COMPLETE", () => {
    const { quest, world } = midway()
    world.quest({ ...quest, steps: [] })
    expect(world.track("TAP").reply.quests).toEqual([])
    expect(world.complete("qst_1").reply.xp.earned).toBe(10)
  })

  it("that moves its start holds them up until then, and no longer", () => {
    const { quest, world } = midway()
    const startsAt = world.now + 1_000
    world.quest({ ...quest, startsAt })
    expect(world.track("TAP").reply.quests).toEqual([])
    expect(world.refused({ kind: "tick" }).detail).toBe("Nothing is due for the user.")
    world.now = startsAt
    expect(world.track("TAP").reply.quests).toMatchObject([{ status: "completed" }])
  })

  it("that pauses it stops counting, late events included, until it is active again", () => {
    const { quest, world } = midway()
    world.quest({ ...quest, set: "paused" })
    expect(world.track("TAP").reply.quests).toEqual([])
    expect(world.refused(complete("qst_1")).code).toBe("quest_not_active")
    world.quest(quest)
    expect(world.track("TAP").reply.quests).toMatchObject([{ status: "completed" }])
  })

  it("that moves its end before it has come changes nothing for them", () => {
    const { quest, world } = midway()
    const endsAt = world.now + 1_000
    world.quest({ ...quest, endsAt })
    world.quest({ ...quest, endsAt: endsAt + 1_000 })
    world.now = endsAt
    expect(world.refused({ kind: "tick" }).detail).toBe("Nothing is due for the user.")
    expect(world.track("TAP").reply.quests).toMatchObject([{ status: "completed" }])
  })

  it("that ends it now ends it for them", () => {
    const { quest, world } = midway()
    world.quest({ ...quest, endsAt: world.now })
    expect(dueAt(world.user!, world.project, world.now)).toBe(world.now)
    expect(world.track("TAP").reply.quests).toEqual([])
    expect(kindsOf(world.do({ kind: "tick" }))).toEqual(["quest.expired"])
  })

  it("that changes its recurrence restarts it for all users, completed ones included", () => {
    for (const [from, to] of [
      ["none", "daily"],
      ["daily", "none"],
      ["daily", "weekly"],
      ["weekly", "monthly"],
    ] as const) {
      const world = new World()
      const quest = world.quest({ recurrence: from, steps: [step("taps", "TAP", 2)] })
      world.track()
      world.quest({ ...quest, recurrence: to })
      expect(kindsOf(world.track())).toEqual([
        "quest.expired",
        "quest.started",
        "quest.progressed",
        "event.tracked",
      ])
      expect(world.user?.quests.get("qst_1")).toMatchObject({ steps: { taps: 1 }, times: 0 })
      expect(world.track().reply.quests).toMatchObject([{ status: "completed" }])
      world.quest({ ...quest, recurrence: to === "none" ? "weekly" : "none" })
      for (const status of ["in_progress", "completed"]) {
        expect(world.track().reply.quests).toMatchObject([{ status }])
      }
      expect(world.user?.quests.get("qst_1")?.times).toBe(2)
    }
  })

  it("that asks for other quests first holds them up until they have completed those", () => {
    const { quest, world } = midway()
    world.quest({ id: "before", steps: [] })
    world.quest({ ...quest, prerequisites: ["before"] })
    expect(world.track("TAP").reply.quests).toEqual([])
    expect(world.refused(complete("qst_1")).code).toBe("quest_locked")
    world.quest({ ...quest, prerequisites: [] })
    world.quest({ ...quest, prerequisites: ["before"] })
    world.complete("before")
    expect(world.track("TAP").reply.quests).toMatchObject([{ status: "completed" }])
  })

  it("keeps completions, whatever the new steps", () => {
    const { quest, world } = midway()
    world.track("TAP")
    world.quest({ id: "before", steps: [] })
    const steps = [...quest.steps, step("more", "TAP", 9)]
    world.quest({ ...quest, steps, prerequisites: ["before"] })
    expect(world.track("TAP").reply.quests).toEqual([])
    expect(world.complete("qst_1").reply).toMatchObject({
      xp: { earned: 0 },
      quests: [{ status: "completed", alreadyCompleted: true }],
    })
  })

  it("to its reward counts for completions from then on", () => {
    const { quest, world } = midway()
    world.quest({ ...quest, reward: { xp: 70, points: 7, badgeId: null } })
    expect(world.track("TAP").reply.xp.earned).toBe(70)
  })

  it("that archives it ends it for them", () => {
    const { quest, world } = midway()
    world.quest({ ...quest, set: "archived" })
    expect(dueAt(world.user!, world.project, world.now)).toBe(world.now)
    expect(kindsOf(world.do({ kind: "tick" }))).toEqual(["quest.expired"])
    expect(world.refused(complete("qst_1")).code).toBe("quest_not_active")
  })
})

describe("A quest that recurs", () => {
  it("gives its reward once in each period, and restarts in the next", () => {
    const world = new World()
    world.settings({ timezone: "America/New_York" })
    world.quest({ recurrence: "daily", reward: { xp: 5 } })
    world.at("2026-11-05T04:59:59.999Z")
    expect(world.complete("qst_1").reply.xp.earned).toBe(5)
    expect(world.complete("qst_1").reply.quests[0]?.alreadyCompleted).toBe(true)
    world.at("2026-11-05T05:00:00.000Z")
    expect(world.complete("qst_1").reply).toMatchObject({
      xp: { earned: 5, total: 10 },
      quests: [{ status: "completed", alreadyCompleted: false }],
    })
    expect(world.user?.quests.get("qst_1")?.times).toBe(2)
    expect(world.user?.questsCompleted).toBe(2)
  })

  it("expires with its period: noted by the clock, else by the next event that counts", () => {
    for (const ticked of [true, false]) {
      const world = new World()
      world.quest({ recurrence: "weekly", steps: [step("taps", "TAP", 2)] })
      world.track()
      expect(dueAt(world.user!, world.project, world.now)).toBe(Date.parse("2026-11-09T00:00:00Z"))
      world.at("2026-11-09T00:00:00Z")
      if (ticked) expect(kindsOf(world.do({ kind: "tick" }))).toEqual(["quest.expired"])
      const next = kindsOf(world.track())
      expect(next.includes("quest.expired")).toBe(!ticked)
      expect(next).toContain("quest.started")
      expect(world.user?.quests.get("qst_1")).toMatchObject({ steps: { taps: 1 }, expired: false })
    }
  })

  it("does not count a late event of a period that is over", () => {
    const world = new World()
    world.quest({ recurrence: "daily", steps: [step("taps", "TAP", 1)] })
    expect(world.trackAt("2026-11-03T23:59:59.999Z").reply.quests).toEqual([])
    expect(world.trackAt("2026-11-04T00:00:00Z").reply.quests[0]?.status).toBe("completed")
  })
})

describe("A quest that ends", () => {
  it("expires for users midway, and restarts for them if it is opened again", () => {
    const world = new World()
    const endsAt = world.now + 1_000
    const quest = world.quest({ endsAt, steps: [step("taps", "TAP", 2)] })
    world.track()
    expect(dueAt(world.user!, world.project, world.now)).toBe(endsAt)
    world.now = endsAt
    expect(kindsOf(world.do({ kind: "tick" }))).toEqual(["quest.expired"])
    expect(dueAt(world.user!, world.project, world.now)).toBe(Number.POSITIVE_INFINITY)
    world.quest({ ...quest, endsAt: null })
    expect(kindsOf(world.track())).toEqual(["quest.started", "quest.progressed", "event.tracked"])
  })
})

describe("An event from before a quest", () => {
  const year2019 = Date.parse("2019-05-01T12:00:00Z")

  it("does not count for it where the quest has no start, even if it is imported", () => {
    const world = new World()
    world.quest({ ...twoSteps, createdAt: world.now })
    const imported = { occurredAt: year2019, imported: true } as const
    for (const action of ["TAP", "TAP", "SWIPE"]) {
      expect(world.track(action, imported).reply.quests).toEqual([])
    }
    expect(world.trackAt("2026-11-04T11:59:59.999Z").reply.quests).toEqual([])
    expect(world.trackAt("2026-11-04T12:00:00Z").reply.quests).toHaveLength(1)
  })

  it("counts if the quest has a start before the event", () => {
    const world = new World()
    world.quest({ ...twoSteps, createdAt: world.now, startsAt: year2019 })
    const imported = { occurredAt: year2019, imported: true } as const
    expect(world.track("TAP", imported).reply.quests).toHaveLength(1)
  })

  it("does not count for a draft that is published later, nor for a step that is added later", () => {
    const world = new World()
    world.quest({ ...twoSteps, createdAt: 0, publishedAt: world.now - 1_000 })
    expect(world.trackAt("2026-11-04T11:59:58Z").reply.quests).toEqual([])
    expect(world.trackAt("2026-11-04T11:59:59Z").reply.quests).toHaveLength(1)
    const steps = [...twoSteps.steps, { ...step("read", "READ", 1), since: world.now }]
    world.quest({ ...twoSteps, steps, createdAt: 0 })
    expect(world.trackAt("2026-11-04T11:59:59.999Z", "READ").reply.quests).toEqual([])
    expect(world.track("READ").reply.quests).toHaveLength(1)
  })

  it("does not complete it by QUEST_COMPLETE", () => {
    const world = new World()
    const { id } = world.quest({ createdAt: world.now })
    const early = { ...complete(id), occurredAt: world.now - 1 }
    expect(world.refused(early)).toMatchObject({
      code: "quest_not_active",
      detail: "The event occurred before the quest started.",
    })
    expect(world.complete(id).reply.quests).toMatchObject([{ status: "completed" }])
  })
})
