/**
 * Applies rules to an event, within their limits and cooldowns.
 *
 * An event uses a rule if the rule gives the user something for it. An amount of 0, also one that
 * boosts below 1 reduce to 0, a badge that is not active, and a badge that the user has already are
 * nothing: the history has no trace of them.
 *
 * A limit counts the uses in the period in which the event occurred. A cooldown looks at the time
 * before and after the event. The total reward of a set of events therefore does not depend on the
 * order of arrival, unless the events of one period or cooldown have different rewards.
 *
 * The state has the uses of the latest periods (`RuleUse`). Uses of older periods, and uses that
 * were counted in another form before an edit of the rule, are counted in the user's history
 * (`Past`).
 */
import { limits } from "../../Limits.ts"
import type { Amounts } from "../project/Currency.ts"
import { countedForm, type Gives, isOpenAt, type Rule, valueAt } from "../project/Definition.ts"
import type { TrackedEvent } from "../record/Record.ts"
import { projectZoneAt, type RuleUse } from "../user/User.ts"
import type { Metadata } from "../values/Metadata.ts"
import {
  beforePeriod,
  countIn,
  type LimitPeriod,
  type Period,
  periodAt,
} from "../values/Periods.ts"
import { boosted } from "./Boosts.ts"
import type { Draft } from "./Draft.ts"

/**
 * Applies those of `rules` in whose period the event occurred and whose segment the user is in.
 * Their conditions hold for it.
 */
export const applyRules = (draft: Draft, rules: ReadonlyArray<Rule>, event: TrackedEvent): void => {
  for (const rule of rules) {
    if (!isOpenAt(rule, draft.occurredAt) || !draft.membership.has(rule.segment)) continue
    const gives = boosted(
      draft,
      rule.multiplier === null ? rule.reward : multiplied(rule, event.metadata),
    )
    if (!draft.canEarn(gives)) continue
    if (countedForm(rule) === undefined) draft.earn(gives, { ruleId: rule.id })
    else applyCounted(draft, rule, gives)
  }
}

/** Applies a rule with a limit or a cooldown. */
const applyCounted = (draft: Draft, rule: Rule, gives: Gives): void => {
  const { cooldownSeconds, countedSince, id: ruleId, limit } = rule
  const use = draft.user?.ruleUses.get(ruleId)
  const { occurredAt } = draft
  const period = limit === null ? undefined : periodOf(draft, limit.per, occurredAt)
  const count = period === undefined ? undefined : usesIn(draft, rule, use, period)
  const isUsedUp = limit !== null && (count?.used ?? 0) >= limit.times
  if (isUsedUp || (cooldownSeconds !== null && isCooling(draft, rule, use, cooldownSeconds))) {
    const reason = isUsedUp ? "limit" : "cooldown"
    draft.facts.push({ kind: "rule.withheld", ruleId, reason })
    return
  }
  draft.earn(gives, { ruleId })
  draft.facts.push({
    kind: "rule.used",
    ruleId,
    period: period?.number ?? 0,
    occurredAt,
    times: 1,
    ...(countedSince !== undefined && { since: countedSince }),
    ...(count?.isRecalled === true && { used: count.used + 1 }),
  })
}

/** The period of an event of the user at `at`. */
const periodOf = ({ project, user }: Draft, per: LimitPeriod, at: number): Period => ({
  per,
  number: periodAt(per, projectZoneAt(user, project, at), at),
})

/** The uses in a period. `isRecalled`: they were counted in the history. */
interface UseCount {
  readonly used: number
  readonly isRecalled?: true
}

const usesIn = (draft: Draft, rule: Rule, use: RuleUse | undefined, period: Period): UseCount => {
  const { countedSince, createdAt, id } = rule
  const isCounted = use !== undefined && use.since === countedSince
  const known = isCounted ? countIn(use.periods, period.number) : undefined
  if (known !== undefined) return { used: known }
  const isComplete = countedSince === undefined || beforePeriod(period) >= countedSince
  if (isComplete && !(isCounted && isDropped(draft, use, period))) return { used: 0 }
  const past = draft.recall(Math.max(createdAt, beforePeriod(period)))
  if (past === undefined) return { used: 0 }
  let used = 0
  for (const at of past.standingUsesOf(id)) {
    if (periodOf(draft, period.per, at).number === period.number) used++
  }
  return { used, isRecalled: true }
}

/** Whether the state may have had uses of the period and dropped them. */
const isDropped = (
  draft: Draft,
  { firstAt, periods }: RuleUse,
  { number, per }: Period,
): boolean => {
  if (periods.length < limits.rulePeriodsMax || number > periods[0]![0]) return false
  return periodOf(draft, per, firstAt).number <= number
}

/** Whether the rule rewarded an event within the cooldown before or after this one. */
const isCooling = (
  draft: Draft,
  { countedSince, createdAt, id }: Rule,
  use: RuleUse | undefined,
  cooldownSeconds: number,
): boolean => {
  const { occurredAt } = draft
  const cooldownMs = cooldownSeconds * 1_000
  const isNear = (at: number): boolean => Math.abs(occurredAt - at) < cooldownMs
  if (use !== undefined && isNear(use.lastAt)) return true
  // Whether the state has all uses near the event.
  const isComplete = countedSince === undefined || occurredAt - cooldownMs >= countedSince
  if (isComplete && (use === undefined || occurredAt > use.lastAt)) return false
  if (countedSince === undefined && use !== undefined && occurredAt < use.firstAt) {
    return isNear(use.firstAt)
  }
  return (
    draft
      .recall(Math.max(createdAt, occurredAt - cooldownMs))
      ?.usesOf(id)
      .some(isNear) === true
  )
}

/**
 * The reward times the number in the metadata, not rounded: boosts multiply it too (`boosted`).
 * Without a number, no reward.
 */
const multiplied = ({ multiplier, reward }: Rule, metadata: Metadata | undefined): Gives => {
  const value = multiplier === null ? 1 : valueAt(metadata, multiplier.path)
  if (typeof value !== "number" || multiplier === null) return nothing
  const factor = Math.min(multiplier.max, Math.max(multiplier.min, value))
  const { currencies } = reward
  return {
    ...reward,
    xp: times(reward.xp, factor),
    points: times(reward.points, factor),
    ...(currencies !== undefined && { currencies: timesEach(currencies, factor) }),
  }
}

const timesEach = (amounts: Amounts, factor: number): Amounts =>
  Object.fromEntries(Object.entries(amounts).map(([key, amount]) => [key, times(amount, factor)]))

/** The product without the noise of binary fractions: 100 times 1.15 is 115. */
const times = (amount: number, factor: number): number => Number((amount * factor).toPrecision(15))

const nothing: Gives = { xp: 0, points: 0, badgeId: null }
