import { type Effect, Exit } from "effect"
import type { UserState } from "../../domain/user/User.ts"
import { continueWith } from "../../storage/exitOf.ts"
import type { Broken, Storage } from "../../storage/Storage.ts"
import { readActorValue } from "../records/SnapshotValues.ts"
import { decodeUser } from "../records/UserCodec.ts"

/** The state of a user who is not in memory, from the snapshot; `undefined`: never seen. As `Storage.readEntry` when it is called. */
export const readColdUser = (
  storage: Storage["Service"],
  environment: string,
  userId: string,
): Effect.Effect<UserState | undefined, Broken> =>
  continueWith(readActorValue(storage, { actor: "user", environment, userId }), (body) =>
    Exit.succeed(body === undefined ? undefined : decodeUser(body)),
  )
