/**
 * Single events to a running server: closed loops by wrk, open loops by `processes/openLoad.ts`.
 */
import { limits } from "../src/Limits.ts"
import { inProcess } from "./children.ts"
import { userCount } from "./events.ts"
import { type Target, type WrkOptions, wrk } from "./load/wrk.ts"
import type { OpenLoadOptions, OpenLoadReport } from "./processes/openLoad.ts"
import type { Address } from "./wire.ts"

export const closedLoopConnections = 64

/**
 * From one snapshot of a server to the next under a moderate load: the interval, then the time over
 * which the writing is paced. A round of that length has one snapshot, wherever it begins.
 */
export const snapshotCycleSeconds =
  (limits.snapshotIntervalMs * (1 + limits.snapshotPaceShare)) / 1_000

export interface ClosedLoopReport {
  readonly perSecond: number
  /**
   * All answered events. One more per connection may have been applied: wrk does not read the last
   * replies.
   */
  readonly answered: number
}

/**
 * For `seconds`, each of 64 connections sends an event, waits for its reply, and sends the next.
 */
export const closedLoop = async (
  target: Target,
  seconds: number,
  more: Partial<WrkOptions> = {},
): Promise<ClosedLoopReport> => {
  const { durationUs, requests } = await wrk({
    ...target,
    kind: "event",
    users: userCount,
    connections: closedLoopConnections,
    seconds,
    ...more,
  })
  return { perSecond: (requests * 1e6) / durationUs, answered: requests }
}

/** Sends events at a steady rate without waiting for replies, at most until `over` is settled. */
export const openLoop = (
  target: Target,
  rate: Omit<OpenLoadOptions, keyof Address>,
  over?: Promise<unknown>,
): Promise<OpenLoadReport> =>
  inProcess("openLoad", { ...target, ...rate } satisfies OpenLoadOptions, over)
