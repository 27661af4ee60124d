import { Effect } from "effect"

/** Lets the event loop serve others. */
export const endOfTurn = Effect.callback<void>((resume) => {
  const immediate = setImmediate(() => resume(Effect.void))
  return Effect.sync(() => clearImmediate(immediate))
})
