/** The windows of the leaderboard for which an amount counts. */
import type { WindowKind } from "../../../src/domain/values/Calendar.ts"
import { windowsOf } from "./balances.ts"
import { later, nextWindow, windowAt, windowKinds, windowOf } from "./calendar.ts"
import type { Log, Windows } from "./log.ts"

/** The first day of the latest closed window of each kind; "": none is closed. */
export type ClosedThrough = Readonly<Record<WindowKind, string>>

/** What has closed of each leaderboard. `over`: the record that ended it. */
export type Closes = ReadonlyMap<string, ClosedThrough & { readonly over?: number }>

export const closedOf = (closes: Closes, boardId = "ldb_xp"): ClosedThrough & { over?: number } =>
  closes.get(boardId) ?? { daily: "", weekly: "", monthly: "" }

/**
 * The window that is open to a user: the one at `now`, or the next if a change of zone has closed
 * that one. A user does not go back to a window before one in which the user has xp.
 */
export const openWindow = (
  log: Log,
  kind: WindowKind,
  zone: string,
  closed: ClosedThrough,
  now: number,
): string => {
  const present = windowAt(kind, zone, now)
  const open = closed[kind] === "" ? present : later(present, nextWindow(kind, closed[kind]))
  return later(open, windowsOf(log, kind).at(-1) ?? open)
}

/** An earlier event counts only if its own window is also the one at `now`. */
export const windowsFor = (
  log: Log,
  zone: string,
  closed: ClosedThrough,
  /** The local date of the event. */
  date: string,
  now: number,
): Windows => {
  const windows: Windows = {}
  for (const kind of windowKinds) {
    if (windowOf(kind, date) === windowAt(kind, zone, now))
      windows[kind] = openWindow(log, kind, zone, closed, now)
  }
  return windows
}

/** The windows of `windows` that are still open. */
export const stillOpen = (
  log: Log,
  windows: Windows,
  zone: string,
  closed: ClosedThrough,
  now: number,
): Windows => {
  const open: Windows = {}
  for (const kind of windowKinds) {
    const first = windows[kind]
    if (first === openWindow(log, kind, zone, closed, now)) open[kind] = first
  }
  return open
}
