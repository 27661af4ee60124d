/** What an event or a reward gives, as far as the limits of the currencies allow. */
import type { Boost } from "../../../src/domain/project/Boost.ts"
import type { Currency } from "../../../src/domain/project/Currency.ts"
import { type BoostGift, type Gives, givesNothing } from "../../../src/domain/project/Definition.ts"
import { badgesOf, nameOf, type Place, paidOf, tiersOf, timesHeld, timesPaid } from "./badges.ts"
import { balanceOf } from "./balances.ts"
import { boostRefused } from "./boosts.ts"
import { dateAt, dateOf } from "./calendar.ts"
import { type Definitions, pays } from "./Definitions.ts"
import { levelAmountOf } from "./levels.ts"
import {
  type Awarded,
  type Backfilled,
  type Capped,
  type Entry,
  earning,
  type Happened,
  type Log,
} from "./log.ts"
import { limitPeriod } from "./rules.ts"
import { dayAt } from "./streaks.ts"

export const activeIn = ({ currencies }: Definitions, key: string): Currency | undefined =>
  currencies.find((one) => one.key === key && one.set === "published")

/** Who gets the credits of an event, a reward or a backfill `to`. */
export interface Receiver {
  readonly to: Happened | Backfilled
  /** The user's log with `to` as its last entry. */
  readonly log: Log
  /** The user's time zone when it occurred. */
  readonly zone: string
  readonly definitions: Place
}

/** What the entry gave so far, by currency. */
const givenBy = ({ currencies, points, xp }: Receiver["to"]): ReadonlyMap<string, number> =>
  new Map([["xp", xp], ["points", points], ...currencies])

/**
 * Adds the reward of a rule, a quest or an operator. Returns whether there was anything to give.
 * `running` are the boosts that multiplied it.
 */
export const gift = (
  gives: Gives,
  receiver: Receiver & { readonly to: Happened },
  running: ReadonlyArray<Boost> = [],
): boolean => {
  const { to } = receiver
  const before = givenBy(to)
  creditAll(gives, receiver)
  // What a limit cut to nothing was not multiplied, and neither was what a given badge pays.
  for (const [key, amount] of givenBy(to)) {
    if (amount === (before.get(key) ?? 0)) continue
    for (const boost of running) {
      if (boost.currencies.includes(key)) to.boosts.set(boost.key, boost.factor)
    }
  }
  return giveRest(gives, receiver)
}

/** Adds amounts, freezes, and a badge only if the user does not have it; returns whether any is there. */
export const give = (gives: Gives, receiver: Receiver): boolean => {
  creditAll(gives, receiver)
  return giveRest(gives, receiver)
}

const amountsOf = ({ currencies = {}, points, xp }: Gives) =>
  Object.entries({ xp, points, ...currencies })

const creditAll = (gives: Gives, receiver: Receiver): void => {
  for (const [key, amount] of amountsOf(gives)) credit(key, amount, receiver)
}

/** Gives all but the amounts; returns whether these or others are there. */
const giveRest = (gives: Gives, receiver: Receiver): boolean => {
  const { definitions, to } = receiver
  const { badgeId, boost, freezes = {} } = gives
  const badge = definitions.badges.find(({ id }) => id === badgeId)
  const isHeld = badge !== undefined && badgesOf(receiver.log).has(badge.id)
  const occurredAt = "occurredAt" in to ? to.occurredAt : to.at
  const isGiven = badge !== undefined && !badge.repeatable && pays(badge, occurredAt)
  const earned = isGiven && !isHeld
  if (earned) awardOne({ badgeId: badge.id, tier: tiersOf(badge)[0]!.tier }, receiver)
  const owned = boost !== undefined && own(boost, receiver)
  to.frozen.push(...Object.entries(freezes))
  const given = [...amountsOf(gives), ...Object.entries(freezes)]
  return given.some(([, amount]) => amount > 0) || earned || owned
}

/** Gives a personal boost; returns whether it could be given. */
const own = ({ key, minutes }: BoostGift, { definitions, log, to }: Receiver): boolean => {
  if (boostRefused(definitions.boosts, key, log, to.at) !== undefined) return false
  const startsAt = "occurredAt" in to ? to.occurredAt : to.at
  to.owned.push({ key, startsAt, endsAt: startsAt + minutes * 60_000 })
  return true
}

/** Adds an award, and what it pays unless it has paid the user before. */
export const awardOne = (award: Awarded, receiver: Receiver): void => {
  const { definitions, log, to } = receiver
  const badge = definitions.badges.find(({ id }) => id === award.badgeId)!
  const { reward } = tiersOf(badge).find(({ tier }) => tier === award.tier)!
  const amounts = Object.entries({ xp: reward.xp, points: reward.points, ...reward.currencies })
  const freezes = Object.entries(reward.freezes ?? {})
  if (award.times !== undefined) {
    const times = timesHeld(log, badge.id) + award.times
    const due = Math.max(0, Math.min(award.times, times - timesPaid(log, badge.id)))
    to.badges.push({ ...award, paidTimes: due })
    for (const [key, amount] of amounts) credit(key, amount * due, receiver)
    const all = freezes.map(([key, amount]) => [key, amount * due] as const)
    to.frozen.push(...all)
    // Several at once give one boost.
    if (due > 0 && reward.boost !== undefined) own(reward.boost, receiver)
    return
  }
  const isSome =
    reward.boost !== undefined || [...amounts, ...freezes].some(([, amount]) => amount > 0)
  const paid = isSome && !paidOf(log).has(nameOf(award))
  to.badges.push({ ...award, paid })
  if (paid) to.frozen.push(...freezes)
  if (paid) for (const [key, amount] of amounts) credit(key, amount, receiver)
  if (paid && reward.boost !== undefined) own(reward.boost, receiver)
}

