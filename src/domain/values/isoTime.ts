/** Times as replies and messages say them: ISO 8601, UTC, with milliseconds. */

/** Epoch milliseconds as text. */
export const isoTime = (ms: number): string => new Date(ms).toISOString()

/** `isoTime` for a time that may not be there. */
export const isoTimeOrNull = (ms: number | null): string | null =>
  ms === null ? null : isoTime(ms)

/** `isoTime` for times that mostly lie close together: it keeps the last text, and that of the last second. */
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
    // In one piece, as ids are (`recordDigits`).
    text = [textOfSecond, String(ms - of * 1_000).padStart(3, "0"), "Z"].join("")
    return text
  }
}
