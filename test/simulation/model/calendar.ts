/**
 * Time as a person with a paper calendar reads it: dates are texts such as `2026-11-01`, which sort
 * in their order, and a window is named by the date of its first day.
 */
import type { WindowKind } from "../../../src/domain/values/Calendar.ts"

export const windowKinds: ReadonlyArray<WindowKind> = ["daily", "weekly", "monthly"]

const day = (date: string) => Temporal.PlainDate.from(date)

/** The local date of a place at `ms` (epoch milliseconds). */
export const dateAt = (zone: string, ms: number): string => {
  const question = `${zone} ${ms}`
  let date = asked.get(question)
  if (date === undefined) {
    date = Temporal.Instant.fromEpochMilliseconds(ms)
      .toZonedDateTimeISO(zone)
      .toPlainDate()
      .toString()
    asked.set(question, date)
  }
  return date
}

// A cache: the model computes everything from the start each time.
const asked = new Map<string, string>()

const dayMs = 86_400_000

/** The date `days` later, or earlier if negative. In UTC all days have the same length. */
export const plusDays = (date: string, days: number): string =>
  new Date(Date.parse(date) + days * dayMs).toISOString().slice(0, 10)

/** The number of a day: days since 1970-01-01. */
export const numberOf = (date: string): number => Date.parse(date) / dayMs

export const dateOf = (number: number): string => plusDays("1970-01-01", number)

/** When a date begins in a place, epoch milliseconds. */
export const startOf = (zone: string, date: string): number =>
  day(date).toZonedDateTime(zone).epochMilliseconds

/** The first day of the window that contains this date. */
export const windowOf = (kind: WindowKind, date: string): string => {
  const { dayOfWeek } = day(date)
  if (kind === "weekly") return plusDays(date, 1 - dayOfWeek)
  return kind === "monthly" ? day(date).with({ day: 1 }).toString() : date
}

/** The first day of the window at `ms` in a place. */
export const windowAt = (kind: WindowKind, zone: string, ms: number): string =>
  windowOf(kind, dateAt(zone, ms))

/** The window after the one that begins on this date. */
export const nextWindow = (kind: WindowKind, first: string): string => {
  if (kind === "daily") return plusDays(first, 1)
  if (kind === "weekly") return plusDays(first, 7)
  return day(first).add({ months: 1 }).toString()
}

/** The later of two dates. */
export const later = (one: string, other: string): string => (one > other ? one : other)
