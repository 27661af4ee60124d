/** How long the boards of closed windows are kept. */
import { openWindow } from "../../domain/decide/CloseWindows.ts"
import { type WindowKind, zoneOf } from "../../domain/values/Calendar.ts"
import { limits } from "../../Limits.ts"
import type { RankedEnvironment } from "./Boards.ts"

/** How many windows before the open one are kept, by kind. */
export const windowsKept: Readonly<Record<WindowKind, number>> = {
  daily: limits.boardDailyWindowsKept,
  weekly: limits.boardWeeklyWindowsKept,
  monthly: limits.boardMonthlyWindowsKept,
}

/** The index of the oldest window that is kept at `now` (epoch milliseconds). */
export const oldestKept = (
  environment: RankedEnvironment,
  kind: WindowKind,
  now: number,
): number => {
  const project = environment.project.durable
  return openWindow(project, zoneOf(project.settings.timezone), kind, now) - windowsKept[kind]
}
