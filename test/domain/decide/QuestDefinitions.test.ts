import { beforeEach, describe, expect, it } from "@effect/vitest"
import type { QuestChange } from "../../../src/domain/decide/QuestDefinitions.ts"
import type { Quest, Status } from "../../../src/domain/project/Definition.ts"
import { limits } from "../../../src/Limits.ts"
import { badgeWith, questWith, ruleWith } from "../definitions.ts"
import { ProjectWorld } from "./ProjectWorld.ts"

let world: ProjectWorld
beforeEach(() => {
  world = new ProjectWorld()
})

const hour = 3_600_000
const creating = (id: string, more: Partial<Quest> = {}) =>
  ({ kind: "createQuest", quest: questWith({ id, ...more }) }) as const
const updating = (questId: string, change: QuestChange) =>
  ({ kind: "updateQuest", questId, change }) as const
const deleting = (questId: string) => ({ kind: "deleteQuest", questId }) as const

const create = (id: string, more: Partial<Quest> = {}) => world.ask(creating(id, more))
const update = (id: string, change: QuestChange) => world.ask(updating(id, change))
const questOf = (id: string): Quest => world.state.quests.get(id)!

describe("A quest", () => {
  it("is archived also where its fields have faults", () => {
    const quests = new Map([["old", questWith({ id: "old", startsAt: 2, endsAt: 1 })]])
    world.state = { ...world.state, quests }
    expect(world.faults(updating("old", {}))).toEqual([["/endsAt", "out_of_range"]])
    world.ask(deleting("old"))
    expect(questOf("old").set).toBe("archived")
  })

  it("is created with the times of its creation, at the end of the list", () => {
    create("q1", { createdAt: 5, updatedAt: 5, version: 5 })
    create("q2")
    expect([...world.state.quests.keys()]).toEqual(["q1", "q2"])
    expect(questOf("q1")).toMatchObject({
      createdAt: world.now,
      updatedAt: world.now,
      version: 1,
    })
  })

  it("changes the members of a patch, keeps the rest and its place in the list", () => {
    create("q1", { title: "One", reward: { xp: 10, points: 3, badgeId: null } })
    create("q2")
    const createdAt = world.now
    world.now += hour
    const facts = update("q1", { description: "More", reward: { points: 5 } })
    expect(facts).toEqual([{ kind: "quest.updated", quest: questOf("q1") }])
    expect(questOf("q1")).toMatchObject({
      title: "One",
      description: "More",
      reward: { xp: 10, points: 5, badgeId: null },
      createdAt,
      updatedAt: world.now,
      version: 2,
    })
    expect([...world.state.quests.keys()]).toEqual(["q1", "q2"])
  })

  it("has its metadata patched member by member, within the bounds of the whole", () => {
    create("q1", { metadata: { color: "red", art: { icon: "a", size: 1 }, list: [1] } })
    update("q1", { metadata: { color: null, art: { size: 2 }, list: [2, null] } })
    expect(questOf("q1").metadata).toEqual({ art: { icon: "a", size: 2 }, list: [2, null] })
    const half = "x".repeat(limits.metadataBytesMax / 2)
    update("q1", { metadata: { one: half } })
    expect(world.faults(updating("q1", { metadata: { other: half } }))).toEqual([
      ["/metadata", "too_large"],
    ])
  })

  it("that does not exist is not found", () => {
    expect(world.refusal(updating("q1", {})).code).toBe("quest_not_found")
    expect(world.refusal(deleting("__proto__")).code).toBe("quest_not_found")
  })

  it("is refused with all of its faults at once", () => {
    world.ask({ kind: "createBadge", badge: badgeWith({ id: "gone" }) })
    world.ask({ kind: "deleteBadge", badgeId: "gone" })
    create("old")
    world.ask(deleting("old"))
    const reward = { xp: 1, points: 0, badgeId: "gone" }
    const wrong = {
      reward,
      prerequisites: ["none", "old"],
      startsAt: world.now - 1,
      endsAt: world.now - 2,
    }
    expect(world.faults(creating("q1", wrong))).toEqual([
      ["/endsAt", "out_of_range"],
      ["/endsAt", "out_of_range"],
      ["/reward/badgeId", "unknown_reference"],
      ["/prerequisites/0", "unknown_reference"],
      ["/prerequisites/1", "unknown_reference"],
    ])
    create("q1")
    expect(world.faults(updating("q1", { ...wrong, reward: { badgeId: "none" } }))).toEqual([
      ["/endsAt", "out_of_range"],
      ["/reward/badgeId", "unknown_reference"],
      ["/prerequisites/0", "unknown_reference"],
      ["/prerequisites/1", "unknown_reference"],
    ])
    expect(questOf("q1").reward.badgeId).toBeNull()
  })

  it("ends after it starts, and after its creation", () => {
    const times = (startsAt: number, endsAt: number) => ({
      startsAt: world.now + startsAt,
      endsAt: world.now + endsAt,
    })
    create("q1", times(5, 6))
    create("q2", times(-5, 1))
    expect(world.faults(creating("q3", times(5, 5)))).toEqual([["/endsAt", "out_of_range"]])
    expect(world.faults(creating("q3", times(-5, 0)))).toEqual([["/endsAt", "out_of_range"]])
    expect(world.faults(updating("q1", { endsAt: world.now + 5 }))).toEqual([
      ["/endsAt", "out_of_range"],
    ])
  })

  it("requires quests that do not require it", () => {
    create("a")
    create("b", { prerequisites: ["a"] })
    create("c", { prerequisites: ["b", "a"] })
    const cycles = (id: string, prerequisites: ReadonlyArray<string>) =>
      world.faults(updating(id, { prerequisites }))
    expect(cycles("a", ["a"])).toEqual([["/prerequisites/0", "cycle"]])
    expect(cycles("a", ["b"])).toEqual([["/prerequisites/0", "cycle"]])
    create("d")
    expect(cycles("a", ["d", "c"])).toEqual([["/prerequisites/1", "cycle"]])
    update("a", { prerequisites: ["d"] })
    expect(cycles("d", ["c"])).toEqual([["/prerequisites/0", "cycle"]])
  })

  it("is found free of cycles in time, however densely quests refer to each other", () => {
    const layer = (index: number) => Array.from({ length: 10 }, (_, i) => `q${index}_${i}`)
    for (const id of layer(0)) create(id)
    for (let index = 1; index < 20; index++) {
      for (const id of layer(index)) create(id, { prerequisites: layer(index - 1) })
    }
    expect(world.faults(updating("q0_0", { prerequisites: layer(19) }))).toHaveLength(10)
  })

  it("may be one of as many as an environment holds; archived ones do not count", () => {
    for (let index = 0; index < 3; index++) create(`q${index}`)
    // Ten thousand commands would take too long.
    const filler = Array.from({ length: limits.questsMax - 4 }, (_, index) =>
      questWith({ id: `filler${index}` }),
    )
    const quests = new Map(world.state.quests)
    for (const quest of filler) quests.set(quest.id, quest)
    world.state = { ...world.state, quests }
    create("last")
    expect(world.refusal(creating("more")).code).toBe("quota_exceeded")
    world.ask(deleting("q0"))
    create("more")
    expect(world.refusal(creating("again")).code).toBe("quota_exceeded")
  })
})

