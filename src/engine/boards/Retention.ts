/** How long the boards of closed windows are kept. */
import { openWindow } from "../../domain/decide/CloseWindows.ts"
import { xpBoard } from "../../domain/project/BoardDefinition.ts"
import { timeIn } from "../../domain/project/Project.ts"
import { type TimedWindow, zoneOf } from "../../domain/values/Calendar.ts"
import { limits } from "../../Limits.ts"
import type { RankedEnvironment } from "./Boards.ts"

/** How many windows before the open one are kept by default, by kind. */
export const windowsKept: Readonly<Record<TimedWindow, number>> = {
  daily: limits.boardDailyWindowsKept,
  weekly: limits.boardWeeklyWindowsKept,
  monthly: limits.boardMonthlyWindowsKept,
  days: limits.boardDaysWindowsKept,
}

/** How many windows before the open one are kept of the board with this id. */
export const keptOf = (
  { project }: Pick<RankedEnvironment, "project">,
  board: string,
  kind: TimedWindow,
): number => project.durable.leaderboards.get(board)?.keepWindows ?? windowsKept[kind]

/** The index of the oldest window of the board that is kept when the server's time is `at`. */
export const oldestKept = (
  environment: RankedEnvironment,
  board: string,
  kind: TimedWindow,
  at: number,
): number => {
  const project = environment.project.durable
  const zone = zoneOf(project.settings.timezone)
  const definition = project.leaderboards.get(board) ?? { ...xpBoard, id: board }
  const open = openWindow(project, definition, zone, kind, timeIn(project, at))
  return open - keptOf(environment, board, kind)
}
