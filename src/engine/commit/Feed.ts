/**
 * Follows the durable journal: from a sequence on, then live. Streams and webhooks are derived from it.
 *
 * - A follower pulls. Its records are in the journal, also in relaxed durability, in order and without gaps.
 * - A ring, shared by all followers, keeps the newest records, and for a short while their messages. A follower at the
 *   head reads the ring; one that fell behind it or begins in the past reads the journal, a piece at a time, until it has
 *   caught up. So memory is bounded by the ring, the newest messages, and one piece for each of at most
 *   `feedReadersMax` readers.
 * - The journal is not kept for followers: one that is too slow fails with `FeedGone`, unless it `hold`s the journal.
 *
 * Cost: nothing on the path of a write without followers; else one push per record, and one wake-up per turn of the
 * event loop, from a plain array: a latch that synchronous code opens stays open for its waiters.
 */

import { Data, Effect, Option, type Scope, Semaphore, Stream } from "effect"
import { type Message, messageAt } from "../../domain/message/Message.ts"
import type { JournalRecord } from "../../domain/record/Record.ts"
import { limits } from "../../Limits.ts"
import type { Broken, Storage, StoredRecord } from "../../storage/Storage.ts"
import { yieldToEventLoop } from "../../storage/yieldToEventLoop.ts"
import { decodeRecord } from "../records/Codec.ts"

/* A record as the followers of the feed get it. */

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
      messageCache.add(this)
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
 * The entries whose messages were encoded last. All other entries drop their messages: the ring keeps
 * entries for long, and old texts would be most of what the garbage collector moves.
 */
class MessageCache {
  readonly #entries: Array<FeedEntry | undefined> = new Array(limits.feedCachedEntriesMax).fill(
    undefined,
  )
  #next = 0

  add(entry: FeedEntry): void {
    this.#entries[this.#next]?.forget()
    this.#entries[this.#next] = entry
    this.#next = (this.#next + 1) % limits.feedCachedEntriesMax
  }
}

// A cache: it holds no state of the engine.
const messageCache = new MessageCache()

/** A message as it is sent. */
export interface Told {
  readonly id: string
  /** The whole of it, JSON. */
  readonly text: string
}

const told = (message: Message): Told => ({ id: message.id, text: JSON.stringify(message) })

/** The record is not in the journal any more: `first` is the oldest that is. */
export class FeedGone extends Data.TaggedError("FeedGone")<{ readonly first: number }> {}

export interface Follower {
  /** The sequence of the next record that it gets. */
  readonly position: number
  /** The next records, at least one and at most `max`; waits for them. Not to be called twice at once. */
  readonly take: (max: number) => Effect.Effect<ReadonlyArray<FeedEntry>, FeedGone>
}

/** What the feeds of all engines of a process share: the bounds of the ring, and the readers of journals. */
export class FeedShares {
  readonly reading = Semaphore.makeUnsafe(limits.feedReadersMax)
  /** Feeds that have followers: each has an equal share. */
  followed = 0
}

export interface FeedOptions {
  readonly storage: Storage["Service"]
  readonly commit: {
    /** The sequence of the last record that was acknowledged. */
    readonly durableSequence: number
    /** Ends when the journal has every record up to that of this moment. */
    readonly written: Effect.Effect<void>
  }
  readonly onBroken: (cause: Broken) => void
  /** Absent: this engine is alone. */
  readonly shares?: FeedShares
  /** Other bounds of the ring than those in `Limits.ts`. */
  readonly recordsMax?: number
  readonly bytesMax?: number
}

export class Feed {
  readonly #options: FeedOptions
  readonly #shares: FeedShares
  /** Consecutive records, of which those before `#oldest` are gone. */
  #ring: Array<FeedEntry> = []
  #oldest = 0
  #bytes = 0
  #followers = 0
  #waiting: Array<() => void> = []
  #waking = false
  readonly #projectListeners = new Set<(record: JournalRecord) => void>()
  readonly #holds = new Set<Effect.Effect<number, Broken>>()

  constructor(options: FeedOptions) {
    this.#options = options
    this.#shares = options.shares ?? new FeedShares()
  }

  /** The sequence of the last durable record. */
  get head(): number {
    return this.#options.commit.durableSequence
  }

