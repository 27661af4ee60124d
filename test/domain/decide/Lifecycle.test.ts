/** What definitions of every kind have in common: keys, periods, statuses, the archive. */
import { beforeEach, describe, expect, it } from "vitest"
import type { ProjectCommand } from "../../../src/domain/decide/Project.ts"
import {
  type Definition,
  type Status,
  statusAt,
  statuses,
} from "../../../src/domain/project/Definition.ts"
import { limits } from "../../../src/Limits.ts"
import { badgeWith, questWith, ruleWith } from "../definitions.ts"
import { ProjectWorld } from "./ProjectWorld.ts"
import { World } from "./World.ts"

type Members = Partial<Pick<Definition, "key" | "set" | "startsAt" | "endsAt" | "metadata">>
type Change = { readonly status?: Status; readonly startsAt?: number; readonly endsAt?: number }

interface Kind {
  readonly noun: "rule" | "quest" | "badge"
  readonly create: (id: string, members?: Members) => ProjectCommand
  readonly update: (id: string, change: Change) => ProjectCommand
  readonly remove: (id: string) => ProjectCommand
  readonly all: (world: ProjectWorld) => ReadonlyMap<string, Definition>
}

/** Without `key`, so that the decision makes one. */
const keyless = <A extends Definition>({ key: _, ...definition }: A, members: Members) => ({
  ...definition,
  ...members,
})

const kinds: ReadonlyArray<readonly [string, Kind]> = [
  [
    "rule",
    {
      noun: "rule",
      create: (id, members = {}) => ({
        kind: "createRule",
        rule: keyless(ruleWith({ id, action: "LESSON_DONE" }), members),
      }),
      update: (ruleId, change) => ({ kind: "updateRule", ruleId, change }),
      remove: (ruleId) => ({ kind: "deleteRule", ruleId }),
      all: ({ state }) => state.rules,
    },
  ],
  [
    "quest",
    {
      noun: "quest",
      create: (id, members = {}) => ({
        kind: "createQuest",
        quest: keyless(questWith({ id, title: "Lesson_done" }), members),
      }),
      update: (questId, change) => ({ kind: "updateQuest", questId, change }),
      remove: (questId) => ({ kind: "deleteQuest", questId }),
      all: ({ state }) => state.quests,
    },
  ],
  [
    "badge",
    {
      noun: "badge",
      create: (id, members = {}) => ({
        kind: "createBadge",
        badge: keyless(badgeWith({ id, name: "Lesson_done" }), members),
      }),
      update: (badgeId, change) => ({ kind: "updateBadge", badgeId, change }),
      remove: (badgeId) => ({ kind: "deleteBadge", badgeId }),
      all: ({ state }) => state.badges,
    },
  ],
]

let world: ProjectWorld
beforeEach(() => {
  world = new ProjectWorld()
})

const hour = 3_600_000

