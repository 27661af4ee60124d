/**
 * One open stream of messages (Server-Sent Events). It starts after the last message that its
 * client received, or now. It reads the journal until it has caught up, then gets live messages
 * from the hub, and returns to the journal whenever its client is too slow. So no message is
 * skipped or sent twice.
 *
 * A stream of one user attaches to the hub at once, and reads the missed messages from the user's
 * history (`UserPast.ts`). The history has the records of that user only; the journal has the
 * records of all.
 *
 * After `streamHeartbeatMs` without a message, the stream sends its position: an `id` without data,
 * which clients remember and do not show. A client with rare messages resumes there.
 */
import { Clock, Effect, Option, Stream } from "effect"
import { type MessageName, messageId } from "../../domain/message/Message.ts"
import type { MessageKind } from "../../domain/message/MessageKind.ts"
import type { LaurelError } from "../../domain/values/Errors.ts"
import type { FeedEntry } from "../../engine/commit/Feed.ts"
import { type Feed, FeedGone } from "../../engine/commit/Feed.ts"
import type { Engine, StorageCode } from "../../engine/Engine.ts"
import { limits } from "../../Limits.ts"
import { yieldToEventLoop } from "../../storage/yieldToEventLoop.ts"
import { messageBlocks, placeAfter, type StreamHub, Subscriber } from "./StreamHub.ts"
import type { ReadPast, UserPast } from "./UserPast.ts"

interface EventStreamOptions {
  readonly feed: Feed
  readonly isErased: Engine["Service"]["isErased"]
  readonly hub: StreamHub
  readonly environment: string
  readonly kinds: ReadonlySet<MessageKind>
  /** The user of a user's stream; `undefined`: the stream of an environment. */
  readonly user?: { readonly id: string; readonly past: ReadPast } | undefined
  /**
   * The message after which the stream begins, whose record is in the journal; `undefined`: it
   * begins now.
   */
  readonly after: MessageName | undefined
  /** The part of a user's past that was already read. */
  readonly begun?: UserPast | undefined
  /**
   * The position of a stream that begins now. Its client resumes there if it is disconnected before
   * the first message.
   */
  readonly position?: MessageName | undefined
  /** Whether the caller's key is still active. */
  readonly mayGoOn: () => boolean
  readonly heartbeatMs?: number
}

/**
 * The text of the stream. It ends when the key is revoked, or when the journal no longer has its
 * position.
 */
export const eventStream = (options: EventStreamOptions): Stream.Stream<string> =>
  Stream.unwrap(
    Effect.gen(function* () {
      const clock = yield* Clock.Clock
      const now = () => Number(clock.monotonicTimeNanosUnsafe()) / 1e6
      const open = yield* Effect.acquireRelease(
        Effect.sync(() => new OpenStream(options, now)),
        (opened) => Effect.sync(() => opened.close()),
      )
      const pieces = Stream.paginate(undefined, () =>
        Effect.map(open.next, (piece) =>
          piece === undefined
            ? ([[], Option.none<undefined>()] as const)
            : ([[piece], Option.some(undefined)] as const),
        ),
      )
      return Stream.concat(Stream.make(headOf(options)), pieces)
    }),
  )

/**
 * Text that is sent at once: some proxies pass on a stream only after the first bytes of its body.
 */
const headOf = ({ begun, position }: EventStreamOptions): string => {
  const id = position === undefined ? "" : `id: ${messageId(position)}\n`
  return `: open\nretry: ${limits.streamRetryMs}\n${id}\n${begun?.text ?? ""}`
}

class OpenStream {
  readonly #options: EventStreamOptions
  readonly #now: () => number
  readonly #heartbeatMs: number
  #subscriber: Subscriber | undefined
  /** The read that comes before the next live message. */
  #missed: Effect.Effect<string, FeedGone | LaurelError<StorageCode>> | undefined
  /** The position after the messages that were sent; `undefined` until it is known. */
  #after: MessageName | undefined
  /** The sequence of the next record to read. */
  #from: number
  #sentAt: number
  #checkedAt: number

