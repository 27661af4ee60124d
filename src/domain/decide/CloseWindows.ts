/** The windows of the leaderboard, as an environment's project actor opens and closes them. */
import { Result } from "effect"
import type { ProjectState } from "../project/Project.ts"
import type { Fact } from "../record/Record.ts"
import { type WindowKind, type Zone, zoneOf } from "../values/Calendar.ts"
import { type Decided, refuse } from "./Decided.ts"

/** Windows that are over, with how many are on the board of each; what is not over, or closed already, is left out. */
export interface CloseWindows {
  readonly kind: "closeWindows"
  readonly windows: ReadonlyArray<{
    readonly window: WindowKind
    readonly index: number
    readonly total: number
  }>
}

/**
 * The index of the window that is open: the one `now` lies in, or, where that is closed already because the
 * time zone was changed or the clock set back, the one after the last that is closed.
 */
export const openWindow = (
  { closedThrough }: ProjectState,
  zone: Zone,
  kind: WindowKind,
  now: number,
): number => Math.max(zone.windowAt(kind, now), closedThrough[kind] + 1)

/** One fact for each window that is over at `now`, each kind's in order; refused when none is. */
export const decideCloseWindows = (
  project: ProjectState,
  { windows }: CloseWindows,
  now: number,
): Decided => {
  const zone = zoneOf(project.settings.timezone)
  const over = windows
    .filter(
      ({ index, window }) =>
        index > project.closedThrough[window] && index < openWindow(project, zone, window, now),
    )
    .toSorted((one, other) => one.index - other.index)
  if (over.length === 0) return refuse("conflict", "No window has ended.")
  return Result.succeed(
    over.map(({ index, total, window }): Fact => {
      const bounds = zone.windowBounds(window, index)
      return { kind: "leaderboard.window_closed", window, index, ...bounds, total }
    }),
  )
}
