/**
 * How many units of each item a user has bought: ever, and in the latest hour, day, week and month in
 * which the user bought some. Refunded units do not count. A purchase is always of now, so older
 * periods are not needed, and an edit of an item's limit counts what was bought before.
 *
 * The calendar is that of the project. After a move to a zone further west, a purchase may be in a
 * period before the latest one: it counts in the latest one.
 */

import type { Zone } from "../values/Calendar.ts"
import {
  type LimitPeriod,
  limitPeriods,
  type PeriodCounts,
  periodAt,
  periodKind,
} from "../values/Periods.ts"

export interface Purchases {
  /** Units ever bought. */
  readonly times: number
  /** The latest period of each kind, and the units bought in it. */
  readonly periods: PeriodCounts
}

export const noPurchases: Purchases = { times: 0, periods: [] }

/** The periods in which a purchase at `now` counts. */
export const purchasePeriods = (
  bought: Purchases,
  zone: Zone,
  now: number,
): ReadonlyArray<number> =>
  limitPeriods
    .filter((per) => per !== "ever")
    .map((per) => Math.max(periodAt(per, zone, now), latestOf(bought, per)?.[0] ?? 0))

/** How many units count for a limit at `now`. */
export const boughtIn = (bought: Purchases, per: LimitPeriod, zone: Zone, now: number): number => {
  if (per === "ever") return bought.times
  const latest = latestOf(bought, per)
  return latest === undefined || latest[0] < periodAt(per, zone, now) ? 0 : latest[1]
}

/** After one more unit (`by` 1), or the refund of one (`by` -1), of these periods. */
export const withPurchase = (
  before: Purchases,
  periods: ReadonlyArray<number>,
  by: 1 | -1,
): Purchases => {
  const after = new Map(before.periods.map((one) => [periodKind(one[0]), one]))
  for (const period of periods) {
    const kind = periodKind(period)
    const known = after.get(kind)
    if (known?.[0] === period) after.set(kind, [period, known[1] + by])
    else if (by > 0) after.set(kind, [period, 1])
  }
  return { times: before.times + by, periods: [...after.values()] }
}

/** What two users who became one have bought together. */
export const unitedPurchases = (mine: Purchases, theirs: Purchases): Purchases => {
  const united = new Map(mine.periods.map((one) => [periodKind(one[0]), one]))
  for (const one of theirs.periods) {
    const own = united.get(periodKind(one[0]))
    if (own === undefined || own[0] < one[0]) united.set(periodKind(one[0]), one)
    else if (own[0] === one[0]) united.set(periodKind(one[0]), [one[0], own[1] + one[1]])
  }
  return { times: mine.times + theirs.times, periods: [...united.values()] }
}

const latestOf = ({ periods }: Purchases, per: LimitPeriod) =>
  periods.find(([period]) => periodKind(period) === limitPeriods.indexOf(per))
