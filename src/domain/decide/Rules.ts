/** Applies rules to an event, within their limits and cooldowns. */
import { limits } from "../../Limits.ts"
import { valueAt } from "../project/Condition.ts"
import type { Gives, LimitPeriod, Rule } from "../project/Rule.ts"
import type { TrackedEvent } from "../record/Record.ts"
import type { RuleUse } from "../user/User.ts"
import { firstDayOf, windowOfDay, type Zone } from "../values/Calendar.ts"
import type { Metadata } from "../values/Metadata.ts"
import type { Draft } from "./Draft.ts"

/** `rules`: the rules whose conditions hold for the event. */
export const applyRules = (draft: Draft, rules: ReadonlyArray<Rule>, event: TrackedEvent): void => {
  for (const rule of rules) {
    const period = rule.limit === null ? 0 : periodAt(rule.limit.per, draft.zone, draft.occurredAt)
    if (rule.limit !== null || rule.cooldownSeconds !== null) {
      const use = draft.user?.ruleUses.get(rule.id)
      if (use !== undefined && isUsedUp(rule, use, period, draft.occurredAt)) continue
    }
    const gives = rule.multiplier === null ? rule.reward : multiplied(rule, event.metadata)
    if (gives.xp === 0 && gives.points === 0 && gives.badgeId === null) continue
    draft.earn(gives, { ruleId: rule.id })
    if (rule.limit === null && rule.cooldownSeconds === null) continue
    const { occurredAt } = draft
    draft.facts.push({ kind: "rule.used", ruleId: rule.id, period, occurredAt, times: 1 })
  }
}

const hourMs = 3_600_000
const dayHours = 24

/**
 * The number of a limit's period: UTC hours; days, weeks and months in the project's zone. It is the hour in which the
 * period begins (for a local day its date at 00:00 UTC), times 4, plus a code of the kind. It increases with time across
 * kinds, so after a change of the limit's period earlier uses count as old.
 */
const periodAt = (per: LimitPeriod, zone: Zone, at: number): number => {
  switch (per) {
    case "hour":
      return Math.floor(at / hourMs) * 4
    case "day":
      return zone.dayAt(at) * dayHours * 4 + 1
    case "week":
      return firstDayOf("weekly", windowOfDay("weekly", zone.dayAt(at))) * dayHours * 4 + 2
    case "month":
      return firstDayOf("monthly", windowOfDay("monthly", zone.dayAt(at))) * dayHours * 4 + 3
    case "ever":
      return Number.MAX_SAFE_INTEGER
  }
}

const isUsedUp = (
  { cooldownSeconds, limit }: Rule,
  { lastAt, periods }: RuleUse,
  period: number,
  occurredAt: number,
): boolean => {
  if (cooldownSeconds !== null && occurredAt < lastAt + cooldownSeconds * 1_000) return true
  if (limit === null) return false
  const used = periods.find(([of]) => of === period)?.[1]
  if (used !== undefined) return used >= limit.times
  // A dropped period counts as used up, since its uses are unknown.
  return periods.length >= limits.rulePeriodsMax && period < periods[0]![0]
}

/** The reward times the number in the metadata; nothing without a number. */
const multiplied = ({ multiplier, reward }: Rule, metadata: Metadata | undefined): Gives => {
  const value = multiplier === null ? 1 : valueAt(metadata, multiplier.path)
  if (typeof value !== "number" || multiplier === null) return nothing
  const factor = Math.min(multiplier.max, Math.max(multiplier.min, value))
  return { ...reward, xp: times(reward.xp, factor), points: times(reward.points, factor) }
}

/** Rounds down, after removing the noise of binary fractions: 100 times 1.15 is 115. */
const times = (amount: number, factor: number): number =>
  Math.floor(Number((amount * factor).toPrecision(15)))

const nothing: Gives = { xp: 0, points: 0, badgeId: null }
