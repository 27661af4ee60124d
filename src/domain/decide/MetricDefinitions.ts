/** Decides the commands on metrics. `Metrics.ts` counts events for them. */
import { Result } from "effect"
import { limits } from "../../Limits.ts"
import {
  defaults,
  firstVersion,
  type New,
  nextVersion,
  type Replacement,
  type Status,
} from "../project/Definition.ts"
import { definitionOf } from "../project/DefinitionKey.ts"
import { hasValue, type Metric } from "../project/Metric.ts"
import type { ProjectState } from "../project/Project.ts"
import { type Fault, invalidRequest, quotaExceeded, refuse } from "../values/Errors.ts"
import { type Metadata, patchedMetadata } from "../values/Metadata.ts"
import { archivedFault, type Conditional, type Decided, noChange } from "./Decided.ts"
import { claimedKey, metadataFaults, metricInUse, textSearchFaults } from "./definitionChecks.ts"
import { archived, archivedCannotChange, liveCount, moved } from "./Lifecycle.ts"

/** What a caller gives of a metric: it has no period and no draft. */
type Given<A> = Omit<A, "set" | "startsAt" | "endsAt">

/** A merge patch of a metric. What it counts never changes. */
export interface MetricChange extends Partial<Pick<Metric, "name" | "description" | "unit">> {
  readonly status?: Extract<Status, "active" | "archived">
  readonly metadata?: Metadata | null
}

export type MetricReplacement = Given<Replacement<Metric>>

export type MetricCommand =
  | { readonly kind: "createMetric"; readonly metric: Given<New<Metric>> }
  | (Conditional & {
      readonly kind: "updateMetric"
      readonly metricId: string
      readonly change: MetricChange
    })
  /** Archives the metric. */
  | (Conditional & { readonly kind: "deleteMetric"; readonly metricId: string })

type CommandOf<Kind> = Extract<MetricCommand, { readonly kind: Kind }>

export const createMetric = (
  state: ProjectState,
  { metric: given }: CommandOf<"createMetric">,
  now: number,
): Decided<"invalid_request" | "key_taken" | "quota_exceeded"> => {
  const key = claimedKey(state.metrics, "metric", given.key, given.name)
  if (Result.isFailure(key)) return Result.fail(key.failure)
  const metric: Metric = {
    ...defaults,
    set: "published",
    ...given,
    key: key.success,
    ...firstVersion(now),
  }
  const faults = metricFaults(state, metric)
  if (faults.length > 0) return Result.fail(invalidRequest(faults))
  if (liveCount(state.metrics) >= limits.metricsMax) {
    return quotaExceeded(limits.metricsMax, "metrics per environment")
  }
  return Result.succeed([{ kind: "metric.created", metric }])
}

export const updateMetric = (
  state: ProjectState,
  { change: { metadata, status, ...change }, metricId }: CommandOf<"updateMetric">,
  now: number,
): Decided<"metric_not_found" | "invalid_request" | "invalid_transition" | "in_use"> => {
  const metric = definitionOf(state.metrics, metricId)
  if (metric === undefined) return metricNotFound
  if (metric.set === "archived") return archivedCannotChange
  const changed: Metric = {
    ...metric,
    ...change,
    metadata: patchedMetadata(metric.metadata, metadata),
    ...nextVersion(metric, now),
  }
  const faults = metadataFaults(changed.metadata)
  if (faults.length > 0) return Result.fail(invalidRequest(faults))
  const refusal = status === "archived" ? metricInUse(state, metric) : undefined
  if (refusal !== undefined) return Result.fail(refusal)
  return Result.map(moved(changed, status, now), (set) => [
    { kind: "metric.updated", metric: { ...changed, set } },
  ])
}

export const deleteMetric = (
  state: ProjectState,
  { metricId }: CommandOf<"deleteMetric">,
  now: number,
): Decided<"metric_not_found" | "in_use"> => {
  const metric = definitionOf(state.metrics, metricId)
  if (metric === undefined || metric.set === "archived") return metricNotFound
  const refusal = metricInUse(state, metric)
  return refusal === undefined
    ? Result.succeed([{ kind: "metric.updated", metric: archived(metric, now) }])
    : Result.fail(refusal)
}

/** Replaces `before` by `members`. No facts if both are equal. */
export const replaceMetric = (
  state: ProjectState,
  before: Metric,
  { id: _, ...members }: MetricReplacement,
  now: number,
): Decided<"invalid_request"> => {
  if (before.set === "archived") return Result.fail(invalidRequest([archivedFault]))
  const metric: Metric = { ...before, ...defaults, ...members, ...nextVersion(before, now) }
  if (noChange(before, metric)) return Result.succeed([])
  const faults = [...changedFaults(before, metric), ...metricFaults(state, metric)]
  return faults.length > 0
    ? Result.fail(invalidRequest(faults))
    : Result.succeed([{ kind: "metric.updated", metric }])
}

const metricNotFound = refuse("metric_not_found", "No metric of this project has this id or key.")

/** The faults of members that never change. */
const changedFaults = (before: Metric, metric: Metric): ReadonlyArray<Fault> =>
  (["aggregate", "actions", "where", "value", "decimals"] as const).flatMap((name) =>
    noChange({ [name]: before[name] }, { [name]: metric[name] })
      ? []
      : [
          {
            pointer: `/${name}`,
            code: "invalid_value",
            detail: "cannot change, since the users' values were made with it: use another key",
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
