/** Decides the commands on badges. `Badges.ts` awards badges to users. */
import { Result } from "effect"
import { limits } from "../../Limits.ts"
import {
  type Badge,
  type Condition,
  type Criterion,
  type CriterionKind,
  firstVersion,
  nextVersion,
} from "../project/Definition.ts"
import type { ProjectState } from "../project/Project.ts"
import {
  type Fault,
  invalidRequest,
  type LaurelError,
  quotaExceeded,
  refuse,
} from "../values/Errors.ts"
import { archivedFault, type Conditional, type Decided, noChange } from "./Decided.ts"
import { type KindMembers, partFaults, patchedParts } from "./Draft.ts"
import {
  badgeInUse,
  streakReferenceFaults,
  sumTargetFaults,
  textSearchFaults,
} from "./definitionChecks.ts"

/** A criterion in a request: the union of the members of all kinds. */
export interface CriterionParts {
  readonly kind?: CriterionKind
  readonly target?: number
  readonly action?: string
  readonly where?: ReadonlyArray<Condition> | null
  readonly sumPath?: string
  readonly streak?: string | null
}

type Fields = Pick<Badge, "name" | "description" | "icon" | "secret">

/** A merge patch of a badge. `criteria` is merged unless its kind changes. */
export interface BadgeChange extends Partial<Fields> {
  readonly criteria?: CriterionParts
}

export type BadgeCommand =
  | {
      readonly kind: "createBadge"
      readonly badge: Fields & { readonly id: string; readonly criteria: CriterionParts }
    }
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
  const badge = state.badges.get(badgeId)
  if (badge === undefined || badge.archived) return badgeNotFound
  const refusal = badgeInUse(state, badgeId)
  return refusal === undefined
    ? Result.succeed([
        { kind: "badge.updated", badge: { ...badge, archived: true, ...nextVersion(badge, now) } },
      ])
    : Result.fail(refusal)
}

export const createBadge = (
  state: ProjectState,
  { badge: { criteria, ...fields } }: CommandOf<"createBadge">,
  now: number,
): Decided<"invalid_request" | "quota_exceeded"> =>
  Result.flatMap(criterionOf(state, fields.id, criteria), (criteria): Decided<"quota_exceeded"> => {
    let live = 0
    for (const { archived } of state.badges.values()) if (!archived) live++
    if (live >= limits.badgesMax) {
      return quotaExceeded(limits.badgesMax, "badges per environment")
    }
    const badge = { ...fields, criteria, archived: false, ...firstVersion(now) }
    return Result.succeed([{ kind: "badge.created", badge }])
  })

export const updateBadge = (
  state: ProjectState,
  { badgeId, change: { criteria, ...change } }: CommandOf<"updateBadge">,
  now: number,
): Decided<"badge_not_found" | "invalid_request" | "invalid_transition"> => {
  const badge = state.badges.get(badgeId)
  if (badge === undefined) return badgeNotFound
  if (badge.archived) {
    return refuse("invalid_transition", "An archived badge cannot change.")
  }
  const criterion =
    criteria === undefined
      ? Result.succeed(badge.criteria)
      : criterionOf(state, badgeId, patchedParts<CriterionParts>(badge.criteria, criteria))
  return Result.map(criterion, (criteria) => [
    { kind: "badge.updated", badge: { ...badge, ...change, criteria, ...nextVersion(badge, now) } },
  ])
}

/** Replaces `before` by `badge`. No facts if both are equal. */
export const replaceBadge = (
  state: ProjectState,
  before: Badge,
  { criteria, ...fields }: CommandOf<"createBadge">["badge"],
  now: number,
): Decided<"invalid_request"> => {
  if (before.archived) return Result.fail(invalidRequest([archivedFault]))
  const changed = { ...before, ...fields, criteria: madeOf(criteria) }
  if (noChange(before, changed)) return Result.succeed([])
  return Result.map(criterionOf(state, before.id, criteria), (criteria) => {
    const badge = { ...before, ...fields, criteria, ...nextVersion(before, now) }
    return [{ kind: "badge.updated", badge }]
  })
}

const badgeNotFound = refuse("badge_not_found", "No badge of this project has this id.")

const target = { required: ["target"] }
const kindMembers: Readonly<Record<CriterionKind, KindMembers>> = {
  xp: target,
  level: target,
  points: target,
  quest_count: target,
  action_count: { required: ["target", "action"], optional: ["where"] },
  action_sum: { required: ["target", "action", "sumPath"], optional: ["where"] },
  streak: { required: ["target"], optional: ["streak"] },
  manual: { required: [] },
}

const criterionOf = (
  state: ProjectState,
  badgeId: string,
  parts: CriterionParts,
): Result.Result<Criterion, LaurelError<"invalid_request">> => {
  const { action, kind, streak = null, where } = parts
  const faults: ReadonlyArray<Fault> = [
    ...partFaults(parts, kindMembers, "/criteria"),
    ...sumTargetFaults(parts, "/criteria/target"),
    ...(kind === "streak" ? streakReferenceFaults(state, streak, "/criteria/streak") : []),
    ...textSearchFaults(
      state,
      badgeId,
      action === undefined ? [] : [{ action, where: where ?? [], pointer: "/criteria/where" }],
    ),
  ]
  if (faults.length > 0) return Result.fail(invalidRequest(faults))
  // `partFaults` has checked that all required members are present.
  return Result.succeed(madeOf(parts) as Criterion)
}

/** The criterion of `parts`, even if required members are missing. */
const madeOf = ({ action, kind, streak = null, sumPath, target, where }: CriterionParts) => {
  const criterion = {
    kind,
    ...(kind !== "manual" && { target }),
    ...((kind === "action_count" || kind === "action_sum") && { action, where: where ?? [] }),
    ...(kind === "action_sum" && { sumPath }),
    ...(kind === "streak" && { streak }),
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
): Decided<"badge_not_found" | "invalid_transition" | "conflict"> => {
  const badge = state.badges.get(badgeId)
  if (badge === undefined) return badgeNotFound
  if (badge.archived) return refuse("invalid_transition", "The badge is archived.")
  if (badge.criteria.kind === "manual") {
    return refuse("conflict", "A manual badge has no criteria to backfill.")
  }
  if (isUnderWay(state, badgeId)) {
    return refuse("conflict", "A backfill of this badge is already running.")
  }
  return Result.succeed([{ kind: "backfill.started", badgeId, notify }])
}

const isUnderWay = ({ backfills }: ProjectState, badgeId: string): boolean =>
  backfills.get(badgeId)?.finishedAt === null
