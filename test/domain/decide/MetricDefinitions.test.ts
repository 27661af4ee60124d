import { describe, expect, it } from "vitest"
import { limits } from "../../../src/Limits.ts"
import { badgeWith, metricWith, questWith, streakWith } from "../definitions.ts"
import { ProjectWorld } from "./ProjectWorld.ts"

const create = (world: ProjectWorld, metric: Parameters<typeof metricWith>[0]) =>
  world.ask({ kind: "createMetric", metric: metricWith(metric) })

describe("A metric", () => {
  it("needs the path of a number exactly where it aggregates numbers", () => {
    const world = new ProjectWorld()
    const faults = (metric: Parameters<typeof metricWith>[0]) =>
      world.faults({ kind: "createMetric", metric: metricWith(metric) })
    expect(faults({ aggregate: "sum" })).toEqual([["/value", "missing"]])
    expect(faults({ aggregate: "count", value: "a", decimals: 1 })).toEqual([
      ["/value", "unknown_member"],
      ["/decimals", "unknown_member"],
    ])
    create(world, { aggregate: "sum", value: "a", decimals: limits.metricDecimalsMax })
  })

  it("is one of at most `metricsMax`, archived ones excepted", () => {
    const world = new ProjectWorld()
    for (let n = 0; n < limits.metricsMax; n++) create(world, { id: `mtr_${n}`, key: `m${n}` })
    const further = { kind: "createMetric", metric: metricWith({ id: "mtr_x", key: "x" }) } as const
    expect(world.refusal(further).code).toBe("quota_exceeded")
    world.ask({ kind: "deleteMetric", metricId: "m0" })
    world.ask(further)
  })

  it("cannot be archived while a badge needs it", () => {
    const world = new ProjectWorld()
    create(world, { key: "km" })
    const criteria = { kind: "metric", metric: "km", target: 3 } as const
    world.ask({ kind: "createBadge", badge: badgeWith({ criteria }) })
    const archive = { kind: "deleteMetric", metricId: "km" } as const
    const byStatus = {
      kind: "updateMetric",
      metricId: "km",
      change: { status: "archived" },
    } as const
    expect(world.refusal(archive)).toMatchObject({ code: "in_use" })
    expect(world.refusal(byStatus)).toMatchObject({ code: "in_use" })
    world.ask({ kind: "deleteBadge", badgeId: "bdg_1" })
    world.ask(archive)
    expect(world.refusal(archive).code).toBe("metric_not_found")
    expect(world.refusal(byStatus).code).toBe("invalid_transition")
  })

  it("cannot be archived while a step of a quest or a need of a streak is by it", () => {
    const world = new ProjectWorld()
    create(world, { key: "km" })
    const steps = [{ key: "run", metric: "km", target: 3 }]
    world.ask({ kind: "createQuest", quest: questWith({ steps }) })
    world.ask({
      kind: "createStreak",
      streak: streakWith({ needs: [{ metric: "km", target: 3 }] }),
    })
    const archive = { kind: "deleteMetric", metricId: "km" } as const
    expect(world.refusal(archive).detail).toContain("quest qst_1 (A quest), streak stk_daily (")
    world.ask({ kind: "deleteQuest", questId: "qst_1" })
    expect(world.refusal(archive).code).toBe("in_use")
    world.ask({ kind: "deleteStreak", streakId: "stk_daily" })
    world.ask(archive)
    const [quest, streak] = [
      questWith({ steps, id: "qst_2", key: "q2" }),
      streakWith({ id: "stk_2", key: "s2", needs: [{ metric: "km", target: 3 }] }),
    ]
    expect(world.faults({ kind: "createQuest", quest })).toEqual([
      ["/steps/0/metric", "unknown_reference"],
    ])
    expect(world.faults({ kind: "createStreak", streak })).toEqual([
      ["/needs/0/metric", "unknown_reference"],
    ])
  })

  it("is what a badge may need, unless it is unknown, archived or a minimum", () => {
    const world = new ProjectWorld()
    create(world, { id: "mtr_a", key: "low", aggregate: "min", value: "a" })
    create(world, { id: "mtr_b", key: "gone" })
    world.ask({ kind: "deleteMetric", metricId: "gone" })
    const faults = (metric: string) => {
      const badge = badgeWith({ criteria: { kind: "metric", metric, target: 3 } })
      return world.faults({ kind: "createBadge", badge })
    }
    expect(faults("none")).toEqual([["/criteria/metric", "unknown_reference"]])
    expect(faults("gone")).toEqual([["/criteria/metric", "unknown_reference"]])
    expect(faults("low")).toEqual([["/criteria/metric", "invalid_value"]])
  })

  it("never changes what it counts, by a file neither", () => {
    const world = new ProjectWorld()
    create(world, { key: "km", aggregate: "sum", value: "km" })
    const file = (metric: Parameters<typeof metricWith>[0]) => {
      const { endsAt: _, set: __, startsAt: ___, ...members } = metricWith({ key: "km", ...metric })
      return {
        kind: "applyDefinitions",
        definitions: { metrics: [members] },
        removes: true,
      } as const
    }
    expect(
      world.faults(file({ aggregate: "max", value: "m", decimals: 1, actions: ["BUY"] })),
    ).toEqual(
      ["aggregate", "actions", "value", "decimals"].map((name) => [
        `/definitions/metrics/0/${name}`,
        "invalid_value",
      ]),
    )
    const [fact] = world.ask(
      file({ aggregate: "sum", value: "km", name: "Kilometres", unit: "km" }),
    )
    expect(fact).toMatchObject({
      kind: "metric.updated",
      metric: { name: "Kilometres", version: 2 },
    })
    expect(
      world.ask(file({ aggregate: "sum", value: "km", name: "Kilometres", unit: "km" })),
    ).toEqual([])
    world.ask({ kind: "applyDefinitions", definitions: { metrics: [] }, removes: true })
    expect(world.state.metrics.get("mtr_1")).toMatchObject({ set: "archived", version: 3 })
  })
})
