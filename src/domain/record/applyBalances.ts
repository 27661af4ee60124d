/**
 * How facts about balances change a user's state: of xp, points and further currencies, what counts
 * for an `earnLimit`, and the lots (`user/Lots.ts`).
 *
 * Each change of a balance first moves the lots that are no longer pending (`release`), so the order
 * of lots is that of the decision, which has seen them so.
 */
import { limits } from "../../Limits.ts"
import {
  type DayLots,
  keptUntil,
  noLots,
  nothingExpires,
  pendingLot,
  pendingUntil,
  splitAt,
  sumOfDays,
  takeFirst,
  withDayLot,
  withPending,
  withReleased,
} from "../user/Lots.ts"
import { balanceOf, spentAfter, type UserState } from "../user/User.ts"
import { assertBalances, assertLots } from "../values/invariants.ts"
import { countIn, type PeriodCounts, withCount } from "../values/Periods.ts"
import { type Folding, own } from "./Folding.ts"
import { creditedCurrency } from "./Past.ts"
import type { Fact, FactOf } from "./Record.ts"

type CreditFact = FactOf<"xp.earned" | "points.earned" | "currency.earned">

/** Applies a fact about a balance other than that of xp; returns whether it is one. */
export const foldBalance = (
  state: Folding,
  before: UserState,
  fact: Fact,
  now: number,
): boolean => {
  switch (fact.kind) {
    case "points.earned":
    case "currency.earned":
      setTotal(state, before, creditedCurrency(fact), fact)
      countEarning(state, before, fact)
      addLot(state, before, fact, now)
      return true
    case "currency.refilled":
    case "currency.revoked":
      setTotal(state, before, fact.currency, fact)
      return true
    case "points.revoked":
      setTotal(state, before, "points", fact)
      return true
    case "points.spent":
    case "currency.spent": {
      const key = fact.kind === "points.spent" ? "points" : fact.currency
      setTotal(state, before, key, fact, fact.amount)
      foldLots(state, before, key, now, (open) => takeFirst(open, fact.amount).left)
      return true
    }
    case "points.refunded":
    case "currency.refunded": {
      const key = fact.kind === "points.refunded" ? "points" : fact.currency
      setTotal(state, before, key, fact, -fact.amount)
      foldLots(state, before, key, now, (open) => withRefund(open, fact.lots))
      return true
    }
    case "currency.expired":
      expire(state, before, fact, now)
      return true
    case "currency.kept":
      keep(state, before, fact, now)
      return true
    case "currency.lots":
      setLots(state, before, fact)
      return true
    case "currency.uncounted":
      uncount(own(state, before, "earnings"), fact)
      return true
    default:
      return false
  }
}

/** The state without what has expired by `now`, as `facts` have it. */
export const afterExpiry = (
  user: UserState,
  facts: ReadonlyArray<FactOf<"currency.expired">>,
  now: number,
): UserState => {
  const state: Folding = { ...user }
  for (const fact of facts) expire(state, user, fact, now)
  return state
}

/** The state after facts about balances other than that of xp. */
export const afterBalances = (
  user: UserState,
  facts: ReadonlyArray<Fact>,
  now: number,
): UserState => {
  const state: Folding = { ...user }
  for (const fact of facts) foldBalance(state, user, fact, now)
  return state
}

/** Sets the balance of a currency to the total of a fact. `spent`: what was spent more. */
const setTotal = (
  state: Folding,
  before: UserState,
  key: string,
  { since, total }: { readonly total: number; readonly since?: number },
  spent = 0,
): void => {
  if (key === "points") {
    state.points = total
    state.pointsSpent += spent
    return
  }
  const known = balanceOf(state, key)
  const spentNow = known.spent + spent
  assertBalances(key, total, spentNow)
  const waits = since ?? known.since
  own(state, before, "balances").set(
    key,
    waits === undefined
      ? { amount: total, spent: spentNow }
      : { amount: total, spent: spentNow, since: waits },
  )
}

/** What a revocation could not take back no longer counts as spent. */
export const forgive = (
  state: Folding,
  before: UserState,
  { currencies: missing = {}, points }: FactOf<"event.revoked">["shortfall"],
): void => {
  state.pointsSpent = spentAfter(state.pointsSpent, points)
  for (const [key, amount] of Object.entries(missing)) {
    const { spent, ...balance } = balanceOf(state, key)
    own(state, before, "balances").set(key, { ...balance, spent: spentAfter(spent, amount) })
  }
}

