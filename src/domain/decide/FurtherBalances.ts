/** The balances of further currencies in a decision: what refilled them, and what they are after it. */
import { type Amounts, activeCurrency } from "../project/Currency.ts"
import type { ProjectState } from "../project/Project.ts"
import type { Fact } from "../record/Record.ts"
import { balanceAt, type PresentBalance, refillingKeys, waiting } from "../user/Refill.ts"
import type { UserState } from "../user/User.ts"

/** The facts of what was added to a balance before a decision changes it. */
export const refillFacts = (
  currency: string,
  { amount: total, refilled: amount, since }: PresentBalance,
): ReadonlyArray<Fact> =>
  amount > 0 ? [{ kind: "currency.refilled", currency, amount, total, ...waiting({ since }) }] : []

/**
 * The user's balances of further currencies that are active, after `changed`; `undefined`: the user
 * has none.
 */
export const furtherBalances = (
  user: UserState | undefined,
  project: ProjectState,
  now: number,
  changed: ReadonlyMap<string, number> | undefined,
): Amounts | undefined => {
  const refilling = refillingKeys(project)
  const owned = user?.balances.size ?? 0
  if (changed === undefined && owned === 0 && refilling.length === 0) return undefined
  // Each event of a user with further currencies comes here: it makes no set and no pairs.
  const after: Record<string, number> = {}
  let isEmpty = true
  const add = (key: string): void => {
    if (Object.hasOwn(after, key) || activeCurrency(project.currencies, key) === undefined) return
    after[key] = changed?.get(key) ?? balanceAt(user, project, key, now).amount
    isEmpty = false
  }
  if (user !== undefined) for (const key of user.balances.keys()) add(key)
  if (changed !== undefined) for (const key of changed.keys()) add(key)
  for (const key of refilling) add(key)
  return isEmpty ? undefined : after
}
