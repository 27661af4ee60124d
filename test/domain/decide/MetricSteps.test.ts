import { describe, expect, it } from "vitest"
import type { Quest } from "../../../src/domain/project/Definition.ts"
import type { MetricAggregate } from "../../../src/domain/project/Metric.ts"
import type { Streak } from "../../../src/domain/project/StreakDefinition.ts"
import { questProgress, streakStandings } from "../../../src/domain/user/Progress.ts"
import { limits } from "../../../src/Limits.ts"
import { kindsOf, World } from "./World.ts"

const worldOf = (aggregate: MetricAggregate, decimals = 0): World => {
  const world = new World()
  const hasValue = aggregate !== "count" && aggregate !== "distinct_days"
  const metric = { id: "mtr_1", key: "km", aggregate, decimals, value: hasValue ? "km" : null }
  world.metric({ ...metric, actions: ["RUN"], where: [] })
  return world
}

const run = (world: World, km?: number, time?: string) => {
  if (time !== undefined) world.at(time)
  return world.track("RUN", km === undefined ? {} : { metadata: { km } })
}

describe("a quest step by a metric", () => {
  const quested = (aggregate: MetricAggregate, target: number, more: Partial<Quest> = {}) => {
    const world = worldOf(aggregate, aggregate === "sum" ? 2 : 0)
    world.quest({
      id: "qst_1",
      reward: { xp: 10, points: 0, badgeId: null },
      steps: [{ key: "km", metric: "km", target }],
      ...more,
    })
    return world
  }
  const stepOf = ({ now, project, user }: World) => {
    const [quest] = questProgress(user!, project, now)
    return [quest?.status, quest?.steps[0]?.current]
  }

  it.each([
    [
      "count",
      3,
      [
        [undefined, 1],
        [undefined, 2],
        [undefined, 3],
      ],
    ],
    [
      "sum",
      10,
      [
        [4.25, 4.25],
        [-1, 4.25],
        [5, 9.25],
        [3, 10],
      ],
    ],
    [
      "max",
      10,
      [
        [9, 0],
        [10, 10],
      ],
    ],
    [
      "last",
      10,
      [
        [9, 0],
        [12, 10],
      ],
    ],
    [
      "min",
      10,
      [
        [11, 0],
        [10, 10],
      ],
    ],
  ] as const)("of a %s counts up to its target of %i", (aggregate, target, events) => {
    const world = quested(aggregate, target)
    for (const [km, current] of events) {
      run(world, km)
      const status =
        current === 0 ? "not_started" : current === target ? "completed" : "in_progress"
      const shown = questProgress(world.user!, world.project, world.now)[0]
      expect([shown?.status, shown?.steps[0]?.current]).toEqual([status, current])
    }
    expect(world.user?.xp).toBe(10)
  })

  it("of distinct days counts each new day once", () => {
    const world = quested("distinct_days", 2)
    expect(kindsOf(run(world))).toContain("quest.progressed")
    expect(kindsOf(run(world))).not.toContain("quest.progressed")
    run(world, undefined, "2026-11-05T12:00:00Z")
    expect(stepOf(world)).toEqual(["completed", 2])
  })

  it("counts what events of the period add, not the total before", () => {
    const world = quested("sum", 10, { recurrence: "weekly" })
    run(world, 8)
    run(world, 1, "2026-11-09T12:00:00Z")
    expect(stepOf(world)).toEqual(["in_progress", 1])
    run(world, 9)
    expect(stepOf(world)).toEqual(["completed", 10])
  })

  it("is not met by an earlier maximum: an event of the period must reach it", () => {
    const world = quested("max", 10, { recurrence: "weekly" })
    run(world, 42)
    run(world, 3, "2026-11-09T12:00:00Z")
    expect(stepOf(world)).toEqual(["not_started", 0])
  })

  it("goes down by the amount that an undone event added", () => {
    const world = quested("sum", 10)
    const first = run(world, 4.25)
    run(world, 0.5)
    world.undo(first)
    expect(stepOf(world)).toEqual(["in_progress", 0.5])
    const last = run(world, 9.5)
    expect(world.user?.xp).toBe(10)
    world.undo(last)
    expect(stepOf(world)).toEqual(["in_progress", 0.5])
    expect(world.user?.xp).toBe(0)
  })

  it("does not count an event that the metric does not count", () => {
    const world = quested("sum", 10)
    run(world)
    run(world, -4)
    expect(stepOf(world)).toEqual(["not_started", 0])
  })

  it("adds at most as much as a target may be", () => {
    const world = quested("sum", limits.sumTargetMax)
    const { facts } = run(world, 5e10)
    const progressed = facts.find(({ kind }) => kind === "quest.progressed")
    expect(progressed).toMatchObject({ by: limits.sumAmountMax })
    expect(stepOf(world)[0]).toBe("completed")
  })

  it("completes a quest together with a step by the same event", () => {
    const world = quested("sum", 5)
    const steps: Quest["steps"] = [
      { key: "runs", action: "RUN", where: [], target: 2 },
      { key: "km", metric: "km", target: 5 },
    ]
    world.quest({ id: "qst_1", reward: { xp: 10, points: 0, badgeId: null }, steps })
    expect(run(world, 3).reply.quests).toMatchObject([{ progress: 0.55 }])
    expect(run(world, 2).reply.quests).toMatchObject([{ status: "completed" }])
    expect(world.user?.xp).toBe(10)
  })
})

