/** Decides the commands on metrics. `Metrics.ts` counts events for them. */
import { limits } from "../../Limits.ts"
import { defaults, type New, type Status } from "../project/Definition.ts"
import { hasValue, type Metric } from "../project/Metric.ts"
import type { ProjectState } from "../project/Project.ts"
import type { Fault } from "../values/Errors.ts"
import type { Metadata } from "../values/Metadata.ts"
import { noChange } from "./Decided.ts"
import { metadataFaults, metricInUse } from "./definitionChecks.ts"
import { Decisions } from "./Kind.ts"
import { textSearchFaults } from "./textSearches.ts"

/** A merge patch of a metric. What it counts never changes. */
export interface MetricChange extends Partial<Pick<Metric, "name" | "description" | "unit">> {
  readonly status?: Extract<Status, "active" | "archived">
  readonly metadata?: Metadata | null
}

/** What a caller gives of a metric: it has no period and no draft. */
type NewMetric = Omit<New<Metric>, "set" | "startsAt" | "endsAt">

export const metrics = new Decisions<"metric", NewMetric, MetricChange, "in_use">({
  noun: "metric",
  max: limits.metricsMax,
  nameOf: ({ name }) => name,
  members: (given) => ({ ...defaults, ...given }),
  faults: (state, metric, { before }) => [
    ...(before === undefined ? [] : changedFaults(before, metric)),
    ...metricFaults(state, metric),
  ],
  inUse: (state, metric) => metricInUse(state, metric),
})

/** The faults of members that never change. */
const changedFaults = (before: Metric, metric: Metric): ReadonlyArray<Fault> =>
  (["aggregate", "actions", "where", "value", "decimals"] as const).flatMap((name) =>
    noChange({ [name]: before[name] }, { [name]: metric[name] })
      ? []
      : [
          {
            pointer: `/${name}`,
            code: "invalid_value",
            detail: "cannot change, since the users' values follow from it: use another key",
          },
        ],
  )

const metricFaults = (state: ProjectState, metric: Metric): ReadonlyArray<Fault> => {
  const { actions, aggregate, decimals, id, metadata, value, where } = metric
  const faults = [
    ...metadataFaults(metadata),
    ...textSearchFaults(
      state,
      id,
      actions.map((action) => ({ action, where, pointer: "/where" })),
    ),
  ]
  if (hasValue(aggregate) && value === null) {
    const detail = `is required for the aggregate ${aggregate}`
    faults.push({ pointer: "/value", code: "missing", detail })
  }
  if (hasValue(aggregate)) return faults
  const detail = `is not allowed for the aggregate ${aggregate}`
  if (value !== null) faults.push({ pointer: "/value", code: "unknown_member", detail })
  if (decimals !== 0) faults.push({ pointer: "/decimals", code: "unknown_member", detail })
  return faults
}
