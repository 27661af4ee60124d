/**
 * Distributes live messages to open streams: one fiber follows the feed for all of them, encodes each message once, and
 * queues it for the subscribers of its kind. A stream that falls behind is detached before its queue exceeds
 * `streamQueueBytesMax`, and reads the journal at its own pace until it has caught up (`EventStream.ts`).
 *
 * Cost: a record costs what the streams of its environment ask for, not how many streams there are. The hub
 * takes what has come every `streamCoalesceMs`, so that a busy server does not write to each socket for each
 * record.
 */
import { Cause, Effect } from "effect"
import { type MessageName, messageKindAt } from "../../domain/message/Message.ts"
import type { MessageKind } from "../../domain/message/MessageKind.ts"
import type { Feed, FeedEntry } from "../../engine/commit/Feed.ts"
import { limits } from "../../Limits.ts"
import { yieldToEventLoop } from "../../storage/yieldToEventLoop.ts"

/** A live stream, as the hub sees it. */
export class Subscriber {
  readonly environment: string
  readonly kinds: ReadonlySet<MessageKind>
  /** The first record that it wants. */
  readonly from: number
  /** It fell behind and must read from the journal. */
  detached = false
  #blocks: Array<string> = []
  #bytes = 0
  #place: MessageName | undefined
  #wake: (() => void) | undefined

  constructor(environment: string, kinds: ReadonlySet<MessageKind>, from: number) {
    this.environment = environment
    this.kinds = kinds
    this.from = from
  }

  /** Queues a message; false when it does not fit any more. */
  push(block: string, place: MessageName): boolean {
    this.#bytes += block.length
    if (this.#bytes > limits.streamQueueBytesMax) return false
    this.#blocks.push(block)
    this.#place = place
    return true
  }

  /** It can not be served live any more, and forgets what is queued. It is still to be woken. */
  detach(): void {
    this.detached = true
    this.#blocks = []
  }

  wake(): void {
    const wake = this.#wake
    // The woken fiber may wait or attach again at once.
    this.#wake = undefined
    wake?.()
  }

  /** Takes what is queued, and the place of the last message of it; `undefined` when nothing is. */
  take(): { readonly text: string; readonly place: MessageName } | undefined {
    if (this.#blocks.length === 0) return undefined
    const text = this.#blocks.join("")
    this.#blocks = []
    this.#bytes = 0
    return { text, place: this.#place! }
  }

  /** Ends when something is queued, or it is detached. */
  readonly ready = Effect.callback<void>((resume) => {
    if (this.#blocks.length > 0 || this.detached) resume(Effect.void)
    else this.#wake = () => resume(Effect.void)
  })
}

/** How a message looks in a stream. */
export const messageBlock = (entry: FeedEntry, index: number, kind: MessageKind): string => {
  const { id, text } = entry.message(index)
  return `id: ${id}\nevent: ${kind}\ndata: ${text}\n\n`
}

/** The place behind all messages of a record. */
export const placeAfter = ({ record }: FeedEntry): MessageName => ({
  sequence: record.sequence,
  at: record.at,
  index: record.facts.length,
})

export class StreamHub {
  readonly #feed: Feed
  /** Those who are live, by environment. */
  readonly #subscribers = new Map<string, Set<Subscriber>>()
  #count = 0
  #wanted: (() => void) | undefined
  /** The sequence of the next record to distribute; 0 without subscribers. */
  position = 0
  /** The place behind what was handed out. */
  place: MessageName | undefined

  constructor(feed: Feed) {
    this.#feed = feed
  }

  /** Whether a stream that has everything before `from` can attach without a gap. */
  mayAttach(from: number): boolean {
    return this.position === 0 ? from > this.#feed.head : from >= this.position
  }

  attach(subscriber: Subscriber): void {
    const { environment } = subscriber
    const others = this.#subscribers.get(environment)
    if (others === undefined) this.#subscribers.set(environment, new Set([subscriber]))
    else others.add(subscriber)
    if (this.#count++ > 0) return
    if (this.position === 0) this.position = this.#feed.head + 1
    this.#wanted?.()
  }

  detach(subscriber: Subscriber): void {
    const others = this.#subscribers.get(subscriber.environment)
    if (others?.delete(subscriber) !== true) return
    this.#count--
    if (others.size === 0) this.#subscribers.delete(subscriber.environment)
  }

  readonly #isWanted = Effect.callback<void>((resume) => {
    if (this.#count > 0) resume(Effect.void)
    else this.#wanted = () => resume(Effect.void)
  })

  /** Follows the feed as long as there are streams. */
  readonly run = Effect.gen({ self: this }, function* () {
    while (true) {
      yield* this.#isWanted
      yield* Effect.scoped(this.#handOut)
    }
  })

  readonly #handOut = Effect.gen({ self: this }, function* () {
    const follower = yield* this.#feed.follow(this.position)
    while (this.#count > 0) {
      const entries = yield* follower.take(limits.streamHubTakeRecordsMax)
      const given = new Set<Subscriber>()
      for (const entry of entries) this.#give(entry, given)
      this.position = follower.position
      this.place = placeAfter(entries.at(-1)!)
      for (const subscriber of given) subscriber.wake()
      if (follower.position > this.#feed.head) yield* Effect.sleep(limits.streamCoalesceMs)
      else yield* yieldToEventLoop
    }
  }).pipe(
    Effect.ensuring(
      Effect.sync(() => {
        this.position = 0
        this.place = undefined
      }),
    ),
    // After any failure all streams read the journal, and the hub restarts.
    Effect.catchCause((cause) => {
      this.#detachAll()
      if (Cause.hasInterruptsOnly(cause)) return Effect.failCause(cause)
      return Effect.logError("Live streams failed; they resume from the journal", cause)
    }),
  )

  #give(entry: FeedEntry, given: Set<Subscriber>): void {
    const { record } = entry
    if (record.subject.actor === "directory") return
    const subscribers = this.#subscribers.get(record.subject.environment)
    if (subscribers === undefined) return
    for (let index = 0; index < record.facts.length; index++) {
      const kind = messageKindAt(record, index)
      if (kind === undefined) continue
      let block: string | undefined
      for (const subscriber of subscribers) {
        if (!subscriber.kinds.has(kind) || record.sequence < subscriber.from) continue
        block ??= messageBlock(entry, index, kind)
        given.add(subscriber)
        if (subscriber.push(block, { sequence: record.sequence, at: record.at, index })) continue
        this.detach(subscriber)
        subscriber.detach()
      }
    }
  }

  #detachAll(): void {
    const all = [...this.#subscribers.values()].flatMap((subscribers) => [...subscribers])
    for (const subscriber of all) {
      this.detach(subscriber)
      subscriber.detach()
    }
    for (const subscriber of all) subscriber.wake()
  }
}
