/**
 * Lots: the parts of a balance that are not the user's without conditions. A credit of a currency
 * with `pendingDays` cannot be spent yet, and a credit of one with `expiry` ends with a last day.
 *
 * - A pending lot has the time from which it can be spent, and a last day, if it has one. That time
 *   comes without a record: a decision or a read takes the lots that are over for spendable
 *   (`released`), and `apply` moves them with the next change of the balance.
 * - A day lot can be spent and ends with its last day (`to`). It has the credits with the last days
 *   `from` to `to`: so an undo finds the lot of a credit. Lots that have ended are kept in the same
 *   form, since an undo must not take an amount that the user has lost already.
 * - What is in no lot can be spent and never ends.
 *
 * Spends take day lots in the order of their last days, then what is in no lot. `Expiry.ts` computes
 * last days and the day of the user; no function here knows a definition or a calendar.
 *
 * Invariants: the lots that have not ended are together at most the balance. Day lots are in order,
 * and no two of them share a day. There are at most `lotsMax` lots of each of the three kinds.
 *
 * One day lot too many merges two neighbours to the later day: those whose lot then spans the fewest
 * days, never the first one. So of n lots over d days no credit ends more than 2d / (n − 2) days late.
 */
import { limits } from "../../Limits.ts"

/** `lastDay`: absent if the amount never ends. */
export type PendingLot = readonly [spendableAt: number, amount: number, lastDay?: number]

/** In the order of the times at which they become spendable. */
export type PendingLots = ReadonlyArray<PendingLot>

export type DayLot = readonly [from: number, to: number, amount: number]

/** In the order of the days. */
export type DayLots = ReadonlyArray<DayLot>

/** The day lots of a currency: those that are open, and those that have ended. */
export interface Expiring {
  readonly open: DayLots
  readonly expired: DayLots
}

export const noLots: ReadonlyArray<never> = []

export const nothingExpires: Expiring = { open: noLots, expired: noLots }

/** The lots of a user, by the key of the currency. */
export interface LotOwner {
  readonly pending: ReadonlyMap<string, PendingLots>
  readonly expiring: ReadonlyMap<string, Expiring>
}

const sumOf = (lots: PendingLots): number => lots.reduce((sum, [, amount]) => sum + amount, 0)

export const sumOfDays = (lots: DayLots): number => lots.reduce((sum, [, , each]) => sum + each, 0)

/* Pending lots. */

/** The lots of a user that are pending at `now`. */
export const pendingLotsAt = (user: LotOwner | undefined, key: string, now: number): PendingLots =>
  (user?.pending.get(key) ?? noLots).filter(([at]) => at > now)

/** What is pending of a currency. */
export const pendingAt = (user: LotOwner | undefined, key: string, now: number): number =>
  sumOf(pendingLotsAt(user, key, now))

/**
 * With one more lot. Two lots of one time are merged to the later day, and if there are too many, the
 * first two to the later time and day.
 */
export const withPending = (lots: PendingLots, lot: PendingLot): PendingLots => {
  const same = lots.find(([at]) => at === lot[0])
  const after = lots.filter((each) => each !== same)
  after.push(same === undefined ? lot : joined(same, lot))
  after.sort(([one], [other]) => one - other)
  if (after.length <= limits.lotsMax) return after
  const [first, second, ...others] = after
  return [joined(first!, second!), ...others]
}

/** A part that never ends keeps that, and so the whole lot never ends. */
const joined = ([, amount, day]: PendingLot, [at, more, otherDay]: PendingLot): PendingLot =>
  pendingLot(
    at,
    amount + more,
    day === undefined || otherDay === undefined ? undefined : Math.max(day, otherDay),
  )

export const pendingLot = (at: number, amount: number, lastDay: number | undefined): PendingLot =>
  lastDay === undefined ? [at, amount] : [at, amount, lastDay]

/* Day lots. */

/** The day lots that are open at `now`: with the pending ones that have become spendable. */
export const openLotsAt = (user: LotOwner | undefined, key: string, now: number): DayLots =>
  withReleased(user?.expiring.get(key)?.open ?? noLots, user?.pending.get(key) ?? noLots, now)

/** `open`, with the lots that are no longer pending at `now`. */
export const withReleased = (open: DayLots, pending: PendingLots, now: number): DayLots => {
  let after = open
  for (const [at, amount, lastDay] of pending) {
    if (at <= now && lastDay !== undefined) after = withDayLot(after, [lastDay, lastDay, amount])
  }
  return after
}

/** With one more lot, or with its amount in the lot that has its last day. */
export const withDayLot = (lots: DayLots, lot: DayLot): DayLots => {
  const [, day, amount] = lot
  const at = lots.findIndex(([, to]) => to >= day)
  if (at === -1) return fewer([...lots, lot])
  const [from, to, before] = lots[at]!
  return from <= day
    ? lots.with(at, [from, to, before + amount])
    : fewer(lots.toSpliced(at, 0, lot))
}

const fewer = (lots: DayLots): DayLots => {
  if (lots.length <= limits.lotsMax) return lots
  let best = 1
  const span = (index: number) => lots[index + 1]![1] - lots[index - 1]![1]
  for (let index = 2; index < lots.length - 1; index++) if (span(index) < span(best)) best = index
  const [from, , amount] = lots[best]!
  const [, to, more] = lots[best + 1]!
  return lots.toSpliced(best, 2, [from, to, amount + more])
}