  constructor(options: EventStreamOptions, now: () => number) {
    this.#options = options
    this.#now = now
    this.#heartbeatMs = options.heartbeatMs ?? limits.streamHeartbeatMs
    const { after, begun, feed } = options
    this.#after = begun?.after ?? after
    this.#from = begun?.until ?? after?.sequence ?? feed.head + 1
    this.#sentAt = now()
    this.#checkedAt = now()
    this.#missed = this.#connect()
  }

  close(): void {
    if (this.#subscriber !== undefined) this.#options.hub.detach(this.#subscriber)
  }

  /** The next piece, which may be empty; `undefined` at the end. */
  readonly next: Effect.Effect<string | undefined> = Effect.suspend(() => {
    if (this.#subscriber === undefined) this.#missed ??= this.#connect()
    const missed = this.#missed
    this.#missed = undefined
    return Effect.match(missed ?? this.#live(this.#subscriber!), {
      onSuccess: (text) => this.#sent(text),
      onFailure: () => undefined,
    })
  })

  /**
   * Attaches to the hub if that leaves no gap. Returns the read that comes before the next live
   * message.
   */
  #connect(): Effect.Effect<string, FeedGone | LaurelError<StorageCode>> | undefined {
    const { hub, user } = this.#options
    // If a record was sent in part, the rest of it is read from the past.
    const between = this.#after === undefined || this.#after.sequence < this.#from
    if (user === undefined) {
      if (!between || this.#from < hub.next) return this.#past
      this.#attach(this.#from)
      return undefined
    }
    const from = Math.max(between ? this.#from : this.#from + 1, hub.next)
    this.#attach(from)
    return between && from === this.#from ? undefined : this.#pastOf(user.past, from)
  }

  #attach(from: number): void {
    const { environment, hub, kinds, user } = this.#options
    this.#subscriber = new Subscriber({ environment, userId: user?.id }, kinds, from)
    hub.attach(this.#subscriber)
  }

  /** Reads the records before `until` that a user's stream has not sent. */
  #pastOf(
    read: ReadPast,
    until: number,
  ): Effect.Effect<string, FeedGone | LaurelError<StorageCode>> {
    const after = this.#after ?? { sequence: this.#from, at: 0, index: -1 }
    return Effect.flatMap(read(after, until), (past) => {
      if (past === undefined) return new FeedGone({ first: until })
      if (past.after !== undefined) this.#after = past.after
      this.#from = until
      return Effect.succeed(past.text)
    })
  }

  /** The next piece from the journal, which may still have records of erased users. */
  readonly #past: Effect.Effect<string, FeedGone | LaurelError<StorageCode>> = Effect.gen(
    { self: this },
    function* () {
      const { feed, isErased } = this.#options
      const follower = Effect.flatMap(feed.follow(this.#from), ({ take }) =>
        take(limits.streamTakeRecordsMax),
      )
      const entries = yield* Effect.scoped(follower)
      let text = ""
      let asked = 0
      for (const entry of entries) {
        const blocks = this.#blocksOf(entry)
        if (blocks !== "") {
          if (!(yield* isErased(entry.record))) text += blocks
          if (++asked % erasuresTurnRecords === 0) yield* yieldToEventLoop
        }
        this.#after = placeAfter(entry)
        if (text.length >= limits.streamPieceCharactersMax) break
      }
      this.#from = this.#after!.sequence + 1
      return text
    },
  )

  #blocksOf(entry: FeedEntry): string {
    const { environment, kinds } = this.#options
    const { subject } = entry.record
    if (subject.actor === "directory" || subject.environment !== environment) return ""
    return messageBlocks(entry, kinds, this.#after)
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
    // No message is sent after the key is revoked. A stream without messages ends at its next
    // heartbeat.
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

/** The records of one turn whose users may be read from disk, to check whether they were erased. */
const erasuresTurnRecords = 64
