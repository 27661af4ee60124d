import { Effect } from "effect"
import { type MarkedCause, markTurn } from "../metrics/LongTurns.ts"

/** Lets the event loop serve sockets, disks and timers once, then calls `begin` and continues. */
export const nextTurn = (begin: () => void): Effect.Effect<void> =>
  Effect.callback((resume) => {
    const immediate = setImmediate(() => {
      begin()
      resume(Effect.void)
    })
    return Effect.sync(() => clearImmediate(immediate))
  })

export const yieldToEventLoop: Effect.Effect<void> = nextTurn(() => {})

/** The same for background work, whose next turn has a name among the long turns. */
export const nextTurnOf = (cause: MarkedCause): Effect.Effect<void> =>
  nextTurn(() => markTurn(cause))
