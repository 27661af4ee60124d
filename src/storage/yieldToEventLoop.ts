import { Effect } from "effect"

/** Lets the event loop serve sockets, disks and timers once, then continues. */
export const yieldToEventLoop: Effect.Effect<void> = Effect.callback((resume) => {
  const immediate = setImmediate(() => resume(Effect.void))
  return Effect.sync(() => clearImmediate(immediate))
})
