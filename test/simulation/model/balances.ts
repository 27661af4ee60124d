/** xp, points and further currencies: sums over the decisions that were not undone. */
import type { Amounts } from "../../../src/domain/project/Currency.ts"
import type { WindowKind } from "../../../src/domain/values/Calendar.ts"
import type { Definitions } from "./Definitions.ts"
import { holdingOf, type When } from "./holdings.ts"
import { earning, type Happened, happened, type Log } from "./log.ts"

const sum = (numbers: ReadonlyArray<number>): number =>
  numbers.reduce((total, number) => total + number, 0)

export const xpOf = (log: Log): number => sum(earning(log).map(({ xp }) => xp))

export const pointsEarnedOf = (log: Log): number => sum(earning(log).map(({ points }) => points))

/**
 * Points earned minus points spent and expired. No debt is kept, and a refund returns at most the
 * points spent.
 */
export const pointsOf = (log: Log, when: When): number => balanceOf(log, "points", when)

/** The same for any currency. */
export const balanceOf = (log: Log, key: string, when: When): number =>
  holdingOf(log, key, when).balance

/** What the user cannot spend yet. */
export const pendingOf = (log: Log, key: string, when: When): number =>
  holdingOf(log, key, when).pending

/**
 * The balances of all further currencies that the user ever earned or spent, and of those that
 * refill.
 */
export const furtherOf = (
  log: Log,
  place: Definitions & Omit<When, "now">,
  now: number,
): Amounts => {
  const { courses, currencies } = place
  const isActive = (key: string) =>
    currencies.some((one) => one.key === key && one.set === "published")
  const keys = [
    ...log.flatMap((entry) => ("currencies" in entry ? [...entry.currencies.keys()] : [])),
    ...log.flatMap((entry) => (entry.kind === "spent" ? Object.keys(entry.amounts) : [])),
    ...courses.flatMap(({ key, refill }) => (refill !== null && isActive(key) ? [key] : [])),
  ].filter((key) => key !== "points")
  const amounts = [...new Set(keys)].sort().map((key) => {
    return [key, balanceOf(log, key, { ...place, now })] as const
  })
  return Object.fromEntries(amounts)
}

/** The record that set the present xp: the latest one that gave xp and was not undone. */
export const xpSince = (log: Log): number =>
  earning(log).findLast(({ xp }) => xp !== 0)?.sequence ?? 0

/** The decisions that gave xp in the window that begins on this date, without undone ones. */
const countedIn = (log: Log, kind: WindowKind, first: string): ReadonlyArray<Happened> =>
  happened(log).filter(
    (entry) =>
      entry.xp !== 0 &&
      entry.windows[kind] === first &&
      !log.some(
        (other) => other.kind === "undone" && other.of === entry && other.windows[kind] === first,
      ),
  )

export const windowXp = (log: Log, kind: WindowKind, first: string): number =>
  sum(countedIn(log, kind, first).map(({ xp }) => xp))

export const windowXpSince = (log: Log, kind: WindowKind, first: string): number =>
  countedIn(log, kind, first).at(-1)?.sequence ?? 0

/** The first days of all windows of a kind in which the user has xp. */
export const windowsOf = (log: Log, kind: WindowKind): ReadonlyArray<string> => {
  const firsts = happened(log).flatMap(({ windows, xp }) => (xp === 0 ? [] : (windows[kind] ?? [])))
  return [...new Set(firsts)].filter((first) => countedIn(log, kind, first).length > 0).sort()
}
