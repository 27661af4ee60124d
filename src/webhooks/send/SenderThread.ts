/**
 * Sends from a thread of its own (`SenderWorker.ts`), so that sockets, TLS and signatures take no time of the event loop
 * that the actors share.
 *
 * - The thread starts with the first message and ends with `close`.
 * - Orders of one turn go over as one batch; outcomes come back in batches, a few milliseconds later. The attempts in the
 *   thread are bounded by `webhookAttemptsAtOnceMax`.
 * - If the thread crashes, every attempt under way ends without a reply, as after a connection reset, and the next attempt
 *   starts another thread.
 */
import type { KeyObject } from "node:crypto"
import { Worker } from "node:worker_threads"
import type { Resolve } from "./Resolver.ts"
import type { MessageSender, Outcome, OutgoingMessage } from "./Sender.ts"
import {
  eachOutcome,
  type SenderOrder,
  type SenderReports,
  type SenderSettings,
} from "./SenderProtocol.ts"
import { Numbering } from "./SlotMap.ts"

export interface SenderThreadOptions {
  readonly settings: SenderSettings
  readonly resolve: Resolve
  /** The thread has ended by itself. */
  readonly onFailure: (cause: unknown) => void
  readonly startWorker?: (settings: SenderSettings) => Worker
}

const startSenderWorker = (settings: SenderSettings): Worker =>
  new Worker(new URL("./SenderWorker.ts", import.meta.url), { workerData: settings })

type Settled = (outcome: Outcome) => void

export class SenderThread {
  readonly #options: SenderThreadOptions
  #worker: Worker | undefined
  #orders: Array<SenderOrder> = []
  readonly #attempts = new Numbering<Settled>()
  #senders = 0
  /** How many threads have ended, and with them their senders. */
  #ended = 0

  constructor(options: SenderThreadOptions) {
    this.#options = options
  }

  /** A sender of messages to one URL. */
  sender(url: string): MessageSender {
    const number = ++this.#senders
    let openIn: number | undefined
    let keys: ReadonlyArray<KeyObject> | undefined
    return {
      send: (message, settled) => {
        if (openIn !== this.#ended) {
          openIn = this.#ended
          keys = undefined
          this.#order(["open", number, url])
        }
        if (keys !== message.keys) {
          keys = message.keys
          this.#order(["keys", number, keys])
        }
        return this.#send(number, message, settled)
      },
      close: () => {
        if (openIn === this.#ended) this.#order(["close", number])
        openIn = undefined
      },
    }
  }

  /** Ends the thread and all connections. Attempts under way have no outcome. */
  async close(): Promise<void> {
    this.#attempts.takeAll()
    const worker = this.#worker
    this.#worker = undefined
    await worker?.terminate()
  }

  #send(sender: number, outgoing: OutgoingMessage, settled: Settled): () => void {
    const { message, timestampSeconds, trace } = outgoing
    const attempt = this.#attempts.add(settled)
    this.#order(["send", sender, attempt, message, timestampSeconds, trace])
    return () => {
      if (this.#attempts.take(attempt) !== undefined) this.#order(["giveUp", attempt])
    }
  }

  #order(order: SenderOrder): void {
    if (this.#orders.push(order) === 1) process.nextTick(this.#flush)
  }

  readonly #flush = (): void => {
    const orders = this.#orders
    this.#orders = []
    if (this.#worker === undefined) {
      // Every attempt was given up meanwhile: no thread starts for those.
      if (this.#attempts.size === 0) {
        this.#ended++
        return
      }
      this.#worker = this.#start()
    }
    this.#worker.postMessage(orders)
  }

  #start(): Worker {
    const { onFailure, settings, startWorker = startSenderWorker } = this.#options
    const worker = startWorker(settings)
    let failure: unknown
    worker.on("message", ({ outcomes, questions }: SenderReports) => {
      if (this.#worker !== worker) return
      eachOutcome(outcomes, this.#settle)
      for (const [question, host] of questions) this.#resolve(question, host)
    })
    worker.on("error", (error) => {
      failure = error
    })
    worker.on("exit", (code) => {
      if (this.#worker !== worker) return
      this.#worker = undefined
      this.#orders = []
      this.#ended++
      onFailure(failure ?? new Error(`The webhook sender thread exited with ${code}`))
      for (const settled of this.#attempts.takeAll()) settled(lost)
    })
    // The process does not wait for the thread.
    worker.unref()
    return worker
  }

  #resolve(question: number, host: string): void {
    const worker = this.#worker
    const answer = (addresses: ReadonlyArray<string> | null) => {
      if (this.#worker === worker) this.#order(["resolved", question, addresses])
    }
    this.#options.resolve(host).then(answer, () => answer(null))
  }

  readonly #settle = (attempt: number, outcome: Outcome): void => {
    // It may have been given up meanwhile.
    this.#attempts.take(attempt)?.(outcome)
  }
}

/** The outcome of attempts in a thread that crashed. */
const lost: Outcome = {
  status: null,
  error: "connection_failed",
  body: "",
  retryAfter: undefined,
  durationMs: 0,
}
