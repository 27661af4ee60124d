/**
 * The definition of an item, which users buy for amounts of currencies. `decide/Purchases.ts` sells it.
 */
import type { LimitPeriod } from "../values/Periods.ts"
import type { Amounts } from "./Currency.ts"
import { type Gives, type Targeted, targetedDefaults } from "./Definition.ts"

/** An item. While it is active, users of its segment can buy it. */
export interface Item extends Targeted {
  readonly name: string
  /** At least one amount, each above 0. The currencies are spendable. */
  readonly price: Amounts
  readonly reward: Gives
  /** How many a user can buy in a period of the project's calendar; null: any number. */
  readonly limit: { readonly times: number; readonly per: LimitPeriod } | null
  /** How many were ever for sale, sold ones included; null: any number. */
  readonly stock: number | null
}

/** The members of an item that says nothing of them. */
export const itemDefaults = { ...targetedDefaults, limit: null, stock: null } as const

/** How many units are left, if `sold` were sold and not refunded; null: any number. */
export const leftOf = ({ stock }: Pick<Item, "stock">, sold: number): number | null =>
  stock === null ? null : Math.max(0, stock - sold)
