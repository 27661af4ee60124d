import { Cause, Effect, Schedule } from "effect"
import { type Broken, brokenBy, type StorageError } from "../storage/Storage.ts"

/** Runs background work and reports its failure or defect, which ends the process. */
export const endsWhenBroken = (
  onBroken: (cause: Broken) => void,
  work: Effect.Effect<void, StorageError>,
): Effect.Effect<void> =>
  Effect.catchCause(work, (cause) =>
    Effect.sync(() => {
      if (!Cause.hasInterruptsOnly(cause)) onBroken(brokenBy("run the engine", cause))
    }),
  )

/** Runs `work` every `intervalMs`. Never ends. Without space the next interval tries again. */
export const atIntervals = (
  intervalMs: number,
  work: Effect.Effect<void, StorageError>,
): Effect.Effect<void, StorageError> =>
  Effect.sleep(intervalMs).pipe(
    Effect.andThen(Effect.catchTag(work, "Unavailable", () => Effect.void)),
    Effect.repeat(Schedule.forever),
  )
