/**
 * TimeoutQueue in time in which this process ran. A virtual machine that is suspended, or a process that is stopped by a
 * signal, stands still while the disk and the clock may go on; when it continues, timers fire before the answers that
 * wait are read. A plain timeout would then blame the other side.
 *
 * The time is counted in steps of `runningStepMs`. A step that took twice as long or longer was not all the process's own
 * and counts as nothing, so what was under way gets a full step at least after a standstill.
 */
import { Clock, Effect } from "effect"
import { limits } from "../../Limits.ts"

/**
 * What `wait` answers, or `orElse` after `ms` milliseconds in which the process ran. `wait` only waits, for what is
 * done elsewhere: it is interrupted after each step and begins again.
 */
export const timeoutOfRunning = <A, E, B, F>(
  wait: Effect.Effect<A, E>,
  ms: number,
  orElse: () => Effect.Effect<B, F>,
): Effect.Effect<A | B, E | F> =>
  Clock.clockWith((clock) => {
    const waitFor = (leftMs: number): Effect.Effect<A | B, E | F> => {
      const stepMs = Math.min(leftMs, limits.runningStepMs)
      const since = clock.monotonicTimeNanosUnsafe()
      return Effect.timeoutOrElse(wait as Effect.Effect<A | B, E | F>, {
        duration: stepMs,
        orElse: () => {
          const tookMs = Number(clock.monotonicTimeNanosUnsafe() - since) / 1e6
          if (tookMs >= stepMs + limits.runningStepMs) return waitFor(leftMs)
          return leftMs > stepMs ? waitFor(leftMs - stepMs) : orElse()
        },
      })
    }
    return waitFor(ms)
  })
