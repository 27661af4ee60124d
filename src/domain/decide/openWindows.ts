/** The windows of a leaderboard that an event counts for. */
import type { BoardClose } from "../project/BoardClose.ts"
import type { UserState, WindowScores } from "../user/User.ts"
import { type WindowKind, windowKinds, windowOfDay, type Zone } from "../values/Calendar.ts"

/**
 * The open windows that an event of the local day `day` counts for: the windows that contain both
 * `day` and `today`. If today's window is already closed because the time zone changed, the next
 * window is open instead. A user whose latest scores are of a later window, because of another zone,
 * stays in it.
 */
export const openWindows = (
  latest: UserState["windows"],
  closes: BoardClose,
  today: number,
  day: number,
): { daily?: number; weekly?: number; monthly?: number } | undefined => {
  if (day === today) {
    return {
      daily: openIndex("daily", today, latest.daily, closes),
      weekly: openIndex("weekly", today, latest.weekly, closes),
      monthly: openIndex("monthly", today, latest.monthly, closes),
    }
  }
  let credit: { daily?: number; weekly?: number; monthly?: number } | undefined
  for (const kind of windowKinds) {
    if (windowOfDay(kind, day) !== windowOfDay(kind, today)) continue
    credit ??= {}
    credit[kind] = openIndex(kind, today, latest[kind], closes)
  }
  return credit
}

/** When something is decided, and for how long after its end a window is open. */
interface Grace {
  readonly zone: Zone
  readonly now: number
  readonly graceMs: number
}

/** Whether the window ended no longer ago than the grace. */
const isInGrace = (kind: WindowKind, index: number, { graceMs, now, zone }: Grace): boolean =>
  index < zone.windowAt(kind, now) && index >= zone.windowAt(kind, now - graceMs)

/**
 * The window of an event of the local day `day`, if it has ended and takes late events. A user has
 * scores in two windows of a kind: an event that would need a third one, after a change of time zone,
 * counts for none.
 */
export const lateWindow = (
  kind: WindowKind,
  scores: WindowScores,
  closes: BoardClose,
  day: number,
  grace: Grace,
): number | undefined => {
  const index = windowOfDay(kind, day)
  if (index <= closes[kind] || !isInGrace(kind, index, grace)) return undefined
  if (scores.sequence === 0 || index >= scores.index || scores.sequenceBefore === 0) return index
  const { indexBefore } = scores
  if (index === indexBefore) return index
  const isFree = indexBefore < index && !isInGrace(kind, indexBefore, grace)
  return isFree ? index : undefined
}

/** Whether an undo takes a score back from a window that has ended: it takes late events still. */
export const isStillOpen = (
  kind: WindowKind,
  index: number,
  scores: WindowScores,
  closes: BoardClose,
  grace: Grace,
): boolean =>
  index > closes[kind] &&
  isInGrace(kind, index, grace) &&
  ((scores.sequence > 0 && scores.index === index) ||
    (scores.sequenceBefore > 0 && scores.indexBefore === index))

/** The index of the window that counts today's events. */
const openIndex = (
  kind: WindowKind,
  today: number,
  latest: WindowScores,
  closes: BoardClose,
): number => {
  const index = Math.max(windowOfDay(kind, today), closes[kind] + 1)
  return latest.sequence > 0 ? Math.max(index, latest.index) : index
}
