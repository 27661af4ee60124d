/** Decides spends, and what the refunds of spends and purchases return. */
import { Result } from "effect"
import { type Amounts, activeCurrency } from "../project/Currency.ts"
import type { ProjectState } from "../project/Project.ts"
import { type Fact, type FactOf, type Spending, spentBy } from "../record/Record.ts"
import { refundDays, todayOf } from "../user/Expiry.ts"
import { openLotsAt, pendingAt, takeFirst } from "../user/Lots.ts"
import { balanceAt, waiting } from "../user/Refill.ts"
import type { UserState } from "../user/User.ts"
import { type LaurelError, laurelError, refuse } from "../values/Errors.ts"
import { assertBalance } from "../values/invariants.ts"
import { behind, type Decision } from "./Draft.ts"
import { furtherBalances, refillFacts } from "./FurtherBalances.ts"

/*
 * Spends and refunds. They change only balances of spendable currencies: xp, level and leaderboards
 * stay, and so do badges, since the criterion of points counts all earned points, spent points
 * included. A spend takes all of its amounts, or nothing.
 */

export type AmountRefusal = "currency_not_found" | "currency_not_spendable" | "insufficient_balance"
export type SpendRefusal = "user_not_found" | "insufficient_points" | AmountRefusal

export const decideSpending = (
  user: UserState | undefined,
  project: ProjectState,
  command: Spending,
  now: number,
): Result.Result<Decision, LaurelError<SpendRefusal>> => {
  if (user === undefined) {
    return refuse("user_not_found", "No event or reward of this user was accepted yet.")
  }
  // The first fact names the spend before this one.
  const first = behind(user.lastSpend)
  return spentFacts(user, project, spentBy(command), now, first).pipe(
    Result.map((facts) => ({ cause: command, facts: settled(user, project, now, facts) })),
    Result.mapError((refusal) => ("amount" in command ? ofPoints(refusal) : refusal)),
  )
}

/** The refusal of a spend that named an amount of points. */
const ofPoints = (refusal: LaurelError<AmountRefusal>): LaurelError<SpendRefusal> =>
  refusal.code === "insufficient_balance"
    ? laurelError("insufficient_points", refusal.detail, { balance: refusal.balances!.points! })
    : refusal

/**
 * The facts that take these amounts, or the refusal. `first`: members of the first fact. A spend names
 * the user's spend before it; `undefined`: the record is no spend.
 */
export const spentFacts = (
  user: UserState,
  project: ProjectState,
  amounts: Amounts,
  now: number,
  first: ReturnType<typeof behind> | undefined,
): Result.Result<ReadonlyArray<Fact>, LaurelError<AmountRefusal>> => {
  const refusal = unspendable(user, project, amounts, now)
  if (refusal !== undefined) return Result.fail(refusal)
  const facts: Array<Fact> = []
  let last = first
  for (const [key, amount] of Object.entries(amounts)) {
    const present = balanceAt(user, project, key, now)
    const total = present.amount - amount
    assertBalance(key, total)
    assertBalance(`spent ${key}`, present.spent + amount)
    const { taken } = takeFirst(openLotsAt(user, key, now), amount)
    const lots = taken.length > 0 && { lots: taken.map(([, to, some]) => [to, some] as const) }
    if (key === "points") facts.push({ kind: "points.spent", amount, total, ...lots, ...last })
    else {
      facts.push(...refillFacts(key, present), {
        kind: "currency.spent",
        currency: key,
        amount,
        total,
        ...lots,
        ...waiting(present),
        ...last,
      })
    }
    last = undefined
  }
  return Result.succeed(facts)
}

