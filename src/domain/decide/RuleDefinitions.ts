/** Decides the commands on rules. `Rules.ts` applies rules to events. */
import { Result } from "effect"
import { limits } from "../../Limits.ts"
import {
  changedReward,
  countedForm,
  firstVersion,
  givesNothing,
  type New,
  nextVersion,
  type Replacement,
  type RewardChange,
  type Rule,
  type Status,
  targetedDefaults,
} from "../project/Definition.ts"
import { definitionOf } from "../project/DefinitionKey.ts"
import type { ProjectState } from "../project/Project.ts"
import { type Fault, invalidRequest, quotaExceeded, refuse } from "../values/Errors.ts"
import { type Metadata, patchedMetadata } from "../values/Metadata.ts"
import type { LimitPeriod } from "../values/Periods.ts"
import { archivedFault, type Conditional, type Decided, noChange } from "./Decided.ts"
import {
  badgeReferenceFaults,
  claimedKey,
  currencyReferenceFaults,
  mergedPart,
  metadataFaults,
  segmentReferenceFaults,
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

/** A merge patch of a rule. `reward` and `limit` are merged member by member. */
export interface RuleChange
  extends Partial<
    Pick<
      Rule,
      | "name"
      | "description"
      | "action"
      | "where"
      | "cooldownSeconds"
      | "startsAt"
      | "endsAt"
      | "segment"
    >
  > {
  readonly status?: Status
  readonly metadata?: Metadata | null
  readonly reward?: RewardChange
  readonly limit?: { readonly times?: number; readonly per?: LimitPeriod } | null
  readonly multiplierPath?: string | null
  /** Null means 0. */
  readonly multiplierMin?: number | null
  /** Null means `limits.multiplierMax`. */
  readonly multiplierMax?: number | null
}

type Named<A extends { readonly name: unknown }> = Omit<A, "name"> & Partial<Pick<A, "name">>
export type RuleReplacement = Named<Replacement<Rule>>

export type RuleCommand =
  | { readonly kind: "createRule"; readonly rule: Named<New<Rule>> }
  | (Conditional & {
      readonly kind: "updateRule"
      readonly ruleId: string
      readonly change: RuleChange
    })
  /** Archives the rule. */
  | (Conditional & { readonly kind: "deleteRule"; readonly ruleId: string })

type CommandOf<Kind> = Extract<RuleCommand, { readonly kind: Kind }>

export const createRule = (
  state: ProjectState,
  command: CommandOf<"createRule">,
  now: number,
): Decided<"invalid_request" | "key_taken" | "quota_exceeded"> => {
  const { action, key: given, name = null } = command.rule
  const key = claimedKey(state.rules, "rule", given, name ?? action)
  if (Result.isFailure(key)) return Result.fail(key.failure)
  const rule: Rule = {
    ...targetedDefaults,
    set: "published",
    ...command.rule,
    key: key.success,
    name,
    ...firstVersion(now),
  }
  const faults = [...overFaults(rule, now), ...rewardFaults(rule), ...ruleFaults(state, rule)]
  if (faults.length > 0) return Result.fail(invalidRequest(faults))
  if (liveCount(state.rules) >= limits.rulesMax)
    return quotaExceeded(limits.rulesMax, "rules per environment")
  return Result.succeed([{ kind: "rule.created", rule }])
}

export const deleteRule = (
  { rules }: ProjectState,
  { ruleId }: CommandOf<"deleteRule">,
  now: number,
): Decided<"rule_not_found"> => {
  const rule = definitionOf(rules, ruleId)
  return rule === undefined || rule.set === "archived"
    ? notFound
    : Result.succeed([{ kind: "rule.updated", rule: archived(rule, now) }])
}

export const updateRule = (
  state: ProjectState,
  command: CommandOf<"updateRule">,
  now: number,
): Decided<"rule_not_found" | "invalid_request" | "invalid_transition"> => {
  const rule = definitionOf(state.rules, command.ruleId)
  if (rule === undefined) return notFound
  if (rule.set === "archived") return archivedCannotChange
  const { limit, metadata, multiplierMax, multiplierMin, multiplierPath, reward, ...rest } =
    command.change
  const { status, ...change } = rest
  const faults: Array<Fault> = []
  const changed: Rule = {
    ...rule,
    ...change,
    metadata: patchedMetadata(rule.metadata, metadata),
    reward: changedReward(rule.reward, reward),
    limit: mergedPart(rule.limit, limit, ["times", "per"], "/limit", faults),
    multiplier: changedMultiplier(
      rule.multiplier,
      { multiplierMax, multiplierMin, multiplierPath },
      faults,
    ),
    ...nextVersion(rule, now),
  }
  // Older rules may have an empty reward. An edit of other members, such as a pause, stays
  // possible.
  if (reward !== undefined) faults.push(...rewardFaults(changed))
  faults.push(...ruleFaults(state, changed))
  if (faults.length > 0) return Result.fail(invalidRequest(faults))
  return Result.map(moved(changed, status, now), (set) => [
    { kind: "rule.updated", rule: recounted(rule, { ...changed, set }, now) },
  ])
}

/** The rule after an edit. If the edit changed how uses are counted, `countedSince` is `now`. */
export const recounted = (before: Rule, rule: Rule, now: number): Rule => {
  const form = countedForm(rule)
  return form === undefined || form === countedForm(before) ? rule : { ...rule, countedSince: now }
}

/** Replaces `before` by `members`, with the status `set` if given. No facts if both are equal. */
export const replaceRule = (
  state: ProjectState,
  before: Rule,
  { id: _, set, ...members }: RuleReplacement,
  now: number,
): Decided<"invalid_request" | "invalid_transition"> => {
  if (before.set === "archived") return Result.fail(invalidRequest([archivedFault]))
  const changed: Rule = {
    ...before,
    ...targetedDefaults,
    name: null,
    ...members,
    ...nextVersion(before, now),
  }
  if (noChange(before, { ...changed, set: set ?? before.set })) return Result.succeed([])
  const faults = [...rewardFaults(changed), ...ruleFaults(state, changed)]
  if (faults.length > 0) return Result.fail(invalidRequest(faults))
  return Result.map(movedTo(changed, set, now), (set) => [
    { kind: "rule.updated", rule: recounted(before, { ...changed, set }, now) },
  ])
}

const changedMultiplier = (
  before: Rule["multiplier"],
  {
    multiplierMax,
    multiplierMin,
    multiplierPath,
  }: {
    readonly multiplierMax: number | null | undefined
    readonly multiplierMin: number | null | undefined
    readonly multiplierPath: string | null | undefined
  },
  faults: Array<Fault>,
): Rule["multiplier"] => {
  const path = multiplierPath === undefined ? (before?.path ?? null) : multiplierPath
  if (path !== null) {
    return {
      path,
      min: (multiplierMin === undefined ? before?.min : multiplierMin) ?? 0,
      max: (multiplierMax === undefined ? before?.max : multiplierMax) ?? limits.multiplierMax,
    }
  }
  for (const [name, value] of Object.entries({ multiplierMin, multiplierMax })) {
    if (value === undefined || value === null) continue
    const detail = "requires a multiplierPath"
    faults.push({ pointer: `/${name}`, code: "unknown_member", detail })
  }
  return null
}

const rewardFaults = ({ reward }: Rule): ReadonlyArray<Fault> =>
  givesNothing(reward)
    ? [
        {
          pointer: "/reward",
          code: "missing",
          detail: "must have xp, points, another currency or a badge",
        },
      ]
    : []

const ruleFaults = (state: ProjectState, rule: Rule): ReadonlyArray<Fault> => {
  const { action, id, metadata, multiplier, reward, where } = rule
  const faults = [
    ...periodFaults(rule),
    ...metadataFaults(metadata),
    ...segmentReferenceFaults(state, rule.segment),
    ...textSearchFaults(state, id, [{ action, where, pointer: "/where" }]),
    ...badgeReferenceFaults(state, reward.badgeId, "/reward/badgeId"),
    ...currencyReferenceFaults(state, reward.currencies, "/reward/currencies"),
  ]
  if (multiplier !== null && multiplier.max < multiplier.min) {
    const detail = "must be at least multiplierMin"
    faults.push({ pointer: "/multiplierMax", code: "out_of_range", detail })
  }
  return faults
}

const notFound = refuse("rule_not_found", "No rule of this project has this id or key.")
