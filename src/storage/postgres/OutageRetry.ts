/**
 * Repeats calls at the start until PostgreSQL answers, and defines the errors that end the
 * repetition.
 */
import { Data, Effect, Result } from "effect"
import { limits } from "../../Limits.ts"
import { Broken, isOutage } from "../Storage.ts"
import { PgFailure } from "./PgConnection.ts"

/** The start ended without a change: the operator must decide what to do. */
export class Refused extends Data.TaggedError("Refused")<{
  readonly words: string
  /** This machine has no archive that fills the copy. Another server may open the partition. */
  readonly lacksArchive?: boolean
}> {
  override get message(): string {
    return this.words
  }
}

/** Repeats `call` while PostgreSQL does not answer. */
export type OutageRetry = <A, E = never>(
  call: Effect.Effect<A, PgFailure | E>,
) => Effect.Effect<A, Exclude<E, PgFailure> | Broken | Refused>

/**
 * Returns an `OutageRetry` that calls `onWaiting` before each pause and logs the first one. Errors
 * that are not an outage end the repetition: `Refused` where only the operator can remove the
 * cause.
 */
export const makeOutageRetry = (onWaiting: ((why: string) => void) | undefined): OutageRetry => {
  let isLogged = false
  return <A, E>(call: Effect.Effect<A, PgFailure | E>) =>
    Effect.gen(function* () {
      while (true) {
        const result = yield* Effect.result(call)
        if (Result.isSuccess(result)) return result.success
        const why = yield* outageOf(result.failure)
        onWaiting?.(why)
        if (!isLogged) {
          isLogged = true
          yield* Effect.logWarning("Waiting for PostgreSQL").pipe(
            Effect.annotateLogs({ cause: why }),
          )
        }
        yield* Effect.sleep(limits.postgresCheckMs)
      }
    })
}

/** Returns why PostgreSQL does not answer. Fails if `failure` is not an outage. */
const outageOf = <E>(
  failure: PgFailure | E,
): Effect.Effect<string, Exclude<E, PgFailure> | Broken | Refused> => {
  if (isOutage(failure)) return Effect.succeed(failure.message)
  if (!(failure instanceof PgFailure)) return Effect.fail(failure as Exclude<E, PgFailure>)
  const { isRefusal, words } = failure
  if (isRefusal) return Effect.fail(new Refused({ words }))
  return failure.isOutage
    ? Effect.succeed(words)
    : Effect.fail(new Broken({ operation: "open", cause: failure }))
}
