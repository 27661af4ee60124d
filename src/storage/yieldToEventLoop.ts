import { Effect } from "effect"
import { type MarkedCause, markTurn } from "../metrics/LongTurns.ts"

/** Lets the event loop run sockets, disks and timers once, then calls `begin` and continues. */
export const nextTurn = (begin: () => void): Effect.Effect<void> =>
  Effect.callback((resume) => {
    const immediate = setImmediate(() => {
      begin()
      resume(Effect.void)
    })
    return Effect.sync(() => clearImmediate(immediate))
  })

export const yieldToEventLoop: Effect.Effect<void> = nextTurn(() => {})

/**
 * `yieldToEventLoop` for background work: the metric of long turns names the next turn by `cause`.
 */
export const nextTurnOf = (cause: MarkedCause): Effect.Effect<void> =>
  nextTurn(() => markTurn(cause))
