/** The windows of a leaderboard that an event counts for. */
import type { BoardClose } from "../project/BoardClose.ts"
import type { UserState, WindowScores } from "../user/User.ts"
import { type WindowKind, windowKinds, windowOfDay } from "../values/Calendar.ts"

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