/**
 * Adds all awards whose targets the last entry has reached, and what the levels pay that it has
 * reached since `before`, also by what these pay.
 */
export const awardAll = (
  receiver: Receiver,
  before: Log,
  crossed: () => ReadonlyArray<Awarded>,
): void => {
  for (;;) {
    const awards = crossed()
    for (const award of awards) awardOne(award, receiver)
    const levels = reachedLevels(receiver, before)
    for (const { name, reward } of levels) {
      receiver.to.levels.push(name)
      give(reward, receiver)
    }
    if (awards.length + levels.length === 0) return
  }
}

/** The levels that the last entry has reached, that pay, and that have not paid before. */
const reachedLevels = ({ definitions, log, to }: Receiver, before: Log) =>
  definitions.currencies.flatMap(({ key, levels, set }) => {
    if (levels?.table === undefined || set !== "published") return []
    const when = { ...definitions, now: to.at }
    const [was, is] = [before, log].map((each) => levelAmountOf(each, key, levels, when))
    return levels.table
      .filter(({ from, reward }) => from > was! && from <= is! && !givesNothing(reward))
      .map((level) => ({ name: `${key} ${level.key}`, reward: level.reward }))
      .filter(({ name }) => !levelsPaid(log).has(name))
  })

/** How often levels have paid, by decisions that were not undone. */
export const levelsPaid = (log: Log): ReadonlyMap<string, number> =>
  new Map(
    [
      ...Map.groupBy(
        earning(log).flatMap(({ levels }) => levels),
        (name) => name,
      ),
    ].map(([name, { length }]) => [name, length]),
  )

/** Adds an amount of a currency, as far as its limits allow. */
const credit = (key: string, asked: number, { definitions, log, to, zone }: Receiver): void => {
  const occurredAt = "occurredAt" in to ? to.occurredAt : to.at
  const currency = activeIn(definitions, key)
  if (currency === undefined) return
  const { earnLimit, max } = currency
  let amount = asked
  const cut = (room: number, by: Capped["by"]) => {
    const left = Math.min(amount, Math.max(0, room))
    if (left < amount) to.capped.push({ currency: key, amount: amount - left, by })
    amount = left
  }
  const period = earnLimit && `${earnLimit.per} ${limitPeriod(earnLimit.per, zone, occurredAt)}`
  if (earnLimit !== null) {
    const earned = earning(log)
      .flatMap(({ counting }) => counting)
      .filter((one) => one.currency === key && one.period === period)
      .reduce((total, one) => total + one.amount, 0)
    cut(earnLimit.amount - earned, "earnLimit")
  }
  const { places } = definitions
  if (max !== null) cut(max - balanceOf(log, key, { ...definitions, now: to.at }), "max")
  if (amount === 0) return
  const { expiry, pendingDays } = currency
  const midnight = pendingDays === null ? to.at : dayIn(zone, occurredAt, pendingDays)
  const at = midnight > to.at ? midnight : undefined
  if (expiry !== null || at !== undefined) {
    const last = Math.max(0, ...log.filter(({ kind }) => kind === "event").map(happenedAt))
    const days = {
      day: dayAt(places, occurredAt),
      today: dayAt(places, to.at),
      active: dayAt(places, last),
    }
    const lastDay = expiry === null ? undefined : endOf(expiry, days, pendingDays ?? 0)
    const same = to.endings.find(({ currency }) => currency === key)
    if (same !== undefined) to.endings.splice(to.endings.indexOf(same), 1)
    to.endings.push({ currency: key, at, lastDay, amount: amount + (same?.amount ?? 0) })
  }
  if (period !== null) to.counting.push({ currency: key, period, amount })
  if (key === "xp") to.xp += amount
  else if (key === "points") to.points += amount
  else to.currencies.set(key, (to.currencies.get(key) ?? 0) + amount)
}

const happenedAt = (entry: Entry): number => ("occurredAt" in entry ? entry.occurredAt : 0)

/** The last day of a credit. */
export const endOf = (
  expiry: NonNullable<Currency["expiry"]>,
  days: { readonly day: number; readonly today: number; readonly active: number },
  pendingDays: number,
): number => {
  const { active, day, today } = days
  const earliest = Math.max(day + pendingDays, today)
  if ("afterDays" in expiry) return Math.max(day + expiry.afterDays, earliest)
  if ("inactivityDays" in expiry) {
    return Math.max(day + expiry.inactivityDays, active + expiry.inactivityDays, earliest)
  }
  for (let end = day + pendingDays; ; end++) {
    const date = dateOf(end)
    const isLeap = new Date(`${date.slice(0, 4)}-02-29T00:00:00Z`).getUTCDate() === 29
    const asked = !isLeap && expiry.yearlyOn === "02-29" ? "02-28" : expiry.yearlyOn
    if (date.slice(5) === asked) return Math.max(end, earliest)
  }
}

/** What an event keeps of currencies that end with inactivity. */
export const keptBy = (occurredAt: number, { currencies, places }: Place): Happened["kept"] =>
  currencies.flatMap(({ expiry, key, set }) =>
    set === "published" && expiry !== null && "inactivityDays" in expiry
      ? [{ currency: key, lastDay: dayAt(places, occurredAt) + expiry.inactivityDays }]
      : [],
  )

/** The midnight that many days after the day of `ms`. */
const dayIn = (timeZone: string, ms: number, days: number): number =>
  Temporal.PlainDate.from(dateAt(timeZone, ms)).add({ days }).toZonedDateTime({ timeZone })
    .epochMilliseconds
