/** xp, points and further currencies: sums over the decisions that were not undone. */
import type { Amounts } from "../../../src/domain/project/Currency.ts"
import type { WindowKind } from "../../../src/domain/values/Calendar.ts"
import type { Course, Definitions } from "./Definitions.ts"
import { type Amounting, earning, type Happened, happened, type Log } from "./log.ts"

const sum = (numbers: ReadonlyArray<number>): number =>
  numbers.reduce((total, number) => total + number, 0)

export const xpOf = (log: Log): number => sum(earning(log).map(({ xp }) => xp))

export const pointsEarnedOf = (log: Log): number => sum(earning(log).map(({ points }) => points))

/**
 * Points earned minus points spent. No debt is kept, and a refund returns at most the points spent.
 */
export const pointsOf = (log: Log): number => balanceOf(log, "points")

/** The time of a balance, and how currencies refilled until then. */
export interface When {
  readonly now: number
  readonly courses: ReadonlyArray<Course>
}

/** The same for any currency. */
export const balanceOf = (log: Log, key: string, when?: When): number => {
  let [balance, spent] = [0, 0]
  const own = when?.courses.filter((course) => course.key === key) ?? []
  let clock = Math.max(log[0]?.at ?? Number.POSITIVE_INFINITY, own[0]?.at ?? 0)
  let since = clock
  const wait = (to: number): void => {
    while (own.length > 0 && clock < to) {
      const { max, refill } = own.findLast(({ at }) => at <= clock)!
      const edited = own.find(({ at }) => at > clock)?.at ?? Number.POSITIVE_INFINITY
      const end = Math.min(to, edited)
      if (refill !== null && max !== null) {
        const ms = refill.everyMinutes * 60_000
        for (; balance < max && since + ms <= end; since += ms) {
          balance = Math.min(max, balance + refill.amount)
        }
      }
      if (refill === null || max === null || balance >= max || end === edited) since = end
      clock = end
    }
  }
  for (const entry of log) {
    wait(entry.at)
    if (entry.kind === "event" || entry.kind === "reward" || entry.kind === "backfilled") {
      balance += credited(entry, key)
    }
    if (entry.kind === "undone") {
      balance -= credited(entry.of, key)
      spent = Math.max(0, spent + Math.min(0, balance))
      balance = Math.max(0, balance)
    }
    if (entry.kind === "spent") {
      const amount = amountIn(entry.amounts, key)
      ;[balance, spent] = [balance - amount, spent + amount]
    }
    if (entry.kind === "refunded") {
      const back = Math.min(amountIn(entry.spent.amounts, key), spent)
      ;[balance, spent] = [balance + back, spent - back]
    }
  }
  if (when !== undefined) wait(when.now)
  return balance
}

/**
 * What the user cannot spend yet. An undo takes first what waits of the record, and the rest only if
 * the balance has not as much.
 */
export const pendingOf = (log: Log, key: string, when: When): number => {
  let waiting: Array<{ at: number; amount: number }> = []
  for (const [index, entry] of log.entries()) {
    waiting = waiting.filter(({ at }) => at > entry.at)
    if (entry.kind === "event" || entry.kind === "reward" || entry.kind === "backfilled") {
      for (const one of entry.waiting) {
        if (one.currency !== key) continue
        const same = waiting.find(({ at }) => at === one.at)
        if (same === undefined) waiting.push({ at: one.at, amount: one.amount })
        else same.amount += one.amount
      }
    }
    if (entry.kind === "undone" && credited(entry.of, key) > 0) {
      for (const { amount, at, currency } of entry.of.waiting) {
        const own = waiting.find((one) => currency === key && one.at === at)
        if (own !== undefined) own.amount = Math.max(0, own.amount - amount)
      }
      const left = balanceOf(log.slice(0, index + 1), key, { ...when, now: entry.at })
      const lastFirst = [...waiting].sort((one, other) => other.at - one.at)
      for (const one of lastFirst) {
        const excess = sum(waiting.map(({ amount }) => amount)) - left
        if (excess > 0) one.amount -= Math.min(excess, one.amount)
      }
    }
  }
  return sum(waiting.filter(({ at }) => at > when.now).map(({ amount }) => amount))
}

export const amountIn = (amounts: Amounts, key: string): number =>
  Object.entries(amounts).find(([name]) => name === key)?.[1] ?? 0

/** What a decision gave of a currency. */
export const credited = (entry: Amounting, key: string): number => {
  if (key === "xp") return entry.xp
  return key === "points" ? entry.points : (entry.currencies.get(key) ?? 0)
}

/**
 * The balances of all further currencies that the user ever earned or spent, and of those that
 * refill.
 */
export const furtherOf = (log: Log, definitions: Definitions, now: number): Amounts => {
  const { courses, currencies } = definitions
  const isActive = (key: string) =>
    currencies.some((one) => one.key === key && one.set === "published")
  const keys = [
    ...log.flatMap((entry) => ("currencies" in entry ? [...entry.currencies.keys()] : [])),
    ...log.flatMap((entry) => (entry.kind === "spent" ? Object.keys(entry.amounts) : [])),
    ...courses.flatMap(({ key, refill }) => (refill !== null && isActive(key) ? [key] : [])),
  ].filter((key) => key !== "points")
  const amounts = [...new Set(keys)].sort().map((key) => {
    return [key, balanceOf(log, key, { courses, now })] as const
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
