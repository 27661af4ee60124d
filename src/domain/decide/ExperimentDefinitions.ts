/** Decides the commands on experiments. `Experiments.ts` exposes users to them. */
import { limits } from "../../Limits.ts"
import { type Definition, type New, type Status, targetedDefaults } from "../project/Definition.ts"
import type { Experiment, Variant } from "../project/Experiment.ts"
import type { ProjectState } from "../project/Project.ts"
import type { Fault } from "../values/Errors.ts"
import type { Metadata } from "../values/Metadata.ts"
import {
  experimentInUse,
  metadataFaults,
  metricReferenceFaults,
  segmentReferenceFaults,
} from "./definitionChecks.ts"
import { Decisions } from "./Kind.ts"
import { periodFaults } from "./Lifecycle.ts"

/** A merge patch of an experiment. */
export interface ExperimentChange
  extends Partial<
    Pick<
      Experiment,
      "name" | "description" | "variants" | "metric" | "startsAt" | "endsAt" | "segment"
    >
  > {
  readonly status?: Status
  readonly metadata?: Metadata | null
}

export const experiments = new Decisions<
  "experiment",
  Omit<New<Experiment>, "weightsChangedAt">,
  ExperimentChange,
  "in_use"
>({
  noun: "experiment",
  max: limits.experimentsMax,
  nameOf: ({ name }) => name,
  members: (given) => ({ ...targetedDefaults, ...given }),
  faults: (state, experiment, { before }) => [
    ...(before === undefined ? [] : changedFaults(before, experiment)),
    ...experimentFaults(state, experiment),
  ],
  completed: (experiment, before, now) =>
    before === undefined || !isFixed(before) || sameWeights(before.variants, experiment.variants)
      ? experiment
      : { ...experiment, weightsChangedAt: now },
  inUse: experimentInUse,
})

/** Whether users may have been exposed: it was published. */
const isFixed = ({ set }: Pick<Definition, "set">): boolean => set !== "draft"

const keysOf = (variants: ReadonlyArray<Variant>): string => variants.map(({ key }) => key).join()

const sameWeights = (before: ReadonlyArray<Variant>, after: ReadonlyArray<Variant>): boolean =>
  before.every(({ weight }, place) => after[place]?.weight === weight)

/** The faults of members that no longer change once the experiment was published. */
const changedFaults = (before: Experiment, experiment: Experiment): ReadonlyArray<Fault> => {
  if (!isFixed(before)) return []
  const why = "cannot change, since users may have been exposed: use another key"
  const faults: Array<Fault> = []
  if (keysOf(before.variants) !== keysOf(experiment.variants)) {
    const detail = `must keep the keys ${keysOf(before.variants)}: only weights change`
    faults.push({ pointer: "/variants", code: "invalid_value", detail })
  }
  if (before.metric !== experiment.metric) {
    faults.push({ pointer: "/metric", code: "invalid_value", detail: why })
  }
  return faults
}

const experimentFaults = (state: ProjectState, experiment: Experiment): ReadonlyArray<Fault> => [
  ...periodFaults(experiment),
  ...metadataFaults(experiment.metadata),
  ...segmentReferenceFaults(state, experiment.segment),
  ...metricReferenceFaults(state, experiment.metric ?? undefined, "/metric"),
  ...askedFaults(state, experiment),
]

/** The faults of variants that segments ask for and the experiment lacks. */
const askedFaults = (
  { segments }: ProjectState,
  { key, variants }: Experiment,
): ReadonlyArray<Fault> => {
  const known = new Set<unknown>(variants.map((variant) => variant.key))
  return [...segments.values()].flatMap((segment) => {
    if (segment.set === "archived") return []
    const asked = segment.conditions.flatMap(({ experiment, op, value }) =>
      experiment === key && op !== "exists" ? [value].flat() : [],
    )
    const missing = asked.filter((one) => !known.has(one))
    const detail = `must have the variants for which the segment ${segment.key} asks: ${missing.join(", ")}`
    return missing.length === 0 ? [] : [{ pointer: "/variants", code: "missing", detail }]
  })
}