describe("a need of a streak by a metric", () => {
  const streaked = (aggregate: MetricAggregate, needs: Streak["needs"], more = {}) => {
    const world = worldOf(aggregate, aggregate === "sum" ? 1 : 0)
    world.streak({ key: "daily", needs, ...more })
    return world
  }
  const shown = ({ now, project, user }: World) => streakStandings(user!, project, now)[0]!

  it("keeps the day on which the events reach its target", () => {
    const world = streaked("sum", [{ metric: "km", target: 5 }])
    run(world, 3.5)
    expect(shown(world)).toMatchObject({ current: 0, period: { needs: [{ current: 3.5 }] } })
    run(world, 1.5)
    expect(shown(world)).toMatchObject({ current: 1, period: { kept: true } })
    run(world, 4, "2026-11-05T12:00:00Z")
    expect(shown(world)).toMatchObject({ current: 1, period: { needs: [{ current: 4 }] } })
    expect(world.user?.streakCounts.get("daily")).toHaveLength(1)
  })

  it("stands beside a need by an action, for one event", () => {
    const world = streaked("max", [
      { action: "RUN", target: 2 },
      { metric: "km", target: 5 },
    ])
    run(world, 6)
    expect(shown(world).period.needs).toMatchObject([{ current: 1 }, { current: 5 }])
    run(world, 1)
    expect(shown(world)).toMatchObject({ current: 1 })
  })

  it("is one of any, and of a week", () => {
    const world = streaked(
      "distinct_days",
      [
        { action: "SWIM", target: 1 },
        { metric: "km", target: 2 },
      ],
      { every: "week", match: "any" },
    )
    run(world)
    run(world)
    expect(shown(world)).toMatchObject({ current: 0, period: { needs: [{}, { current: 1 }] } })
    run(world, undefined, "2026-11-05T12:00:00Z")
    expect(shown(world)).toMatchObject({ current: 1 })
  })

  it("loses what an undone event added, until the period is kept", () => {
    const world = streaked("sum", [{ metric: "km", target: 5 }])
    const first = run(world, 3.5)
    run(world, 1)
    world.undo(first)
    expect(shown(world).period.needs).toMatchObject([{ current: 1 }])
    const last = run(world, 4)
    world.undo(last)
    expect(shown(world)).toMatchObject({ current: 1, period: { kept: true } })
  })

  it("does not count an event whose value the metric does not count", () => {
    const world = streaked("sum", [{ metric: "km", target: 5 }])
    expect(kindsOf(run(world))).toEqual(["user.created", "event.tracked"])
  })
})