describe("The status of a quest", () => {
  const future = () => world.now + hour
  /** A quest with each status. */
  const make: Record<Status, () => void> = {
    draft: () => create("q", { set: "draft" }),
    scheduled: () => create("q", { startsAt: future() }),
    active: () => create("q"),
    paused: () => create("q", { set: "paused" }),
    ended: () => {
      create("q", { endsAt: future() })
      world.now += hour
    },
    archived: () => {
      create("q")
      world.ask(deleting("q"))
    },
  }
  const statuses = Object.keys(make) as ReadonlyArray<Status>
  const allowed = new Set([
    "draft active",
    "draft archived",
    "scheduled archived",
    "active paused",
    "active archived",
    "paused active",
    "paused archived",
    "ended archived",
  ])

  it.each(statuses.flatMap((from) => statuses.map((to) => [from, to] as const)))(
    "%s may become %s by hand only as the contract says",
    (from, to) => {
      make[from]()
      expect(world.status("q")).toBe(from)
      if (from !== "archived" && (from === to || allowed.has(`${from} ${to}`))) {
        update("q", { status: to })
        expect(world.status("q")).toBe(to)
        return
      }
      const before = world.state
      expect(world.refusal(updating("q", { status: to })).code).toBe("invalid_transition")
      expect(world.state).toBe(before)
    },
  )

  it("follows the clock", () => {
    create("q", { startsAt: world.now + hour, endsAt: world.now + 3 * hour })
    expect(world.status("q")).toBe("scheduled")
    world.now += hour
    expect(world.status("q")).toBe("active")
    update("q", { status: "paused" })
    world.now += 2 * hour
    expect(world.status("q")).toBe("ended")
    update("q", { endsAt: null })
    expect(world.status("q")).toBe("paused")
    update("q", { status: "active" })
    expect(world.status("q")).toBe("active")
  })

  it("of a published draft follows the clock", () => {
    create("q", { set: "draft", startsAt: world.now + hour })
    update("q", { status: "active" })
    expect(world.status("q")).toBe("scheduled")
    create("late", { set: "draft", endsAt: world.now + hour })
    world.now += hour
    expect(world.refusal(updating("late", { status: "active" })).code).toBe("invalid_transition")
    update("late", { status: "active", endsAt: null })
    expect(world.status("late")).toBe("active")
  })

  it("is active at once for a scheduled quest whose start is taken away with it", () => {
    create("q", { startsAt: world.now + hour })
    update("q", { status: "active", startsAt: null })
    expect(world.status("q")).toBe("active")
  })

  it("keeps the time of its first publication", () => {
    create("q", { set: "draft" })
    world.now += hour
    update("q", { status: "active" })
    const publishedAt = world.now
    expect(questOf("q").publishedAt).toBe(publishedAt)
    world.now += hour
    update("q", { status: "paused" })
    update("q", { status: "active" })
    expect(questOf("q").publishedAt).toBe(publishedAt)
  })

  it("is ended at once by an end that lies in the past", () => {
    create("q")
    update("q", { endsAt: world.now })
    expect(world.status("q")).toBe("ended")
  })
})

