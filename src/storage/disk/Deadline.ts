/**
 * A write that has reached the disk cannot be undone, so it completes even if its caller is
 * interrupted. A write that does not end within `commitDeadlineMs` has an unknown outcome. Only
 * time in which the process ran counts: after a standstill the disk's answer may already be
 * waiting.
 */
import { Clock, Effect, Fiber } from "effect"
import { limits } from "../../Limits.ts"
import { Broken, type StorageError } from "../Storage.ts"

/*
 * Timeouts that count only time in which this process ran. While a virtual machine is suspended or
 * a signal has stopped the process, disk and clock continue; on resume, timers fire before waiting
 * answers are read, and a plain timeout would blame the other side.
 *
 * Time is counted in steps of `runningStepMs`. A step that took at least twice as long includes a
 * standstill and counts as nothing, so a pending call gets at least one full step after a
 * standstill.
 */

/**
 * The result of `wait`, or `orElse` after `ms` milliseconds of running time. `wait` must do no work
 * of its own: it is interrupted and restarted after each step.
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

/**
 * Runs `write` detached. Past the deadline, calls `onExpired` and fails with `Broken`; an
 * uninterruptible caller waits no longer either.
 */
export const withDeadline = <A>(
  operation: string,
  write: Effect.Effect<A, StorageError>,
  onExpired: (broken: Broken) => void,
): Effect.Effect<A, StorageError> =>
  Effect.flatMap(
    Effect.forkDetach(write, { startImmediately: true, uninterruptible: true }),
    (fiber) =>
      timeoutOfRunning(Effect.interruptible(Fiber.join(fiber)), limits.commitDeadlineMs, () => {
        const cause = new Error(`no answer from the disk for ${limits.commitDeadlineMs} ms`)
        const broken = new Broken({ operation, cause })
        onExpired(broken)
        return Effect.fail(broken)
      }),
  )

/** Milliseconds of a clock that only goes forward. */
export const monotonicMs: Effect.Effect<number> = Effect.map(
  Clock.monotonicTimeNanos,
  (nanos) => Number(nanos) / 1e6,
)
