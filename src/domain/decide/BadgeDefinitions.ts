/** Decides the commands on badges. `Badges.ts` awards badges to users. */
import { Result } from "effect"
import { limits } from "../../Limits.ts"
import {
  type Badge,
  type Condition,
  type Criterion,
  type CriterionKind,
  changedReward,
  givesNothing,
  type New,
  type RewardChange,
  type Status,
  statusAt,
  targetedDefaults,
} from "../project/Definition.ts"
import { definitionOf } from "../project/DefinitionKey.ts"
import type { ProjectState } from "../project/Project.ts"
import { type Fault, refuse } from "../values/Errors.ts"
import type { Metadata } from "../values/Metadata.ts"
import type { Decided } from "./Decided.ts"
import {
  badgeInUse,
  badgeMetricFaults,
  keysOf,
  listedBadgeFaults,
  metadataFaults,
  rewardReferenceFaults,
  segmentReferenceFaults,
  streakReferenceFaults,
  sumTargetFaults,
} from "./definitionChecks.ts"
import { Decisions, definitionNotFound } from "./Kind.ts"
import { type KindMembers, partFaults, patchedParts } from "./kindMembers.ts"
import { periodFaults } from "./Lifecycle.ts"
import { textSearchFaults } from "./textSearches.ts"

/** A criterion in a request: the union of the members of all kinds. */
export interface CriterionParts {
  readonly kind?: CriterionKind
  readonly target?: number
  readonly action?: string
  readonly where?: ReadonlyArray<Condition> | null
  readonly sumPath?: string
  readonly streak?: string | null
  readonly metric?: string
  readonly badges?: ReadonlyArray<string>
}

/** A new badge, whose criteria may lack members. */
type NewBadge = Omit<New<Badge>, "criteria" | "tiers" | "reward" | "repeatable"> & {
  readonly criteria: CriterionParts
  readonly repeatable?: boolean
  readonly tiers?: Badge["tiers"]
  readonly reward?: Badge["reward"]
}

/**
 * A merge patch of a badge. `criteria` is merged unless its kind changes, `reward` is merged, and
 * `tiers` replaces all tiers.
 */
export interface BadgeChange
  extends Partial<
    Pick<
      Badge,
      "name" | "description" | "icon" | "secret" | "startsAt" | "endsAt" | "segment" | "tiers"
    >
  > {
  readonly reward?: RewardChange
  readonly status?: Status
  readonly metadata?: Metadata | null
  readonly criteria?: CriterionParts
}

/** The criteria of a badge are as given until it has no faults: they may lack members. */
export const badges = new Decisions<"badge", NewBadge, BadgeChange, "in_use">({
  noun: "badge",
  max: limits.badgesMax,
  nameOf: ({ name }) => name,
  members: ({ criteria, ...given }) => ({
    ...targetedDefaults,
    reward: paysNothing,
    tiers: [],
    repeatable: false,
    ...given,
    criteria: criteria as Criterion,
  }),
  changed: (before, { criteria, reward, ...change }) => {
    const tiers = change.tiers ?? before.tiers
    // The target is that of the lowest tier, or follows from the list of badges.
    const { target: _, ...untargeted }: CriterionParts = before.criteria
    const isDerived = before.tiers.length + tiers.length > 0 || before.criteria.kind === "badges"
    const parts = isDerived ? untargeted : before.criteria
    const whole = criteria === undefined ? parts : patchedParts<CriterionParts>(parts, criteria)
    return {
      ...change,
      reward: changedReward(before.reward, reward),
      criteria: whole as Criterion,
    }
  },
  normal: (state, badge) => {
    const { badges }: CriterionParts = badge.criteria
    if (badges === undefined) return badge
    const criteria: CriterionParts = { ...badge.criteria, badges: keysOf(state.badges, badges) }
    return { ...badge, criteria: criteria as Criterion }
  },
  faults: (state, badge, { before }) => [
    ...badgeFaults(state, badge),
    ...(badge.repeatable ? repeatableFaults(state, badge) : []),
    ...(before === undefined || badge.repeatable === before.repeatable
      ? []
      : [{ pointer: "/repeatable", code: "invalid_value", detail: "cannot change" }]),
  ],
  completed: (badge) => ({ ...badge, criteria: criterionOf(badge.criteria, badge.tiers) }),
  inUse: (state, badge) => badgeInUse(state, badge),
})

