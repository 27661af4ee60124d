/** A start that waits for PostgreSQL, and the errors that end the wait. */
import { Data, Effect, Result } from "effect"
import { limits } from "../../Limits.ts"
import { Broken, type StorageError } from "../Storage.ts"
import type { PgFailure } from "./PgConnection.ts"

/** A start that an operator must decide about: nothing was changed. */
export class Refused extends Data.TaggedError("Refused")<{ readonly words: string }> {
  override get message(): string {
    return this.words
  }
}

export type Patiently = <A, E extends StorageError = never>(
  call: Effect.Effect<A, PgFailure | E>,
) => Effect.Effect<A, StorageError | Refused>

/** Repeats a call of a start until PostgreSQL answers; what only an operator can change ends the start. */
export const waiting = (onWaiting: ((why: string) => void) | undefined): Patiently => {
  let isTold = false
  return (call) =>
    Effect.gen(function* () {
      while (true) {
        const result = yield* Effect.result(call)
        if (Result.isSuccess(result)) return result.success
        const failure: PgFailure | StorageError = result.failure
        if (failure._tag !== "PgFailure") return yield* failure
        if (failure.isRefusal) return yield* new Refused({ words: failure.words })
        if (!failure.isOutage) return yield* new Broken({ operation: "open", cause: failure })
        onWaiting?.(failure.words)
        if (!isTold) {
          isTold = true
          yield* Effect.logWarning("Waiting for PostgreSQL").pipe(
            Effect.annotateLogs({ cause: failure.words }),
          )
        }
        yield* Effect.sleep(limits.postgresCheckMs)
      }
    })
}
