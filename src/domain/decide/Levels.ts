/**
 * What a decision pays for levels of currencies (`user/CurrencyLevel.ts`), and which levels it changes.
 * Changes are computed from recorded amounts, so each change is in one record. A level pays a user
 * once, ever, when the amount that it compares reaches it. The undo of the record that paid takes the payment back and
 * forgets it. A level that is lost in another way, and reached again, does not pay again. An edit of
 * the levels neither pays nor takes.
 *
 * Cost: nothing in a project without levels. Else the facts about amounts are folded once more, and
 * the amounts of each currency with levels are compared.
 */

import {
  type CurrencyLevels,
  type Leveled,
  leveledCurrencies,
  type NamedLevel,
} from "../project/Currency.ts"
import { givesNothing } from "../project/Definition.ts"
import type { ProjectState } from "../project/Project.ts"
import { foldBalance, forgive } from "../record/applyBalances.ts"
import { withMerged } from "../record/applyMerge.ts"
import type { Folding } from "../record/Folding.ts"
import type { Fact } from "../record/Record.ts"
import {
  type LevelRef,
  levelAmount,
  levelName,
  levelNumber,
  numberedLevel,
  recordedAmount,
} from "../user/CurrencyLevel.ts"
import { balanceOf, expiredOf, newcomer, type UserState } from "../user/User.ts"
import type { Draft } from "./Draft.ts"

/* Payments. */

/** The payments of levels by one decision. */
export class LevelPayments {
  readonly #draft: Draft
  readonly #paying: ReadonlyArray<Leveled>
  /** The amounts up to which all levels have paid, in the order of `#paying`. */
  readonly #amounts: Array<number>

  /** `before`: the users whose levels were reached before; more than one in a merge. */
  constructor(draft: Draft, before: ReadonlyArray<UserState | undefined> = [draft.user]) {
    const { now, project } = draft
    this.#draft = draft
    this.#paying = leveledCurrencies(project.currencies).paying
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
      for (const { from, key, reward } of currency.levels.table ?? []) {
        if (from <= before || from > amount || givesNothing(reward)) continue
        hasPaid = this.#pay(currency, key, reward) || hasPaid
      }
    }
    return hasPaid
  }

  #pay({ id, key }: Leveled, level: string, reward: NamedLevel["reward"]): boolean {
    if (this.#draft.user?.levelsPaid.has(levelName(key, level)) === true) return false
    this.#draft.facts.push({ kind: "level.paid", currency: key, level, paid: 1, by: 1 })
    this.#draft.earn(reward, { currencyId: id })
    return true
  }

  /** What the levels of the currency compare, after the facts so far. */
  #amountOf({ key, levels }: Leveled): number {
    const { user } = this.#draft
    const present = this.#draft.balance(key)
    if (levels.of === "balance" || user === undefined) return present
    return present + balanceOf(user, key).spent + expiredOf(user, key)
  }
}

/* Changes. */

/** The facts, with those of the levels that the amounts after them change. */
export const withLevelChanges = (
  user: UserState | undefined,
  { currencies }: ProjectState,
  facts: ReadonlyArray<Fact>,
  now: number,
): ReadonlyArray<Fact> => {
  const { all } = leveledCurrencies(currencies)
  if (all.length === 0 || facts.length === 0) return facts
  const after = amountsAfter(user ?? newcomer, facts, now)
  const changes = all.flatMap((currency): ReadonlyArray<Fact> => {
    const { key, levels } = currency
    const [from, to] = [user, after].map((state) =>
      levelNumber(levels, recordedAmount(state, currency)),
    ) as [number, number]
    if (from === to) return []
    const change = { from: refTo(levels, from), to: refTo(levels, to) }
    return [{ kind: "currency.level_changed", currency: key, ...change }]
  })
  if (changes.length === 0) return facts
  // The last fact of an event sums the record up.
  const isSum = /^(event|reward|item)\./.test(facts.at(-1)!.kind)
  return isSum ? [...facts.slice(0, -1), ...changes, facts.at(-1)!] : [...facts, ...changes]
}

const refTo = (levels: CurrencyLevels, number: number): LevelRef | null => {
  const level = numberedLevel(levels, number)
  return level && { number, key: level.key, name: level.name }
}

/** The state after the facts, as far as they change amounts. */
const amountsAfter = (before: UserState, facts: ReadonlyArray<Fact>, now: number): UserState => {
  const state: Folding = { ...before }
  for (const fact of facts) {
    if (fact.kind === "user.merged") Object.assign(state, withMerged(state, fact, state.sequence))
    else if (
      fact.kind === "event.revoked" ||
      fact.kind === "reward.revoked" ||
      fact.kind === "item.refunded"
    ) {
      forgive(state, before, fact.shortfall)
    } else foldBalance(state, before, fact, now)
  }
  return state
}
