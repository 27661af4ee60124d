/**
 * How uses of rules change a user's state. Every event that a rule rewards counts for whom the rule
 * reached; uses of rules with a limit or a cooldown have facts, and so has each use that an undo takes
 * back.
 */
import { limits } from "../../Limits.ts"
import type { RuleUse, UserState } from "../user/User.ts"
import { countIn, withCount } from "../values/Periods.ts"
import { type Folding, own } from "./Folding.ts"
import { rewardingRules } from "./Past.ts"
import type { FactOf, JournalRecord } from "./Record.ts"

/** The rules that rewarded an event of this day of the user reached the user. */
export const reachByRules = (
  state: Folding,
  before: UserState,
  { facts }: JournalRecord,
  day: number,
): void => {
  for (const ruleId of rewardingRules(facts)) {
    const reached = own(state, before, "rulesReached")
    const { firstDay = day, times = 0 } = reached.get(ruleId) ?? {}
    reached.set(ruleId, { times: times + 1, firstDay: Math.min(firstDay, day) })
  }
}

export const foldRuleUse = (state: Folding, before: UserState, fact: FactOf<"rule.used">): void => {
  const { ruleId, times } = fact
  const use = ruleUse(state.ruleUses.get(ruleId), fact)
  if (use !== undefined) own(state, before, "ruleUses").set(ruleId, use)
  const reach = times < 0 ? state.rulesReached.get(ruleId) : undefined
  if (reach === undefined) return
  const reached = own(state, before, "rulesReached")
  if (reach.times > 1) reached.set(ruleId, { ...reach, times: reach.times - 1 })
  else reached.delete(ruleId)
}

const ruleUse = (use: RuleUse | undefined, fact: FactOf<"rule.used">): RuleUse | undefined => {
  const { occurredAt, period, since, times } = fact
  // The state drops uses that were counted in another form; the history has them.
  const before = use?.since === since ? (use?.periods ?? []) : []
  const used = countIn(before, period)
  // A revoked use of a dropped period changes nothing.
  if (times < 0 && used === undefined) return use
  const count = Math.max(0, fact.used ?? (used ?? 0) + times)
  return {
    periods: withCount(before, period, count, limits.rulePeriodsMax),
    lastAt: Math.max(use?.lastAt ?? occurredAt, occurredAt),
    firstAt: Math.min(use?.firstAt ?? occurredAt, occurredAt),
    ...(since !== undefined && { since }),
  }
}
