/**
 * Amounts that a user has and cannot spend yet: a credit of a currency with `pendingDays` waits for
 * the user's midnight so many days after the day of the event.
 *
 * A balance includes what is pending. The state has the pending amounts as lots by the time at which
 * they become spendable. That time comes without a record: a decision or a read leaves out the lots
 * that are over, and `apply` drops them with the next change. An edit of `pendingDays` changes no
 * lot.
 *
 * Invariant: what is pending of a currency is at most its balance.
 */
import { limits } from "../../Limits.ts"
import type { Currency } from "../project/Currency.ts"
import type { Zone } from "../values/Calendar.ts"

/** Pending amounts and the times at which they become spendable, in the order of these times. */
export type Lots = ReadonlyArray<readonly [spendableAt: number, amount: number]>

export const noLots: Lots = []

/** A user with what is pending of each currency, by its key. */
type Owner = { readonly pending: ReadonlyMap<string, Lots> } | undefined

/** The lots of a user that are pending at `now`. */
export const lotsAt = (user: Owner, key: string, now: number): Lots =>
  openLots(user?.pending.get(key) ?? noLots, now)

const openLots = (lots: Lots, now: number): Lots => lots.filter(([at]) => at > now)

/** What is pending of a currency. */
export const pendingAt = (user: Owner, key: string, now: number): number =>
  sumOf(lotsAt(user, key, now))

const sumOf = (lots: Lots): number => lots.reduce((sum, [, amount]) => sum + amount, 0)

/** When a credit for what occurred at `occurredAt` becomes spendable; `undefined`: at once. */
export const spendableFrom = (
  { pendingDays }: Currency,
  zone: Zone,
  occurredAt: number,
  now: number,
): number | undefined => {
  if (pendingDays === null) return undefined
  const at = zone.startOfDay(zone.dayAt(occurredAt) + pendingDays)
  return at > now ? at : undefined
}

/**
 * The lots that are pending at `now`, with one more. If there are too many, the two that become
 * spendable first are merged to the later time.
 */
export const withLot = (lots: Lots, at: number, amount: number, now: number): Lots => {
  const before = openLots(lots, now)
  const same = before.find(([each]) => each === at)?.[1] ?? 0
  const after = [...before.filter(([each]) => each !== at), [at, same + amount] as const]
  after.sort(([one], [other]) => one - other)
  if (after.length <= limits.pendingLotsMax) return after
  const [first, second, ...others] = after
  return [[second![0], first![1] + second![1]], ...others]
}

/**
 * The lots after an undo that leaves the balance `left`: the credits give up what is still pending of
 * them, then the lots that become spendable last.
 */
export const withoutCredits = (lots: Lots, credits: Lots, left: number): Lots => {
  const amounts = lots.map(([, amount]) => amount)
  for (const [at, credited] of credits) {
    const own = lots.findIndex(([each]) => each === at)
    if (own !== -1) amounts[own] = Math.max(0, amounts[own]! - credited)
  }
  let excess = amounts.reduce((sum, amount) => sum + amount, 0) - left
  for (let index = amounts.length - 1; excess > 0 && index >= 0; index--) {
    const taken = Math.min(excess, amounts[index]!)
    amounts[index] = amounts[index]! - taken
    excess -= taken
  }
  return lots
    .map(([at], index) => [at, amounts[index]!] as const)
    .filter(([, amount]) => amount > 0)
}