describe.each(kinds)("A %s", (_name, kind) => {
  const of = (id: string) => kind.all(world).get(id)!
  const status = (id = "a") => statusAt(of(id), world.now)

  it("has the key that it is given, or one made from its name", () => {
    world.ask(kind.create("a"))
    world.ask(kind.create("b", { key: "own-key" }))
    world.ask(kind.create("c"))
    expect(["a", "b", "c"].map((id) => of(id).key)).toEqual([
      "lesson_done",
      "own-key",
      "lesson_done-2",
    ])
  })

  it("is named by its key or id in commands", () => {
    world.ask(kind.create("a", { key: "own" }))
    world.ask(kind.update("own", { status: "paused" }))
    expect(of("a").set).toBe("paused")
    world.ask(kind.remove("own"))
    expect(of("a").set).toBe("archived")
  })

  it("keeps its key when it is archived", () => {
    world.ask(kind.create("a", { key: "own" }))
    expect(world.refusal(kind.create("b", { key: "own" })).code).toBe("key_taken")
    world.ask(kind.remove("a"))
    const refusal = world.refusal(kind.create("b", { key: "own" }))
    expect(refusal.code).toBe("key_taken")
    expect(refusal.detail).toContain(`${kind.noun} a`)
  })

  it("shares its key with definitions of other kinds", () => {
    for (const [, other] of kinds) world.ask(other.create("x", { key: "same" }))
    expect(of("x").key).toBe("same")
  })

  it("starts and ends by the clock, to the millisecond", () => {
    const [startsAt, endsAt] = [world.now + hour, world.now + 2 * hour]
    world.ask(kind.create("a", { startsAt, endsAt }))
    const at = (now: number) => statusAt(of("a"), now)
    expect([startsAt - 1, startsAt, endsAt - 1, endsAt].map(at)).toEqual([
      "scheduled",
      "active",
      "active",
      "ended",
    ])
  })

  it("ends after it starts and, when it is new, in the future", () => {
    const { now } = world
    const end = ["/endsAt", "out_of_range"]
    expect(world.faults(kind.create("a", { endsAt: now }))).toEqual([end])
    world.ask(kind.create("a", { startsAt: now + 1, endsAt: now + 2 }))
    expect(world.faults(kind.create("b", { startsAt: now + 1, endsAt: now + 1 }))).toEqual([end])
    expect(world.faults(kind.update("a", { endsAt: now + 1 }))).toEqual([end])
    world.ask(kind.update("a", { startsAt: now, endsAt: now + 1 }))
  })

  it("is a draft until it is published, and pauses and resumes", () => {
    world.ask(kind.create("a", { set: "draft" }))
    expect(status()).toBe("draft")
    world.ask(kind.update("a", { status: "active" }))
    expect(status()).toBe("active")
    world.ask(kind.update("a", { status: "paused" }))
    expect(status()).toBe("paused")
    world.ask(kind.update("a", { status: "active" }))
    expect(status()).toBe("active")
  })

  it("is scheduled when it is published before its start", () => {
    world.ask(kind.create("a", { set: "draft", startsAt: world.now + hour }))
    world.ask(kind.update("a", { status: "active" }))
    expect(status()).toBe("scheduled")
  })

  it("changes its status only as the lifecycle allows", () => {
    const allowed: Readonly<Record<Status, ReadonlyArray<Status>>> = {
      draft: ["draft", "active", "archived"],
      scheduled: ["scheduled", "archived"],
      active: ["active", "paused", "archived"],
      paused: ["active", "paused", "archived"],
      ended: ["ended", "archived"],
      archived: [],
    }
    const members: Readonly<Record<Status, Members>> = {
      draft: { set: "draft" },
      scheduled: { startsAt: world.now + 3 * hour },
      active: {},
      paused: { set: "paused" },
      ended: { endsAt: world.now + hour },
      archived: {},
    }
    for (const from of statuses) {
      for (const to of statuses) {
        world = new ProjectWorld()
        world.ask(kind.create("a", members[from]))
        if (from === "archived") world.ask(kind.remove("a"))
        world.now += 2 * hour
        expect(status()).toBe(from)
        const command = kind.update("a", { status: to })
        if (allowed[from].includes(to)) {
          world.ask(command)
          expect([from, to, status()]).toEqual([from, to, to])
        } else
          expect([from, to, world.refusal(command).code]).toEqual([from, to, "invalid_transition"])
      }
    }
  })

  it("is archived by a delete from every status, and by no second one", () => {
    for (const members of [
      { set: "draft" },
      { set: "paused" },
      { startsAt: world.now + hour },
      {},
    ]) {
      world = new ProjectWorld()
      world.ask(kind.create("a", members as Members))
      world.ask(kind.remove("a"))
      expect(status()).toBe("archived")
      expect(world.refusal(kind.remove("a")).code).toBe(`${kind.noun}_not_found`)
    }
  })

  it("has metadata of the size of an event's at most", () => {
    const metadataOf = (bytes: number) => ({ text: "x".repeat(bytes - '{"text":""}'.length) })
    world.ask(kind.create("a", { metadata: metadataOf(limits.metadataBytesMax) }))
    const larger = kind.create("b", { metadata: metadataOf(limits.metadataBytesMax + 1) })
    expect(world.faults(larger)).toEqual([["/metadata", "too_large"]])
  })
})

describe("A badge that other definitions give", () => {
  it("is archived only once these are archived, and the refusal names them", () => {
    world.ask({ kind: "createBadge", badge: badgeWith({ id: "b" }) })
    const gives = { reward: { badgeId: "b" } }
    world.ask({ kind: "createRule", rule: ruleWith({ id: "r", set: "paused", ...gives }) })
    world.ask({ kind: "createQuest", quest: questWith({ id: "q", set: "draft", ...gives }) })
    const archive = [
      { kind: "deleteBadge", badgeId: "b" },
      { kind: "updateBadge", badgeId: "b", change: { status: "archived" } },
    ] as const
    for (const command of archive) {
      const { code, detail } = world.refusal(command)
      expect(code).toBe("in_use")
      expect(detail).toContain("rule r (TAP), quest q (A quest)")
    }
    world.ask({ kind: "deleteQuest", questId: "q" })
    expect(world.refusal(archive[0]).code).toBe("in_use")
    world.ask({ kind: "deleteRule", ruleId: "r" })
    world.ask(archive[1])
    expect(world.state.badges.get("b")?.set).toBe("archived")
  })
})

describe("Archived rules", () => {
  it("are kept up to the maximum, the oldest are dropped first", () => {
    const rules = new Map(
      Array.from({ length: limits.archivedRulesMax }, (_, index) => {
        const rule = ruleWith({ id: `r${index}`, set: "archived" })
        return [rule.id, rule] as const
      }),
    )
    world.state = { ...world.state, rules }
    world.ask({ kind: "createRule", rule: ruleWith({ id: "last", key: "last" }) })
    expect(world.state.rules.size).toBe(limits.archivedRulesMax + 1)
    expect(world.refusal({ kind: "createRule", rule: ruleWith({ id: "x", key: "r0" }) }).code).toBe(
      "key_taken",
    )
    world.ask({ kind: "deleteRule", ruleId: "last" })
    expect(world.state.rules.size).toBe(limits.archivedRulesMax)
    expect(world.state.rules.has("r0")).toBe(false)
    expect(world.state.rules.has("last")).toBe(true)
  })
})

