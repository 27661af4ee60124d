import { Effect } from "effect"
import type { JournalRecord } from "../../domain/record/Record.ts"
import type { UserState } from "../../domain/user/User.ts"
import type { LaurelError } from "../../domain/values/Errors.ts"

/**
 * Whether the user of a record was erased after it. The user's state decides, unless the user was created in the
 * millisecond of the record: then `hasRecord` looks into the history.
 */
export const makeIsErased =
  (
    readUser: (
      environment: string,
      userId: string,
    ) => Effect.Effect<UserState | undefined, LaurelError<"storage_unavailable">>,
    hasRecord: (
      environment: string,
      userId: string,
      sequence: number,
    ) => Effect.Effect<boolean, LaurelError<"storage_unavailable">>,
  ) =>
  ({
    at,
    cause,
    sequence,
    subject,
  }: JournalRecord): Effect.Effect<boolean, LaurelError<"storage_unavailable">> => {
    if (subject.actor !== "user" || cause.kind === "erasure") return Effect.succeed(false)
    const { environment, userId } = subject
    return Effect.flatMap(readUser(environment, userId), (user) => {
      if (user === undefined) return Effect.succeed(true)
      if (user.createdAt !== at) return Effect.succeed(user.createdAt > at)
      if (user.sequence === sequence) return Effect.succeed(false)
      return Effect.map(hasRecord(environment, userId, sequence), (has) => !has)
    })
  }