  /** A record became durable. In order, for every record. */
  committed(record: JournalRecord, bytes: number): void {
    if (record.subject.actor === "project") {
      for (const listener of this.#projectListeners) listener(record)
    }
    if (this.#followers === 0) return
    const last = this.#ring.at(-1)
    if (last !== undefined && record.sequence !== last.record.sequence + 1) this.#clear()
    this.#ring.push(new FeedEntry(record, bytes))
    this.#bytes += bytes
    this.#trim()
    if (this.#waiting.length > 0 && !this.#waking) {
      this.#waking = true
      // After the whole batch, and after the commit loop has gone on.
      setImmediate(this.#wake)
    }
  }

  readonly #wake = (): void => {
    const waiting = this.#waiting
    this.#waiting = []
    this.#waking = false
    for (const resume of waiting) resume()
  }

  /** Follows the journal from `sequence` on, until the scope closes. */
  readonly follow = (sequence: number): Effect.Effect<Follower, never, Scope.Scope> =>
    Effect.acquireRelease(
      Effect.sync(() => {
        if (this.#followers++ === 0) this.#shares.followed++
        let position = Math.max(1, sequence)
        const follower: Follower = {
          get position() {
            return position
          },
          take: (max) =>
            Effect.map(this.#take(position, max), (entries) => {
              position = entries.at(-1)!.record.sequence + 1
              return entries
            }),
        }
        return follower
      }),
      () =>
        Effect.sync(() => {
          if (--this.#followers > 0) return
          this.#shares.followed--
          this.#clear()
        }),
    )

  /** Calls back with every record of a project actor once the actor's durable state has it, until the scope closes. */
  readonly onProjectRecord = (
    listener: (record: JournalRecord) => void,
  ): Effect.Effect<void, never, Scope.Scope> =>
    Effect.acquireRelease(
      Effect.sync(() => {
        this.#projectListeners.add(listener)
      }),
      () => Effect.sync(() => this.#projectListeners.delete(listener)),
    )

  /**
   * Keeps the journal from the sequence that `needed` returns until the scope closes: beyond its ordinary
   * retention, but not without bound (`journalHeldBytesMax`).
   */
  readonly hold = (
    needed: Effect.Effect<number, Broken>,
  ): Effect.Effect<void, never, Scope.Scope> =>
    Effect.acquireRelease(
      Effect.sync(() => {
        this.#holds.add(needed)
      }),
      () => Effect.sync(() => this.#holds.delete(needed)),
    )

  /** The lowest sequence that is held; `undefined` without a hold. */
  readonly held: Effect.Effect<number | undefined, Broken> = Effect.suspend(() =>
    Effect.map(Effect.all([...this.#holds]), (needed) =>
      needed.length === 0 ? undefined : Math.min(...needed),
    ),
  )

  /** The records from `sequence` on, which is durable: at least one and at most `max`. */
  readonly read = (
    sequence: number,
    max: number,
  ): Effect.Effect<ReadonlyArray<FeedEntry>, FeedGone> =>
    Effect.suspend(() => {
      const live = this.#live(sequence, max)
      return live.length > 0 ? Effect.succeed(live) : this.#read(sequence, max)
    })

  /** The sequence of the first record that was decided at `at` (epoch milliseconds) or later; one after the head where there is none. */
  readonly sequenceAt = (at: number): Effect.Effect<number> =>
    Effect.gen({ self: this }, function* () {
      let low = yield* this.#options.storage.firstSequence
      let high = this.head + 1
      // Records are in the order of their times.
      while (low < high) {
        const middle = Math.floor((low + high) / 2)
        const found = (yield* this.find([middle])).get(middle)
        // Pruned meanwhile: the first record that is left comes after it.
        if (found === undefined || found.record.at < at) low = middle + 1
        else high = middle
      }
      return low
    })

  /**
   * The records with these sequences, in ascending order, all durable; those that are not kept any more are
   * left out. Sequences that lie close together cost one look into the journal.
   */
  readonly find = (
    sequences: ReadonlyArray<number>,
  ): Effect.Effect<ReadonlyMap<number, FeedEntry>> =>
    Effect.gen({ self: this }, function* () {
      const found = new Map<number, FeedEntry>()
      for (let next = 0; next < sequences.length; ) {
        const [live] = this.#live(sequences[next]!, 1)
        if (live !== undefined) {
          found.set(sequences[next++]!, live)
          continue
        }
        const piece = yield* this.#piece(sequences[next]!)
        const first = piece[0]?.sequence ?? 0
        for (const from = next; next < sequences.length; next++) {
          const stored = piece[sequences[next]! - first]
          if (stored !== undefined) found.set(sequences[next]!, entryOf(stored))
          else if (next > from) break
        }
      }
      return found
    })

  #take(position: number, max: number): Effect.Effect<ReadonlyArray<FeedEntry>, FeedGone> {
    return Effect.gen({ self: this }, function* () {
      while (position > this.head) yield* this.#moved
      const last = this.head
      // Relaxed durability announces records before the journal has them.
      yield* this.#options.commit.written
      const live = this.#live(position, Math.min(max, last - position + 1))
      return live.length > 0 ? live : yield* this.#read(position, max)
    })
  }

  /** Ends when there are new records. */
  readonly #moved = Effect.callback<void>((resume) => {
    const resumed = () => resume(Effect.void)
    this.#waiting.push(resumed)
    return Effect.sync(() => {
      this.#waiting = this.#waiting.filter((waiting) => waiting !== resumed)
    })
  })

  /** The records of the ring from `position` on. */
  #live(position: number, max: number): ReadonlyArray<FeedEntry> {
    const first = this.#ring[this.#oldest]?.record.sequence
    if (first === undefined || position < first) return []
    const from = this.#oldest + position - first
    return this.#ring.slice(from, from + max)
  }

  /** The records of the journal from `position` on: at least one. */
  #read(position: number, max: number): Effect.Effect<ReadonlyArray<FeedEntry>, FeedGone> {
    return Effect.gen({ self: this }, function* () {
      const piece = yield* this.#piece(position)
      if (piece.length === 0) {
        return yield* new FeedGone({ first: yield* this.#options.storage.firstSequence })
      }
      const entries: Array<FeedEntry> = []
      // The journal may have more: records that are durable and become visible in the next turns.
      for (const stored of piece.slice(0, Math.min(max, this.head - position + 1))) {
        entries.push(entryOf(stored))
        if (entries.length % decodeTurnRecords === 0) yield* yieldToEventLoop
      }
      return entries
    })
  }

  /** A piece of the journal that begins with the record `position`; empty when that is gone. */
  #piece(position: number): Effect.Effect<ReadonlyArray<StoredRecord>> {
    const { onBroken, storage } = this.#options
    const isGone = Effect.map(storage.firstSequence, (first) => position < first)
    const read = Effect.gen(function* () {
      if (yield* isGone) return []
      return Option.getOrElse(yield* Stream.runHead(storage.readRecords(position)), () => [])
    }).pipe(
      Effect.catchTag("Broken", (broken) =>
        Effect.flatMap(isGone, (gone) => {
          // Else it was pruned while it was read.
          if (!gone) onBroken(broken)
          return gone ? Effect.succeed([]) : Effect.never
        }),
      ),
      (piece) => Semaphore.withPermit(this.#shares.reading, piece),
    )
    // PostgreSQL has it and does not answer now. Others read their local files meanwhile.
    return Effect.catchTag(read, "NoSpace", () =>
      Effect.andThen(
        Effect.sleep(limits.feedRetryMs),
        Effect.suspend(() => this.#piece(position)),
      ),
    )
  }

  #trim(): void {
    const { bytesMax = limits.feedBytesMax, recordsMax = limits.feedRecordsMax } = this.#options
    const { followed } = this.#shares
    while (
      this.#ring.length - this.#oldest > Math.max(1, recordsMax / followed) ||
      (this.#bytes > bytesMax / followed && this.#ring.length - this.#oldest > 1)
    ) {
      this.#bytes -= this.#ring[this.#oldest]!.bytes
      this.#ring[this.#oldest++] = forgotten
    }
    // Moving the rest costs no more than what was pushed since.
    if (this.#oldest * 2 > this.#ring.length) {
      this.#ring = this.#ring.slice(this.#oldest)
      this.#oldest = 0
    }
  }

  #clear(): void {
    this.#ring = []
    this.#oldest = 0
    this.#bytes = 0
  }
}

const entryOf = ({ body }: StoredRecord): FeedEntry =>
  new FeedEntry(decodeRecord(body), body.length)

/** Holds no record in memory. */
const forgotten = undefined as unknown as FeedEntry

/** How many records are decoded before the event loop may serve others. */
const decodeTurnRecords = 256
