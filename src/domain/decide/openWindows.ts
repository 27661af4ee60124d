/** The windows of the leaderboard that an event counts for. */
import type { ProjectState } from "../project/Project.ts"
import { noWindows, type UserState } from "../user/User.ts"
import { type WindowKind, windowKinds, windowOfDay } from "../values/Calendar.ts"

/**
 * The open windows that an event of the local day `day` counts for: the windows that contain both
 * `day` and `today`. If today's window is already closed because the time zone changed, the next
 * window is open instead. A user who is already in a later window, because of another zone, stays
 * in it.
 */
export const openWindows = (
  user: UserState | undefined,
  project: ProjectState,
  today: number,
  day: number,
): { daily?: number; weekly?: number; monthly?: number } | undefined => {
  if (day === today) {
    return {
      daily: openIndex("daily", today, user, project),
      weekly: openIndex("weekly", today, user, project),
      monthly: openIndex("monthly", today, user, project),
    }
  }
  let credit: { daily?: number; weekly?: number; monthly?: number } | undefined
  for (const kind of windowKinds) {
    if (windowOfDay(kind, day) !== windowOfDay(kind, today)) continue
    credit ??= {}
    credit[kind] = openIndex(kind, today, user, project)
  }
  return credit
}

/** The index of the window that counts today's events. */
const openIndex = (
  kind: WindowKind,
  today: number,
  user: UserState | undefined,
  project: ProjectState,
): number => {
  const latest = user?.windows[kind] ?? noWindows[kind]
  const index = Math.max(windowOfDay(kind, today), project.closedThrough[kind] + 1)
  return latest.sequence > 0 ? Math.max(index, latest.index) : index
}
