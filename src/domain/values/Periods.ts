/**
 * Periods of limits: the hour, day, week or month of a time zone in which something occurred, and
 * what a user's state counts in the latest of them.
 */
import { firstDayOf, type Zone } from "./Calendar.ts"

export const limitPeriods = ["hour", "day", "week", "month", "ever"] as const
export type LimitPeriod = (typeof limitPeriods)[number]

const hourMs = 3_600_000
const dayHours = 24

export interface Period {
  readonly per: LimitPeriod
  readonly number: number
}

/**
 * The number of a period at `at`, by the hours, days, weeks and months of the zone. The number is
 * the hour in which the period begins (for days, weeks and months: as if the local day began at
 * 00:00 UTC) times 4, plus a code of the kind. So the numbers of all kinds increase with time.
 */
export const periodAt = (per: LimitPeriod, zone: Zone, at: number): number => {
  switch (per) {
    case "hour":
      return Math.floor((at + zone.hourShiftAt(at)) / hourMs) * 4
    case "day":
      return zone.dayAt(at) * dayHours * 4 + 1
    case "week":
      return firstDayOf("weekly", zone.windowAt("weekly", at)) * dayHours * 4 + 2
    case "month":
      return firstDayOf("monthly", zone.windowAt("monthly", at)) * dayHours * 4 + 3
    case "ever":
      return Number.MAX_SAFE_INTEGER
  }
}

/** When the period at `at` ends, epoch milliseconds; null: never. */
export const periodEnd = (per: LimitPeriod, zone: Zone, at: number): number | null => {
  switch (per) {
    case "hour": {
      const shift = zone.hourShiftAt(at)
      return (Math.floor((at + shift) / hourMs) + 1) * hourMs - shift
    }
    case "day":
      return zone.startOfDay(zone.dayAt(at) + 1)
    case "week":
      return zone.startOfDay(firstDayOf("weekly", zone.windowAt("weekly", at) + 1))
    case "month":
      return zone.startOfDay(firstDayOf("monthly", zone.windowAt("monthly", at) + 1))
    case "ever":
      return null
  }
}

/** A time before which no event of the period occurred, in any time zone. */
export const beforePeriod = ({ number, per }: Period): number =>
  per === "ever" ? Number.NEGATIVE_INFINITY : (Math.floor(number / 4) - dayHours) * hourMs

/** A number for each of the latest periods, oldest first. */
export type PeriodCounts = ReadonlyArray<readonly [period: number, count: number]>

/** The number of a period; `undefined`: none was counted, or it was dropped. */
export const countIn = (counts: PeriodCounts, period: number): number | undefined =>
  counts.find(([of]) => of === period)?.[1]

/**
 * The counts with `count` for a period, of the latest `periodsMax` periods. A period with the number
 * 0 stays: otherwise an older, dropped period would look unused.
 */
export const withCount = (
  counts: PeriodCounts,
  period: number,
  count: number,
  periodsMax: number,
): PeriodCounts => {
  const others = counts.filter(([of]) => of !== period)
  others.push([period, count])
  others.sort(([one], [other]) => one - other)
  return others.slice(-periodsMax)
}

/** The place of the kind of a period, other than `ever`, in `limitPeriods`. */
export const periodKind = (period: number): number => period % 4
