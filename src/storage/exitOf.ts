import { Effect, Exit } from "effect"

/** The exit that an effect is; `undefined`: it has to be run. */
export const exitOf = <A, E>(effect: Effect.Effect<A, E>): Exit.Exit<A, E> | undefined =>
  Exit.isExit(effect) ? (effect as Exit.Exit<A, E>) : undefined

/**
 * Goes on with the value of `effect`: at once where it is there, so that what `next` returns needs
 * no fiber either.
 */
export const continueWith = <A, E, B, E2>(
  effect: Effect.Effect<A, E>,
  next: (value: A) => Effect.Effect<B, E2>,
): Effect.Effect<B, E | E2> => {
  const exit = exitOf(effect)
  return exit?._tag === "Success" ? next(exit.value) : Effect.flatMap(effect, next)
}
