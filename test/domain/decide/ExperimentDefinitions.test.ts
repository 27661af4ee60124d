/** What experiments may be created and changed to. */
import { beforeEach, describe, expect, it } from "vitest"
import { limits } from "../../../src/Limits.ts"
import { ProjectWorld } from "./ProjectWorld.ts"

let project: ProjectWorld
beforeEach(() => {
  project = new ProjectWorld()
})

const variants = [
  { key: "control", weight: 1 },
  { key: "goal", weight: 1 },
]
const made = { id: "exp_1", key: "goal", name: "Goal", variants, metric: null }
const create = (more: object = {}) =>
  project.ask({ kind: "createExperiment", experiment: { ...made, ...more } })
const change = (change: object) =>
  ({ kind: "updateExperiment", experimentId: "goal", change }) as const
const stored = () => project.state.experiments.get("exp_1")!
const asking = (value: unknown, more: object = {}) =>
  ({
    kind: "createSegment",
    segment: {
      id: "seg_1",
      key: "asks",
      name: "Asks",
      match: "all",
      conditions: [{ kind: "experiment", experiment: "goal", op: "eq", value, ...more }],
    },
  }) as never

describe("An experiment", () => {
  it("keeps the keys of its variants and its metric once it was published", () => {
    project.ask({
      kind: "createMetric",
      metric: {
        id: "mtr_1",
        key: "taps",
        name: "Taps",
        aggregate: "count",
        actions: ["TAP"],
        where: [],
        value: null,
        decimals: 0,
        unit: null,
      },
    })
    create({ set: "draft" })
    const three = [...variants, { key: "third", weight: 1 }]
    project.ask(change({ variants: three, metric: "taps" }))
    project.ask(change({ status: "active" }))
    expect(project.faults(change({ variants }))).toEqual([["/variants", "invalid_value"]])
    expect(project.faults(change({ variants: three.toReversed(), metric: null }))).toEqual([
      ["/variants", "invalid_value"],
      ["/metric", "invalid_value"],
    ])
    project.ask(change({ status: "paused" }))
    expect(project.faults(change({ metric: null }))).toEqual([["/metric", "invalid_value"]])
    const { code } = project.refusal({ kind: "deleteMetric", metricId: "taps" })
    expect(code).toBe("in_use")
    project.ask({ kind: "deleteExperiment", experimentId: "goal" })
    project.ask({ kind: "deleteMetric", metricId: "taps" })
  })

  it("notes when weights changed after it was published, and not before", () => {
    create({ set: "draft" })
    const heavy = variants.map(({ key }) => ({ key, weight: 3 }))
    project.ask(change({ variants: heavy }))
    expect(stored().weightsChangedAt).toBeUndefined()
    project.ask(change({ status: "active" }))
    project.ask(change({ name: "Other" }))
    expect(stored().weightsChangedAt).toBeUndefined()
    project.now += 5
    project.ask(change({ variants }))
    expect(stored().weightsChangedAt).toBe(project.now)
    project.now += 5
    project.ask(change({ name: "Third" }))
    expect(stored().weightsChangedAt).toBe(project.now - 5)
  })

  it("names a segment and a metric that exist", () => {
    const experiment = { ...made, segment: "none", metric: "none" }
    expect(project.faults({ kind: "createExperiment", experiment })).toEqual([
      ["/segment", "unknown_reference"],
      ["/metric", "unknown_reference"],
    ])
  })

  it("is in use while a segment asks for it, and has the variants for which it asks", () => {
    create({ set: "draft" })
    project.ask(asking("goal"))
    const { code, detail } = project.refusal({ kind: "deleteExperiment", experimentId: "goal" })
    expect([code, detail]).toEqual(["in_use", expect.stringContaining("segment seg_1 (Asks)")])
    const others = [variants[0]!, { key: "other", weight: 1 }]
    expect(project.faults(change({ variants: others }))).toEqual([["/variants", "missing"]])
  })

  it("and its audience refer to each other at most in two steps", () => {
    create({ set: "draft" })
    project.ask(asking("goal"))
    project.ask(change({ segment: "asks" }))
    expect(project.refusal({ kind: "deleteSegment", segmentId: "asks" }).code).toBe("in_use")
  })

  it(`is one of ${limits.experimentsMax} that are not archived`, () => {
    for (let index = 0; index < limits.experimentsMax; index++) {
      create({ id: `exp_${index}`, key: `k${index}` })
    }
    const experiment = { ...made, id: "exp_more" }
    const one = { kind: "createExperiment", experiment } as const
    expect(project.refusal(one).code).toBe("quota_exceeded")
    project.ask({ kind: "deleteExperiment", experimentId: "k0" })
    project.ask(one)
  })
})

describe("A segment", () => {
  it("asks only for experiments and variants that exist", () => {
    expect(project.faults(asking("goal"))).toEqual([
      ["/conditions/0/experiment", "unknown_reference"],
    ])
    create()
    expect(project.faults(asking("none"))).toEqual([["/conditions/0/value", "invalid_value"]])
    expect(project.faults(asking(["goal", "none"], { op: "in" }))).toEqual([
      ["/conditions/0/value", "invalid_value"],
    ])
    expect(project.faults(asking("goal", { op: "gt" }))).toEqual([
      ["/conditions/0/op", "invalid_value"],
    ])
    project.ask(asking(["goal", "control"], { op: "in" }))
  })

  it("does not ask for an archived experiment", () => {
    create()
    project.ask({ kind: "deleteExperiment", experimentId: "goal" })
    expect(project.faults(asking("goal"))).toEqual([
      ["/conditions/0/experiment", "unknown_reference"],
    ])
  })
})
