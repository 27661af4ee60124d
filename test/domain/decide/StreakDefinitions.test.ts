import { beforeEach, describe, expect, it } from "vitest"
import type { StreakChange } from "../../../src/domain/decide/StreakDefinitions.ts"
import type { Definition } from "../../../src/domain/project/Definition.ts"
import type { Streak } from "../../../src/domain/project/StreakDefinition.ts"
import { limits } from "../../../src/Limits.ts"
import { badgeWith, streakWith } from "../definitions.ts"
import { ProjectWorld } from "./ProjectWorld.ts"

let world: ProjectWorld
beforeEach(() => {
  world = new ProjectWorld()
})

/** The definition as a caller sends it. */
const unversioned = <A extends Definition>(definition: A) => {
  const { createdAt: _, set: __, updatedAt: ___, version: ____, ...members } = definition
  return members
}
const creating = (streak: Partial<Streak> = {}) =>
  ({ kind: "createStreak", streak: unversioned(streakWith(streak)) }) as const
const updating = (change: StreakChange) =>
  ({ kind: "updateStreak", streakId: "daily", change }) as const
const deleting = (streakId = "daily") => ({ kind: "deleteStreak", streakId }) as const
const now = () => world.state.streaks.get("stk_daily")!

describe("A streak", () => {
  it("is created, changed and archived, and its key stays taken", () => {
    const milestones = [5, 2].map((target) => ({
      target,
      reward: { xp: target, points: 0, badgeId: null },
    }))
    world.ask(creating({ restDays: ["sunday", "friday"], milestones }))
    expect(now()).toMatchObject({ set: "published", version: 1, restDays: ["friday", "sunday"] })
    expect(now().milestones.map(({ target }) => target)).toEqual([2, 5])
    world.ask(updating({ name: "Days", status: "paused" }))
    expect(now()).toMatchObject({ name: "Days", set: "paused", version: 2 })
    world.ask(updating({ status: "active" }))
    world.ask(deleting())
    expect(world.refusal(deleting()).code).toBe("streak_not_found")
    expect(world.refusal(updating({ name: "x" })).code).toBe("invalid_transition")
    expect(world.refusal(creating({ id: "stk_other", key: "daily" })).code).toBe("key_taken")
  })

  it("keeps its former freezes and rest days, the latest of them", () => {
    world.ask(creating())
    world.ask(updating({ name: "Days" }))
    expect(now()).not.toHaveProperty("termsBefore")
    for (let max = 1; max <= limits.streakEditsMax + 1; max++) {
      world.now += 1
      world.ask(updating({ freezes: { initial: 0, max, everyDays: null } }))
    }
    expect(now().termsBefore).toHaveLength(limits.streakEditsMax)
    expect(now().termsBefore!.at(-1)).toEqual({
      freezes: { initial: 0, max: limits.streakEditsMax, everyDays: null },
      restDays: [],
      until: world.now,
    })
    expect(now().termsBefore![0]!.freezes.max).toBe(1)
  })

  it("has rest days only if it is of days, and no more freezes at first than at most", () => {
    expect(world.faults(creating({ every: "week", restDays: ["sunday"] }))).toEqual([
      ["/restDays", "invalid_value"],
    ])
    const freezes = { initial: 3, max: 2, everyDays: null }
    expect(world.faults(creating({ freezes }))).toEqual([["/freezes/initial", "out_of_range"]])
  })

  it("pays badges and currencies that exist, which then cannot be archived", () => {
    const reward = { xp: 0, points: 0, badgeId: "bdg_1", currencies: { gems: 2 } }
    const milestones = [{ target: 2, reward }]
    expect(world.faults(creating({ milestones }))).toEqual([
      ["/milestones/0/reward/badgeId", "unknown_reference"],
      ["/milestones/0/reward/currencies/gems", "unknown_reference"],
    ])
    world.ask({ kind: "createBadge", badge: badgeWith({ id: "bdg_1" }) })
    const spent = { spendable: true, max: null, earnLimit: null, refill: null }
    const currency = { id: "cur_gems", key: "gems", name: "Gems", ...spent }
    world.ask({ kind: "createCurrency", currency })
    world.ask(creating({ milestones }))
    for (const command of [
      { kind: "deleteBadge", badgeId: "bdg_1" } as const,
      { kind: "deleteCurrency", currencyId: "gems" } as const,
    ]) {
      const { code, detail } = world.refusal(command)
      expect([code, detail]).toEqual(["in_use", expect.stringContaining("streak stk_daily")])
    }
    world.ask(deleting())
    world.ask({ kind: "deleteBadge", badgeId: "bdg_1" })
  })

  it("cannot be archived while badges are earned by it", () => {
    world.ask(creating())
    world.ask(creating({ id: "stk_weekly", every: "week" }))
    const criteria = { kind: "streak", target: 7, streak: "daily" } as const
    world.ask({ kind: "createBadge", badge: badgeWith({ id: "b", name: "Week", criteria }) })
    const any = { kind: "streak", target: 7, streak: null } as const
    world.ask({ kind: "createBadge", badge: badgeWith({ id: "any", criteria: any }) })
    for (const command of [deleting(), updating({ status: "archived" })]) {
      const { code, detail } = world.refusal(command)
      expect([code, detail]).toEqual([
        "in_use",
        "The streak is used by badge b (Week). Change or archive these first.",
      ])
    }
    world.ask(deleting("weekly"))
    world.ask({ kind: "deleteBadge", badgeId: "b" })
    world.ask(deleting())
    expect(world.faults({ kind: "createBadge", badge: badgeWith({ id: "c", criteria }) })).toEqual([
      ["/criteria/streak", "unknown_reference"],
    ])
  })

  it("is one of at most 20, and of at most 100 archived ones", () => {
    for (let index = 0; index < limits.streaksMax; index++) {
      world.ask(creating({ id: `stk_s${index}` }))
    }
    expect(world.refusal(creating({ id: "stk_more" })).code).toBe("quota_exceeded")
    world.ask(deleting("s0"))
    for (let index = 1; index < limits.archivedStreaksMax; index++) {
      world.ask(creating({ id: `stk_a${index}` }))
      world.ask(deleting(`a${index}`))
    }
    const { code, detail } = world.refusal(creating({ id: "stk_more" }))
    expect([code, detail]).toEqual(["quota_exceeded", expect.stringContaining("archived")])
  })

  it("of a file keeps its kind of period, and may pay a badge of the file that asks for it", () => {
    const criteria = { kind: "streak", target: 3, streak: "daily" } as const
    const badge = unversioned(badgeWith({ id: "bdg_a", criteria }))
    const reward = { xp: 0, points: 0, badgeId: "bdg_a" }
    const of = (every: Streak["every"]) =>
      unversioned(streakWith({ every, milestones: [{ target: 3, reward }] }))
    const apply = (every: Streak["every"]) =>
      ({
        kind: "applyDefinitions",
        definitions: { streaks: [of(every)], badges: [badge] },
        removes: false,
      }) as const
    world.ask(apply("day"))
    expect(world.ask(apply("day"))).toEqual([])
    expect(world.faults(apply("week"))).toEqual([["/definitions/streaks/0/every", "invalid_value"]])
    const removed = world.ask({
      kind: "applyDefinitions",
      definitions: { streaks: [], badges: [] },
      removes: true,
    })
    expect(removed.map(({ kind }) => kind)).toEqual(["badge.updated", "streak.updated"])
  })
})
