/**
 * Metrics: a number of each user, made from events: how many, the sum, maximum, minimum or latest
 * value of a number of their metadata, or on how many days they occurred.
 *
 * Values are integers, scaled by the `decimals` of the metric: 4.25 with two decimals is 425. So
 * sums are exact in any order, and an undo restores them. What a metric counts (`actions`, `where`,
 * `aggregate`, `value`, `decimals`) never changes: its numbers would mix two meanings. A caller who
 * wants something else makes another metric.
 */
import { limits } from "../../Limits.ts"
import type { Metadata } from "../values/Metadata.ts"
import { type Condition, type Definition, valueAt } from "./Definition.ts"

export const metricAggregates = ["count", "sum", "max", "min", "last", "distinct_days"] as const
export type MetricAggregate = (typeof metricAggregates)[number]

/** A metric. It has no period, and is `active` (`published`) or `archived`. */
export interface Metric extends Definition {
  readonly name: string
  readonly aggregate: MetricAggregate
  /** The actions whose events count, at least one. */
  readonly actions: ReadonlyArray<string>
  readonly where: ReadonlyArray<Condition>
  /** The path to a number of the metadata; null for `count` and `distinct_days`. */
  readonly value: string | null
  readonly decimals: number
  readonly unit: string | null
}

/** Whether the aggregate is of a number of the metadata. */
export const hasValue = (aggregate: MetricAggregate): boolean =>
  aggregate !== "count" && aggregate !== "distinct_days"

/** Whether the total is what the events add, from 0 on. */
export const addsUp = (aggregate: MetricAggregate): boolean => !isExtremum(aggregate)

/** Whether a user without events has no value, rather than 0. */
export const isExtremum = (aggregate: MetricAggregate): boolean =>
  aggregate === "max" || aggregate === "min" || aggregate === "last"

/**
 * The scaled value of an event with this metadata; `undefined`: the event does not count. It does
 * not count without a number at the path, with one beyond `metricScaledMax`, or, for a sum, with one
 * that is not above 0.
 */
export const metricValue = (
  { aggregate, decimals, value: path }: Metric,
  metadata: Metadata | undefined,
): number | undefined => {
  if (path === null) return 1
  const found = valueAt(metadata, path)
  if (typeof found !== "number") return undefined
  const scaled = scaledBy(found, decimals)
  if (Math.abs(scaled) > limits.metricScaledMax) return undefined
  return aggregate === "sum" && scaled <= 0 ? undefined : scaled
}

/**
 * The number times 10 to the power of `decimals`, rounded half away from 0 after the noise of binary
 * fractions is removed: 1.005 with two decimals is 101.
 */
const scaledBy = (value: number, decimals: number): number => {
  // Exact as it is, and much faster.
  if (decimals === 0 && Number.isInteger(value)) return value === 0 ? 0 : value
  const size = Math.round(Number((Math.abs(value) * 10 ** decimals).toPrecision(15)))
  // Not -0, which the stored state does not tell from 0.
  return value < 0 && size > 0 ? -size : size
}

/**
 * What an event whose value the metric counted adds to a step or a need with this target. What a
 * count, a sum or a number of days grew by adds up. For a maximum or a latest value one event is
 * enough, whose value is at least the target; for a minimum one whose value is at most the target.
 */
export const amountTowards = (
  { aggregate, decimals }: Metric,
  scaled: number,
  target: number,
): number => {
  const value = unscaled(scaled, decimals)
  if (!isExtremum(aggregate)) return Math.min(value, limits.sumAmountMax)
  return (aggregate === "min" ? value <= target : value >= target) ? target : 0
}

/** The number that a scaled value stands for. */
export const unscaled = <Scaled extends number | null>(
  scaled: Scaled,
  decimals: number,
): number | Extract<Scaled, null> =>
  (scaled === null ? null : scaled / 10 ** decimals) as number | Extract<Scaled, null>
