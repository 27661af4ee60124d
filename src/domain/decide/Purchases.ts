/**
 * Decides purchases. A purchase takes the price, gives the reward of the item, and counts for its limit
 * and stock, in one record: all of it or nothing.
 *
 * The price is taken first, so a reward in a currency of the price may be larger than the balance.
 * What an item pays counts for levels, badges and `earnLimit` as other rewards do, but it is no event:
 * it scores in no window of a leaderboard, and no boost multiplies it.
 *
 * A refusal has one reason, checked in this order: no such item, not for sale, not in the segment, the
 * limit, the stock, the balances. The last one names each balance that is too small.
 *
 * The stock is of the whole environment, and the decision is that of one user. `sold` has all purchases
 * that were decided in the environment, durable or not, so two users never get the same unit: decision
 * and append are one turn of the event loop, and a record that was appended becomes durable, or the
 * process ends without an answer. An environment lives in one process, also in a cluster.
 */
import { Result } from "effect"
import { statusAt } from "../project/Definition.ts"
import { definitionOf } from "../project/DefinitionKey.ts"
import { type Item, leftOf } from "../project/Item.ts"
import type { ProjectState } from "../project/Project.ts"
import { afterBalances } from "../record/applyBalances.ts"
import type { Purchase } from "../record/Purchase.ts"
import type { Fact, JournalRecord } from "../record/Record.ts"
import { Membership } from "../user/Membership.ts"
import { boughtIn, noPurchases, purchasePeriods } from "../user/Purchases.ts"
import type { UserState } from "../user/User.ts"
import { zoneOf } from "../values/Calendar.ts"
import { type LaurelError, laurelError } from "../values/Errors.ts"
import { payAll } from "./Badges.ts"
import { behind, type Decision, Draft } from "./Draft.ts"
import { definitionNotFound } from "./Kind.ts"
import { type AmountRefusal, refundOf, spentFacts } from "./Spending.ts"

export type PurchaseRefusal =
  | AmountRefusal
  | "user_not_found"
  | "item_not_found"
  | "item_not_active"
  | "not_in_segment"
  | "limit_reached"
  | "sold_out"
  | "balance_overflow"

/** How many units of an item were sold in the environment and not refunded, by the item's id. */
export type Sold = (itemId: string) => number

export const decidePurchase = (
  user: UserState | undefined,
  project: ProjectState,
  command: Purchase,
  now: number,
  sold: Sold,
): Result.Result<Decision, LaurelError<PurchaseRefusal>> => {
  if (user === undefined) {
    return Result.fail(
      laurelError("user_not_found", "No event or reward of this user was accepted yet."),
    )
  }
  const item = definitionOf(project.items, command.item)
  if (item === undefined) return Result.fail(definitionNotFound("item"))
  const refusal =
    notForSale(item, now) ?? notForUser(item, { user, project, now }) ?? soldOut(item, sold)
  if (refusal !== undefined) return Result.fail(refusal)
  return Result.flatMap(spentFacts(user, project, item.price, now, undefined), (paid) =>
    bought(user, project, command, now, item, paid),
  )
}

const notForSale = (item: Item, now: number): LaurelError<PurchaseRefusal> | undefined => {
  const status = statusAt(item, now)
  return status === "active"
    ? undefined
    : laurelError("item_not_active", `The item's status is ${status}.`)
}

interface Buyer {
  readonly user: UserState
  readonly project: ProjectState
  readonly now: number
}

const notForUser = (
  { id, limit, segment }: Item,
  { now, project, user }: Buyer,
): LaurelError<PurchaseRefusal> | undefined => {
  if (!new Membership({ userId: user.id, user, project, now }).has(segment)) {
    return laurelError("not_in_segment", `The item is for members of the segment ${segment}.`)
  }
  if (limit === null) return undefined
  const { per, times } = limit
  const zone = zoneOf(project.settings.timezone)
  const count = boughtIn(user.purchases.get(id) ?? noPurchases, per, zone, now)
  if (count < times) return undefined
  const period = per === "ever" ? "" : ` in this ${per}`
  return laurelError("limit_reached", `The user has bought ${count} of ${times}${period}.`)
}

const soldOut = (item: Item, sold: Sold): LaurelError<PurchaseRefusal> | undefined =>
  leftOf(item, sold(item.id)) === 0
    ? laurelError(
        "sold_out",
        item.stock === 1 ? "The only unit is sold." : `All ${item.stock} units are sold.`,
      )
    : undefined

const bought = (
  user: UserState,
  project: ProjectState,
  command: Purchase,
  now: number,
  { id: itemId, key, name, price, reward }: Item,
  paid: ReadonlyArray<Fact>,
): Result.Result<Decision, LaurelError<PurchaseRefusal>> => {
  const draft = new Draft(user.id, afterBalances(user, paid, now), project, now)
  draft.earn(reward, { itemId })
  payAll(draft)
  const overflow = draft.overflow()
  if (overflow !== undefined) return Result.fail(overflow)
  const { level } = draft.settle(false)
  const { points, xp } = draft
  const balances = draft.furtherBalances()
  const periods = purchasePeriods(
    user.purchases.get(itemId) ?? noPurchases,
    zoneOf(project.settings.timezone),
    now,
  )
  const facts: ReadonlyArray<Fact> = [
    ...paid,
    ...draft.facts,
    {
      kind: "item.purchased",
      itemId,
      key,
      name,
      price,
      periods,
      xp,
      points,
      level,
      ...(balances !== undefined && { balances }),
      ...behind(user.lastPurchase),
    },
  ]
  return Result.succeed({ cause: command, facts })
}

/* Refunds (`Revocation.ts`). */

/** The facts that return the price of a purchase; none for another record. */
export const priceRefund = (
  user: UserState,
  project: ProjectState,
  now: number,
  { facts }: JournalRecord,
): ReadonlyArray<Fact> => {
  const purchase = facts.find((fact) => fact.kind === "item.purchased")
  return purchase === undefined ? [] : refundOf(user, project, now, purchase.price, facts)
}

/** The kind of the last fact of a revocation, and what it says of the record. */
export const summaryOf = ({ cause, facts }: JournalRecord) => {
  const purchase = facts.find((fact) => fact.kind === "item.purchased")
  if (purchase === undefined) {
    return { kind: cause.kind === "event" ? "event.revoked" : "reward.revoked" } as const
  }
  const { itemId, key, name, periods } = purchase
  return { kind: "item.refunded", itemId, key, name, periods } as const
}
