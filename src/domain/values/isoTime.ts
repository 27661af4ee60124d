/**
 * Times in ISO 8601. Replies and messages have them in UTC with milliseconds. Callers write them
 * with a date, a time and a zone.
 */

/**
 * Epoch milliseconds as text. `Date` needs a third of a microsecond or more to format a time. The
 * times of a reply are close together, so the texts of the last day, second and time are cached.
 */
export const isoTime = (ms: number): string => {
  if (ms === lastMs) return lastText
  const second = Math.floor(ms / 1_000)
  if (second !== lastSecond) {
    textOfSecond = secondText(second)
    lastSecond = second
  }
  // `join` returns a flat string, concatenation a rope (`recordDigits`).
  lastText = [textOfSecond, digits3[Math.floor(ms - second * 1_000)], "Z"].join("")
  lastMs = ms
  return lastText
}

/** The text of a second, up to and including the dot. */
const secondText = (second: number): string => {
  const day = Math.floor(second / 86_400)
  if (day !== lastDay) {
    textOfDay = new Date(day * 86_400_000).toISOString().slice(0, -13)
    lastDay = day
  }
  const minute = Math.floor(second / 60)
  const hour = Math.floor(minute / 60)
  return [
    textOfDay,
    digits2[hour - day * 24],
    ":",
    digits2[minute - hour * 60],
    ":",
    digits2[second - minute * 60],
    ".",
  ].join("")
}

const digits2 = Array.from({ length: 60 }, (_, number) => String(number).padStart(2, "0"))
const digits3 = Array.from({ length: 1_000 }, (_, number) => String(number).padStart(3, "0"))

let lastDay = Number.NaN
let textOfDay = ""
let lastSecond = Number.NaN
let textOfSecond = ""
let lastMs = Number.NaN
let lastText = ""

/** `isoTime`, or null for null. */
export const isoTimeOrNull = (ms: number | null): string | null =>
  ms === null ? null : isoTime(ms)

const form =
  /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2})(?::(\d{2})(?:\.\d{1,9})?)?(?:Z|[+-](\d{2}):(\d{2}))$/

/**
 * The epoch milliseconds of a time such as `2026-11-01T09:30:00+01:00`; `undefined` for any other
 * text.
 */
export const parseIsoTime = (text: string): number | undefined => {
  const parts = form.exec(text)
  if (parts === null) return undefined
  const [year, month, day, hour, minute, second, zoneHour, zoneMinute] = parts
    .slice(1)
    .map((part) => Number(part ?? 0))
  // `Date.parse` would read 30 February as 2 March.
  const possible =
    month! >= 1 &&
    month! <= 12 &&
    day! >= 1 &&
    day! <= daysInMonth(year!, month!) &&
    hour! <= 23 &&
    minute! <= 59 &&
    second! <= 59 &&
    zoneHour! <= 23 &&
    zoneMinute! <= 59
  return possible ? Date.parse(text) : undefined
}

const daysInMonth = (year: number, month: number): number =>
  new Date(Date.UTC(year, month, 0)).getUTCDate()

export const isIsoTime = (text: string): boolean => parseIsoTime(text) !== undefined
