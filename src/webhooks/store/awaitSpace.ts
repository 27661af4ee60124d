import { Effect } from "effect"
import { limits } from "../../Limits.ts"
import type { Broken, StorageError } from "../../storage/Storage.ts"

/** Runs `write`, again and again while the disk is full. */
export const awaitSpace = <A>(write: Effect.Effect<A, StorageError>): Effect.Effect<A, Broken> =>
  Effect.catchTag(write, "NoSpace", () =>
    Effect.andThen(
      Effect.sleep(limits.noSpaceRetryMs),
      Effect.suspend(() => awaitSpace(write)),
    ),
  )
