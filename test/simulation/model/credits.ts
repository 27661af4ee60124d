/** What an event or a reward gives, as far as the limits of the currencies allow. */
import type { Boost } from "../../../src/domain/project/Boost.ts"
import type { Currency } from "../../../src/domain/project/Currency.ts"
import type { Gives } from "../../../src/domain/project/Definition.ts"
import { balanceOf } from "./balances.ts"
import { type Definitions, pays } from "./Definitions.ts"
import { type Capped, type Happened, type Log, standing } from "./log.ts"
import { limitPeriod } from "./rules.ts"

export const activeIn = ({ currencies }: Definitions, key: string): Currency | undefined =>
  currencies.find((one) => one.key === key && one.set === "published")

/** Who gets the credits of an event or a reward `to`. */
export interface Receiver {
  readonly to: Happened
  /** The user's log with `to` as its last entry. */
  readonly log: Log
  /** The user's time zone when it occurred. */
  readonly zone: string
  readonly definitions: Definitions
}

/** What the entry gave so far, by currency. */
const givenBy = ({ currencies, points, xp }: Happened): ReadonlyMap<string, number> =>
  new Map([["xp", xp], ["points", points], ...currencies])

/**
 * Adds the reward of a rule, a quest or an operator; a badge only if the user does not have it.
 * Returns whether there was anything to give. `running` are the boosts that multiplied it.
 */
export const gift = (
  { badgeId, currencies = {}, points, xp }: Gives,
  held: ReadonlyMap<string, unknown>,
  receiver: Receiver,
  running: ReadonlyArray<Boost> = [],
): boolean => {
  const { definitions, to } = receiver
  const amounts = Object.entries({ xp, points, ...currencies })
  const before = givenBy(to)
  for (const [key, amount] of amounts) credit(key, amount, receiver)
  // What a limit cut to nothing was not multiplied.
  for (const [key, amount] of givenBy(to)) {
    if (amount === (before.get(key) ?? 0)) continue
    for (const boost of running) {
      if (boost.currencies.includes(key)) to.boosts.set(boost.key, boost.factor)
    }
  }
  const badge = definitions.badges.find(({ id }) => id === badgeId)
  const earned = badge !== undefined && pays(badge, to.occurredAt) && !held.has(badge.id)
  if (earned) to.badges.push({ badgeId: badge.id })
  return amounts.some(([, amount]) => amount > 0) || earned
}

/** Adds an amount of a currency, as far as its limits allow. */
const credit = (key: string, asked: number, { definitions, log, to, zone }: Receiver): void => {
  const currency = activeIn(definitions, key)
  if (currency === undefined) return
  const { earnLimit, max } = currency
  let amount = asked
  const cut = (room: number, by: Capped["by"]) => {
    const left = Math.min(amount, Math.max(0, room))
    if (left < amount) to.capped.push({ currency: key, amount: amount - left, by })
    amount = left
  }
  const period = earnLimit && `${earnLimit.per} ${limitPeriod(earnLimit.per, zone, to.occurredAt)}`
  if (earnLimit !== null) {
    const earned = standing(log)
      .flatMap(({ counting }) => counting)
      .filter((one) => one.currency === key && one.period === period)
      .reduce((total, one) => total + one.amount, 0)
    cut(earnLimit.amount - earned, "earnLimit")
  }
  const { courses } = definitions
  if (max !== null) cut(max - balanceOf(log, key, { courses, now: to.at }), "max")
  if (amount === 0) return
  if (period !== null) to.counting.push({ currency: key, period, amount })
  if (key === "xp") to.xp += amount
  else if (key === "points") to.points += amount
  else to.currencies.set(key, (to.currencies.get(key) ?? 0) + amount)
}
