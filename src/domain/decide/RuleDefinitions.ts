/** Decides the commands on rules. `Rules.ts` applies rules to events. */
import { limits } from "../../Limits.ts"
import {
  changedReward,
  countedForm,
  givesNothing,
  type New,
  type RewardChange,
  type Rule,
  type Status,
  targetedDefaults,
} from "../project/Definition.ts"
import type { ProjectState } from "../project/Project.ts"
import type { Fault } from "../values/Errors.ts"
import type { Metadata } from "../values/Metadata.ts"
import type { LimitPeriod } from "../values/Periods.ts"
import {
  badgeReferenceFaults,
  mergedPart,
  metadataFaults,
  rewardReferenceFaults,
  segmentReferenceFaults,
} from "./definitionChecks.ts"
import { Decisions } from "./Kind.ts"
import { periodFaults } from "./Lifecycle.ts"
import { textSearchFaults } from "./textSearches.ts"

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

type NewRule = Omit<New<Rule>, "name"> & Partial<Pick<Rule, "name">>

export const rules = new Decisions<"rule", NewRule, RuleChange>({
  noun: "rule",
  max: limits.rulesMax,
  nameOf: ({ action, name }) => name ?? action,
  members: (given) => ({ ...targetedDefaults, name: null, ...given }),
  changed: (before, change, faults) => {
    const { limit, multiplierMax, multiplierMin, multiplierPath, reward, ...others } = change
    const multiplier = { multiplierMax, multiplierMin, multiplierPath }
    return {
      ...others,
      reward: changedReward(before.reward, reward),
      limit: mergedPart(before.limit, limit, ["times", "per"], "/limit", faults),
      multiplier: changedMultiplier(before.multiplier, multiplier, faults),
    }
  },
  faults: (state, rule, { before }) => [
    // Older rules may have an empty reward. An edit of other members, such as a pause, stays
    // possible.
    ...(rule.reward === before?.reward ? [] : rewardFaults(rule)),
    ...ruleFaults(state, rule),
  ],
  completed: (rule, before, now) => (before === undefined ? rule : recounted(before, rule, now)),
})

/** The rule after an edit. If the edit changed how uses are counted, `countedSince` is `now`. */
export const recounted = (before: Rule, rule: Rule, now: number): Rule => {
  const form = countedForm(rule)
  return form === undefined || form === countedForm(before) ? rule : { ...rule, countedSince: now }
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
    ...rewardReferenceFaults(state, reward, "/reward"),
  ]
  if (multiplier !== null && multiplier.max < multiplier.min) {
    const detail = "must be at least multiplierMin"
    faults.push({ pointer: "/multiplierMax", code: "out_of_range", detail })
  }
  return faults
}
