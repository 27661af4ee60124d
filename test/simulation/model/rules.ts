/** The rewards of the rules for an event. */
import type { Boost } from "../../../src/domain/project/Boost.ts"
import type { Gives, Rule } from "../../../src/domain/project/Definition.ts"
import type { LimitPeriod } from "../../../src/domain/values/Periods.ts"
import { product, together } from "./boosts.ts"
import { dateAt, windowOf } from "./calendar.ts"
import { find, satisfies } from "./conditions.ts"
import { pays } from "./Definitions.ts"
import { type Happened, happened, type Log, standing } from "./log.ts"
import type { Membership } from "./segments.ts"

/** The period of a limit. */
export const limitPeriod = (per: LimitPeriod, zone: string, ms: number): string => {
  const date = dateAt(zone, ms)
  switch (per) {
    case "hour":
      // How many minutes before an hour of UTC a local hour begins, as in India.
      return new Date(ms + minutesAt(zone, ms) * 60_000).toISOString().slice(0, 13)
    case "day":
      return date
    case "week":
      return windowOf("weekly", date)
    case "month":
      return windowOf("monthly", date)
    case "ever":
      return "ever"
  }
}

const minutesAt = (zone: string, ms: number): number => {
  const { offset } = Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(zone)
  const minutes = Number(offset.slice(4, 6))
  return offset.startsWith("-") ? (60 - minutes) % 60 : minutes
}

/** Whether this rule may still reward the user. */
const allows = (
  log: Log,
  { cooldownSeconds, id, limit }: Rule,
  zoneAt: (ms: number) => string,
  occurredAt: number,
): boolean => {
  const usesIn = (entries: ReadonlyArray<Happened>) =>
    entries.filter(({ uses }) => uses.includes(id)).map((entry) => entry.occurredAt)
  if (limit !== null) {
    const periodOf = (ms: number) => limitPeriod(limit.per, zoneAt(ms), ms)
    const period = periodOf(occurredAt)
    const used = usesIn(standing(log)).filter((ms) => periodOf(ms) === period)
    if (used.length >= limit.times) return false
  }
  // A cooldown is no reward, so an undo does not end it.
  return (
    cooldownSeconds === null ||
    usesIn(happened(log)).every((ms) => Math.abs(occurredAt - ms) >= cooldownSeconds * 1000)
  )
}

/** `gives` times the `factor` and the boosts of each currency, rounded down once. */
export const boosted = (gives: Gives, boosts: ReadonlyArray<Boost>, factor = 1): Gives => {
  const of = (currency: string) =>
    together(boosts.filter(({ currencies }) => currencies.includes(currency)))
  return {
    ...gives,
    xp: product(gives.xp, factor, ...of("xp")),
    points: product(gives.points, factor, ...of("points")),
    currencies: Object.fromEntries(
      Object.entries(gives.currencies ?? {}).map(([key, amount]) => [
        key,
        product(amount, factor, ...of(key)),
      ]),
    ),
  }
}

const multiplied = (rule: Rule, event: Happened, boosts: ReadonlyArray<Boost>): Gives => {
  if (rule.multiplier === null) return boosted(rule.reward, boosts)
  const found = find(event.metadata, rule.multiplier.path)
  if (typeof found !== "number") return { xp: 0, points: 0, badgeId: null }
  const factor = Math.min(Math.max(found, rule.multiplier.min), rule.multiplier.max)
  return boosted(rule.reward, boosts, factor)
}

/**
 * The reward of each matching rule for an event, in the order of their creation. `boosts` are those
 * that ran when the event occurred.
 */
export const ruleGifts = (
  log: Log,
  rules: ReadonlyArray<Rule>,
  boosts: () => ReadonlyArray<Boost>,
  zoneAt: (ms: number) => string,
  event: Happened,
  isIn: Membership["isIn"],
): ReadonlyArray<{ readonly rule: Rule; readonly gives: Gives }> =>
  rules
    .filter(
      (rule) =>
        pays(rule, event.occurredAt) &&
        rule.action === event.action &&
        satisfies(rule.where, event.metadata) &&
        isIn(rule.segment),
    )
    .map((rule) => ({ rule, gives: multiplied(rule, event, boosts()) }))
    .filter(({ rule }) => allows(log, rule, zoneAt, event.occurredAt))
