/**
 * Writes LMDB in a separate thread (`WriteWorker.ts`), so that the time of a write costs the event
 * loop nothing. The thread is the only writer of the environment and keeps its sums. Reads run in
 * the main thread, since LMDB's readers and its writer do not wait for each other.
 *
 * - `start` starts the thread; otherwise the first write does, and waits for it. The thread ends
 *   with `close`, and after `writeThreadIdleMs` without a write: it takes some 20 MB, as much as
 *   many idle engines. There is one write at a time.
 * - The slice is in shared memory, which must not change until the outcome is known.
 * - After a crash the thread is not started again: its transaction may or may not be durable, so
 *   every later write fails.
 */

import { Worker } from "node:worker_threads"
import { limits } from "../../Limits.ts"
import type { EntrySlice, SharedSlice } from "../EntryBlock.ts"
import type { Sums } from "./Sums.ts"

/* Messages between the event loop and the thread that writes LMDB. */

export interface WriteSettings {
  readonly folder: string
  readonly mapBytes: number | undefined
  /** The sums after the last transaction. */
  readonly sums: Sums
}

/** A slice to write; or `close`: the thread closes the environment and exits. */
export type WriteOrder = SharedSlice | "close"

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

type Settled = (outcome: WriteOutcome) => void

export class WriteThread {
  /** The settings of the next thread, with the sums after the last transaction. */
  #settings: WriteSettings
  readonly #startWorker: (settings: WriteSettings) => Worker
  readonly #idleMs: number
  #idle: NodeJS.Timeout | undefined
  #worker: Worker | undefined
  /** Ends when an idle thread has closed the environment. */
  #ending: Promise<void> | undefined
  #waiting: { readonly settled: Settled; readonly failed: (cause: unknown) => void } | undefined
  #failure: unknown

  constructor(
    settings: WriteSettings,
    startWorker = startWriteWorker,
    idleMs: number = limits.writeThreadIdleMs,
  ) {
    this.#settings = settings
    this.#startWorker = startWorker
    this.#idleMs = idleMs
  }

  /** Starts the thread if it does not run. */
  start(): void {
    if (this.#worker !== undefined || this.#ending !== undefined) return
    if (this.#failure !== undefined) return
    this.#worker = this.#start()
    // An idle thread does not keep the process alive.
    this.#worker.unref()
    this.#awaitIdleness()
  }

  /** The outcome of a transaction with these entries. Rejects if the thread crashes. */
  async write(slice: EntrySlice): Promise<WriteOutcome> {
    await this.#ending
    if (this.#failure !== undefined) throw this.#failure
    return new Promise((settled, failed) => {
      this.start()
      const worker = this.#worker!
      clearTimeout(this.#idle)
      // The process stays alive until the outcome is known.
      worker.ref()
      this.#waiting = { settled, failed }
      worker.postMessage(slice.shared satisfies WriteOrder)
    })
  }

  /** Ends the thread after the write under way. */
  async close(): Promise<void> {
    await this.#ending
    await this.#end()
  }

  #awaitIdleness(): void {
    clearTimeout(this.#idle)
    this.#idle = setTimeout(() => {
      this.#ending = this.#end().finally(() => {
        this.#ending = undefined
      })
    }, this.#idleMs).unref()
  }

  async #end(): Promise<void> {
    clearTimeout(this.#idle)
    const worker = this.#worker
    if (worker === undefined) return
    this.#worker = undefined
    if (this.#failure !== undefined) return
    const gone = new Promise((resolve) => worker.once("exit", resolve))
    worker.ref()
    worker.postMessage("close" satisfies WriteOrder)
    await gone
  }

  #start(): Worker {
    const worker = this.#startWorker(this.#settings)
    worker.on("message", (outcome: WriteOutcome) => {
      const waiting = this.#waiting
      this.#waiting = undefined
      if ("sums" in outcome) this.#settings = { ...this.#settings, sums: outcome.sums }
      worker.unref()
      if (this.#worker === worker) this.#awaitIdleness()
      waiting?.settled(outcome)
    })
    worker.on("error", (cause) => this.#failed(cause))
    worker.on("exit", (code) => {
      if (this.#worker === worker)
        this.#failed(new Error(`the thread that writes LMDB exited with ${code}`))
    })
    return worker
  }

  #failed(cause: unknown): void {
    this.#failure ??= cause
    this.#waiting?.failed(this.#failure)
    this.#waiting = undefined
  }
}
