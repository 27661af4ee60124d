import { Effect, type Latch } from "effect"

/** Ends after `ms`, or when the latch is opened, and closes the latch. An opening while nobody sleeps ends the next sleep. */
export const sleepUnlessOpened = (latch: Latch.Latch, ms: number): Effect.Effect<unknown> =>
  Effect.andThen(Effect.race(Effect.sleep(ms), latch.await), latch.close)
