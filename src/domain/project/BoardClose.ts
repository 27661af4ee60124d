/** What has closed of a leaderboard. Nothing that has closed takes scores again. */
import type { TimedWindow } from "../values/Calendar.ts"

/** The index of the latest closed window of each kind. */
export interface BoardClose extends Readonly<Record<TimedWindow, number>> {
  /** Whether the leaderboard has ended: all its windows are closed, that of all time too. */
  readonly over: boolean
}

/** The index before every window. */
const neverClosed = Number.MIN_SAFE_INTEGER

export const nothingClosed: BoardClose = {
  daily: neverClosed,
  weekly: neverClosed,
  monthly: neverClosed,
  days: neverClosed,
  over: false,
}

/** By the id of the leaderboard; one that closed nothing is absent. */
export type BoardCloses = ReadonlyMap<string, BoardClose>

export const closeOf = (closes: BoardCloses, boardId: string): BoardClose =>
  closes.get(boardId) ?? nothingClosed