/** The refusal to take amounts, with all balances that are too small; `undefined`: they suffice. */
const unspendable = (
  user: UserState,
  project: ProjectState,
  amounts: Amounts,
  now: number,
): LaurelError<AmountRefusal> | undefined => {
  const short = new Map<string, number>()
  const details: Array<string> = []
  for (const [key, amount] of Object.entries(amounts)) {
    const currency = activeCurrency(project.currencies, key)
    if (currency === undefined) {
      const detail = `No active currency of this project has the key ${key}.`
      return laurelError("currency_not_found", detail)
    }
    if (!currency.spendable) {
      return laurelError("currency_not_spendable", `The currency ${key} cannot be spent.`)
    }
    const pending = pendingAt(user, key, now)
    const spendable = balanceAt(user, project, key, now).amount - pending
    if (spendable >= amount) continue
    short.set(key, spendable)
    const waits = pending === 0 ? "" : ` (${pending} more are pending)`
    details.push(`The user has ${spendable} ${key}${waits}, ${amount} are needed.`)
  }
  if (short.size === 0) return undefined
  const balances = Object.fromEntries(short)
  return laurelError("insufficient_balance", details.join(" "), { balances })
}

/**
 * The facts of a spend or a refund; with all balances, if the user has further currencies or no fact
 * has the points.
 */
export const settled = (
  user: UserState,
  project: ProjectState,
  now: number,
  facts: ReadonlyArray<Fact>,
): ReadonlyArray<Fact> => {
  let { points, xp } = user
  const changed = new Map<string, number>()
  for (const fact of facts) {
    if (fact.kind === "points.spent" || fact.kind === "points.refunded") points = fact.total
    if (fact.kind === "currency.spent" || fact.kind === "currency.refunded") {
      changed.set(fact.currency, fact.total)
    }
  }
  const balances = furtherBalances(user, project, now, changed)
  const hasPoints = facts.some(({ kind }) => kind === "points.spent" || kind === "points.refunded")
  return balances === undefined && changed.size === 0 && hasPoints
    ? facts
    : [...facts, { kind: "balances.settled", xp, points, balances: balances ?? {} }]
}

/**
 * The facts that return the amounts that the facts `spent` took. An amount whose event or reward was revoked after the spend is not
 * refunded: a user never gets back more than was earned and not revoked. A refund may exceed the
 * `max` of the currency, and also returns a currency that was archived. It returns to the lots that
 * the spend took it from, which live at least `refundDays` more; a part of it, to those that live
 * longest.
 */
export const refundOf = (
  user: UserState,
  project: ProjectState,
  now: number,
  amounts: Amounts,
  spent: ReadonlyArray<Fact>,
): ReadonlyArray<Fact> =>
  Object.entries(amounts).flatMap(([key, asked]): ReadonlyArray<Fact> => {
    const present = balanceAt(user, project, key, now)
    const { spent: outstanding } = present
    const amount = Math.min(asked, outstanding)
    const total = present.amount + amount
    assertBalance(key, total)
    assertBalance(`spent ${key}`, outstanding - amount)
    const lots = returned(spent, key, asked - amount)
      .filter(([, some]) => some > 0)
      .map(
        ([day, some]) => [Math.max(day, todayOf(user, project, now) + refundDays), some] as const,
      )
    const shortfall = asked - amount
    const refund = { amount, total, shortfall, ...(lots.length > 0 && { lots }) }
    return key === "points"
      ? [{ kind: "points.refunded", ...refund }]
      : [
          ...refillFacts(key, present),
          { kind: "currency.refunded", currency: key, ...refund, ...waiting(present) },
        ]
  })

/** What a spend took from lots that end, without the `missing` amount that ended first. */
const returned = (
  spent: ReadonlyArray<Fact>,
  key: string,
  missing: number,
): ReadonlyArray<readonly [lastDay: number, amount: number]> => {
  const isOf = (fact: Fact): fact is FactOf<"points.spent" | "currency.spent"> =>
    key === "points"
      ? fact.kind === "points.spent"
      : fact.kind === "currency.spent" && fact.currency === key
  let left = missing
  return (spent.find(isOf)?.lots ?? []).map(([day, amount]) => {
    const kept = Math.min(left, amount)
    left -= kept
    return [day, amount - kept]
  })
}
