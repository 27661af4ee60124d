import { type Effect, Exit } from "effect"

/** The exit that an effect is; `undefined`: it has to be run. */
export const exitOf = <A, E>(effect: Effect.Effect<A, E>): Exit.Exit<A, E> | undefined =>
  Exit.isExit(effect) ? (effect as Exit.Exit<A, E>) : undefined
