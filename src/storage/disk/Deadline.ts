/**
 * A write that has reached the disk cannot be undone, so it completes even if its caller is interrupted. A write that does not end
 * within `commitDeadlineMs` has an unknown outcome. Only time in which the process ran counts: after a standstill the disk's
 * answer may already be waiting.
 */
import { Effect, Fiber } from "effect"
import { limits } from "../../Limits.ts"
import { Broken, type StorageError } from "../Storage.ts"
import { timeoutOfRunning } from "./runningTime.ts"

/**
 * Runs `write` detached. Past the deadline, calls `onExpired` and fails with `Broken`; an uninterruptible
 * caller waits no longer either.
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
