/**
 * The definition of a segment: a named set of users, by conditions on a user's state
 * (`user/Membership.ts` evaluates them). A rule pays, and a boost multiplies, only for members of its
 * segment; a quest or a badge is visible and counts only for members. A segment is active or archived, and has no period.
 */
import type { ConditionOperator, ConditionValue, Definition } from "./Definition.ts"

/** What a condition compares. `Membership.ts` has a table with one entry for each kind. */
export const segmentConditionKinds = [
  "attribute",
  "level",
  "balance",
  "currency_level",
  "badge",
  "streak",
  "metric",
  "team",
  "account_age_days",
  "inactive_days",
  "percent",
  "experiment",
] as const
export type SegmentConditionKind = (typeof segmentConditionKinds)[number]

/** The members that say which attribute, balance, badge, streak, metric, experiment or kind of teams, or which salt. */
export const segmentConditionNames = [
  "attribute",
  "currency",
  "badge",
  "streak",
  "metric",
  "team",
  "salt",
  "experiment",
] as const
export type SegmentConditionName = (typeof segmentConditionNames)[number]

/** `badge`, `currency`, `experiment`, `metric` and `streak` are keys. `op` and `value` are as in `Condition`. */
export type SegmentCondition = {
  readonly kind: SegmentConditionKind
  readonly op: ConditionOperator
  readonly value?: ConditionValue
} & { readonly [Name in SegmentConditionName]?: string }

export interface Segment extends Definition {
  readonly name: string
  readonly match: "all" | "any"
  /** At least one. */
  readonly conditions: ReadonlyArray<SegmentCondition>
}
