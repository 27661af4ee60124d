/** Decides the commands on badges. `Badges.ts` awards badges to users. */
import { Result } from "effect"
import { limits } from "../../Limits.ts"
import {
  type Badge,
  type Condition,
  type Criterion,
  type CriterionKind,
  changedReward,
  firstVersion,
  givesNothing,
  type New,
  nextVersion,
  type Replacement,
  type RewardChange,
  type Status,
  statusAt,
  type Targeted,
  targetedDefaults,
} from "../project/Definition.ts"
import { definitionOf } from "../project/DefinitionKey.ts"
import type { ProjectState } from "../project/Project.ts"
import {
  type Fault,
  invalidRequest,
  type LaurelError,
  quotaExceeded,
  refuse,
} from "../values/Errors.ts"
import { type Metadata, patchedMetadata } from "../values/Metadata.ts"
import { archivedFault, type Conditional, type Decided, noChange } from "./Decided.ts"
import { type KindMembers, partFaults, patchedParts } from "./Draft.ts"
import {
  badgeInUse,
  claimedKey,
  currencyReferenceFaults,
  metadataFaults,
  metricReferenceFaults,
  segmentReferenceFaults,
  streakReferenceFaults,
  sumTargetFaults,
  textSearchFaults,
} from "./definitionChecks.ts"
import {
  archived,
  archivedCannotChange,
  liveCount,
  moved,
  movedTo,
  overFaults,
  periodFaults,
} from "./Lifecycle.ts"

/** A criterion in a request: the union of the members of all kinds. */
export interface CriterionParts {
  readonly kind?: CriterionKind
  readonly target?: number
  readonly action?: string
  readonly where?: ReadonlyArray<Condition> | null
  readonly sumPath?: string
  readonly streak?: string | null
  readonly metric?: string
}

/** A badge of a caller, whose criteria may lack members. */
type Partly<A> = Omit<A, "criteria" | "tiers" | "reward"> & {
  readonly criteria: CriterionParts
  readonly tiers?: Badge["tiers"]
  readonly reward?: Badge["reward"]
}
export type BadgeReplacement = Partly<Replacement<Badge>>

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

export type BadgeCommand =
  | { readonly kind: "createBadge"; readonly badge: Partly<New<Badge>> }
  | (Conditional & {
      readonly kind: "updateBadge"
      readonly badgeId: string
      readonly change: BadgeChange
    })
  /** Archives the badge. */
  | (Conditional & { readonly kind: "deleteBadge"; readonly badgeId: string })

type CommandOf<Kind> = Extract<BadgeCommand, { readonly kind: Kind }>

export const deleteBadge = (
  state: ProjectState,
  { badgeId }: CommandOf<"deleteBadge">,
  now: number,
): Decided<"badge_not_found" | "in_use"> => {
  const badge = definitionOf(state.badges, badgeId)
  if (badge === undefined || badge.set === "archived") return badgeNotFound
  const refusal = badgeInUse(state, badge)
  return refusal === undefined
    ? Result.succeed([{ kind: "badge.updated", badge: archived(badge, now) }])
    : Result.fail(refusal)
}

export const createBadge = (
  state: ProjectState,
  {
    badge: { criteria: parts, reward = paysNothing, tiers = [], ...fields },
  }: CommandOf<"createBadge">,
  now: number,
): Decided<"invalid_request" | "key_taken" | "quota_exceeded"> => {
  const key = claimedKey(state.badges, "badge", fields.key, fields.name)
  if (Result.isFailure(key)) return Result.fail(key.failure)
  const made = {
    ...targetedDefaults,
    set: "published",
    ...fields,
    tiers,
    reward,
    key: key.success,
    ...firstVersion(now),
  } as const
  const criteria = criterionOf(state, made, parts, overFaults(made, now))
  if (Result.isFailure(criteria)) return Result.fail(criteria.failure)
  if (liveCount(state.badges) >= limits.badgesMax) {
    return quotaExceeded(limits.badgesMax, "badges per environment")
  }
  return Result.succeed([{ kind: "badge.created", badge: { ...made, criteria: criteria.success } }])
}

export const updateBadge = (
  state: ProjectState,
  {
    badgeId,
    change: { criteria: parts, metadata, reward, status, ...change },
  }: CommandOf<"updateBadge">,
  now: number,
): Decided<"badge_not_found" | "invalid_request" | "invalid_transition" | "in_use"> => {
  const badge = definitionOf(state.badges, badgeId)
  if (badge === undefined) return badgeNotFound
  if (badge.set === "archived") return archivedCannotChange
  const fields = {
    ...badge,
    ...change,
    reward: changedReward(badge.reward, reward),
    metadata: patchedMetadata(badge.metadata, metadata),
    ...nextVersion(badge, now),
  }
  // The target of the criteria of a badge with tiers is that of the lowest tier.
  const { target: _, ...untargeted }: CriterionParts = badge.criteria
  const before = badge.tiers.length + fields.tiers.length > 0 ? untargeted : badge.criteria
  const whole = parts === undefined ? before : patchedParts<CriterionParts>(before, parts)
  const criteria = criterionOf(state, fields, whole)
  if (Result.isFailure(criteria)) return Result.fail(criteria.failure)
  const refusal = status === "archived" ? badgeInUse(state, badge) : undefined
  if (refusal !== undefined) return Result.fail(refusal)
  return Result.map(moved(fields, status, now), (set) => [
    { kind: "badge.updated", badge: { ...fields, criteria: criteria.success, set } },
  ])
}

