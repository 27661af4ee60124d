/**
 * The feed of durable records: a follower reads the journal from a sequence on, then gets each new
 * record as it becomes durable. Streams and webhooks are derived from it.
 *
 * Invariants:
 * - A follower gets every record from its first on, in order, without gaps, and only records that
 *   the journal has, also in relaxed durability.
 * - An erased record passes as one without messages (`erasedRecord`).
 * - The ring holds consecutive records, the newest last. It is empty without followers.
 * - The journal is pruned without regard to followers. A follower that falls behind the oldest
 *   record fails with `FeedGone`, unless it holds the journal (`hold`).
 *
 * A follower at the head reads the ring, which all followers share. A follower that begins in the
 * past or has fallen behind the ring reads the journal, a piece at a time, until it has caught up.
 * The engines of a process share the bounds of their rings equally (`FeedShares`), so memory is
 * bounded by the rings, the newest messages, and one piece for each of at most `feedReadersMax`
 * readers.
 *
 * Cost: without followers nothing on the path of a write. Otherwise a push for each record and a
 * wake-up for each turn of the event loop. The waiters are a plain array, since a latch that
 * synchronous code opens would stay open for later waiters.
 */

import { Data, Effect, Option, type Scope, Semaphore, Stream } from "effect"
import { type Message, messageAt } from "../../domain/message/Message.ts"
import type { JournalRecord } from "../../domain/record/Record.ts"
import { limits } from "../../Limits.ts"
import type { Broken, Storage, StoredRecord } from "../../storage/Storage.ts"
import { yieldToEventLoop } from "../../storage/yieldToEventLoop.ts"
import { decodeRecord } from "../records/Codec.ts"

/** A durable record as followers get it, with the messages made of it. */
export class FeedEntry {
  readonly record: JournalRecord
  /** Bytes of its text. */
  readonly bytes: number
  #messages: Array<Told | undefined> | undefined

  constructor(record: JournalRecord, bytes: number) {
    this.record = record
    this.bytes = bytes
  }

  /**
   * The message of the fact at `index`, made once for all followers that send it at about the same
   * time.
   */
  message(index: number): Told {
    if (this.#messages === undefined) {
      this.#messages = []
      messageCache.add(this)
    }
    this.#messages[index] ??= told(messageAt(this.record, index))
    return this.#messages[index]
  }

  /** Drops the messages; the next call of `message` makes them again. */
  forget(): void {
    this.#messages = undefined
  }
}

/**
 * The entries whose messages were encoded last. All other entries drop their messages: the ring
 * keeps entries for long, and old texts would be most of what the garbage collector moves.
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

// A cache, not a state: all engines of the process share it.
const messageCache = new MessageCache()

/** A message as it is sent. */
export interface Told {
  readonly id: string
  /** The whole message, JSON. */
  readonly text: string
}

const told = (message: Message): Told => ({ id: message.id, text: JSON.stringify(message) })

/** The journal no longer has the record; `first` is the sequence of its oldest one. */
export class FeedGone extends Data.TaggedError("FeedGone")<{ readonly first: number }> {}

export interface Follower {
  /** The sequence of the next record for it. */
  readonly position: number
  /**
   * Waits for the next records and returns 1 to `max` of them. Must not be called while a call is
   * pending.
   */
  readonly take: (max: number) => Effect.Effect<ReadonlyArray<FeedEntry>, FeedGone>
}

/**
 * What the feeds of a process share: the bounds of their rings, and the permits to read a journal.
 */
export class FeedShares {
  readonly reading = Semaphore.makeUnsafe(limits.feedReadersMax)
  /** How many feeds have followers; each gets an equal share of the bounds. */
  followed = 0
}

export interface FeedOptions {
  readonly storage: Storage["Service"]
  readonly commit: {
    /** The sequence of the last durable record. */
    readonly durableSequence: number
    /** Ends when the journal has every record that is durable now. */
    readonly written: Effect.Effect<void>
  }
  readonly onBroken: (cause: Broken) => void
  /** Absent: this engine is alone in its process. */
  readonly shares?: FeedShares
  /** The bounds of the ring; by default `feedRecordsMax` and `feedBytesMax`. */
  readonly recordsMax?: number
  readonly bytesMax?: number
}

export class Feed {
  readonly #options: FeedOptions
  readonly #shares: FeedShares
  /** Consecutive records; the places before index `#oldest` are empty. */
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

  /** A record became durable. Called for every record, in order. */
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
      // After the whole batch, when the commit loop has continued.
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

  /**
   * Calls back with each record of a project actor, once its durable state has it, until the scope
   * closes.
   */
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
   * Keeps the journal from the sequence that `needed` returns on, until the scope closes, also
   * where history is kept for a shorter time.
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

