/**
 * Times in ISO 8601: as replies and messages show them, in UTC with milliseconds, and as callers write them, with a date, a
 * time and a zone.
 */

/** Epoch milliseconds as text. */
export const isoTime = (ms: number): string => new Date(ms).toISOString()

/** `isoTime` of an optional time. */
export const isoTimeOrNull = (ms: number | null): string | null =>
  ms === null ? null : isoTime(ms)

/** `isoTime` for times close together: caches the last text, and that of the last second. */
export const makeIsoTime = (): ((ms: number) => string) => {
  let second = Number.NaN
  let textOfSecond = ""
  let last = Number.NaN
  let text = ""
  return (ms) => {
    if (ms === last) return text
    const of = Math.floor(ms / 1_000)
    if (of !== second) {
      second = of
      textOfSecond = isoTime(of * 1_000).slice(0, -4)
    }
    last = ms
    // Joined, not concatenated (`recordDigits`).
    text = [textOfSecond, String(ms - of * 1_000).padStart(3, "0"), "Z"].join("")
    return text
  }
}

const form =
  /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2})(?::(\d{2})(?:\.\d{1,9})?)?(?:Z|[+-](\d{2}):(\d{2}))$/

/** Epoch milliseconds of a time such as `2026-11-01T09:30:00+01:00`; `undefined` for all else. */
export const parseIsoTime = (text: string): number | undefined => {
  const parts = form.exec(text)
  if (parts === null) return undefined
  const [year, month, day, hour, minute, second, zoneHour, zoneMinute] = parts
    .slice(1)
    .map((part) => Number(part ?? 0))
  // `Date.parse` takes 30 February for 2 March.
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
