/**
 * Pays the levels of currencies (`user/CurrencyLevel.ts`). A level pays a user once, ever, when an
 * amount that it compares grows to it. The undo of the record that paid takes the payment back and
 * forgets it. A level that is lost in another way, and reached again, does not pay again. An edit of
 * the levels neither pays nor takes.
 *
 * Cost: nothing in a project whose levels pay nothing; else two looks at an amount for each currency
 * whose levels do.
 */

import { payingCurrencies, type Ranked } from "../project/Currency.ts"
import { givesNothing } from "../project/Definition.ts"
import { levelAmount, levelName } from "../user/CurrencyLevel.ts"
import { balanceOf, expiredOf, type UserState } from "../user/User.ts"
import type { Draft } from "./Draft.ts"

/** The payments of levels by one decision. */
export class LevelPayments {
  readonly #draft: Draft
  readonly #paying: ReadonlyArray<Ranked>
  /** The amounts up to which all levels have paid, in the order of `#paying`. */
  readonly #amounts: Array<number>

  /** `before`: the users whose levels were reached before; more than one in a merge. */
  constructor(draft: Draft, before: ReadonlyArray<UserState | undefined> = [draft.user]) {
    const { now, project } = draft
    this.#draft = draft
    this.#paying = payingCurrencies(project.currencies)
    this.#amounts = this.#paying.map((currency) =>
      Math.max(...before.map((user) => levelAmount(user, project, currency, now))),
    )
  }

  /** Pays what the draft has reached since the last call. Returns whether anything was reached. */
  pay(): boolean {
    let hasPaid = false
    for (const [index, currency] of this.#paying.entries()) {
      const [before, amount] = [this.#amounts[index]!, this.#amountOf(currency)]
      this.#amounts[index] = Math.max(before, amount)
      for (const { from, key, reward } of currency.levels.table) {
        if (from <= before || from > amount || givesNothing(reward)) continue
        hasPaid = this.#pay(currency, key, reward) || hasPaid
      }
    }
    return hasPaid
  }

  #pay({ id, key }: Ranked, level: string, reward: Ranked["levels"]["table"][number]["reward"]) {
    if (this.#draft.user?.levelsPaid.has(levelName(key, level)) === true) return false
    this.#draft.facts.push({ kind: "level.paid", currency: key, level, paid: 1, by: 1 })
    this.#draft.earn(reward, { currencyId: id })
    return true
  }

  /** What the levels of the currency compare, after the facts so far. */
  #amountOf({ key, levels }: Ranked): number {
    const { user } = this.#draft
    const present = this.#draft.balance(key)
    if (levels.of === "balance" || user === undefined) return present
    return present + balanceOf(user, key).spent + expiredOf(user, key)
  }
}
