/**
 * Sends from a thread of its own (`SenderWorker.ts`), so that sockets, TLS and signatures take no
 * time of the event loop that the actors share.
 *
 * - The thread starts with the first message and ends with `close`.
 * - Orders of one turn go over as one batch; outcomes come back in batches, a few milliseconds
 *   later. The attempts in the thread are bounded by `webhookAttemptsAtOnceMax`.
 * - If the thread crashes, every attempt under way ends without a reply, as after a connection
 *   reset, and the next attempt starts another thread.
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

/**
 * A map of items under way by number. `Numbering` gives the numbers, each once; `SlotMap` holds
 * other data under the same numbers, in another thread.
 *
 * Reused slots instead of a `Map`: one that changes all the time leaves old tables behind, and a
 * table that has reached the old generation keeps everything after it alive.
 */
export class SlotMap<A> {
  readonly #slots: Array<{ readonly number: number; readonly value: A } | undefined> = []
  size = 0

  /** Holds `value` under an unused number. */
  set(number: number, value: A): void {
    this.#slots[slotOf(number)] = { number, value }
    this.size++
  }

  /** Removes and returns the value of a number; `undefined` if it has none any more. */
  take(number: number): A | undefined {
    const slot = slotOf(number)
    const held = this.#slots[slot]
    if (held?.number !== number) return undefined
    this.#slots[slot] = undefined
    this.size--
    return held.value
  }

  /** Removes and returns everything. */
  takeAll(): ReadonlyArray<A> {
    const held = this.#slots.filter((slot) => slot !== undefined)
    for (const { number } of held) this.take(number)
    return held.map(({ value }) => value)
  }
}

/** Gives the numbers, to at most 65,536 at once. */
export class Numbering<A> extends SlotMap<A> {
  readonly #free: Array<number> = []
  #slots = 0
  #given = 0

  /** Keeps `value`; answers its number. */
  add(value: A): number {
    const number = ++this.#given * slotsMax + (this.#free.pop() ?? this.#slots++)
    this.set(number, value)
    return number
  }

  override take(number: number): A | undefined {
    const value = super.take(number)
    if (value !== undefined) this.#free.push(slotOf(number))
    return value
  }
}

const slotsMax = 65_536
const slotOf = (number: number): number => number % slotsMax

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