describe("A step", () => {
  const step = { key: "a", action: "TAP", where: [], target: 1 }

  it("has the time of the edit that added it to a published quest, or made it count other events", () => {
    create("q", { steps: [step] })
    world.now += hour
    update("q", {
      steps: [
        { ...step, target: 5 },
        { ...step, key: "b" },
      ],
    })
    const added = world.now
    expect(questOf("q").steps.map(({ since }) => since)).toEqual([undefined, added])
    world.now += hour
    const swipe = { ...step, action: "SWIPE" }
    update("q", { steps: [swipe, { ...step, key: "b", since: 0 }] })
    expect(questOf("q").steps.map(({ since }) => since)).toEqual([world.now, added])
  })

  it("of a draft has none", () => {
    create("q", { set: "draft", steps: [step] })
    update("q", { steps: [step, { ...step, key: "b" }] })
    expect(questOf("q").steps.map(({ since }) => since)).toEqual([undefined, undefined])
  })
})

describe("An archived quest", () => {
  it("cannot change and is not found by a second delete", () => {
    create("q")
    expect(world.ask(deleting("q"))).toMatchObject([
      {
        kind: "quest.updated",
        quest: { id: "q", set: "archived", updatedAt: world.now, version: 2 },
      },
    ])
    expect(world.refusal(deleting("q")).code).toBe("quest_not_found")
    expect(world.refusal(updating("q", { title: "Again" })).code).toBe("invalid_transition")
  })

  it("is no prerequisite of other quests", () => {
    create("first")
    create("then", { title: "Then", prerequisites: ["first"], set: "draft" })
    for (const command of [deleting("first"), updating("first", { status: "archived" })]) {
      const { code, detail } = world.refusal(command)
      expect([code, detail]).toEqual(["in_use", expect.stringContaining("quest then (Then)")])
    }
    world.ask(deleting("then"))
    world.ask(deleting("first"))
    expect(world.status("first")).toBe("archived")
  })

  it("lists a few of many dependent quests, and the number of others", () => {
    create("first")
    for (let index = 0; index < 7; index++) create(`q${index}`, { prerequisites: ["first"] })
    expect(world.refusal(deleting("first")).detail).toMatch(/quest q4 \(A quest\) and 2 more\./)
  })

  it("no longer holds the badge that it gave", () => {
    world.ask({ kind: "createBadge", badge: badgeWith({ id: "b" }) })
    create("q", { title: "Q", reward: { xp: 0, points: 0, badgeId: "b" } })
    world.ask({ kind: "createRule", rule: ruleWith({ id: "r", reward: { badgeId: "b" } }) })
    const { code, detail } = world.refusal({ kind: "deleteBadge", badgeId: "b" })
    expect([code, detail]).toEqual([
      "in_use",
      "The badge is used by rule r (TAP), quest q (Q). Change or archive these first.",
    ])
    world.ask({ kind: "deleteRule", ruleId: "r" })
    world.ask(deleting("q"))
    world.ask({ kind: "deleteBadge", badgeId: "b" })
    expect(world.state.badges.get("b")?.set).toBe("archived")
  })

  it("is forgotten when very many were archived after it", () => {
    const quests = new Map(world.state.quests)
    for (let index = 0; index < limits.archivedQuestsMax; index++) {
      quests.set(`old${index}`, questWith({ id: `old${index}`, set: "archived" }))
    }
    world.state = { ...world.state, quests }
    create("stays")
    create("q")
    expect(world.state.quests.has("old0")).toBe(true)
    world.ask(deleting("q"))
    expect([...world.state.quests.keys()].slice(0, 2)).toEqual(["old1", "old2"])
    expect([...world.state.quests.keys()].slice(-2)).toEqual(["stays", "q"])
  })
})
