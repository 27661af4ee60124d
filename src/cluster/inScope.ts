import { Effect, Exit, Scope } from "effect"

export type Restore = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/** Opens something in a scope of its own, which a failure or an interruption closes. */
export const inScope = <A, E>(restore: Restore, open: Effect.Effect<A, E, Scope.Scope>) =>
  Effect.gen(function* () {
    const scope = yield* Scope.make()
    const opened = yield* restore(Scope.provide(open, scope)).pipe(
      Effect.onError((cause) => Scope.close(scope, Exit.failCause(cause))),
    )
    return { opened, scope }
  })
