/** The windows of the leaderboard that an amount counts for. */
import type { WindowKind } from "../../../src/domain/values/Calendar.ts"
import { windowsOf } from "./balances.ts"
import { later, nextWindow, windowAt, windowKinds, windowOf } from "./calendar.ts"
import type { Log, Windows } from "./log.ts"

/** The first day of the latest window of each kind that is closed; "" before any is. */
export type ClosedThrough = Readonly<Record<WindowKind, string>>

/**
 * The window that is open to a user: the one at `now`; where the zone has changed so that this one is closed, the
 * next; and nobody goes back to one before a window in which they have xp.
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

/** An earlier event counts only where its own window is also the one at `now`. */
export const windowsFor = (
  log: Log,
  zone: string,
  closed: ClosedThrough,
  /** The date of the event, where it occurred. */
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

/** Those of `windows` that are open still. */
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
