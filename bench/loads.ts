/** Single events to a running server, from a process of their own. */
import { inProcess } from "./children.ts"
import type { LoadOptions, LoadReport } from "./processes/load.ts"
import type { OpenLoadOptions, OpenLoadReport } from "./processes/openLoad.ts"
import type { RequestShape } from "./wire.ts"

type Target = Pick<LoadOptions, "key" | "port">

const shape = { path: "/v1/events", eventsPerRequest: 1, withIds: true }

/** For four seconds after `warmUpMs`, each of 64 connections sends an event, waits for its reply, and sends the next. */
export const closedLoop = (target: Target, warmUpMs: number): Promise<LoadReport> =>
  inProcess("load", {
    ...target,
    ...shape,
    connections: 64,
    warmUpMs,
    measureMs: 4_000,
  } satisfies LoadOptions)

/** Events at a steady rate, whether or not those before them were answered; no longer than until `over` is settled. */
export const openLoop = (
  target: Target,
  rate: Omit<OpenLoadOptions, keyof RequestShape>,
  over?: Promise<unknown>,
): Promise<OpenLoadReport> =>
  inProcess("openLoad", { ...target, ...shape, ...rate } satisfies OpenLoadOptions, over)
