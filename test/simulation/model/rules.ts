/** The rewards of the rules for an event. */
import type { Gives, Rule } from "../../../src/domain/project/Rule.ts"
import { limits } from "../../../src/Limits.ts"
import { dateAt, windowOf } from "./calendar.ts"
import { find, satisfies } from "./conditions.ts"
import { type Happened, happened, type Log, standing } from "./log.ts"

/** The period of a limit, as a text that sorts by time, whatever the kind of period. */
export const limitPeriod = (rule: Rule, zone: string, occurredAt: number): string => {
  const date = dateAt(zone, occurredAt)
  switch (rule.limit?.per) {
    case "hour":
      return `${new Date(occurredAt).toISOString().slice(0, 13)} hour`
    case "day":
      return `${date}T00 of day`
    case "week":
      return `${windowOf("weekly", date)}T00 of week`
    case "month":
      return `${windowOf("monthly", date)}T00 p month`
    case "ever":
      return "~ for ever"
    default:
      return "- no limit"
  }
}

/** Whether this rule may still give to the user. */
const allows = (log: Log, rule: Rule, period: string, occurredAt: number): boolean => {
  const usesIn = (entries: ReadonlyArray<Happened>) =>
    entries.flatMap(({ occurredAt, uses }) =>
      uses.filter(({ ruleId }) => ruleId === rule.id).map((use) => ({ ...use, occurredAt })),
    )
  const everUsed = usesIn(happened(log))
  if (rule.limit !== null) {
    const uses = usesIn(standing(log)).filter((use) => use.period === period)
    if (uses.length >= rule.limit.times) return false
    // Of the past only so many periods are known.
    const known = [...new Set(everUsed.map((use) => use.period))]
    const oldest = known.sort().at(-limits.rulePeriodsMax)
    if (oldest !== undefined && period < oldest) return false
  }
  // A cooldown is not given, so it is not taken back either.
  const { cooldownSeconds } = rule
  return (
    cooldownSeconds === null ||
    everUsed.every((use) => occurredAt >= use.occurredAt + cooldownSeconds * 1000)
  )
}

/** `amount` times `factor`, rounded down, reckoned in decimals as on paper. */
export const times = (amount: number, factor: number): number => {
  const [digits = "0", exponent = "0"] = factor.toExponential().split("e")
  const [whole = "0", fraction = ""] = digits.split(".")
  const product = BigInt(amount) * BigInt(whole + fraction)
  const places = fraction.length - Number(exponent)
  if (places <= 0) return Number(product * 10n ** BigInt(-places))
  const divisor = 10n ** BigInt(places)
  const quotient = product / divisor
  return Number(product < 0n && quotient * divisor !== product ? quotient - 1n : quotient)
}

const multiplied = (rule: Rule, event: Happened): Gives => {
  if (rule.multiplier === null) return rule.reward
  const found = find(event.metadata, rule.multiplier.path)
  if (typeof found !== "number") return { xp: 0, points: 0, badgeId: null }
  const factor = Math.min(Math.max(found, rule.multiplier.min), rule.multiplier.max)
  return {
    ...rule.reward,
    xp: times(rule.reward.xp, factor),
    points: times(rule.reward.points, factor),
  }
}

/** The reward of each matching rule for an event, in the order of their creation. */
export const ruleGifts = (
  log: Log,
  rules: ReadonlyArray<Rule>,
  zone: string,
  event: Happened,
): ReadonlyArray<{ readonly rule: Rule; readonly gives: Gives; readonly period: string }> =>
  rules
    .filter(
      (rule) =>
        rule.enabled && rule.action === event.action && satisfies(rule.where, event.metadata),
    )
    .map((rule) => ({
      rule,
      gives: multiplied(rule, event),
      period: limitPeriod(rule, zone, event.occurredAt),
    }))
    .filter(({ gives: { badgeId, points, xp } }) => xp > 0 || points > 0 || badgeId !== null)
    .filter(({ period, rule }) => allows(log, rule, period, event.occurredAt))
