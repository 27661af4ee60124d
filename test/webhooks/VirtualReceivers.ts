/** Receivers without sockets: what each URL got, and what it answers, a turn of the event loop later. */
import type { MessageSender, OutgoingMessage } from "../../src/webhooks/send/Sender.ts"

export interface VirtualMessage {
  readonly id: string
  readonly body: string
}

export class VirtualReceivers {
  readonly received = new Map<string, Array<VirtualMessage>>()
  /** The status that a URL answers a message with; undefined: it never does. */
  answer: (url: string, message: VirtualMessage) => number | undefined
  inFlight = 0

  constructor(answer: VirtualReceivers["answer"] = () => 204) {
    this.answer = answer
  }

  of(url: string): ReadonlyArray<VirtualMessage> {
    return this.received.get(url) ?? []
  }

  /** Makes the senders of one process, which reach nobody once it is not `alive`. */
  senders(process: { readonly alive: boolean } = { alive: true }): (url: string) => MessageSender {
    return (url) => ({
      send: (message, settled) => {
        if (!process.alive) return () => {}
        let open = true
        this.inFlight++
        const land = () => {
          if (open) this.inFlight--
          open = false
        }
        const status = this.answer(url, this.#take(url, message))
        if (status !== undefined) {
          setImmediate(() => {
            if (!open) return
            land()
            if (!process.alive) return
            const body = status < 300 ? "" : "what was wrong"
            settled({ status, error: null, body, retryAfter: undefined, durationMs: 1 })
          })
        }
        return land
      },
      close: () => {},
    })
  }

  #take(url: string, { message: { id, text } }: OutgoingMessage): VirtualMessage {
    const message = { id, body: text }
    const received = this.received.get(url)
    if (received === undefined) this.received.set(url, [message])
    else received.push(message)
    return message
  }
}
