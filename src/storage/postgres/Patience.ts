/** Calls that wait for PostgreSQL, and the errors that end the wait. */
import { Data, Effect, Result } from "effect"
import { limits } from "../../Limits.ts"
import { Broken, isOutage } from "../Storage.ts"
import { PgFailure } from "./PgConnection.ts"

/** A start that an operator must decide about: nothing was changed. */
export class Refused extends Data.TaggedError("Refused")<{ readonly words: string }> {
  override get message(): string {
    return this.words
  }
}

export type Patiently = <A, E = never>(
  call: Effect.Effect<A, PgFailure | E>,
) => Effect.Effect<A, Exclude<E, PgFailure> | Broken | Refused>

/** Repeats a call until PostgreSQL answers. A failure that only an operator can change ends the start. */
export const waiting = (onWaiting: ((why: string) => void) | undefined): Patiently => {
  let isTold = false
  return <A, E>(call: Effect.Effect<A, PgFailure | E>) =>
    Effect.gen(function* () {
      while (true) {
        const result = yield* Effect.result(call)
        if (Result.isSuccess(result)) return result.success
        const why = yield* outageOf(result.failure)
        onWaiting?.(why)
        if (!isTold) {
          isTold = true
          yield* Effect.logWarning("Waiting for PostgreSQL").pipe(
            Effect.annotateLogs({ cause: why }),
          )
        }
        yield* Effect.sleep(limits.postgresCheckMs)
      }
    })
}

/** Why PostgreSQL does not answer; fails with a failure of another kind. */
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
