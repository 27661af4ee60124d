/** Decides the commands on rules. `Rules.ts` applies rules to events. */
import { Result } from "effect"
import { limits } from "../../Limits.ts"
import {
  countedForm,
  firstVersion,
  type Gives,
  givesNothing,
  type LimitPeriod,
  nextVersion,
  type Rule,
  type Unversioned,
} from "../project/Definition.ts"
import type { ProjectState } from "../project/Project.ts"
import { type Fault, invalidRequest, quotaExceeded, refuse } from "../values/Errors.ts"
import { type Conditional, type Decided, noChange } from "./Decided.ts"
import { badgeReferenceFaults, textSearchFaults } from "./definitionChecks.ts"

/** A merge patch of a rule. `reward` and `limit` are merged member by member. */
export interface RuleChange
  extends Partial<Pick<Rule, "action" | "where" | "cooldownSeconds" | "enabled">> {
  readonly reward?: Partial<Gives>
  readonly limit?: { readonly times?: number; readonly per?: LimitPeriod } | null
  readonly multiplierPath?: string | null
  /** Null means 0. */
  readonly multiplierMin?: number | null
  /** Null means `limits.multiplierMax`. */
  readonly multiplierMax?: number | null
}

export type RuleCommand =
  | { readonly kind: "createRule"; readonly rule: Unversioned<Rule> }
  | (Conditional & {
      readonly kind: "updateRule"
      readonly ruleId: string
      readonly change: RuleChange
    })
  | (Conditional & { readonly kind: "deleteRule"; readonly ruleId: string })

type CommandOf<Kind> = Extract<RuleCommand, { readonly kind: Kind }>

export const createRule = (
  state: ProjectState,
  command: CommandOf<"createRule">,
  now: number,
): Decided<"invalid_request" | "quota_exceeded"> => {
  const rule = { ...command.rule, ...firstVersion(now) }
  const faults = [...rewardFaults(rule), ...ruleFaults(state, rule)]
  if (faults.length > 0) return Result.fail(invalidRequest(faults))
  if (state.rules.size >= limits.rulesMax)
    return quotaExceeded(limits.rulesMax, "rules per environment")
  return Result.succeed([{ kind: "rule.created", rule }])
}

export const deleteRule = (
  { rules }: ProjectState,
  { ruleId }: CommandOf<"deleteRule">,
): Decided<"rule_not_found"> =>
  rules.has(ruleId) ? Result.succeed([{ kind: "rule.deleted", ruleId }]) : notFound

export const updateRule = (
  state: ProjectState,
  command: CommandOf<"updateRule">,
  now: number,
): Decided<"rule_not_found" | "invalid_request"> => {
  const rule = state.rules.get(command.ruleId)
  if (rule === undefined) return notFound
  const { limit, multiplierMax, multiplierMin, multiplierPath, reward, ...change } = command.change
  const faults: Array<Fault> = []
  const changed: Rule = {
    ...rule,
    ...change,
    reward: { ...rule.reward, ...reward },
    limit: limit === undefined ? rule.limit : changedLimit(rule.limit, limit, faults),
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
  return faults.length > 0
    ? Result.fail(invalidRequest(faults))
    : Result.succeed([{ kind: "rule.updated", rule: recounted(rule, changed, now) }])
}

/** The rule after an edit. If the edit changed how uses are counted, `countedSince` is `now`. */
export const recounted = (before: Rule, rule: Rule, now: number): Rule => {
  const form = countedForm(rule)
  return form === undefined || form === countedForm(before) ? rule : { ...rule, countedSince: now }
}

/** Replaces `before` by `rule`. No facts if both are equal. */
export const replaceRule = (
  state: ProjectState,
  before: Rule,
  rule: CommandOf<"createRule">["rule"],
  now: number,
): Decided<"invalid_request"> => {
  const changed: Rule = { ...before, ...rule, ...nextVersion(before, now) }
  if (noChange(before, changed)) return Result.succeed([])
  const faults = [...rewardFaults(changed), ...ruleFaults(state, changed)]
  return faults.length > 0
    ? Result.fail(invalidRequest(faults))
    : Result.succeed([{ kind: "rule.updated", rule: recounted(before, changed, now) }])
}

const changedLimit = (
  before: Rule["limit"],
  change: NonNullable<RuleChange["limit"]> | null,
  faults: Array<Fault>,
): Rule["limit"] => {
  if (change === null) return null
  const { per, times } = { ...before, ...change }
  const missing = (name: string) =>
    faults.push({ pointer: `/limit/${name}`, code: "missing", detail: "is required" })
  if (times === undefined) missing("times")
  if (per === undefined) missing("per")
  return times === undefined || per === undefined ? before : { times, per }
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
    ? [{ pointer: "/reward", code: "missing", detail: "must have xp, points or a badge" }]
    : []

const ruleFaults = (state: ProjectState, rule: Rule): ReadonlyArray<Fault> => {
  const { action, id, multiplier, reward, where } = rule
  const faults = [
    ...textSearchFaults(state, id, [{ action, where, pointer: "/where" }]),
    ...badgeReferenceFaults(state, reward.badgeId, "/reward/badgeId"),
  ]
  if (multiplier !== null && multiplier.max < multiplier.min) {
    const detail = "must be at least multiplierMin"
    faults.push({ pointer: "/multiplierMax", code: "out_of_range", detail })
  }
  return faults
}

const notFound = refuse("rule_not_found", "No rule of this project has this id.")
