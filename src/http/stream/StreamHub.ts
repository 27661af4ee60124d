/**
 * Distributes live messages to open streams: one fiber follows the feed for all of them, encodes each message once, and
 * queues it for the subscribers of its kind. A stream that falls behind is detached before its queue exceeds
 * `streamQueueBytesMax` (one of a user `userStreamQueueBytesMax`), and reads what it missed at its own pace until it has
 * caught up (`EventStream.ts`).
 *
 * Cost: a record costs what the streams of its environment and those of its user ask for, not how many streams there are.
 * The hub takes what has come every `streamCoalesceMs`, so that a busy server does not write to each socket for each
 * record.
 *
 * Nothing is sent of a user who was erased since: the hub asks before it queues a message, and the record of an erasure takes
 * what is queued of the user out of all queues.
 */
import { Cause, Effect } from "effect"
import { type MessageName, messageKindAt } from "../../domain/message/Message.ts"
import type { MessageKind } from "../../domain/message/MessageKind.ts"
import type { Feed, FeedEntry } from "../../engine/commit/Feed.ts"
import type { Engine } from "../../engine/Engine.ts"
import { limits } from "../../Limits.ts"
import { yieldToEventLoop } from "../../storage/yieldToEventLoop.ts"

/** The subjects whose messages a stream sends: those of an environment, or one user. */
export interface StreamScope {
  readonly environment: string
  readonly userId?: string | undefined
}

/** A message that waits; `userId`: whom it is about. */
interface Queued {
  readonly block: string
  readonly userId: string | undefined
}

/** A live stream, as the hub sees it. */
export class Subscriber {
  /** Names its scope. */
  readonly scope: string
  readonly kinds: ReadonlySet<MessageKind>
  /** The first record that it wants. */
  readonly from: number
  /** It fell behind and must read from the journal. */
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

  /** Queues a message; false when it does not fit any more. */
  push(message: Queued, place: MessageName): boolean {
    this.#bytes += message.block.length
    if (this.#bytes > this.#bytesMax) return false
    this.#queue.push(message)
    this.#place = place
    return true
  }

  /** Drops what is queued of an erased user. */
  drop(userId: string): void {
    const kept = this.#queue.filter((message) => message.userId !== userId)
    if (kept.length === this.#queue.length) return
    this.#queue = kept
    this.#bytes = kept.reduce((bytes, { block }) => bytes + block.length, 0)
  }

  /** It can not be served live any more, and forgets what is queued. It is still to be woken. */
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

  /** Takes what is queued, and the place of the last message of it; `undefined` when nothing is. */
  take(): { readonly text: string; readonly place: MessageName } | undefined {
    if (this.#queue.length === 0) return undefined
    const text = this.#queue.map(({ block }) => block).join("")
    this.#queue = []
    this.#bytes = 0
    return { text, place: this.#place! }
  }

  /** Ends when something is queued, or it is detached. */
  readonly ready = Effect.callback<void>((resume) => {
    if (this.#queue.length > 0 || this.detached) resume(Effect.void)
    else this.#wake = () => resume(Effect.void)
  })
}

const scopeName = ({ environment, userId }: StreamScope): string =>
  userId === undefined ? environment : userScope(environment, userId)

/** The name of the scope of one user: no id has a line break. */
export const userScope = (environment: string, userId: string): string =>
  `${environment}\n${userId}`

/** How a message looks in a stream. */
const messageBlock = (entry: FeedEntry, index: number, kind: MessageKind): string => {
  const { id, text } = entry.message(index)
  return `id: ${id}\nevent: ${kind}\ndata: ${text}\n\n`
}

/** The messages of a record that are of these kinds; of the record at `after` those behind it. */
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

/** The place behind all messages of a record. */
export const placeAfter = ({ record }: FeedEntry): MessageName => ({
  sequence: record.sequence,
  at: record.at,
  index: record.facts.length,
})

/** The place behind the newest durable record; `undefined` while there is none. */
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
  /** Those who are live, by scope. */
  readonly #subscribers = new Map<string, Set<Subscriber>>()
  #count = 0
  #wanted: (() => void) | undefined
  /** The sequence of the next record to distribute; 0 without subscribers. */
  position = 0
  /** The place behind what was handed out. */
  place: MessageName | undefined

  constructor({ feed, isErased }: Pick<Engine["Service"], "feed" | "isErased">) {
    this.#feed = feed
    this.#isErased = isErased
  }

  /** The first record of a stream that attaches now. */
  get next(): number {
    return this.position === 0 ? this.#feed.head + 1 : this.position
  }

  /** `subscriber.from` is `next` or later: an earlier one would miss messages. */
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

  /** Whether a stream may want messages of the record. */
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
      for (const entry of entries) {
        if (!this.#isWanting(entry)) continue
        // No erasure can follow the newest record.
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
    // After any failure all streams read the journal, and the hub restarts.
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
