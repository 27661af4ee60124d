/** The command of a purchase, and the facts of purchases and their refunds. */
import type { Amounts } from "../project/Currency.ts"
import type { Shortfall } from "./BalanceFact.ts"

/** Buys one unit of the item with this id or key, as the caller sent it. */
export interface Purchase {
  readonly kind: "purchase"
  readonly id?: string | undefined
  readonly item: string
}

/** An item as facts name it. */
export interface ItemRef {
  readonly itemId: string
  readonly key: string
  readonly name: string
}

/** The balances and the level after a record. */
interface Summary {
  readonly xp: number
  readonly points: number
  readonly level: number
  readonly balances?: Amounts
}

/**
 * Facts of balances, badges and levels come before these. `periods`: the hour, day, week and month in
 * which the purchase counts for limits (`user/Purchases.ts`).
 */
export type PurchaseFact =
  /** `before`: the sequence of the user's purchase before this one; absent: there is none. */
  | ({
      readonly kind: "item.purchased"
      readonly price: Amounts
      readonly periods: ReadonlyArray<number>
      readonly before?: number
    } & ItemRef &
      Summary)
  /** `shortfall` and `expired`: of what the item had paid, as in `event.revoked`. */
  | ({
      readonly kind: "item.refunded"
      readonly periods: ReadonlyArray<number>
      readonly shortfall: Shortfall
      readonly expired?: Amounts
    } & ItemRef &
      Summary)
