/** Decides when leaderboard windows of an environment open and close. */
import { Result } from "effect"
import { type Board, xpBoard } from "../project/BoardDefinition.ts"
import type { ProjectState } from "../project/Project.ts"
import type { Fact } from "../record/Record.ts"
import { type WindowKind, type Zone, zoneOf } from "../values/Calendar.ts"
import { refuse } from "../values/Errors.ts"
import { assertCloses } from "../values/invariants.ts"
import type { Decided } from "./Decided.ts"

/**
 * Closes ended windows. `total` is the number of users on the board. Open and already closed
 * windows are ignored. A window closes for all boards at once, with a fact for each that lists users.
 */
export interface CloseWindows {
  readonly kind: "closeWindows"
  readonly windows: ReadonlyArray<{
    /** The id of the board; absent: the board `xp`. */
    readonly boardId?: string
    readonly window: WindowKind
    readonly index: number
    readonly total: number
  }>
}

/**
 * The index of the open window: the window of `now`. If this window is already closed, because the
 * time zone changed or the clock was set back, the window after the last closed one.
 */
export const openWindow = (
  { closedThrough }: ProjectState,
  zone: Zone,
  kind: WindowKind,
  now: number,
): number => Math.max(zone.windowAt(kind, now), closedThrough[kind] + 1)

/**
 * A fact for each window that has ended by `now`, in the order of their indexes. Refuses if no
 * window has ended.
 */
export const decideCloseWindows = (
  project: ProjectState,
  { windows }: CloseWindows,
  now: number,
): Decided<"conflict"> => {
  const zone = zoneOf(project.settings.timezone)
  const over = windows
    .filter(
      ({ index, window }) =>
        index > project.closedThrough[window] && index < openWindow(project, zone, window, now),
    )
    .toSorted((one, other) => one.index - other.index)
  if (over.length === 0) return refuse("conflict", "No window has ended.")
  const closedThrough = { ...project.closedThrough }
  for (const { index, window } of over) {
    if (index === closedThrough[window]) continue
    assertCloses(window, index, closedThrough[window])
    closedThrough[window] = index
  }
  return Result.succeed(
    over.map(({ boardId, index, total, window }): Fact => {
      const bounds = zone.windowBounds(window, index)
      const board = project.leaderboards.get(boardId ?? xpBoard.id)
      const prizes = board === undefined ? undefined : prizesOf(board, window)
      const key = boardId === undefined ? undefined : board?.key
      return {
        kind: "leaderboard.window_closed",
        ...(boardId !== undefined && { board: { boardId, key: key ?? boardId } }),
        window,
        index,
        ...bounds,
        total,
        ...(prizes !== undefined && { prizes }),
      }
    }),
  )
}

/** The prizes that a closed window pays; `undefined`: none. A paused leaderboard pays nothing. */
const prizesOf = ({ prizes, set, ties }: Board, window: WindowKind) => {
  const own = set === "published" ? prizes.filter((prize) => prize.window === window) : []
  return own.length === 0 ? undefined : { prizes: own, ties }
}