/** With all lots until `lastDay` at least. */
export const keptUntil = (lots: DayLots, lastDay: number): DayLots => {
  const first = lots.findIndex(([, to]) => to >= lastDay)
  const rest = first === -1 ? noLots : lots.slice(first)
  const early = lots.slice(0, lots.length - rest.length)
  if (early.length === 0) return lots
  const amount = sumOfDays(early)
  const from = early[0]![0]
  const [next, ...others] = rest
  return next !== undefined && next[0] <= lastDay
    ? [[from, next[1], amount + next[2]], ...others]
    : [[from, lastDay, amount], ...rest]
}

/** The same of pending lots. */
export const pendingUntil = (lots: PendingLots, lastDay: number): PendingLots =>
  lots.map((lot) => (lot[2] === undefined || lot[2] >= lastDay ? lot : [lot[0], lot[1], lastDay]))

/** The lots that `amount` takes first, and those that it leaves. */
export const takeFirst = (
  lots: DayLots,
  amount: number,
): { readonly taken: DayLots; readonly left: DayLots } => {
  const taken: Array<DayLot> = []
  let missing = amount
  for (const [from, to, has] of lots) {
    if (missing === 0) break
    const some = Math.min(missing, has)
    taken.push([from, to, some])
    missing -= some
  }
  const last = taken.at(-1)
  if (last === undefined) return { taken, left: lots }
  const rest = lots[taken.length - 1]![2] - last[2]
  const others = lots.slice(taken.length)
  return { taken, left: rest > 0 ? [[last[0], last[1], rest], ...others] : others }
}

/** The lots that have ended before `today`, and the others. */
export const splitAt = (
  lots: DayLots,
  today: number,
): { readonly ended: DayLots; readonly left: DayLots } => {
  const first = lots.findIndex(([, to]) => to >= today)
  const count = first === -1 ? lots.length : first
  return { ended: lots.slice(0, count), left: lots.slice(count) }
}

/* Undo. */

/** A balance with its lots. */
export interface Holding {
  readonly balance: number
  readonly spent: number
  readonly pending: PendingLots
  readonly open: DayLots
  readonly expired: DayLots
}

/** A credit that is taken back. */
export interface UndoneCredit {
  readonly amount: number
  readonly spendableAt?: number | undefined
  readonly lastDay?: number | undefined
}

/** What an undo takes, what the user has lost already, and what is missing. */
export interface Taken extends Omit<Holding, "spent"> {
  readonly amount: number
  readonly lost: number
  readonly missing: number
}

/**
 * Takes credits back: each from its own lot, as far as that has not ended; then from the newest day
 * lots, from what is in no lot, and from what is pending longest. A credit without a lot takes first
 * what is in no lot. What is missing was spent or, if not so much was spent, it has ended as a part of
 * another lot, to which a refund returned it.
 */
export const withoutCredits = (
  { balance, expired, open, pending, spent }: Holding,
  credits: ReadonlyArray<UndoneCredit>,
): Taken => {
  const waiting = new Purse(pending.map(([, amount]) => amount))
  const days = new Purse(open.map(([, , amount]) => amount))
  const ended = new Purse(expired.map(([, , amount]) => amount))
  const free = new Purse([balance - waiting.sum - days.sum])
  const asked = credits.reduce((sum, { amount }) => sum + amount, 0)
  let missing = asked
  for (const { amount, lastDay, spendableAt } of credits) {
    let left = amount
    left -= waiting.take(
      pending.findIndex(([at]) => at === spendableAt),
      left,
    )
    const has = ([from, to]: DayLot) => lastDay !== undefined && from <= lastDay && lastDay <= to
    left -= days.take(open.findIndex(has), left)
    left -= ended.take(expired.findIndex(has), left)
    if (lastDay === undefined) left -= free.take(0, left)
    missing -= amount - left
  }
  for (let index = open.length - 1; index >= 0; index--) missing -= days.take(index, missing)
  missing -= free.take(0, missing)
  for (let index = pending.length - 1; index >= 0; index--) missing -= waiting.take(index, missing)
  for (let index = expired.length - 1; index >= 0; index--) {
    missing -= ended.take(index, Math.max(0, missing - spent))
  }
  const lost = ended.taken
  const amount = asked - missing - lost
  return {
    amount,
    lost,
    missing,
    balance: balance - amount,
    pending: pending
      .map(([at, , day], index) => pendingLot(at, waiting.left[index]!, day))
      .filter(([, left]) => left > 0),
    open: days.of(open),
    expired: ended.of(expired),
  }
}

/** Amounts of lots while parts of them are taken. */
class Purse {
  readonly left: Array<number>
  readonly sum: number
  taken = 0

  constructor(amounts: ReadonlyArray<number>) {
    this.left = [...amounts]
    this.sum = amounts.reduce((sum, amount) => sum + amount, 0)
  }

  /** Takes at most `amount` of the lot at `index`; -1: there is none. */
  take(index: number, amount: number): number {
    if (index < 0) return 0
    const some = Math.min(amount, this.left[index]!)
    this.left[index]! -= some
    this.taken += some
    return some
  }

  of(lots: DayLots): DayLots {
    return lots
      .map(([from, to], index) => [from, to, this.left[index]!] as const)
      .filter(([, , amount]) => amount > 0)
  }
}