const paysNothing = { xp: 0, points: 0, badgeId: null }

const target = { required: ["target"] }
const kindMembers: Readonly<Record<CriterionKind, KindMembers>> = {
  xp: target,
  level: target,
  points: target,
  quest_count: target,
  action_count: { required: ["target", "action"], optional: ["where"] },
  action_sum: { required: ["target", "action", "sumPath"], optional: ["where"] },
  streak: { required: ["target"], optional: ["streak"] },
  metric: { required: ["target", "metric"] },
  badges: { required: ["badges"] },
  manual: { required: [] },
}

const badgeFaults = (state: ProjectState, badge: Badge): ReadonlyArray<Fault> => {
  const parts: CriterionParts = badge.criteria
  const { action, badges = [], kind, metric, streak = null, where } = parts
  const lowest = badge.tiers[0]?.target
  const targeted = lowest === undefined ? parts : { ...parts, target: lowest }
  return [
    ...periodFaults(badge),
    ...metadataFaults(badge.metadata),
    ...segmentReferenceFaults(state, badge.segment),
    ...partFaults(isTiered(kind) ? targeted : parts, kindMembers, "/criteria"),
    ...sumTargetFaults(parts, "/criteria/target"),
    ...tierFaults(badge, parts),
    ...paymentFaults(state, badge),
    ...(kind === "streak" ? streakReferenceFaults(state, streak, "/criteria/streak") : []),
    ...(kind === "metric" ? badgeMetricFaults(state, metric, "/criteria/metric") : []),
    ...(kind === "badges" ? listedBadgeFaults(state, badge.key, badges) : []),
    ...textSearchFaults(
      state,
      badge.id,
      action === undefined ? [] : [{ action, where: where ?? [], pointer: "/criteria/where" }],
    ),
  ]
}

/** Whether badges of the kind may have tiers: they have a target that their owner chooses. */
const isTiered = (kind: CriterionKind | undefined): boolean =>
  kind !== "manual" && kind !== "badges"

/** The faults of tiers. Their targets rise, and take the place of the target of the criteria. */
const tierFaults = (
  { reward, tiers }: Pick<Badge, "reward" | "tiers">,
  { kind, sumPath, target }: CriterionParts,
): ReadonlyArray<Fault> => {
  if (tiers.length === 0) return []
  const fault = (pointer: string, code: string, detail: string): Fault => ({
    pointer,
    code,
    detail,
  })
  if (!isTiered(kind)) {
    return [fault("/tiers", "unknown_member", `is not allowed for the kind ${kind}`)]
  }
  const faults: Array<Fault> = []
  if (target !== undefined && target !== tiers[0]!.target) {
    const detail = "must be absent, or the target of the lowest tier"
    faults.push(fault("/criteria/target", "invalid_value", detail))
  }
  if (!givesNothing(reward)) {
    const detail = "is not allowed with tiers: each tier has its own"
    faults.push(fault("/reward", "unknown_member", detail))
  }
  for (const [index, tier] of tiers.entries()) {
    const pointer = `/tiers/${index}/target`
    const parts = { ...(sumPath !== undefined && { sumPath }), target: tier.target }
    faults.push(...sumTargetFaults(parts, pointer))
    if (index > 0 && tier.target <= tiers[index - 1]!.target) {
      faults.push(fault(pointer, "out_of_range", "must be above the target of the tier before"))
    }
  }
  return faults
}

/** The faults of a repeatable badge: its number must be a count or a sum, which only grows. */
const repeatableFaults = (
  { metrics }: ProjectState,
  { criteria, tiers }: Pick<Badge, "criteria" | "tiers">,
): ReadonlyArray<Fault> => {
  const faults: Array<Fault> = []
  if (tiers.length > 0) {
    const detail = "is not allowed with repeatable"
    faults.push({ pointer: "/tiers", code: "unknown_member", detail })
  }
  const metric = criteria.kind === "metric" ? definitionOf(metrics, criteria.metric) : undefined
  const counts =
    metric === undefined || ["count", "sum", "distinct_days"].includes(metric.aggregate)
  if (!["action_count", "action_sum", "metric"].includes(criteria.kind) || !counts) {
    const detail = "is only for action_count, action_sum, and metrics that count or sum"
    faults.push({ pointer: "/repeatable", code: "invalid_value", detail })
  }
  return faults
}

