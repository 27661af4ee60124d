/**
 * Background work: the fibers of endpoints, jobs, retention. Work has a key, and only one fiber
 * runs per key. A crash is logged, and the work restarts after an increasing pause. Broken storage
 * ends the process.
 */
import { Cause, Effect, FiberMap, Schedule, type Scope } from "effect"
import { limits } from "../../Limits.ts"
import type { Broken } from "../../storage/Storage.ts"

/**
 * Runs `work` until it ends or the scope closes, unless work with the same key is running. Logs
 * name the key.
 */
export type Background = (key: string, work: Effect.Effect<void, Broken>) => void

const pauses = Schedule.min([
  Schedule.exponential(limits.webhookRestartMs),
  Schedule.spaced(limits.webhookRestartMsMax),
])

const isCrash = (cause: Cause.Cause<never>): boolean => !Cause.hasInterruptsOnly(cause)

export const makeBackground = Effect.fnUntraced(function* (
  onBroken: (cause: Broken) => void,
): Effect.fn.Return<Background, never, Scope.Scope> {
  const fibers = yield* FiberMap.make<string>()
  const run = yield* FiberMap.runtime(fibers)()
  return (key, work) => {
    const supervised = Effect.catchTag(work, "Broken", (broken) =>
      Effect.sync(() => onBroken(broken)),
    ).pipe(
      Effect.tapCause((cause) =>
        isCrash(cause)
          ? Effect.annotateLogs(Effect.logError("Webhook work crashed; restarting", cause), {
              work: key,
            })
          : Effect.void,
      ),
      Effect.sandbox,
      Effect.retry({ schedule: pauses, while: isCrash }),
      Effect.catch(Effect.failCause),
    )
    run(key, supervised, { onlyIfMissing: true })
  }
})
