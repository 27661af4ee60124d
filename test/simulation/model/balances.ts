/** xp and points: sums over what happened and was not taken back. */
import type { WindowKind } from "../../../src/domain/values/Calendar.ts"
import { happened, type Log, standing } from "./log.ts"

const sum = (numbers: ReadonlyArray<number>): number =>
  numbers.reduce((total, number) => total + number, 0)

export const xpOf = (log: Log): number => sum(standing(log).map(({ xp }) => xp))

export const pointsEarnedOf = (log: Log): number => sum(standing(log).map(({ points }) => points))

/** Points earned less points spent of them: no debt is kept, and a refund returns at most the points spent. */
export const pointsOf = (log: Log): number => {
  let [balance, spent] = [0, 0]
  for (const entry of log) {
    if (entry.kind === "event" || entry.kind === "reward") balance += entry.points
    if (entry.kind === "undone") {
      balance -= entry.of.points
      spent = Math.max(0, spent + Math.min(0, balance))
      balance = Math.max(0, balance)
    }
    if (entry.kind === "spent") [balance, spent] = [balance - entry.amount, spent + entry.amount]
    if (entry.kind === "refunded") {
      const back = Math.min(entry.spent.amount, spent)
      ;[balance, spent] = [balance + back, spent - back]
    }
  }
  return balance
}

/** The record by which the user came to the present xp: the latest one that gave or took some. */
export const xpSince = (log: Log): number => {
  const changes = log.filter(
    (entry) =>
      ((entry.kind === "event" || entry.kind === "reward") && entry.xp !== 0) ||
      (entry.kind === "undone" && entry.of.xp !== 0),
  )
  return changes.at(-1)?.sequence ?? 0
}

/** The changes of the user's xp in the window that begins on this date: amount and record. */
const windowChanges = (log: Log, kind: WindowKind, first: string) =>
  log.flatMap((entry) => {
    const xp = "of" in entry ? -entry.of.xp : "xp" in entry ? entry.xp : 0
    if (!("windows" in entry)) return []
    return entry.windows[kind] === first && xp !== 0 ? [{ xp, sequence: entry.sequence }] : []
  })

export const windowXp = (log: Log, kind: WindowKind, first: string): number =>
  sum(windowChanges(log, kind, first).map(({ xp }) => xp))

export const windowXpSince = (log: Log, kind: WindowKind, first: string): number =>
  windowChanges(log, kind, first).at(-1)?.sequence ?? 0

/** The first days of all windows of a kind that the user ever had xp in. */
export const windowsOf = (log: Log, kind: WindowKind): ReadonlyArray<string> => {
  const firsts = happened(log).flatMap(({ windows, xp }) => (xp === 0 ? [] : (windows[kind] ?? [])))
  return [...new Set(firsts)].sort()
}
