/**
 * Sends from a thread of its own (`SenderWorker.ts`): sockets, TLS and signatures take nothing of the event loop
 * that the actors share.
 *
 * - It is started with the first message, and ends with `close`.
 * - What goes over in one go is one batch; what comes back is told together, a little later. What is over there is
 *   bounded by who sends: no more attempts than `webhookAttemptsAtOnceMax` are under way.
 * - Should the thread end by itself, a defect, every attempt under way ends without a reply, and the next one
 *   starts another thread. Whether a receiver got the message is not known then, as after every reset.
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
  /** How many threads have ended: what those had open is open no more. */
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

  /** Ends the thread, and with it all connections. What is under way has no outcome. */
  async close(): Promise<void> {
    this.#attempts.takeAll()
    const worker = this.#worker
    this.#worker = undefined
    await worker?.terminate()
  }

  #send(sender: number, message: OutgoingMessage, settled: Settled): () => void {
    const attempt = this.#attempts.add(settled)
    this.#order(["send", sender, attempt, message.message, message.timestampSeconds])
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
      // Nothing is begun only to be given up.
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
      onFailure(failure ?? new Error(`The thread that sends webhooks has ended with ${code}`))
      for (const settled of this.#attempts.takeAll()) settled(lost)
    })
    // Whoever waits for an outcome says so by other means.
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

/** The outcome of what was under way in a thread that has ended. */
const lost: Outcome = {
  status: null,
  error: "connection_failed",
  body: "",
  retryAfter: undefined,
  durationMs: 0,
}
