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

/** Messages between the server and the thread. */
export interface NumberedCheck<Check> {
  readonly number: number
  readonly check: Check
}

export interface NumberedOutcome<Outcome> {
  readonly number: number
  readonly outcome: Outcome
}

/** A thread that runs the module at `url`. */
export const startCheckWorker = (url: URL): Worker =>
  new Worker(url, { resourceLimits: { maxOldGenerationSizeMb: limits.checkThreadMebibytesMax } })

export class CheckThread<Check, Outcome> {
  readonly #startWorker: () => Worker
  readonly #waiting = new Map<number, (outcome: Effect.Effect<Outcome, LaurelError>) => void>()
  #worker: Worker | undefined
  #number = 0
  #idle: NodeJS.Timeout | undefined

  constructor(startWorker: () => Worker) {
    this.#startWorker = startWorker
  }

  /** Fails with `overloaded` if too many checks are under way, or if a check takes too long. */
  check(check: Check): Effect.Effect<Outcome, LaurelError> {
    return Effect.callback((resume) => {
      if (this.#waiting.size >= limits.checksMax) {
        resume(Effect.fail(tooMany))
        return
      }
      const number = ++this.#number
      const tooLong = setTimeout(() => this.#end(Effect.fail(tooMany)), limits.checkMs)
      clearTimeout(this.#idle)
      this.#waiting.set(number, (outcome) => {
        clearTimeout(tooLong)
        this.#waiting.delete(number)
        resume(outcome)
      })
      this.#worker ??= this.#start()
      this.#worker.postMessage({ number, check } satisfies NumberedCheck<Check>)
    })
  }

  #start(): Worker {
    const worker = this.#startWorker()
    // A check under way must not delay the end of the process.
    worker.unref()
    worker.on("message", ({ number, outcome }: NumberedOutcome<Outcome>) => {
      this.#waiting.get(number)?.(Effect.succeed(outcome))
      if (this.#waiting.size > 0) return
      this.#idle = setTimeout(() => this.#end(Effect.fail(tooMany)), limits.checkThreadIdleMs)
      this.#idle.unref()
    })
    worker.on("error", (error) => {
      if (this.#worker === worker) this.#end(Effect.die(error))
    })
    return worker
  }

  /** Ends the thread; checks under way get `outcome`, and the next check starts another thread. */
  #end(outcome: Effect.Effect<Outcome, LaurelError>): void {
    const worker = this.#worker
    this.#worker = undefined
    clearTimeout(this.#idle)
    for (const settled of [...this.#waiting.values()]) settled(outcome)
    void worker?.terminate()
  }
}

const tooMany = laurelError(
  "overloaded",
  "Too many passwords or passkeys are being checked. Try again in a second.",
  { retryAfterSeconds: 1 },
)