  /** The lowest sequence that a hold needs; `undefined`: there is no hold. */
  readonly held: Effect.Effect<number | undefined, Broken> = Effect.suspend(() =>
    Effect.map(Effect.all([...this.#holds]), (needed) =>
      needed.length === 0 ? undefined : Math.min(...needed),
    ),
  )

  /** 1 to `max` records from `sequence` on, which must be durable. */
  readonly read = (
    sequence: number,
    max: number,
  ): Effect.Effect<ReadonlyArray<FeedEntry>, FeedGone> =>
    Effect.suspend(() => {
      const live = this.#live(sequence, max)
      return live.length > 0 ? Effect.succeed(live) : this.#read(sequence, max)
    })

  /**
   * The sequence of the first record decided at `at` (epoch milliseconds) or later; the one after
   * the head if none.
   */
  readonly sequenceAt = (at: number): Effect.Effect<number> =>
    Effect.gen({ self: this }, function* () {
      let low = yield* this.#options.storage.firstSequence
      let high = this.head + 1
      // Records are in the order of their times.
      while (low < high) {
        const middle = Math.floor((low + high) / 2)
        const [live] = this.#live(middle, 1)
        const piece = live === undefined ? yield* this.#piece(middle) : []
        // An absent record was pruned meanwhile: the first record that is left comes after it. An
        // erased one has the time of the next.
        const stored = piece.find(({ body }) => body.length > 0)
        const entry = live ?? (stored && entryOf(stored))
        const last = entry?.record.sequence ?? piece.at(-1)?.sequence ?? middle
        if (entry === undefined || entry.record.at < at) low = last + 1
        else high = middle
      }
      return low
    })

  /**
   * The records with these sequences, which must be ascending and durable. Records that the journal
   * no longer has are absent. Sequences close together cost one read of the journal.
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
      // In relaxed durability records become durable before the journal has them.
      yield* this.#options.commit.written
      const live = this.#live(position, Math.min(max, last - position + 1))
      return live.length > 0 ? live : yield* this.#read(position, max)
    })
  }

  /** Ends when new records are durable. */
  readonly #moved = Effect.callback<void>((resume) => {
    const resumed = () => resume(Effect.void)
    this.#waiting.push(resumed)
    return Effect.sync(() => {
      this.#waiting = this.#waiting.filter((waiting) => waiting !== resumed)
    })
  })

  /** Up to `max` records from `position` on; empty if the ring does not have that record. */
  #live(position: number, max: number): ReadonlyArray<FeedEntry> {
    const first = this.#ring[this.#oldest]?.record.sequence
    if (first === undefined || position < first) return []
    const from = this.#oldest + position - first
    return this.#ring.slice(from, from + max)
  }

  /** 1 to `max` records of the journal from `position` on. */
  #read(position: number, max: number): Effect.Effect<ReadonlyArray<FeedEntry>, FeedGone> {
    return Effect.gen({ self: this }, function* () {
      const piece = yield* this.#piece(position)
      if (piece.length === 0) {
        return yield* new FeedGone({ first: yield* this.#options.storage.firstSequence })
      }
      const entries: Array<FeedEntry> = []
      // The journal may already have records beyond the head: the next turns announce those.
      for (const stored of piece.slice(0, Math.min(max, this.head - position + 1))) {
        entries.push(entryOf(stored))
        if (entries.length % decodeTurnRecords === 0) yield* yieldToEventLoop
      }
      return entries
    })
  }

  /** A piece of the journal that begins with the record `position`; empty if that was pruned. */
  #piece(position: number): Effect.Effect<ReadonlyArray<StoredRecord>> {
    const { onBroken, storage } = this.#options
    const isGone = Effect.map(storage.firstSequence, (first) => position < first)
    return Effect.gen(function* () {
      if (yield* isGone) return []
      return Option.getOrElse(yield* Stream.runHead(storage.readRecords(position)), () => [])
    }).pipe(
      Effect.catchTag("Broken", (broken) =>
        Effect.flatMap(isGone, (gone) => {
          // The failure is the storage's only if the record was not pruned during the read.
          if (!gone) onBroken(broken)
          return gone ? Effect.succeed([]) : Effect.never
        }),
      ),
      (piece) => Semaphore.withPermit(this.#shares.reading, piece),
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
    // Moving the rest costs no more than the pushes since the last time.
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

const entryOf = ({ body, sequence }: StoredRecord): FeedEntry =>
  new FeedEntry(body.length === 0 ? erasedRecord(sequence) : decodeRecord(body), body.length)

/** Stands for an erased record: it has no messages, and its time is that of no record. */
const erasedRecord = (sequence: number): JournalRecord => ({
  sequence,
  at: 0,
  subject: { actor: "directory" },
  cause: { kind: "request" },
  facts: [],
})

/** Fills a place of the ring whose record is gone. */
const forgotten = undefined as unknown as FeedEntry

/** How many records are decoded before the event loop may serve others. */
const decodeTurnRecords = 256
