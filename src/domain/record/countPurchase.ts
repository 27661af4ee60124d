import { noPurchases, type Purchases, withPurchase } from "../user/Purchases.ts"
import { assertBalance } from "../values/invariants.ts"
import type { FactOf } from "./Record.ts"

/** Counts a purchase (`by` 1) or its refund (`by` -1) for the limit of the item. */
export const countPurchase = (
  purchases: Map<string, Purchases>,
  { itemId, periods }: FactOf<"item.purchased" | "item.refunded">,
  by: 1 | -1,
): void => {
  const after = withPurchase(purchases.get(itemId) ?? noPurchases, periods, by)
  assertBalance(`units of ${itemId}`, after.times)
  purchases.set(itemId, after)
}
