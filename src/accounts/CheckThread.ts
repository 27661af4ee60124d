/**
 * Runs slow checks in a thread of their own: answers about passkeys (`passkeys/PasskeyWorker.ts`)
 * and chosen passwords (`people/PasswordWorker.ts`). Their libraries take at least 100 ms to load,
 * and some checks take as long. The event loop of the actors must not wait for them.
 *
 * - The thread starts with the first check and ends after a minute without checks.
 * - At most `checksMax` checks are under way. A check that takes longer than `checkMs` ends the
 *   thread, and all checks under way fail.
 */
import { Worker } from "node:worker_threads"
import { Effect } from "effect"
import { type LaurelError, laurelError } from "../domain/values/Errors.ts"
import { limits } from "../Limits.ts"
import { Questions, TooLate } from "../storage/Channel.ts"

/** A thread that runs the module at `url`. */
export const startCheckWorker = (url: URL): Worker =>
  new Worker(url, { resourceLimits: { maxOldGenerationSizeMb: limits.checkThreadMebibytesMax } })

export class CheckThread<Check, Outcome> {
  readonly #thread: Questions<Check, Outcome>

  constructor(startWorker: () => Worker) {
    this.#thread = new Questions(startWorker, {
      idleMs: limits.checkThreadIdleMs,
      deadlineMs: limits.checkMs,
    })
  }

  /** Fails with `overloaded` if too many checks are under way, or if a check takes too long. */
  check(check: Check): Effect.Effect<Outcome, LaurelError> {
    return Effect.suspend(() =>
      this.#thread.size >= limits.checksMax
        ? Effect.fail(tooMany)
        : Effect.tryPromise({ try: () => this.#thread.ask(check), catch: (cause) => cause }).pipe(
            Effect.catch((cause) =>
              cause instanceof TooLate ? Effect.fail(tooMany) : Effect.die(cause),
            ),
          ),
    )
  }
}

const tooMany = laurelError(
  "overloaded",
  "Too many passwords or passkeys are being checked. Try again in a second.",
  { retryAfterSeconds: 1 },
)
