import { describe, expect, it } from "vitest"
import { questProgress } from "../../../src/domain/user/Progress.ts"
import { limits } from "../../../src/Limits.ts"
import { kindsOf, World } from "./World.ts"

const km = (world: World, value: unknown) => world.track("RUN", { metadata: { km: value } })
const step = (target: number) => ({ key: "km", action: "RUN", where: [], target, sumPath: "km" })
const criteria = (target: number) =>
  ({ kind: "action_sum", action: "RUN", where: [], target, sumPath: "km" }) as const

describe("A quest step that sums", () => {
  it("completes the quest with the event that reaches its target", () => {
    const world = new World()
    world.quest({ id: "q", reward: { xp: 10 }, steps: [step(10)] })
    expect(km(world, 3.5).reply.quests).toMatchObject([{ progress: 0.35, status: "in_progress" }])
    km(world, 6.4)
    expect(world.user?.quests.get("q")?.steps).toEqual({ km: 9.9 })
    const last = km(world, 0.1)
    expect(kindsOf(last)).toContain("quest.completed")
    expect(last.facts).toContainEqual(expect.objectContaining({ by: 0.1, current: 10, target: 10 }))
  })

  it("does not count events without a number above 0, and none beyond the bound", () => {
    const world = new World()
    world.quest({ steps: [step(1)] })
    for (const value of [undefined, "5", null, 0, -5, limits.sumAmountMax + 1, 1e300]) {
      expect(kindsOf(km(world, value))).not.toContain("quest.started")
    }
    expect(kindsOf(km(world, limits.sumAmountMax))).toContain("quest.completed")
  })

  it("is set back by an undo to what it was, without drift, beyond its target too", () => {
    const world = new World()
    world.quest({ id: "q", reward: { xp: 10 }, steps: [step(5)] })
    const runs = [0.1, 0.2, 0.7, 9].map((value) => km(world, value))
    expect(world.user).toMatchObject({ xp: 10 })
    expect(world.user?.quests.get("q")?.steps).toEqual({ km: 10 })
    world.undo(runs[3]!)
    expect(world.user?.quests.get("q")).toMatchObject({ steps: { km: 1 }, completedAt: null })
    expect(world.user?.xp).toBe(0)
    world.undo(runs[1]!)
    expect(world.user?.quests.get("q")?.steps).toEqual({ km: 0.8 })
    world.undo(runs[0]!)
    world.undo(runs[2]!)
    expect(world.user?.quests.has("q")).toBe(false)
  })

  it("weighs as much as a step that counts, and shows no more than its target", () => {
    const world = new World()
    const count = { key: "photo", action: "PHOTO", where: [], target: 2 }
    world.quest({ id: "q", steps: [step(1_000), count] })
    km(world, 250)
    expect(world.track("PHOTO").reply.quests).toMatchObject([{ progress: 0.375 }])
    km(world, 900)
    const [quest] = questProgress(world.user!, world.project, world.now)
    expect(quest?.steps).toEqual([
      { key: "km", current: 1_000, target: 1_000 },
      { key: "photo", current: 1, target: 2 },
    ])
  })
})

describe("A badge that sums", () => {
  it("is earned by the event that reaches its target, and lost with it", () => {
    const world = new World()
    world.badge({ id: "b", criteria: criteria(100) })
    km(world, 99.9)
    expect(kindsOf(km(world, "0.1"))).toEqual(["event.tracked"])
    const last = km(world, 0.1)
    expect(kindsOf(last)).toEqual(["badge.counted", "badge.earned", "event.tracked"])
    expect(kindsOf(world.undo(last))).toContain("badge.revoked")
    expect(world.user?.badgeCounts.get("b")).toBe(99.9)
    expect(kindsOf(km(world, 500))).toContain("badge.earned")
  })

  it("stays at the largest sum, and undoing takes away only what was added", () => {
    const world = new World()
    world.badge({ id: "b", criteria: criteria(limits.sumTargetMax) })
    const runs = [1, 2, 3].map(() => km(world, limits.sumAmountMax))
    expect(world.user?.badgeCounts.get("b")).toBe(limits.sumMax)
    expect(kindsOf(runs[2]!)).not.toContain("badge.counted")
    world.undo(runs[2]!)
    world.undo(runs[0]!)
    expect(world.user?.badgeCounts.get("b")).toBe(limits.sumAmountMax)
  })

  it("is backfilled with the sum of the history, from which an undo takes its own number", () => {
    const world = new World()
    const early = km(world, 30.5)
    km(world, 50)
    world.badge({ id: "b", criteria: criteria(80) })
    const countedUpTo = world.user!.sequence
    world.do({ kind: "backfill", badgeId: "b", counted: 80.5, countedUpTo, notify: false })
    expect(world.user?.badges.has("b")).toBe(true)
    expect(kindsOf(world.undo(early))).toContain("badge.revoked")
    expect(world.user?.badgeCounts.get("b")).toBe(50)
  })
})
