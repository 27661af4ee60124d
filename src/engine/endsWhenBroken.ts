import { Cause, Effect } from "effect"
import { type Broken, brokenBy, type StorageError } from "../storage/Storage.ts"

/** Reports a failure or a defect of `work`, which nobody waits for. */
export const endsWhenBroken = (
  onBroken: (cause: Broken) => void,
  work: Effect.Effect<void, StorageError>,
): Effect.Effect<void> =>
  Effect.catchCause(work, (cause) =>
    Effect.sync(() => {
      if (!Cause.hasInterruptsOnly(cause)) onBroken(brokenBy("run the engine", cause))
    }),
  )
