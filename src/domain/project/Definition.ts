/**
 * The definitions of an environment (rules, quests, badges) and the functions of a single
 * definition.
 */
import { limits } from "../../Limits.ts"
import { type WindowKind, windowOfDay, type Zone } from "../values/Calendar.ts"
import type { Metadata } from "../values/Metadata.ts"
import type { LimitPeriod } from "../values/Periods.ts"

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

/** The reward of a rule, a quest or a badge, or a manual reward. */
export interface Gives {
  readonly xp: number
  readonly points: number
  /** Amounts of further currencies, by key; absent: none. */
  readonly currencies?: Readonly<Record<string, number>>
  readonly badgeId: string | null
  /** Freezes, by the key of the streak; absent: none. */
  readonly freezes?: Readonly<Record<string, number>>
  /** Absent: none. */
  readonly boost?: BoostGift
}

/** A personal boost for some minutes (`decide/Boosts.ts`). `key` is that of the boost. */
export interface BoostGift {
  readonly key: string
  readonly minutes: number
}

/** A reward as callers write it, in definitions and grants: the parts that it gives. */
export interface Reward {
  readonly xp?: number
  readonly points?: number
  readonly currencies?: Readonly<Record<string, number>>
  readonly badgeId?: string
  readonly freezes?: Readonly<Record<string, number>>
  readonly boost?: BoostGift
}

/**
 * The change of a definition's reward: the parts that it names. `currencyPatch` and `freezePatch`
 * merge amounts, `currencies` and `freezes` replace them.
 */
export interface RewardChange extends Partial<Omit<Gives, "boost" | "currencies" | "freezes">> {
  readonly currencies?: Gives["currencies"] | undefined
  readonly currencyPatch?: AmountsPatch
  readonly freezes?: Gives["freezes"] | undefined
  readonly freezePatch?: AmountsPatch
  /** null or undefined: none. */
  readonly boost?: BoostGift | null | undefined
}

type AmountsPatch = { readonly [key: string]: number | null } | null

/** The reward after a change. */
export const changedReward = (before: Gives, change: RewardChange | undefined): Gives => {
  if (change === undefined) return before
  const { boost: ______, currencies: _, freezes: __, ...parts } = before
  const {
    boost: _____,
    currencies: ___,
    currencyPatch,
    freezePatch,
    freezes: ____,
    ...changed
  } = change
  const currencies =
    "currencies" in change ? change.currencies : patchedAmounts(before.currencies, currencyPatch)
  const freezes = "freezes" in change ? change.freezes : patchedAmounts(before.freezes, freezePatch)
  const boost = "boost" in change ? (change.boost ?? undefined) : before.boost
  return {
    ...parts,
    ...changed,
    ...(boost !== undefined && { boost }),
    ...(currencies !== undefined && Object.keys(currencies).length > 0 && { currencies }),
    ...(freezes !== undefined && Object.keys(freezes).length > 0 && { freezes }),
  }
}

const patchedAmounts = (before: Gives["currencies"], patch: AmountsPatch | undefined) =>
  patch === undefined
    ? before
    : Object.fromEntries(
        Object.entries({ ...(patch !== null && before), ...patch }).filter(
          (entry): entry is [string, number] => entry[1] !== null,
        ),
      )

/** Whether a reward is empty. */
export const givesNothing = ({
  badgeId,
  boost,
  currencies,
  freezes,
  points,
  xp,
}: Partial<Gives>): boolean =>
  (xp ?? 0) === 0 &&
  (points ?? 0) === 0 &&
  (badgeId ?? null) === null &&
  boost === undefined &&
  !hasAmounts(currencies) &&
  !hasAmounts(freezes)

export const hasAmounts = (amounts: Gives["currencies"]): boolean =>
  amounts !== undefined && Object.values(amounts).some((amount) => amount > 0)

/**
 * How a user's state counts the uses of a rule: per period, or only their `times`; `undefined`: not
 * at all.
 */
export const countedForm = ({
  cooldownSeconds,
  limit,
}: Pick<Rule, "cooldownSeconds" | "limit">): LimitPeriod | "times" | undefined =>
  limit?.per ?? (cooldownSeconds === null ? undefined : "times")

/* The members that definitions of every kind have, and their lifecycle. */

export const statuses = ["draft", "scheduled", "active", "paused", "ended", "archived"] as const
export type Status = (typeof statuses)[number]

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

