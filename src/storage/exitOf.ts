import { Effect, Exit } from "effect"

/** Returns `effect` if it is already an `Exit`; `undefined` if it has to run. */
export const exitOf = <A, E>(effect: Effect.Effect<A, E>): Exit.Exit<A, E> | undefined =>
  Exit.isExit(effect) ? (effect as Exit.Exit<A, E>) : undefined

/**
 * Calls `next` with the value of `effect`: at once if the value is already there, so that no fiber
 * is needed.
 */
export const continueWith = <A, E, B, E2>(
  effect: Effect.Effect<A, E>,
  next: (value: A) => Effect.Effect<B, E2>,
): Effect.Effect<B, E | E2> => {
  const exit = exitOf(effect)
  return exit?._tag === "Success" ? next(exit.value) : Effect.flatMap(effect, next)
}
