import { Effect } from "effect"

/** Lets the event loop serve its sockets, disks and timers once before going on. */
export const yieldToEventLoop: Effect.Effect<void> = Effect.callback((resume) => {
  const immediate = setImmediate(() => resume(Effect.void))
  return Effect.sync(() => clearImmediate(immediate))
})