/** A definition of any kind. Times are epoch milliseconds. */
export interface Definition extends Versioned {
  readonly id: string
  /** The name that the caller gave it (`DefinitionKey.ts`). */
  readonly key: string
  readonly description: string | null
  readonly metadata: Metadata
  /**
   * The stored status. By the clock, a `published` definition is `scheduled`, `active` or `ended`
   * (`statusAt`). An archived one never changes.
   */
  readonly set: "draft" | "published" | "paused" | "archived"
  readonly startsAt: number | null
  readonly endsAt: number | null
}

/** A definition for the members of a segment. */
export interface Targeted extends Definition {
  /** The key of the segment; null: for every user. */
  readonly segment: string | null
}

/**
 * A definition as a caller gives it. Without `key` a new one gets a free one; without `set` it is
 * published, and the status of an existing one stays. `defaults` has the other absent members.
 */
export type New<A extends Definition> = Omit<A, keyof Targeted> &
  Pick<A, "id"> &
  Partial<Pick<A, Extract<keyof A, Exclude<keyof Targeted, "id" | "set" | keyof Versioned>>>> & {
    readonly set?: Definition["set"] | undefined
  }

export const defaults = { description: null, metadata: {}, startsAt: null, endsAt: null } as const
export const targetedDefaults = { ...defaults, segment: null } as const

export type Lifecycle = Pick<Definition, "set" | "startsAt" | "endsAt">

/** The status at `now`: the stored status, or, if published, the status by the clock. */
export const statusAt = ({ endsAt, set, startsAt }: Lifecycle, now: number): Status => {
  if (set === "draft" || set === "archived") return set
  if (endsAt !== null && now >= endsAt) return "ended"
  if (set === "paused") return "paused"
  return startsAt !== null && now < startsAt ? "scheduled" : "active"
}

/** Whether the definition is in its period at `at`: not before its start, and before its end. */
export const isOpenAt = ({ endsAt, startsAt }: Lifecycle, at: number): boolean =>
  (startsAt === null || at >= startsAt) && (endsAt === null || at < endsAt)

/** Whether the definition pays for what occurred at `at`. */
export const paysAt = (definition: Lifecycle, at: number): boolean =>
  definition.set === "published" && isOpenAt(definition, at)

/**
 * A rule. A published rule gives its reward for every event of its period with its action whose
 * metadata satisfies `where`, if the user is in its segment. All matching rules give their rewards,
 * in the order of their creation.
 */
export interface Rule extends Targeted {
  readonly name: string | null
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
}

export const questRecurrences = ["none", "daily", "weekly", "monthly"] as const
export type QuestRecurrence = "none" | WindowKind

/**
 * A step of a quest. `target` events with this action that satisfy `where` complete the step. With
 * `sumPath`, the numbers at this path of their metadata must add up to `target` instead. With the key
 * of a metric, what events add to the metric (`amountTowards`) must add up to `target`.
 */
export type QuestStep = {
  readonly key: string
  readonly target: number
  /**
   * The time at which an edit added the step to the published quest. Earlier events do not count
   * for the step.
   */
  readonly since?: number
} & (
  | {
      readonly action: string
      readonly where: ReadonlyArray<Condition>
      readonly sumPath?: string
      readonly metric?: never
    }
  | {
      readonly metric: string
      readonly action?: never
      readonly where?: never
      readonly sumPath?: never
    }
)

/** Who gets a completed quest paid: everybody at once, or each user who claims it. */
export const questClaims = ["auto", "manual"] as const
export type QuestClaim = (typeof questClaims)[number]

