/**
 * What a shop shows a user: whether the user could buy an item now, and why not. The answer is the
 * refusal that the purchase would get (`Purchases.ts`), so shop and purchase never disagree at one
 * moment. It reserves nothing: another user may take the last unit before the purchase. It costs one
 * decision for each item.
 */
import { Result } from "effect"
import type { Amounts } from "../project/Currency.ts"
import type { Item } from "../project/Item.ts"
import type { ProjectState } from "../project/Project.ts"
import { pendingAt } from "../user/Lots.ts"
import { boughtIn, noPurchases } from "../user/Purchases.ts"
import { balanceAt } from "../user/Refill.ts"
import type { UserState } from "../user/User.ts"
import { zoneOf } from "../values/Calendar.ts"
import type { LaurelError } from "../values/Errors.ts"
import { periodEnd } from "../values/Periods.ts"
import { presentState } from "./Decide.ts"
import { decidePurchase, type PurchaseRefusal, type Sold } from "./Purchases.ts"

/** An item for a user. */
export interface Offer {
  /** The units that count for the limit now; without a limit, all that were not refunded. */
  readonly bought: number
  /** When the period of the limit ends, epoch milliseconds; null: it has none. */
  readonly limitEndsAt: number | null
  readonly refusal: LaurelError<PurchaseRefusal> | undefined
  /** What lacks of the price, by currency, if that is why. */
  readonly missing: Amounts
}

export class Shop {
  readonly #user: UserState
  readonly #project: ProjectState
  readonly #now: number
  readonly #sold: Sold

  constructor(user: UserState, project: ProjectState, now: number, sold: Sold) {
    this.#user = presentState(user, project, now)
    this.#project = project
    this.#now = now
    this.#sold = sold
  }

  /** What the user can spend now: the balances of spendable currencies without what is pending. */
  spendable(): Amounts {
    const spendable = [...this.#project.currencies.values()].filter(
      ({ set, spendable }) => set === "published" && spendable,
    )
    return Object.fromEntries(spendable.map(({ key }) => [key, this.#spendableOf(key)]))
  }

  offer(item: Item): Offer {
    const [user, project, now] = [this.#user, this.#project, this.#now]
    const command = { kind: "purchase", item: item.id } as const
    const decided = decidePurchase(user, project, command, now, this.#sold)
    const refusal = Result.isFailure(decided) ? decided.failure : undefined
    const per = item.limit?.per ?? "ever"
    const zone = zoneOf(project.settings.timezone)
    return {
      bought: boughtIn(user.purchases.get(item.id) ?? noPurchases, per, zone, now),
      limitEndsAt: periodEnd(per, zone, now),
      refusal,
      missing: refusal?.code === "insufficient_balance" ? this.#missing(item) : {},
    }
  }

  #missing({ price }: Item): Amounts {
    const lacks = Object.entries(price).map(
      ([key, amount]) => [key, amount - this.#spendableOf(key)] as const,
    )
    return Object.fromEntries(lacks.filter(([, amount]) => amount > 0))
  }

  #spendableOf(key: string): number {
    const [user, project, now] = [this.#user, this.#project, this.#now]
    return balanceAt(user, project, key, now).amount - pendingAt(user, key, now)
  }
}