/* What definitions pay, by the time of the event. */

describe("A rule with a period", () => {
  const users = () => {
    const world = new World()
    const [startsAt, endsAt] = [world.now - 2 * hour, world.now + 2 * hour]
    world.rule({ reward: { xp: 5 }, startsAt, endsAt })
    return { world, startsAt, endsAt }
  }
  const xpOf = (world: World, occurredAt: number) => {
    world.user = undefined
    return world.track("TAP", { occurredAt }).reply.xp.earned
  }

  it("pays for what occurred in it, on both sides of its edges", () => {
    const { endsAt, startsAt, world } = users()
    world.now = endsAt + hour
    expect([startsAt - 1, startsAt, endsAt - 1, endsAt].map((ms) => xpOf(world, ms))).toEqual([
      0, 5, 5, 0,
    ])
  })

  it("pays at the moment of its start, and not at that of its end", () => {
    const { endsAt, startsAt, world } = users()
    const now = (ms: number) => {
      world.now = ms
      return xpOf(world, ms)
    }
    expect([startsAt - 1, startsAt, endsAt - 1, endsAt].map(now)).toEqual([0, 5, 5, 0])
  })

  it("is undone after it has ended", () => {
    const { endsAt, world } = users()
    const done = world.track("TAP")
    world.now = endsAt + hour
    world.undo(done)
    expect(world.user?.xp).toBe(0)
  })

  it("pays nothing while it is paused, a draft or archived", () => {
    for (const set of ["draft", "paused", "archived"] as const) {
      const world = new World()
      world.rule({ set })
      expect([set, world.track("TAP").reply.xp.earned]).toEqual([set, 0])
    }
  })
})

describe("A badge that is not active", () => {
  const criteria = { kind: "action_count", action: "TAP", target: 2, where: [] } as const

  it("counts while it is paused, and is not awarded", () => {
    const world = new World()
    const badge = world.badge({ criteria, set: "paused" })
    world.track("TAP")
    expect(world.track("TAP").reply.badges).toEqual([])
    expect(world.user?.badgeCounts.get("bdg_1")).toBe(2)
    world.badge({ ...badge, set: "published" })
    // Only an event that reaches the target awards it: the others get it by a backfill.
    expect(world.track("TAP").reply.badges).toEqual([])
    const backfill = { kind: "backfill", badgeId: "bdg_1", notify: false } as const
    expect(world.do(backfill).facts).toMatchObject([{ kind: "badge.earned" }])
  })

  it("counts nothing as a draft or archived", () => {
    for (const set of ["draft", "archived"] as const) {
      const world = new World()
      world.badge({ criteria, set })
      world.track("TAP")
      expect([set, world.user?.badgeCounts.get("bdg_1")]).toEqual([set, undefined])
    }
  })

  it("counts and is awarded for what occurred in its period, on both sides of its edges", () => {
    const world = new World()
    const [startsAt, endsAt] = [world.now - hour, world.now + hour]
    world.badge({ criteria: { ...criteria, target: 1 }, startsAt, endsAt })
    world.now = endsAt + hour
    const earned = [startsAt - 1, startsAt, endsAt - 1, endsAt].map((occurredAt) => {
      world.user = undefined
      const { badges } = world.track("TAP", { occurredAt }).reply
      return [badges.length, world.user!.badgeCounts.get("bdg_1") ?? 0]
    })
    expect(earned).toEqual([
      [0, 0],
      [1, 1],
      [1, 1],
      [0, 0],
    ])
  })

  it("is given by no rule, and by no reward", () => {
    const inactive: ReadonlyArray<Partial<Definition>> = [
      { set: "draft" },
      { set: "paused" },
      { startsAt: Date.parse("2030-01-01") },
      { endsAt: Date.parse("2020-01-01") },
    ]
    for (const members of inactive) {
      const world = new World()
      world.badge(members)
      world.rule({ reward: { badgeId: "bdg_1" } })
      expect(world.track("TAP").reply.badges).toEqual([])
      const give = { kind: "reward", type: "badge", badgeId: "bdg_1" } as const
      expect(world.refused(give).code).toBe("badge_not_active")
    }
  })

  it("has no backfill", () => {
    for (const set of ["draft", "paused"] as const) {
      world = new ProjectWorld()
      world.ask({ kind: "createBadge", badge: badgeWith({ id: "b", criteria, set }) })
      const start = { kind: "startBackfill", badgeId: "b", notify: false } as const
      expect(world.refusal(start).code).toBe("invalid_transition")
    }
  })
})