/** Replaces `before` by `members`, with the status `set` if given. No facts if both are equal. */
export const replaceBadge = (
  state: ProjectState,
  before: Badge,
  { criteria: parts, id: _, reward = paysNothing, set, tiers = [], ...members }: BadgeReplacement,
  now: number,
): Decided<"invalid_request" | "invalid_transition"> => {
  if (before.set === "archived") return Result.fail(invalidRequest([archivedFault]))
  const own = { ...targetedDefaults, ...members, reward, tiers }
  const fields = { ...before, ...own, ...nextVersion(before, now) }
  const same = { ...fields, criteria: madeOf(parts, tiers), set: set ?? before.set }
  if (noChange(before, same)) return Result.succeed([])
  const criteria = criterionOf(state, fields, parts)
  if (Result.isFailure(criteria)) return Result.fail(criteria.failure)
  return Result.map(movedTo(fields, set, now), (set) => [
    { kind: "badge.updated", badge: { ...fields, criteria: criteria.success, set } },
  ])
}

const badgeNotFound = refuse("badge_not_found", "No badge of this project has this id or key.")

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
  manual: { required: [] },
}

/** The criterion of `parts`, or all faults of the badge. */
const criterionOf = (
  state: ProjectState,
  badge: Targeted & Pick<Badge, "reward" | "tiers">,
  parts: CriterionParts,
  more: ReadonlyArray<Fault> = [],
): Result.Result<Criterion, LaurelError<"invalid_request">> => {
  const { action, kind, metric, streak = null, where } = parts
  const lowest = badge.tiers[0]?.target
  const targeted = lowest === undefined ? parts : { ...parts, target: lowest }
  const faults: ReadonlyArray<Fault> = [
    ...more,
    ...periodFaults(badge),
    ...metadataFaults(badge.metadata),
    ...segmentReferenceFaults(state, badge.segment),
    ...partFaults(kind === "manual" ? parts : targeted, kindMembers, "/criteria"),
    ...sumTargetFaults(parts, "/criteria/target"),
    ...tierFaults(badge, parts),
    ...paymentFaults(state, badge),
    ...(kind === "streak" ? streakReferenceFaults(state, streak, "/criteria/streak") : []),
    ...(kind === "metric" ? metricReferenceFaults(state, metric, "/criteria/metric") : []),
    ...textSearchFaults(
      state,
      badge.id,
      action === undefined ? [] : [{ action, where: where ?? [], pointer: "/criteria/where" }],
    ),
  ]
  if (faults.length > 0) return Result.fail(invalidRequest(faults))
  // `partFaults` has checked that all required members are present.
  return Result.succeed(madeOf(parts, badge.tiers) as Criterion)
}

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
  if (kind === "manual") {
    return [fault("/tiers", "unknown_member", "is not allowed for the kind manual")]
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

/** The faults of the currencies that a badge and its tiers pay. */
const paymentFaults = (
  state: ProjectState,
  { reward, tiers }: Pick<Badge, "reward" | "tiers">,
): ReadonlyArray<Fault> => [
  ...currencyReferenceFaults(state, reward.currencies, "/reward/currencies"),
  ...tiers.flatMap((tier, index) =>
    currencyReferenceFaults(state, tier.reward.currencies, `/tiers/${index}/reward/currencies`),
  ),
]

/** The criterion of `parts` and tiers, even if required members are missing. */
const madeOf = (
  { action, kind, metric, streak = null, sumPath, target, where }: CriterionParts,
  tiers: Badge["tiers"],
) => {
  const criterion = {
    kind,
    ...(kind !== "manual" && { target: tiers[0]?.target ?? target }),
    ...((kind === "action_count" || kind === "action_sum") && { action, where: where ?? [] }),
    ...(kind === "action_sum" && { sumPath }),
    ...(kind === "streak" && { streak }),
    ...(kind === "metric" && { metric }),
  }
  return criterion
}

/* The start and the end of backfills. `Badges.ts` decides the award to each user. */

export type BackfillCommand =
  | { readonly kind: "startBackfill"; readonly badgeId: string; readonly notify: boolean }
  /** The backfill has checked all users. */
  | {
      readonly kind: "finishBackfill"
      readonly badgeId: string
      readonly checked: number
      readonly awarded: number
    }

type BackfillRunCommand<Kind> = Extract<BackfillCommand, { readonly kind: Kind }>

export const finishBackfill = (
  state: ProjectState,
  { awarded, badgeId, checked }: BackfillRunCommand<"finishBackfill">,
): Decided<"conflict"> =>
  isUnderWay(state, badgeId)
    ? Result.succeed([{ kind: "backfill.finished", badgeId, checked, awarded }])
    : refuse("conflict", "No backfill of this badge is running.")

export const startBackfill = (
  state: ProjectState,
  { badgeId, notify }: BackfillRunCommand<"startBackfill">,
  now: number,
): Decided<"badge_not_found" | "invalid_transition" | "conflict"> => {
  const badge = definitionOf(state.badges, badgeId)
  if (badge === undefined) return badgeNotFound
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
  return Result.succeed([{ kind: "backfill.started", badgeId: badge.id, notify }])
}

const isUnderWay = ({ backfills }: ProjectState, badgeId: string): boolean =>
  backfills.get(badgeId)?.finishedAt === null
