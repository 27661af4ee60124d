/** How long the boards of closed windows are kept. */
import { openWindow } from "../../domain/decide/CloseWindows.ts"
import { timeIn } from "../../domain/project/Project.ts"
import { type WindowKind, zoneOf } from "../../domain/values/Calendar.ts"
import { limits } from "../../Limits.ts"
import type { RankedEnvironment } from "./Boards.ts"

/** How many windows before the open one are kept by default, by kind. */
export const windowsKept: Readonly<Record<WindowKind, number>> = {
  daily: limits.boardDailyWindowsKept,
  weekly: limits.boardWeeklyWindowsKept,
  monthly: limits.boardMonthlyWindowsKept,
}

/** How many windows before the open one are kept of the board with this id. */
export const keptOf = (
  { project }: Pick<RankedEnvironment, "project">,
  board: string,
  kind: WindowKind,
): number => project.durable.leaderboards.get(board)?.keepWindows ?? windowsKept[kind]

/** The index of the oldest window of the board that is kept when the server's time is `at`. */
export const oldestKept = (
  environment: RankedEnvironment,
  board: string,
  kind: WindowKind,
  at: number,
): number => {
  const project = environment.project.durable
  const zone = zoneOf(project.settings.timezone)
  const definition = project.leaderboards.get(board) ?? { id: board, endsAt: null, graceMinutes: 0 }
  const open = openWindow(project, definition, zone, kind, timeIn(project, at))
  return open - keptOf(environment, board, kind)
}
