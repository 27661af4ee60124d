/**
 * A write that has reached the disk can not be taken back: it runs to its end whatever becomes of its
 * caller, and one that does not end within `commitDeadlineMs` has an unknown outcome. Only time counts in which the process
 * ran: after a standstill the disk's answer may be there already.
 */
import { Effect, Fiber } from "effect"
import { limits } from "../../Limits.ts"
import { Broken, type StorageError } from "../Storage.ts"
import { timeoutOfRunning } from "./runningTime.ts"

/**
 * Runs `write` detached; `onExpired` hears when its time is over, which fails with `Broken`.
 * Also a caller that can not be interrupted waits no longer than that.
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
