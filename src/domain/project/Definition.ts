/**
 * The definitions of an environment (rules, quests, badges) and the functions of a single
 * definition.
 */
import { limits } from "../../Limits.ts"
import { type WindowKind, windowOfDay, type Zone } from "../values/Calendar.ts"
import type { Metadata } from "../values/Metadata.ts"

/** What Laurel notes about the changes of a definition or a webhook. Times are epoch milliseconds. */
export interface Versioned {
  /** 1 at creation, and one more with each change. */
  readonly version: number
  readonly createdAt: number
  readonly updatedAt: number
}

/** The version of a new definition. */
export const firstVersion = (now: number): Versioned => ({
  version: 1,
  createdAt: now,
  updatedAt: now,
})

/** The version of a definition after a change. `applyProject.ts` asserts that none is left out. */
export const nextVersion = (
  { version }: Pick<Versioned, "version">,
  now: number,
): Pick<Versioned, "version" | "updatedAt"> => ({ version: version + 1, updatedAt: now })

/** A definition as a caller states it. */
export type Unversioned<A extends Versioned> = Omit<A, keyof Versioned>

/* Conditions of rules, quest steps and badges on the metadata of an event. */

export const conditionOperators = [
  "eq",
  "ne",
  "gt",
  "gte",
  "lt",
  "lte",
  "in",
  "exists",
  "contains",
] as const
export type ConditionOperator = (typeof conditionOperators)[number]

/**
 * `path` is a dotted path inside the metadata, such as `amount`, `cart.total` or `items.0.price`.
 * `value` is the operand of the operator: a scalar for `eq`, `ne` and `contains`; a number or a
 * string for `gt`, `gte`, `lt` and `lte`; a list of scalars for `in`; a boolean (default: true) for
 * `exists`.
 */
export interface Condition {
  readonly path: string
  readonly op: ConditionOperator
  readonly value?: ConditionValue
}

export type Scalar = string | number | boolean | null
export type ConditionValue = Scalar | ReadonlyArray<Scalar>

/** The value at `path`; `undefined` if absent. Reads only own members. */
export const valueAt = (metadata: Metadata | undefined, path: string): unknown =>
  valueAtNames(metadata, path.split("."))

/** The value at the path that `names` are the parts of. */
export const valueAtNames = (
  metadata: Metadata | undefined,
  names: ReadonlyArray<string>,
): unknown => {
  let value: unknown = metadata
  for (const name of names) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined
    // `length` is an own member of an array, but not part of its JSON.
    if (name === "length" && Array.isArray(value)) return undefined
    value = (value as Record<string, unknown>)[name]
  }
  return value
}

/** Whether a condition holds for the value at its path. */
export type Test = (found: unknown) => boolean

/** Whether all conditions hold for the metadata of an event. */
export type Where = (metadata: Metadata | undefined) => boolean

/**
 * Compiles the conditions of one definition for many events. `ActionIndex.ts` matches one event
 * with many definitions.
 */
export const compileWhere = (conditions: ReadonlyArray<Condition>): Where => {
  const compiled = conditions.map((condition) => ({
    names: condition.path.split("."),
    test: testOf(condition),
  }))
  return (metadata) => compiled.every(({ names, test }) => test(valueAtNames(metadata, names)))
}

/** The test of a condition. For a missing value, only `ne` and `exists: false` hold. */
export const testOf = ({ op, value }: Condition): Test => {
  switch (op) {
    case "exists": {
      const wanted = value ?? true
      return (found) => (found !== undefined) === wanted
    }
    case "eq":
      return (found) => found === value
    case "ne":
      return (found) => found !== value
    case "in": {
      if (!Array.isArray(value)) return never
      if (value.length <= listedMax) return (found) => value.includes(found as Scalar)
      const values = new Set<unknown>(value)
      return (found) => values.has(found)
    }
    case "contains":
      return (found) => {
        if (typeof found === "string") return typeof value === "string" && found.includes(value)
        return Array.isArray(found) && found.includes(value)
      }
    case "gt":
    case "gte":
    case "lt":
    case "lte":
      return orderTest(op, value)
  }
}

/** Up to this many values, a linear search is as fast as a set. */
const listedMax = 8

const never: Test = () => false

/**
 * Compares numbers by size and strings by code unit, so ISO dates by time. False for all other
 * values.
 */
