/**
 * Checks answers about passkeys in a thread of its own (`PasskeyWorker.ts`): the library takes some 150 ms to load, which
 * the event loop of the actors must not wait for, and the bytes that it parses come from strangers.
 *
 * - The thread starts with the first check and ends after a minute without one.
 * - Checks under way are bounded. One that takes too long ends the thread, and with it all others.
 */
import { Worker } from "node:worker_threads"
import { Effect } from "effect"
import { type LaurelError, laurelError } from "../../domain/values/Errors.ts"
import { limits } from "../../Limits.ts"
import type { NumberedCheck, NumberedOutcome, PasskeyCheck, PasskeyOutcome } from "./Protocol.ts"

const startPasskeyWorker = (): Worker =>
  new Worker(new URL("./PasskeyWorker.ts", import.meta.url), {
    resourceLimits: { maxOldGenerationSizeMb: limits.passkeyThreadMebibytesMax },
  })

type Settled = (outcome: Effect.Effect<PasskeyOutcome, LaurelError>) => void

export class PasskeyThread {
  readonly #startWorker: () => Worker
  readonly #waiting = new Map<number, Settled>()
  #worker: Worker | undefined
  #number = 0
  #idle: NodeJS.Timeout | undefined

  constructor(startWorker: () => Worker = startPasskeyWorker) {
    this.#startWorker = startWorker
  }

  /** Whether the answer is right. Fails with `overloaded` where too many checks wait, or one takes too long. */
  check(check: PasskeyCheck): Effect.Effect<PasskeyOutcome, LaurelError> {
    return Effect.callback((resume) => {
      if (this.#waiting.size >= limits.passkeyChecksMax) {
        resume(Effect.fail(tooMany))
        return
      }
      const number = ++this.#number
      const tooLong = setTimeout(() => this.#end(Effect.fail(tooMany)), limits.passkeyCheckMs)
      clearTimeout(this.#idle)
      this.#waiting.set(number, (outcome) => {
        clearTimeout(tooLong)
        this.#waiting.delete(number)
        resume(outcome)
      })
      this.#worker ??= this.#start()
      this.#worker.postMessage({ number, check } satisfies NumberedCheck)
    })
  }

  #start(): Worker {
    const worker = this.#startWorker()
    // A check under way must not keep a process alive that is ending.
    worker.unref()
    worker.on("message", ({ number, outcome }: NumberedOutcome) => {
      this.#waiting.get(number)?.(Effect.succeed(outcome))
      if (this.#waiting.size > 0) return
      this.#idle = setTimeout(() => this.#end(Effect.fail(tooMany)), limits.passkeyThreadIdleMs)
      this.#idle.unref()
    })
    worker.on("error", (error) => {
      if (this.#worker === worker) this.#end(Effect.die(error))
    })
    return worker
  }

  /** Ends the thread; checks under way get `outcome`, and the next check starts another thread. */
  #end(outcome: Effect.Effect<PasskeyOutcome, LaurelError>): void {
    const worker = this.#worker
    this.#worker = undefined
    clearTimeout(this.#idle)
    for (const settled of [...this.#waiting.values()]) settled(outcome)
    void worker?.terminate()
  }
}

const tooMany = laurelError(
  "overloaded",
  "Too many passkeys are being checked. Try again in a second.",
  { retryAfterSeconds: 1 },
)
