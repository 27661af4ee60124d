/** A record as the followers of the feed get it. */
import { type Message, messageAt } from "../../domain/message/Message.ts"
import type { JournalRecord } from "../../domain/record/Record.ts"
import { limits } from "../../Limits.ts"

/** A durable record, with the messages it makes. */
export class FeedEntry {
  readonly record: JournalRecord
  /** Bytes of its text. */
  readonly bytes: number
  #messages: Array<Told | undefined> | undefined

  constructor(record: JournalRecord, bytes: number) {
    this.record = record
    this.bytes = bytes
  }

  /** The message of the fact at `index`, made once for all readers that send it at about the same time. */
  message(index: number): Told {
    if (this.#messages === undefined) {
      this.#messages = []
      lately.told(this)
    }
    this.#messages[index] ??= told(messageAt(this.record, index))
    return this.#messages[index]
  }

  /** Drops the messages; the next request makes them again. */
  forget(): void {
    this.#messages = undefined
  }
}

/**
 * The records whose messages were made last. Others drop theirs: the ring keeps records for long, and texts as old as those would
 * be most of what the garbage collector moves.
 */
class Lately {
  readonly #entries: Array<FeedEntry | undefined> = new Array(limits.feedToldMax).fill(undefined)
  #next = 0

  told(entry: FeedEntry): void {
    this.#entries[this.#next]?.forget()
    this.#entries[this.#next] = entry
    this.#next = (this.#next + 1) % limits.feedToldMax
  }
}

// A memory of the last answers, not a state.
const lately = new Lately()

/** A message as it is sent. */
export interface Told {
  readonly id: string
  /** The whole of it, JSON. */
  readonly text: string
}

const told = (message: Message): Told => ({ id: message.id, text: JSON.stringify(message) })
