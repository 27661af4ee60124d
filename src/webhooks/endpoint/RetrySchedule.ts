/** When a delivery is retried. */
import { limits } from "../../Limits.ts"

/**
 * The pause before each attempt, including the first, in milliseconds. A pause begins at the
 * previous attempt.
 */
export type RetrySchedule = ReadonlyArray<number>

export const defaultSchedule: RetrySchedule = [
  0, 5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400,
].map((seconds) => seconds * 1_000)

/**
 * Changes a pause by up to a fifth, so that deliveries that failed together are not retried
 * together.
 */
export const jittered = (ms: number, random: () => number): number =>
  Math.round(ms * (0.8 + 0.4 * random()))

/**
 * The pause after `tries` failed attempts, in milliseconds; `undefined` after the last attempt. The
 * receiver's `Retry-After` can make the pause longer, not shorter.
 */
export const nextPause = (
  schedule: RetrySchedule,
  tries: number,
  retryAfterMs: number | undefined,
  random: () => number,
): number | undefined => {
  const pause = schedule[tries]
  return pause === undefined ? undefined : Math.max(jittered(pause, random), retryAfterMs ?? 0)
}

/** The longest time that a delivery waits for its next attempt. */
export const longestPause = (schedule: RetrySchedule): number =>
  Math.max(limits.webhookRetryAfterMsMax, 1.2 * Math.max(...schedule))

/**
 * The pause that a `Retry-After` (seconds or a date) asks for, in milliseconds from `now` (epoch
 * milliseconds), at most `webhookRetryAfterMsMax`. `undefined` for a missing or malformed value, or
 * a past time.
 */
export const retryAfterOf = (value: string | undefined, now: number): number | undefined => {
  if (value === undefined) return undefined
  const text = value.trim()
  const ms = /^\d{1,10}$/.test(text)
    ? Number(text) * 1_000
    : httpDate.test(text)
      ? Date.parse(text) - now
      : Number.NaN
  return ms > 0 ? Math.min(ms, limits.webhookRetryAfterMsMax) : undefined
}

/** The preferred date format of RFC 9110. The obsolete formats count as malformed. */
const httpDate = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/

/**
 * Parses a schedule of whole seconds such as `0,5,300`. `undefined` for other text, and for too
 * many or too long pauses.
 */
export const parseSchedule = (text: string): RetrySchedule | undefined => {
  const parts = text.split(",").map((part) => part.trim())
  if (parts.length > limits.webhookAttemptsMax) return undefined
  const seconds = parts.map((part) => (/^\d{1,7}$/.test(part) ? Number(part) : Number.NaN))
  return seconds.every((each) => each * 1_000 <= limits.webhookPauseMsMax)
    ? seconds.map((each) => each * 1_000)
    : undefined
}
