/**
 * Distributes live messages to open streams. One fiber follows the feed for all streams, encodes
 * each message once, and queues it for the subscribers of its kind. A stream that falls behind is
 * detached before its queue exceeds `streamQueueBytesMax` (`userStreamQueueBytesMax` for a user's
 * stream). It then reads the missed messages at its own speed until it has caught up
 * (`EventStream.ts`).
 *
 * Cost: a record costs work for the streams of its environment and of its user only. The hub takes
 * new records every `streamCoalesceMs`, so that a busy server does not write to each socket for
 * each record.
 *
 * Messages about erased users are not sent: the hub checks before it queues a message, and the
 * record of an erasure removes the user's messages from all queues.
 */
import { Cause, Effect } from "effect"
import { type MessageName, messageKindAt } from "../../domain/message/Message.ts"
import type { MessageKind } from "../../domain/message/MessageKind.ts"
import type { Feed, FeedEntry } from "../../engine/commit/Feed.ts"
import type { Engine } from "../../engine/Engine.ts"
import { limits } from "../../Limits.ts"
import { yieldToEventLoop } from "../../storage/yieldToEventLoop.ts"

/** The messages that a stream sends: all of an environment, or those of one user. */
interface StreamScope {
  readonly environment: string
  readonly userId?: string | undefined
}

/** A queued message. `userId` is the user that it is about. */
interface Queued {
  readonly block: string
  readonly userId: string | undefined
}

/** A live stream, from the hub's view. */
export class Subscriber {
  /** The name of its scope. */
  readonly scope: string
  readonly kinds: ReadonlySet<MessageKind>
  /** The sequence of the first record that it needs. */
  readonly from: number
  /** Whether it fell behind and must read the journal. */
  detached = false
  readonly #bytesMax: number
  #queue: Array<Queued> = []
  #bytes = 0
  #place: MessageName | undefined
  #wake: (() => void) | undefined

  constructor(scope: StreamScope, kinds: ReadonlySet<MessageKind>, from: number) {
    this.scope = scopeName(scope)
    this.#bytesMax =
      scope.userId === undefined ? limits.streamQueueBytesMax : limits.userStreamQueueBytesMax
    this.kinds = kinds
    this.from = from
  }

