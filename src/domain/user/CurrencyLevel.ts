/**
 * The level of a user in a currency with `levels`, which compare the earned amount or the balance. It
 * is never stored, so an edit of the levels applies to all users at once.
 *
 * Levels are numbered from 1. Below the first level of a table a user has none, which is number 0; a
 * curve begins with level 1 at 0.
 *
 * What was earned counts also after it was spent or has expired, and no longer once it was revoked.
 * A currency with levels has no `refill`, neither now nor before, so only a record changes an amount,
 * or an expiry, which the next record has.
 */
import type { CurrencyLevels, Leveled } from "../project/Currency.ts"
import { levelAt, levelStart } from "../project/Level.ts"
import type { ProjectState } from "../project/Project.ts"
import { balanceAt } from "./Refill.ts"
import { balanceOf, expiredOf, type UserState } from "./User.ts"

/** A level. Those of a curve have neither key, name nor icon. */
export interface Level {
  readonly number: number
  readonly key: string | null
  readonly name: string | null
  /** The amount at which it begins. */
  readonly from: number
  readonly icon: string | null
}

/** A level as facts name it. */
export type LevelRef = Pick<Level, "number" | "key" | "name">

/** The name of a level in the state of a user. A key has no space. */
export const levelName = (currency: string, level: string): string => `${currency} ${level}`

/** The number of the level that an amount reaches; 0: none. */
export const levelNumber = ({ curve, table }: CurrencyLevels, amount: number): number =>
  table === undefined
    ? levelAt(curve, amount)
    : table.findLastIndex(({ from }) => from <= amount) + 1

/** The level with this number, if there is one. */
export const numberedLevel = ({ curve, table }: CurrencyLevels, number: number): Level | null => {
  if (table !== undefined) {
    const named = table[number - 1]
    if (named === undefined) return null
    const { from, icon, key, name } = named
    return { number, key, name, from, icon }
  }
  const from = number === 0 ? Number.POSITIVE_INFINITY : levelStart(curve, number)
  return from === Number.POSITIVE_INFINITY
    ? null
    : { number, key: null, name: null, from, icon: null }
}

/** The amount that the levels of a currency compare. */
export const levelAmount = (
  user: UserState | undefined,
  project: ProjectState,
  currency: Leveled,
  now: number,
): number =>
  user !== undefined && currency.levels.of === "balance"
    ? balanceAt(user, project, currency.key, now).amount
    : recordedAmount(user, currency)

/** As of the user's last record: with what has expired since. */
export const recordedAmount = (user: UserState | undefined, { key, levels }: Leveled): number => {
  if (user === undefined) return 0
  const { amount, spent } = balanceOf(user, key)
  return levels.of === "balance" ? amount : amount + spent + expiredOf(user, key)
}

/** A user's level, and the next one. */
export interface Standing {
  readonly amount: number
  readonly level: Level | null
  readonly next: Level | null
}

/** The standing in a currency with levels. */
export const standingOf = (
  user: UserState,
  project: ProjectState,
  currency: Leveled,
  now: number,
): Standing => {
  const { levels } = currency
  const amount = levelAmount(user, project, currency, now)
  const number = levelNumber(levels, amount)
  return {
    amount,
    level: numberedLevel(levels, number),
    next: numberedLevel(levels, number + 1),
  }
}
