import { Cause, Effect, type Scope } from "effect"
import { type Broken, brokenBy, type StorageError } from "../storage/Storage.ts"

/** Runs beside the engine; a failure or defect is reported. */
export const forkWatched = (
  onBroken: (cause: Broken) => void,
  work: Effect.Effect<void, StorageError>,
): Effect.Effect<void, never, Scope.Scope> =>
  work.pipe(
    Effect.catchCause((cause) =>
      Effect.sync(() => {
        if (!Cause.hasInterruptsOnly(cause)) {
          onBroken(brokenBy("run the engine", cause))
        }
      }),
    ),
    Effect.forkScoped,
    Effect.asVoid,
  )