const orderTest = (op: "gt" | "gte" | "lt" | "lte", value: Condition["value"]): Test => {
  const kind = typeof value
  if (kind !== "number" && kind !== "string") return never
  const limit = value as number
  // The operators also compare strings; `typeof` keeps numbers and strings apart.
  switch (op) {
    case "gt":
      return (found) => typeof found === kind && (found as number) > limit
    case "gte":
      return (found) => typeof found === kind && (found as number) >= limit
    case "lt":
      return (found) => typeof found === kind && (found as number) < limit
    case "lte":
      return (found) => typeof found === kind && (found as number) <= limit
  }
}

export const limitPeriods = ["hour", "day", "week", "month", "ever"] as const
export type LimitPeriod = (typeof limitPeriods)[number]

/** The reward of a rule or a quest, or a manual reward. */
export interface Gives {
  readonly xp: number
  readonly points: number
  readonly badgeId: string | null
}

/** A reward as callers write it, in definitions and grants: the parts that it gives. */
export interface Reward {
  readonly xp?: number
  readonly points?: number
  readonly badgeId?: string
}

/** Whether a reward is empty. */
export const givesNothing = ({ badgeId, points, xp }: Partial<Gives>): boolean =>
  (xp ?? 0) === 0 && (points ?? 0) === 0 && (badgeId ?? null) === null

/**
 * How a user's state counts the uses of a rule: per period, or only their `times`; `undefined`: not
 * at all.
 */
export const countedForm = ({
  cooldownSeconds,
  limit,
}: Pick<Rule, "cooldownSeconds" | "limit">): LimitPeriod | "times" | undefined =>
  limit?.per ?? (cooldownSeconds === null ? undefined : "times")

/**
 * A rule. An enabled rule gives its reward for every event with its action whose metadata satisfies
 * `where`. All matching rules give their rewards, in the order of their creation. Times are epoch
 * milliseconds.
 */
export interface Rule extends Versioned {
  readonly id: string
  readonly action: string
  readonly where: ReadonlyArray<Condition>
  readonly reward: Gives
  /**
   * Multiplies xp and points by the number at `path` of the metadata, clamped to the bounds,
   * rounded down.
   */
  readonly multiplier: {
    readonly path: string
    readonly min: number
    readonly max: number
  } | null
  /**
   * At most `times` uses per user and period. The period is that of the event, in the project's
   * time zone.
   */
  readonly limit: { readonly times: number; readonly per: LimitPeriod } | null
  /**
   * The minimum time between two events of a user that the rule rewards, in any order of arrival.
   */
  readonly cooldownSeconds: number | null
  /**
   * The time of the last edit that changed how users' states count the uses (`countedForm`);
   * absent: never.
   */
  readonly countedSince?: number
  readonly enabled: boolean
}

export const questStatuses = [
  "draft",
  "scheduled",
  "active",
  "paused",
  "ended",
  "archived",
] as const
export type QuestStatus = (typeof questStatuses)[number]

export const questRecurrences = ["none", "daily", "weekly", "monthly"] as const
export type QuestRecurrence = "none" | WindowKind

/**
 * A step of a quest. `target` events with this action that satisfy `where` complete the step. With
 * `sumPath`, the numbers at this path of their metadata must add up to `target` instead.
 */
export interface QuestStep {
  readonly key: string
  readonly action: string
  readonly where: ReadonlyArray<Condition>
  readonly target: number
  readonly sumPath?: string
  /**
   * The time at which an edit added the step to the published quest. Earlier events do not count
   * for the step.
   */
  readonly since?: number
}

/** A quest's definition. Times are epoch milliseconds. */
export interface Quest extends Versioned {
  readonly id: string
  readonly title: string
  readonly description: string | null
  /**
   * The stored status. By the clock, a `published` quest is `scheduled`, `active` or `ended`
   * (`questStatusAt`).
   */
  readonly set: "draft" | "published" | "paused" | "archived"
  readonly reward: Gives
  /**
   * The completed steps complete the quest. A `QUEST_COMPLETE` event completes a quest without
   * steps.
   */
  readonly steps: ReadonlyArray<QuestStep>
  readonly startsAt: number | null
  /** The time of the publication; absent: published when created, or not yet published. */
  readonly publishedAt?: number
  readonly endsAt: number | null
  /** The quest restarts in each window of this kind, in the project's time zone. */
  readonly recurrence: QuestRecurrence
  /** The ids of the quests that a user must complete before this quest. */
  readonly prerequisites: ReadonlyArray<string>
  readonly metadata: Metadata
}