export interface Quest extends Targeted {
  readonly title: string
  readonly reward: Gives
  /**
   * The completed steps complete the quest. A `QUEST_COMPLETE` event completes a quest without
   * steps.
   */
  readonly steps: ReadonlyArray<QuestStep>
  /** The time of the publication; absent: published when created, or not yet published. */
  readonly publishedAt?: number
  /** The quest restarts in each window of this kind, in the project's time zone. */
  readonly recurrence: QuestRecurrence
  /** The keys of the quests that a user must complete before this quest. */
  readonly prerequisites: ReadonlyArray<string>
  /** Events count only once the user has started the quest by request, in each of its periods. */
  readonly optIn: boolean
  /** With `manual`, a quest completed by its steps pays when a `QUEST_COMPLETE` event claims it. */
  readonly claim: QuestClaim
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
  "metric",
  "badges",
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
  /** The total of the metric with the key `metric`. */
  | { readonly kind: "metric"; readonly target: number; readonly metric: string }
  /**
   * How many of the badges with these keys the user has, in any tier. The target is the length of the
   * list. No badge leads back to itself.
   */
  | {
      readonly kind: "badges"
      readonly target: number
      readonly badges: ReadonlyArray<string>
    }
  | { readonly kind: "manual" }

/** A criterion that counts events or sums a number of their metadata. */
export type CountingCriterion = Extract<Criterion, { readonly action: string }>

/** The keys of the badges that a badge with this criterion asks for. */
export const listedBadges = (criteria: {
  readonly kind?: CriterionKind
  readonly badges?: ReadonlyArray<string>
}): ReadonlyArray<string> => criteria.badges ?? noBadges

const noBadges: ReadonlyArray<string> = []

export const isCounting = (criteria: Criterion): criteria is CountingCriterion =>
  criteria.kind === "action_count" || criteria.kind === "action_sum"

export const isCountingBadge = (
  badge: Badge,
): badge is Badge & { readonly criteria: CountingCriterion } => isCounting(badge.criteria)

/** A tier of a badge, such as gold. A user earns each tier once, at its target. */
export interface BadgeTier {
  /** The caller's key, unique in the badge. A tier with another key is another tier. */
  readonly key: string
  readonly name: string
  readonly target: number
  readonly icon: string | null
  /** What the tier pays; without a badge. */
  readonly reward: Gives
}

/**
 * A badge. Users keep it, whatever becomes of it. A paused badge counts events of its period and is
 * not awarded. The criteria of a badge with a segment count and award only for members; rules,
 * quests and people may give it to anyone.
 */
export interface Badge extends Targeted {
  readonly name: string
  readonly icon: string | null
  readonly criteria: Criterion
  /** Lowest target first; empty: the badge is one tier. The target of the criteria is the lowest. */
  readonly tiers: ReadonlyArray<BadgeTier>
  /** What a badge without tiers pays, each time that it is earned; without a badge. */
  readonly reward: Gives
  /**
   * Whether a user earns the badge at each multiple of the target. It never changes. Only the criteria
   * award such a badge. It counts or sums, and has no tiers.
   */
  readonly repeatable: boolean
  /** A secret badge is hidden from a user until the user earns it. */
  readonly secret: boolean
}

/** What a user can earn once: a tier of a badge, or a badge without tiers. */
export interface Award {
  readonly badge: Badge
  /** `undefined`: the badge has no tiers. */
  readonly tier: BadgeTier | undefined
  /** 0 for a manual badge. */
  readonly target: number
}

/** The awards of a badge, lowest target first. */
export const awardsOf = (badge: Badge): readonly [Award, ...ReadonlyArray<Award>] => {
  const { criteria, tiers } = badge
  const [first, ...others] = tiers.map((tier) => ({ badge, tier, target: tier.target }))
  if (first !== undefined) return [first, ...others]
  return [{ badge, tier: undefined, target: criteria.kind === "manual" ? 0 : criteria.target }]
}

/** How often the number of a user reaches the target of a repeatable badge. */
export const repetitionsOf = ({ criteria }: Badge, reached: number): number =>
  criteria.kind === "manual"
    ? 0
    : Math.min(limits.badgeTimesMax, Math.max(0, Math.floor(reached / criteria.target)))

/** The name of an award in a user's state. No id and no key has a space. */
export const awardName = (badgeId: string, tier = ""): string =>
  tier === "" ? badgeId : `${badgeId} ${tier}`

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

/** Whether something adds up numbers, rather than events. */
export const isSum = ({ metric, sumPath }: Summing): boolean =>
  sumPath !== undefined || metric !== undefined

interface Summing {
  readonly sumPath?: string
  readonly metric?: string
}

/** The sum or count plus `amount`. A sum does not exceed `sumMax`. */
export const plusAmount = (of: Summing, before: number, amount: number): number =>
  isSum(of) ? Math.min(limits.sumMax, rounded(before + amount)) : before + amount

/** The sum or count minus `amount`, at least 0. */
export const minusAmount = (before: number, amount: number): number =>
  Math.max(0, rounded(before - amount))

const scale = 10 ** limits.sumDecimals

const rounded = (value: number): number =>
  Number.isInteger(value) ? value : Math.round(value * scale) / scale
