import { Effect } from "effect"
import { type MarkedCause, markTurn } from "../metrics/LongTurns.ts"

const afterEventLoop = (begin: () => void): Effect.Effect<void> =>
  Effect.callback((resume) => {
    const immediate = setImmediate(() => {
      begin()
      resume(Effect.void)
    })
    return Effect.sync(() => clearImmediate(immediate))
  })

/** Lets the event loop serve sockets, disks and timers once, then continues. */
export const yieldToEventLoop: Effect.Effect<void> = afterEventLoop(() => {})

/** The same for background work, whose next turn has a name among the long turns. */
export const nextTurnOf = (cause: MarkedCause): Effect.Effect<void> =>
  afterEventLoop(() => markTurn(cause))