/** The status of a quest at `now`: the stored status, or, if published, the status by the clock. */
export const questStatusAt = (quest: Quest, now: number): QuestStatus => {
  if (quest.set === "draft" || quest.set === "archived") return quest.set
  if (quest.endsAt !== null && now >= quest.endsAt) return "ended"
  if (quest.set === "paused") return "paused"
  return quest.startsAt !== null && now < quest.startsAt ? "scheduled" : "active"
}

/**
 * The time from which events count: the start; by default the publication, or else the creation.
 */
export const countsFrom = ({ createdAt, publishedAt, startsAt }: Quest): number =>
  startsAt ?? publishedAt ?? createdAt

/**
 * The index of a quest's period on this local day of the project; 0 if the quest does not recur.
 */
export const questPeriodOf = ({ recurrence }: Quest, day: number): number =>
  recurrence === "none" ? 0 : windowOfDay(recurrence, day)

/**
 * The end of a quest's present period, epoch milliseconds; infinity if the quest does not recur.
 */
export const questPeriodEnd = (quest: Quest, zone: Zone, now: number): number => {
  const { recurrence } = quest
  if (recurrence === "none") return Number.POSITIVE_INFINITY
  return zone.windowBounds(recurrence, questPeriodOf(quest, zone.dayAt(now))).endsAt
}

export const criterionKinds = [
  "xp",
  "level",
  "points",
  "action_count",
  "action_sum",
  "quest_count",
  "streak",
  "manual",
] as const
export type CriterionKind = (typeof criterionKinds)[number]

/**
 * The criterion of a badge. All kinds but `manual` award the badge when the user's number reaches
 * `target`.
 */
export type Criterion =
  | { readonly kind: "xp" | "level" | "points" | "quest_count"; readonly target: number }
  | {
      readonly kind: "action_count"
      readonly target: number
      readonly action: string
      readonly where: ReadonlyArray<Condition>
      readonly sumPath?: never
    }
  /** The sum of the numbers at `sumPath` of the metadata of matching events. */
  | {
      readonly kind: "action_sum"
      readonly target: number
      readonly action: string
      readonly where: ReadonlyArray<Condition>
      readonly sumPath: string
    }
  /** `streak`: the key of a streak, or null for any streak. */
  | { readonly kind: "streak"; readonly target: number; readonly streak: string | null }
  | { readonly kind: "manual" }

/** A criterion that counts events or sums a number of their metadata. */
export type CountingCriterion = Extract<Criterion, { readonly action: string }>

export const isCounting = (criteria: Criterion): criteria is CountingCriterion =>
  criteria.kind === "action_count" || criteria.kind === "action_sum"

/**
 * A badge's definition. An archived badge is no longer awarded, but users keep it. Times are epoch
 * milliseconds.
 */
export interface Badge extends Versioned {
  readonly id: string
  readonly name: string
  readonly description: string | null
  readonly icon: string | null
  readonly criteria: Criterion
  /** A secret badge is hidden from a user until the user earns it. */
  readonly secret: boolean
  readonly archived: boolean
}

/** The number at which a badge is earned; 0 for a manual badge. */
export const targetOf = ({ criteria }: Badge): number =>
  criteria.kind === "manual" ? 0 : criteria.target

/*
 * The amount that an event adds to a quest step or a badge: 1, or, if the step or the badge sums, a
 * number of the metadata. Only a number above 0 and at most `sumAmountMax` adds anything. So an
 * event never reduces a sum, and a single wrong value does not complete a quest.
 *
 * Sums are exact: each number and each sum is rounded to `sumDecimals` decimals. Up to `sumMax`,
 * the error of an addition is smaller than the distance between two such decimals, so numbers can
 * be added and subtracted in any order.
 */

/** The amount of an event with this metadata; 0: the event does not count. */
export const amountOf = (
  { sumPath }: { readonly sumPath?: string },
  metadata: Metadata | undefined,
): number => {
  if (sumPath === undefined) return 1
  const value = valueAt(metadata, sumPath)
  const isAmount = typeof value === "number" && value > 0 && value <= limits.sumAmountMax
  return isAmount ? rounded(value) : 0
}

/** The sum or count plus `amount`. A sum does not exceed `sumMax`. */
export const plusAmount = (
  { sumPath }: { readonly sumPath?: string },
  before: number,
  amount: number,
): number =>
  sumPath === undefined ? before + amount : Math.min(limits.sumMax, rounded(before + amount))

/** The sum or count minus `amount`, at least 0. */
export const minusAmount = (before: number, amount: number): number =>
  Math.max(0, rounded(before - amount))

const scale = 10 ** limits.sumDecimals

const rounded = (value: number): number =>
  Number.isInteger(value) ? value : Math.round(value * scale) / scale
