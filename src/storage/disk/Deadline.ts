/**
 * A write that has reached the disk cannot be undone, so it completes even if its caller is
 * interrupted. A write that does not end within `commitDeadlineMs` has an unknown outcome. Only the
 * time in which the process runs counts: after a suspension the answer of the disk may already be
 * waiting.
 */
import { Clock, Effect, Fiber } from "effect"
import { limits } from "../../Limits.ts"
import { Broken, type StorageError } from "../Storage.ts"

/*
 * Timeouts that count only the time in which this process runs. While a virtual machine is
 * suspended or a signal has stopped the process, the disk and the clock continue. After the
 * resumption, timers fire before waiting answers are read, so a plain timeout would expire although
 * the answer is there.
 *
 * Time is counted in steps of `runningStepMs`. A step that took at least twice as long includes a
 * suspension and is not counted. So a pending call gets at least one full step after a suspension.
 */

/**
 * The result of `wait`, or of `orElse` after `ms` milliseconds of running time. `wait` must only
 * wait: it is interrupted and restarted after each step.
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

/** Starts `work` at once. It completes even if its caller is interrupted. */
export const detached = <A, E>(work: Effect.Effect<A, E>): Effect.Effect<Fiber.Fiber<A, E>> =>
  Effect.forkDetach(work, { startImmediately: true, uninterruptible: true })

/** `work` by `detached`. */
export const toItsEnd = <A, E>(work: Effect.Effect<A, E>): Effect.Effect<A, E> =>
  Effect.flatMap(detached(work), (fiber) => Fiber.join(fiber))

/**
 * Runs `write` detached. After the deadline, calls `onExpired` and fails with `Broken`, also if the
 * caller is uninterruptible.
 */
export const withDeadline = <A>(
  operation: string,
  write: Effect.Effect<A, StorageError>,
  onExpired: (broken: Broken) => void,
): Effect.Effect<A, StorageError> =>
  Effect.flatMap(detached(write), (fiber) =>
    timeoutOfRunning(Effect.interruptible(Fiber.join(fiber)), limits.commitDeadlineMs, () => {
      const cause = new Error(`no answer from the disk for ${limits.commitDeadlineMs} ms`)
      const broken = new Broken({ operation, cause })
      onExpired(broken)
      return Effect.fail(broken)
    }),
  )

/** Milliseconds of a monotonic clock. */
export const monotonicMs: Effect.Effect<number> = Effect.map(
  Clock.monotonicTimeNanos,
  (nanos) => Number(nanos) / 1e6,
)
