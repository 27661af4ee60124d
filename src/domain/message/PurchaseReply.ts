/** The replies to purchases and their refunds. */
import type { FactOf, JournalRecord } from "../record/Record.ts"
import type { MembersOf } from "./FactMembers.ts"
import type { Outcome, Undone } from "./Outcome.ts"
import type { Repeated } from "./SpendReply.ts"

/** The item as it was then, and its price. */
type Bought = Pick<MembersOf<"item.purchased">, "itemId" | "key" | "name" | "price">

/** `xp`, `points` and further amounts earned are those of the item; the price is apart. */
export interface PurchaseReply extends Outcome, Repeated, Bought {
  readonly kind: "purchase"
  readonly purchaseId: string
}

type Returned = Pick<MembersOf<"item.refunded">, "itemId" | "key" | "name" | "price">

export interface PurchaseRefundReply extends Outcome, Undone, Returned {
  readonly kind: "revocation"
  readonly of: "purchase"
  /** The id of the purchase. */
  readonly id: string
}

const purchaseIn = <Kind extends "item.purchased" | "item.refunded">(
  { facts, sequence }: JournalRecord,
  kind: Kind,
): FactOf<Kind> => {
  const found = facts.find((fact) => fact.kind === kind)
  if (found === undefined) throw new Error(`Record ${sequence} has no fact ${kind}`)
  return found as FactOf<Kind>
}

export const boughtOf = (record: JournalRecord): Bought => {
  const { itemId, key, name, price } = purchaseIn(record, "item.purchased")
  return { itemId, key, name, price }
}

/** What the revocation of a purchase returned of the price. */
export const returnedOf = (record: JournalRecord): Returned => {
  const { itemId, key, name } = purchaseIn(record, "item.refunded")
  const price: Record<string, { readonly refunded: number; readonly shortfall: number }> = {}
  for (const fact of record.facts) {
    if (fact.kind !== "points.refunded" && fact.kind !== "currency.refunded") continue
    const { amount: refunded, shortfall } = fact
    price[fact.kind === "points.refunded" ? "points" : fact.currency] = { refunded, shortfall }
  }
  return { itemId, key, name, price }
}
