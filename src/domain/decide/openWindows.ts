/** The windows of a leaderboard that an event counts for. */
import type { BoardClose } from "../project/BoardClose.ts"
import type { UserState, WindowScores } from "../user/User.ts"
import { type WindowSpan, windowKinds, windowOfDay, type Zone } from "../values/Calendar.ts"

/** The open windows of days, weeks and months that an event of the local day `day` counts for. */
export const openWindows = (
  latest: UserState["windows"],
  closes: BoardClose,
  today: number,
  day: number,
): { daily?: number; weekly?: number; monthly?: number } | undefined => {
  if (day === today) {
    return {
      daily: openIndex("daily", today, latest.daily, closes.daily),
      weekly: openIndex("weekly", today, latest.weekly, closes.weekly),
      monthly: openIndex("monthly", today, latest.monthly, closes.monthly),
    }
  }
  let credit: { daily?: number; weekly?: number; monthly?: number } | undefined
  for (const kind of windowKinds) {
    const index = openWindow(kind, latest[kind], closes[kind], today, day)
    if (index === undefined) continue
    credit ??= {}
    credit[kind] = index
  }
  return credit
}

/**
 * The open window of the span that an event of the local day `day` counts for: the one that contains
 * both `day` and `today`. If it is already closed because the time zone changed, the next window is
 * open instead. A user whose latest scores are of a later window, because of another zone, stays in it.
 * `closed`: the latest closed window.
 */
export const openWindow = (
  span: WindowSpan,
  latest: WindowScores,
  closed: number,
  today: number,
  day: number,
): number | undefined =>
  day === today || windowOfDay(span, day) === windowOfDay(span, today)
    ? openIndex(span, today, latest, closed)
    : undefined

/**
 * On a board by the calendars of users, the window that contains the user's local day `day`: it takes
 * what occurred in it until it is over. `oldest`: the oldest window that is not over. If the user's
 * present window is closed because the clock was set back, the next one is open instead.
 */
export const windowOfUser = (
  span: WindowSpan,
  closed: number,
  oldest: number,
  today: number,
  day: number,
): number | undefined => {
  const index = windowOfDay(span, day)
  if (index > closed) return index >= oldest ? index : undefined
  return index === windowOfDay(span, today) ? closed + 1 : undefined
}

/** When something is decided, and for how long after its end a window is open. */
interface Grace {
  readonly zone: Zone
  readonly now: number
  readonly graceMs: number
}

/** Whether the window ended no longer ago than the grace. */
const isInGrace = (span: WindowSpan, index: number, { graceMs, now, zone }: Grace): boolean =>
  index < zone.windowAt(span, now) && index >= zone.windowAt(span, now - graceMs)

/**
 * The window of an event of the local day `day`, if it has ended and takes late events. A user has
 * scores in two windows of a kind: an event that would need a third one, after a change of time zone,
 * counts for none.
 */
export const lateWindow = (
  span: WindowSpan,
  scores: WindowScores,
  closed: number,
  day: number,
  grace: Grace,
): number | undefined => {
  const index = windowOfDay(span, day)
  if (index <= closed || !isInGrace(span, index, grace)) return undefined
  if (scores.sequence === 0 || index >= scores.index || scores.sequenceBefore === 0) return index
  const { indexBefore } = scores
  if (index === indexBefore) return index
  const isFree = indexBefore < index && !isInGrace(span, indexBefore, grace)
  return isFree ? index : undefined
}

/** Whether an undo takes a score back from a window that has ended: it takes late events still. */
export const isStillOpen = (
  span: WindowSpan,
  index: number,
  scores: WindowScores,
  closed: number,
  grace: Grace,
): boolean => index > closed && isInGrace(span, index, grace) && hasScore(scores, index)

/** Whether the user has a score in the window. */
export const hasScore = (scores: WindowScores, index: number): boolean =>
  (scores.sequence > 0 && scores.index === index) ||
  (scores.sequenceBefore > 0 && scores.indexBefore === index)

/** The index of the window that counts today's events. */
const openIndex = (
  span: WindowSpan,
  today: number,
  latest: WindowScores,
  closed: number,
): number => {
  const index = Math.max(windowOfDay(span, today), closed + 1)
  return latest.sequence > 0 ? Math.max(index, latest.index) : index
}
