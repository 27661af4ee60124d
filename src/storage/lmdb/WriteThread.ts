/**
 * Writes LMDB in a separate thread (`WriteWorker.ts`), so that the time of a write costs the event
 * loop nothing. The thread is the only writer of the environment and keeps its sums. Reads run in
 * the main thread, since LMDB's readers and its writer do not wait for each other.
 *
 * - `start` starts the thread; otherwise the first write does, and waits for it. The thread ends
 *   with `close`, and after `writeThreadIdleMs` without a write: it takes some 20 MB, as much as
 *   many idle engines. There is one write at a time.
 * - The slice is in shared memory, which must not change until the outcome is known.
 * - After a crash in a write the thread is not started again: the transaction may or may not be
 *   durable, so every later write fails.
 */

import { Worker } from "node:worker_threads"
import { limits } from "../../Limits.ts"
import { Questions } from "../Channel.ts"
import type { EntrySlice, SharedSlice } from "../EntryBlock.ts"
import type { Sums } from "./Sums.ts"

/* Messages between the event loop and the thread that writes LMDB. */

export interface WriteSettings {
  readonly folder: string
  readonly mapBytes: number | undefined
  /** The sums after the last transaction. */
  readonly sums: Sums
}

/** An error of LMDB or of the system; `code` is its number. */
export interface WriteFault {
  readonly message: string
  readonly code: unknown
}

/** The sums after a durable transaction, or a fault. */
export type WriteOutcome = { readonly sums: Sums } | WriteFault

export const asFault = (error: unknown): WriteFault => ({
  message: error instanceof Error ? error.message : String(error),
  code: (error as { readonly code?: unknown } | null | undefined)?.code,
})

export const errorOf = ({ code, message }: WriteFault): Error =>
  Object.assign(new Error(message), { code })

export const startWriteWorker = (settings: WriteSettings): Worker =>
  new Worker(new URL("./WriteWorker.ts", import.meta.url), {
    workerData: settings,
    resourceLimits: { maxYoungGenerationSizeMb: limits.writeThreadYoungMebibytesMax },
  })

export class WriteThread {
  /** The sums after the last transaction, for the next thread. */
  #sums: Sums
  readonly #thread: Questions<SharedSlice, WriteOutcome>
  #failure: unknown

  constructor(
    settings: WriteSettings,
    startWorker = startWriteWorker,
    idleMs: number = limits.writeThreadIdleMs,
  ) {
    this.#sums = settings.sums
    this.#thread = new Questions(() => startWorker({ ...settings, sums: this.#sums }), {
      idleMs,
      holds: true,
    })
  }

  /** Starts the thread if it does not run. */
  start(): void {
    if (this.#failure === undefined) this.#thread.start()
  }

  /** The outcome of a transaction with these entries. Rejects if the thread crashes. */
  async write(slice: EntrySlice): Promise<WriteOutcome> {
    if (this.#failure !== undefined) throw this.#failure
    try {
      const outcome = await this.#thread.ask(slice.shared)
      if ("sums" in outcome) this.#sums = outcome.sums
      return outcome
    } catch (cause) {
      this.#failure = cause
      throw cause
    }
  }

  /** Ends the thread after the write under way. */
  close(): Promise<void> {
    return this.#thread.close()
  }
}