/** The faults of the currencies that a badge and its tiers pay. */
const paymentFaults = (
  state: ProjectState,
  { reward, tiers }: Pick<Badge, "reward" | "tiers">,
): ReadonlyArray<Fault> => [
  ...rewardReferenceFaults(state, reward, "/reward"),
  ...tiers.flatMap((tier, index) =>
    rewardReferenceFaults(state, tier.reward, `/tiers/${index}/reward`),
  ),
]

/**
 * The criterion of `parts` and tiers. `partFaults` has checked that all required members are present.
 */
const criterionOf = (
  { action, badges, kind, metric, streak = null, sumPath, target, where }: CriterionParts,
  tiers: Badge["tiers"],
): Criterion => {
  const criterion = {
    kind,
    ...(isTiered(kind) && { target: tiers[0]?.target ?? target }),
    ...(kind === "badges" && { target: badges?.length, badges }),
    ...((kind === "action_count" || kind === "action_sum") && { action, where: where ?? [] }),
    ...(kind === "action_sum" && { sumPath }),
    ...(kind === "streak" && { streak }),
    ...(kind === "metric" && { metric }),
  }
  return criterion as Criterion
}

/* The start and the end of backfills. `Badges.ts` decides the award to each user. */

export type BackfillCommand =
  | { readonly kind: "startBackfill"; readonly badgeId: string; readonly notify: boolean }
  | { readonly kind: "startMetricBackfill"; readonly metricId: string }
  /** The backfill has checked all users. */
  | {
      readonly kind: "finishBackfill"
      readonly definitionId: string
      readonly checked: number
      readonly awarded: number
    }

type BackfillRunCommand<Kind> = Extract<BackfillCommand, { readonly kind: Kind }>

export const finishBackfill = (
  state: ProjectState,
  { awarded, checked, definitionId }: BackfillRunCommand<"finishBackfill">,
): Decided<"conflict"> =>
  isUnderWay(state, definitionId)
    ? Result.succeed([{ kind: "backfill.finished", definitionId, checked, awarded }])
    : refuse("conflict", "No such backfill is running.")

export const startMetricBackfill = (
  state: ProjectState,
  { metricId }: BackfillRunCommand<"startMetricBackfill">,
): Decided<"metric_not_found" | "invalid_transition" | "conflict"> => {
  const metric = definitionOf(state.metrics, metricId)
  if (metric === undefined) return Result.fail(definitionNotFound("metric"))
  if (metric.set === "archived") {
    return refuse("invalid_transition", "The metric is archived: it counts no events.")
  }
  if (isUnderWay(state, metric.id)) {
    return refuse("conflict", "A backfill of this metric is already running.")
  }
  return Result.succeed([{ kind: "backfill.started", definitionId: metric.id, notify: false }])
}

export const startBackfill = (
  state: ProjectState,
  { badgeId, notify }: BackfillRunCommand<"startBackfill">,
  now: number,
): Decided<"badge_not_found" | "invalid_transition" | "conflict"> => {
  const badge = definitionOf(state.badges, badgeId)
  if (badge === undefined) return Result.fail(definitionNotFound("badge"))
  const status = statusAt(badge, now)
  if (status !== "active") {
    return refuse("invalid_transition", `The badge is ${status}: only an active badge is awarded.`)
  }
  if (badge.criteria.kind === "manual") {
    return refuse("conflict", "A manual badge has no criteria to backfill.")
  }
  if (isUnderWay(state, badge.id)) {
    return refuse("conflict", "A backfill of this badge is already running.")
  }
  return Result.succeed([{ kind: "backfill.started", definitionId: badge.id, notify }])
}

const isUnderWay = ({ backfills }: ProjectState, definitionId: string): boolean =>
  backfills.get(definitionId)?.finishedAt === null