/* Lots. */

/** Moves the lots of a currency that are no longer pending at `now`. */
const release = (state: Folding, before: UserState, key: string, now: number): void => {
  const lots = state.pending.get(key)
  if (lots === undefined || lots[0]![0] > now) return
  const open = withReleased(state.expiring.get(key)?.open ?? noLots, lots, now)
  const left = lots.filter(([at]) => at > now)
  if (left.length > 0) own(state, before, "pending").set(key, left)
  else own(state, before, "pending").delete(key)
  setOpen(state, before, key, open)
}

const setOpen = (state: Folding, before: UserState, key: string, open: DayLots): void => {
  const { expired, open: openBefore } = state.expiring.get(key) ?? nothingExpires
  if (open === openBefore) return
  const all = own(state, before, "expiring")
  if (open.length === 0 && expired.length === 0) all.delete(key)
  else all.set(key, { open, expired })
}

const foldLots = (
  state: Folding,
  before: UserState,
  key: string,
  now: number,
  change: (open: DayLots) => DayLots,
): void => {
  release(state, before, key, now)
  setOpen(state, before, key, change(state.expiring.get(key)?.open ?? noLots))
}

const addLot = (state: Folding, before: UserState, fact: CreditFact, now: number): void => {
  const { amount, lastDay, spendableAt } = fact
  if (lastDay === undefined && spendableAt === undefined) return
  const key = creditedCurrency(fact)
  if (spendableAt === undefined) {
    foldLots(state, before, key, now, (open) => withDayLot(open, [lastDay!, lastDay!, amount]))
    return
  }
  release(state, before, key, now)
  const lots = state.pending.get(key) ?? noLots
  const lot = pendingLot(spendableAt, amount, lastDay)
  own(state, before, "pending").set(key, withPending(lots, lot))
}

const withRefund = (open: DayLots, lots: FactOf<"currency.refunded">["lots"] = noLots): DayLots =>
  lots.reduce((all, [lastDay, amount]) => withDayLot(all, [lastDay, lastDay, amount]), open)

const expire = (
  state: Folding,
  before: UserState,
  fact: FactOf<"currency.expired">,
  now: number,
): void => {
  const { amount, currency, today } = fact
  release(state, before, currency, now)
  const { expired, open } = state.expiring.get(currency) ?? nothingExpires
  const { ended, left } = splitAt(open, today)
  assertLots(currency, amount, sumOfDays(ended))
  setTotal(state, before, currency, fact)
  own(state, before, "expiring").set(currency, {
    open: left,
    expired: ended.reduce(withDayLot, expired),
  })
}

const keep = (
  state: Folding,
  before: UserState,
  { currency, lastDay }: FactOf<"currency.kept">,
  now: number,
): void => {
  foldLots(state, before, currency, now, (open) => keptUntil(open, lastDay))
  const lots = state.pending.get(currency)
  if (lots === undefined) return
  own(state, before, "pending").set(currency, pendingUntil(lots, lastDay))
}

const setLots = (
  state: Folding,
  before: UserState,
  { currency, expired, open, pending }: FactOf<"currency.lots">,
): void => {
  if (pending.length > 0) own(state, before, "pending").set(currency, pending)
  else own(state, before, "pending").delete(currency)
  const all = own(state, before, "expiring")
  if (open.length === 0 && expired.length === 0) all.delete(currency)
  else all.set(currency, { open, expired })
}

/* What counts for an `earnLimit`. */

/** Counts a credit in the period of the currency's `earnLimit`, if it had one. */
export const countEarning = (state: Folding, before: UserState, fact: CreditFact): void => {
  const { amount, period } = fact
  if (period === undefined) return
  const earnings = own(state, before, "earnings")
  const currency = creditedCurrency(fact)
  const counts = earnings.get(currency) ?? []
  const total = (countIn(counts, period) ?? 0) + amount
  // A period older than all that the state has is dropped again.
  earnings.set(currency, withCount(counts, period, total, limits.earnPeriodsMax))
}

/** A revoked credit of a dropped period changes nothing. */
const uncount = (
  earnings: Map<string, PeriodCounts>,
  { amount, currency, period }: FactOf<"currency.uncounted">,
): void => {
  const counts = earnings.get(currency) ?? []
  const counted = countIn(counts, period)
  if (counted === undefined) return
  const left = Math.max(0, counted - amount)
  earnings.set(currency, withCount(counts, period, left, limits.earnPeriodsMax))
}
