/**
 * Sends from a separate thread (`SenderWorker.ts`), so that sockets, TLS and signatures take no
 * time of the event loop that the actors share.
 *
 * - The thread starts with the first message and ends with `close`.
 * - The orders of one turn are sent as one batch. Outcomes return in batches, a few milliseconds
 *   later. `webhookAttemptsAtOnceMax` bounds the attempts in the thread.
 * - If the thread crashes, all attempts under way end without a reply, as after a connection reset.
 *   The next attempt starts another thread.
 */
import type { KeyObject } from "node:crypto"
import { Worker } from "node:worker_threads"
import { type Channel, threadChannel } from "../../storage/Channel.ts"
import type { Resolve } from "./Resolver.ts"
import type { MessageSender, Outcome, OutgoingMessage } from "./Sender.ts"
import {
  eachOutcome,
  type SenderOrder,
  type SenderReports,
  type SenderSettings,
} from "./SenderProtocol.ts"

/**
 * A map of items under way by number. `Numbering` assigns the numbers, each once. `SlotMap` keeps
 * other data under the same numbers in another thread.
 *
 * Slots are reused instead of a `Map`: a `Map` that changes all the time leaves old hash tables
 * behind, and a table in the old generation of the heap keeps all later tables alive.
 */
export class SlotMap<A> {
  readonly #slots: Array<{ readonly number: number; readonly value: A } | undefined> = []
  size = 0

  /** Adds `value` under an unused number. */
  set(number: number, value: A): void {
    this.#slots[slotOf(number)] = { number, value }
    this.size++
  }

  /** Removes and returns the value of a number; `undefined` if there is none. */
  take(number: number): A | undefined {
    const slot = slotOf(number)
    const held = this.#slots[slot]
    if (held?.number !== number) return undefined
    this.#slots[slot] = undefined
    this.size--
    return held.value
  }

  /** Removes and returns all values. */
  takeAll(): ReadonlyArray<A> {
    const held = this.#slots.filter((slot) => slot !== undefined)
    for (const { number } of held) this.take(number)
    return held.map(({ value }) => value)
  }
}

/** Assigns the numbers, to at most 65,536 items at a time. */
export class Numbering<A> extends SlotMap<A> {
  readonly #free: Array<number> = []
  #slots = 0
  #given = 0

  /** Adds `value`. Returns its number. */
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
  /** Called when the thread has crashed. */
  readonly onFailure: (cause: unknown) => void
  readonly startWorker?: (settings: SenderSettings) => Worker
}

const startSenderWorker = (settings: SenderSettings): Worker =>
  new Worker(new URL("./SenderWorker.ts", import.meta.url), { workerData: settings })

type Settled = (outcome: Outcome) => void

export class SenderThread {
  readonly #options: SenderThreadOptions
  #channel: Channel<ReadonlyArray<SenderOrder>> | undefined
  #orders: Array<SenderOrder> = []
  readonly #attempts = new Numbering<Settled>()
  #senders = 0
  /** The number of threads that have ended, and their senders with them. */
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
    const channel = this.#channel
    this.#channel = undefined
    await channel?.end()
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
    if (this.#channel === undefined) {
      // All attempts were aborted meanwhile, so no thread is needed.
      if (this.#attempts.size === 0) {
        this.#ended++
        return
      }
      this.#channel = this.#start()
    }
    this.#channel.tell(orders)
  }

  #start(): Channel<ReadonlyArray<SenderOrder>> {
    const { onFailure, settings, startWorker = startSenderWorker } = this.#options
    return threadChannel<ReadonlyArray<SenderOrder>, SenderReports>(startWorker(settings), {
      heard: ({ outcomes, questions }) => {
        eachOutcome(outcomes, this.#settle)
        for (const [question, host] of questions) this.#resolve(question, host)
      },
      ended: (code, _, error) => {
        this.#channel = undefined
        this.#orders = []
        this.#ended++
        onFailure(error ?? new Error(`The webhook sender thread exited with ${code}`))
        for (const settled of this.#attempts.takeAll()) settled(lost)
      },
    })
  }

  #resolve(question: number, host: string): void {
    const channel = this.#channel
    const answer = (addresses: ReadonlyArray<string> | null) => {
      if (this.#channel === channel) this.#order(["resolved", question, addresses])
    }
    this.#options.resolve(host).then(answer, () => answer(null))
  }

  readonly #settle = (attempt: number, outcome: Outcome): void => {
    // The attempt may have been aborted meanwhile.
    this.#attempts.take(attempt)?.(outcome)
  }
}

/** The outcome of attempts in a crashed thread. */
const lost: Outcome = {
  status: null,
  error: "connection_failed",
  body: "",
  retryAfter: undefined,
  durationMs: 0,
}
