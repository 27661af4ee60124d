/** Says now and then what a long opening is at. */
import { Effect, Fiber } from "effect"
import type { ReadinessState } from "../../http/server/Readiness.ts"
import { limits } from "../../Limits.ts"

/** Ends with the opening: in a cluster the process outlives one that fails. */
export const withProgressLog = <A, E, R>(
  readiness: Pick<ReadinessState, "doing">,
  opening: Effect.Effect<A, E, R>,
): Effect.Effect<A, E, R> =>
  Effect.flatMap(Effect.forkChild(logProgress(readiness)), (log) =>
    Effect.ensuring(opening, Fiber.interrupt(log)),
  )

const logProgress = (readiness: Pick<ReadinessState, "doing">): Effect.Effect<never> =>
  Effect.gen(function* () {
    while (true) {
      yield* Effect.sleep(limits.startLogEveryMs)
      yield* Effect.logInfo("Starting").pipe(Effect.annotateLogs({ doing: readiness.doing }))
    }
  })
