/**
 * Writes LMDB from a thread of its own (`WriteWorker.ts`): the microseconds that an entry costs in
 * LMDB burden neither the event loop nor the garbage collector that stops it. The thread is the
 * only writer of the environment and keeps its sums; reads stay where they are, since LMDB's
 * readers and its writer do not wait for each other.
 *
 * - The thread starts with `start`, or else with the first write, which then waits for it. It ends
 *   with `close`, and after `writeThreadIdleMs` without a write: it takes some 20 MB, as much as
 *   many idle engines. One write at a time.
 * - The slice stays in shared memory, which must not change until the answer.
 * - A thread that crashes is not started again: its transaction may or may not stand, so every
 *   write fails from then on.
 */

import { Worker } from "node:worker_threads"
import { limits } from "../../Limits.ts"
import type { EntrySlice, SharedSlice } from "../EntryBlock.ts"
import type { Sums } from "./Sums.ts"

/* Messages between the event loop and the thread that writes LMDB. */

export interface WriteSettings {
  readonly folder: string
  readonly mapBytes: number | undefined
  /** As of the last transaction. */
  readonly sums: Sums
}

/** A slice to write, or the end: the thread closes the environment and exits. */
export type WriteOrder = SharedSlice | "close"

/** An error of LMDB or of the system, which has a number. */
export interface WriteFault {
  readonly message: string
  readonly code: unknown
}

/** The sums after the transaction, which is durable; or a fault. */
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
  /** With the sums of the last transaction: the next thread begins with them. */
  #settings: WriteSettings
  readonly #startWorker: (settings: WriteSettings) => Worker
  readonly #idleMs: number
  #idle: NodeJS.Timeout | undefined
  #worker: Worker | undefined
  /** The end of an idle thread, which has the environment open until then. */
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

  /** Starts the thread where it does not run. */
  start(): void {
    if (this.#worker !== undefined || this.#ending !== undefined) return
    if (this.#failure !== undefined) return
    this.#worker = this.#start()
    // It is no reason for the process to stay.
    this.#worker.unref()
    this.#awaitIdleness()
  }

  /** The outcome of a transaction with these entries; rejects when the thread has crashed. */
  async write(slice: EntrySlice): Promise<WriteOutcome> {
    await this.#ending
    if (this.#failure !== undefined) throw this.#failure
    return new Promise((settled, failed) => {
      this.start()
      const worker = this.#worker!
      clearTimeout(this.#idle)
      // A process that has nothing else to do waits for the answer.
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
