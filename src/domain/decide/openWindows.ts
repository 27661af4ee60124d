/** The windows of a leaderboard that an event counts for. */
import type { ProjectState } from "../project/Project.ts"
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
  project: ProjectState,
  today: number,
  day: number,
): { daily?: number; weekly?: number; monthly?: number } | undefined => {
  if (day === today) {
    return {
      daily: openIndex("daily", today, latest.daily, project),
      weekly: openIndex("weekly", today, latest.weekly, project),
      monthly: openIndex("monthly", today, latest.monthly, project),
    }
  }
  let credit: { daily?: number; weekly?: number; monthly?: number } | undefined
  for (const kind of windowKinds) {
    if (windowOfDay(kind, day) !== windowOfDay(kind, today)) continue
    credit ??= {}
    credit[kind] = openIndex(kind, today, latest[kind], project)
  }
  return credit
}

/** The index of the window that counts today's events. */
const openIndex = (
  kind: WindowKind,
  today: number,
  latest: WindowScores,
  project: ProjectState,
): number => {
  const index = Math.max(windowOfDay(kind, today), project.closedThrough[kind] + 1)
  return latest.sequence > 0 ? Math.max(index, latest.index) : index
}