  /** Queues a message. `false`: the queue has no room for it. */
  push(message: Queued, place: MessageName): boolean {
    this.#bytes += message.block.length
    if (this.#bytes > this.#bytesMax) return false
    this.#queue.push(message)
    this.#place = place
    return true
  }

  /** Removes the messages about an erased user. */
  drop(userId: string): void {
    const kept = this.#queue.filter((message) => message.userId !== userId)
    if (kept.length === this.#queue.length) return
    this.#queue = kept
    this.#bytes = kept.reduce((bytes, { block }) => bytes + block.length, 0)
  }

  /** Stops live messages and empties the queue. The stream must still be woken. */
  detach(): void {
    this.detached = true
    this.#queue = []
  }

  wake(): void {
    const wake = this.#wake
    // The woken fiber may wait or attach again at once.
    this.#wake = undefined
    wake?.()
  }

  /**
   * Takes the queued messages and the position after the last one; `undefined` if there are none.
   */
  take(): { readonly text: string; readonly place: MessageName } | undefined {
    if (this.#queue.length === 0) return undefined
    const text = this.#queue.map(({ block }) => block).join("")
    this.#queue = []
    this.#bytes = 0
    return { text, place: this.#place! }
  }

  /** Ends when a message is queued, or when the stream is detached. */
  readonly ready = Effect.callback<void>((resume) => {
    if (this.#queue.length > 0 || this.detached) resume(Effect.void)
    else this.#wake = () => resume(Effect.void)
  })
}

const scopeName = ({ environment, userId }: StreamScope): string =>
  userId === undefined ? environment : userScope(environment, userId)

/** The scope of one user. No id has a line break. */
export const userScope = (environment: string, userId: string): string =>
  `${environment}\n${userId}`

/** The form of a message in a stream. */
const messageBlock = (entry: FeedEntry, index: number, kind: MessageKind): string => {
  const { id, text } = entry.message(index)
  return `id: ${id}\nevent: ${kind}\ndata: ${text}\n\n`
}

/**
 * The messages of a record that have one of these kinds. Of the record at `after`, only later
 * messages.
 */
export const messageBlocks = (
  entry: FeedEntry,
  kinds: ReadonlySet<MessageKind>,
  after: MessageName | undefined,
): string => {
  const { facts, sequence } = entry.record
  const had = sequence === after?.sequence ? after.index : -1
  let text = ""
  for (let index = had + 1; index < facts.length; index++) {
    const kind = messageKindAt(entry.record, index)
    if (kind !== undefined && kinds.has(kind)) text += messageBlock(entry, index, kind)
  }
  return text
}

/** The position after all messages of a record. */
export const placeAfter = ({ record }: FeedEntry): MessageName => ({
  sequence: record.sequence,
  at: record.at,
  index: record.facts.length,
})

/** The position after the newest durable record; `undefined` if there is no record. */
export const placeNow = (feed: Feed): Effect.Effect<MessageName | undefined> =>
  Effect.suspend(() => {
    const { head } = feed
    return Effect.map(feed.find([head]), (found) => {
      const entry = found.get(head)
      return entry && placeAfter(entry)
    })
  })

export class StreamHub {
  readonly #feed: Feed
  readonly #isErased: Engine["Service"]["isErased"]
  /** The live streams, by scope. */
  readonly #subscribers = new Map<string, Set<Subscriber>>()
  #count = 0
  #wanted: (() => void) | undefined
  /** The sequence of the next record to distribute; 0 without subscribers. */
  position = 0
  /** The position after the distributed messages. */
  place: MessageName | undefined

  constructor({ feed, isErased }: Pick<Engine["Service"], "feed" | "isErased">) {
    this.#feed = feed
    this.#isErased = isErased
  }

  /** The first record for a stream that attaches now. */
  get next(): number {
    return this.position === 0 ? this.#feed.head + 1 : this.position
  }

  /**
   * `subscriber.from` must be `next` or later: with an earlier one, the stream would miss messages.
   */
  attach(subscriber: Subscriber): void {
    const { scope } = subscriber
    const others = this.#subscribers.get(scope)
    if (others === undefined) this.#subscribers.set(scope, new Set([subscriber]))
    else others.add(subscriber)
    if (this.#count++ > 0) return
    if (this.position === 0) this.position = this.#feed.head + 1
    this.#wanted?.()
  }

  detach(subscriber: Subscriber): void {
    const { scope } = subscriber
    const others = this.#subscribers.get(scope)
    if (others?.delete(subscriber) !== true) return
    this.#count--
    if (others.size === 0) this.#subscribers.delete(scope)
  }

  /** Whether a stream may need messages of the record. */
  #isWanting({ record: { subject } }: FeedEntry): boolean {
    if (subject.actor === "directory") return false
    if (this.#subscribers.has(subject.environment)) return true
    return (
      subject.actor === "user" &&
      this.#subscribers.has(userScope(subject.environment, subject.userId))
    )
  }

  readonly #isWanted = Effect.callback<void>((resume) => {
    if (this.#count > 0) resume(Effect.void)
    else this.#wanted = () => resume(Effect.void)
  })

  /** Follows the feed while there are streams. */
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
      for (const entry of entries) {
        if (!this.#isWanting(entry)) continue
        // No erasure can come after the newest record.
        const { record } = entry
        const isErased = record.sequence < this.#feed.head && (yield* this.#isErased(record))
        if (!isErased) this.#give(entry, given)
      }
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
    // After a failure, all streams read the journal, and the hub restarts.
    Effect.catchCause((cause) => {
      this.#detachAll()
      if (Cause.hasInterruptsOnly(cause)) return Effect.failCause(cause)
      return Effect.logError("Live streams failed; they resume from the journal", cause)
    }),
  )

  #give(entry: FeedEntry, given: Set<Subscriber>): void {
    const { subject } = entry.record
    if (subject.actor === "directory") return
    this.#giveTo(subject.environment, entry, given)
    if (subject.actor === "user") {
      this.#giveTo(userScope(subject.environment, subject.userId), entry, given)
    }
  }

  #giveTo(scope: string, entry: FeedEntry, given: Set<Subscriber>): void {
    const { record } = entry
    const subscribers = this.#subscribers.get(scope)
    if (subscribers === undefined) return
    const userId = record.subject.actor === "user" ? record.subject.userId : undefined
    if (record.cause.kind === "erasure" && userId !== undefined) {
      for (const subscriber of subscribers) subscriber.drop(userId)
    }
    for (let index = 0; index < record.facts.length; index++) {
      const kind = messageKindAt(record, index)
      if (kind === undefined) continue
      let block: string | undefined
      for (const subscriber of subscribers) {
        if (!subscriber.kinds.has(kind) || record.sequence < subscriber.from) continue
        block ??= messageBlock(entry, index, kind)
        given.add(subscriber)
        const place = { sequence: record.sequence, at: record.at, index }
        if (subscriber.push({ block, userId }, place)) continue
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
