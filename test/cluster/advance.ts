import { Effect } from "effect"
import { TestClock } from "effect/testing"

/** Rounds of the event loop: more than fibers need until they wait for time or for the test. */
const rounds = 50

const quiet = Effect.promise(async () => {
  for (let round = 0; round < rounds; round++) {
    await new Promise((resolve) => setImmediate(resolve))
  }
})

/**
 * Advances the test clock. Lets fibers reach their waits before, and continue afterwards, however
 * slow the machine is.
 */
export const advance = (ms: number): Effect.Effect<void> =>
  quiet.pipe(Effect.andThen(TestClock.adjust(ms)), Effect.andThen(quiet))
