/**
 * One open stream of messages (Server-Sent Events). It starts after the last message that its client received, or now: it
 * reads the journal until it has caught up, then gets live messages from the hub, and falls back to the journal whenever its
 * client is too slow. So no message is skipped or sent twice.
 *
 * After `streamHeartbeatMs` without a message, the stream sends its position: an `id` without data, which clients remember
 * and do not show. A client of rare messages resumes there.
 */
import { Clock, Effect, Option, Stream } from "effect"
import { type MessageName, messageId, messageKindAt } from "../../domain/message/Message.ts"
import type { MessageKind } from "../../domain/message/MessageKind.ts"
import type { Feed, FeedEntry, FeedGone } from "../../engine/commit/Feed.ts"
import { limits } from "../../Limits.ts"
import { messageBlock, placeAfter, type StreamHub, Subscriber } from "./StreamHub.ts"

export interface EventStreamOptions {
  readonly feed: Feed
  readonly hub: StreamHub
  readonly environment: string
  readonly kinds: ReadonlySet<MessageKind>
  /** The message after which it begins, whose record is in the journal; none: it begins now. */
  readonly after: MessageName | undefined
  /** Whether the caller's key is still good. */
  readonly mayGoOn: () => boolean
  readonly heartbeatMs?: number
}

/** The text of the stream. It ends when the key is revoked, or the journal no longer has its position. */
export const eventStream = (options: EventStreamOptions): Stream.Stream<string> =>
  Stream.unwrap(
    Effect.gen(function* () {
      const clock = yield* Clock.Clock
      const open = new OpenStream(options, () => Number(clock.monotonicTimeNanosUnsafe()) / 1e6)
      yield* Effect.addFinalizer(() => Effect.sync(() => open.close()))
      const pieces = Stream.paginate(undefined, () =>
        Effect.map(open.next, (piece) =>
          piece === undefined
            ? ([[], Option.none<undefined>()] as const)
            : ([[piece], Option.some(undefined)] as const),
        ),
      )
      return Stream.concat(Stream.make(`retry: ${limits.streamRetryMs}\n\n`), pieces)
    }),
  )

class OpenStream {
  readonly #options: EventStreamOptions
  readonly #now: () => number
  readonly #heartbeatMs: number
  #subscriber: Subscriber | undefined
  /** The place behind what was sent, once that is known. */
  #after: MessageName | undefined
  /** The sequence of the next record to look at. */
  #from: number
  #sentAt: number
  #checkedAt: number

  constructor(options: EventStreamOptions, now: () => number) {
    this.#options = options
    this.#now = now
    this.#heartbeatMs = options.heartbeatMs ?? limits.streamHeartbeatMs
    this.#after = options.after
    this.#from = options.after?.sequence ?? options.feed.head + 1
    this.#sentAt = now()
    this.#checkedAt = now()
  }

  close(): void {
    if (this.#subscriber !== undefined) this.#options.hub.detach(this.#subscriber)
  }

  /** The next piece, which may be empty; `undefined` at the end. */
  readonly next: Effect.Effect<string | undefined> = Effect.suspend(() => {
    const { environment, hub, kinds } = this.#options
    // The rest of a record that it sent in part comes from the journal.
    const between = this.#after === undefined || this.#after.sequence < this.#from
    if (this.#subscriber === undefined && between && hub.mayAttach(this.#from)) {
      this.#subscriber = new Subscriber(environment, kinds, this.#from)
      hub.attach(this.#subscriber)
    }
    const live = this.#subscriber
    const piece: Effect.Effect<string, FeedGone> =
      live === undefined ? this.#past : this.#live(live)
    return Effect.match(piece, {
      onSuccess: (text) => this.#sent(text),
      onFailure: () => undefined,
    })
  })

  /** The next piece from the journal. */
  readonly #past: Effect.Effect<string, FeedGone> = Effect.suspend(() => {
    const { feed } = this.#options
    const follower = Effect.flatMap(feed.follow(this.#from), ({ take }) =>
      take(limits.streamTakeRecordsMax),
    )
    return Effect.map(Effect.scoped(follower), (entries) => {
      let text = ""
      for (const entry of entries) {
        text += this.#blocksOf(entry)
        this.#after = placeAfter(entry)
        if (text.length >= limits.streamPieceCharactersMax) break
      }
      this.#from = this.#after!.sequence + 1
      return text
    })
  })

  #blocksOf(entry: FeedEntry): string {
    const { environment, kinds } = this.#options
    const { facts, sequence, subject } = entry.record
    if (subject.actor === "directory" || subject.environment !== environment) return ""
    const had = sequence === this.#after?.sequence ? this.#after.index : -1
    let text = ""
    for (let index = had + 1; index < facts.length; index++) {
      const kind = messageKindAt(entry.record, index)
      if (kind !== undefined && kinds.has(kind)) text += messageBlock(entry, index, kind)
    }
    return text
  }

  #live(subscriber: Subscriber): Effect.Effect<string> {
    const silentMs = this.#now() - this.#sentAt
    const waited = Effect.timeoutOption(subscriber.ready, Math.max(0, this.#heartbeatMs - silentMs))
    return Effect.map(waited, () => {
      const { hub } = this.#options
      if (subscriber.detached) {
        this.#subscriber = undefined
        return ""
      }
      const taken = subscriber.take()
      if (taken !== undefined) {
        this.#after = taken.place
        this.#from = taken.place.sequence
        return taken.text
      }
      if (hub.place !== undefined && hub.place.sequence >= subscriber.from) {
        this.#after = hub.place
        this.#from = hub.place.sequence + 1
      }
      return ""
    })
  }

  #sent(text: string): string | undefined {
    const now = this.#now()
    // No message leaves once the key has ended; a stream without messages ends with its next heartbeat.
    if (text !== "" || now - this.#checkedAt >= this.#heartbeatMs) {
      if (!this.#options.mayGoOn()) return undefined
      this.#checkedAt = now
    }
    if (text === "" && now - this.#sentAt < this.#heartbeatMs) return ""
    this.#sentAt = now
    if (text !== "") return text
    return this.#after === undefined ? ":\n\n" : `id: ${messageId(this.#after)}\n\n`
  }
}
