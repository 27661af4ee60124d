/**
 * The periodic, incremental snapshot: what became durable since the last one goes into LMDB, behind the
 * journal.
 *
 * - First come the boards of windows that were closed (`boards/BoardWriter.ts`), then what must go of users who
 *   were erased (`Erasures.ts`).
 * - Written are then the dirty actors' durable states, the new records as history pages, the index of callers'
 *   ids, and kept replies; last, in the final slice, the watermark: everything up to it is in the snapshot.
 * - A slice is one transaction of at most `sliceEntriesMax` entries: index keys are scattered, and
 *   in large slices more of them share a page (13 µs an entry by 500, 2.6 by 20,000, nearly all of it off
 *   the loop). Preparing one gives way to others every `snapshotTurnEntriesMax` entries. A crash between slices does no harm: every actor's value carries its own sequence, and recovery
 *   skips the records it already has; pages and index entries are written again as they were.
 * - The snapshot never knows more than the journal: only states that were committed are written, and in
 *   relaxed durability not before the journal has them.
 * - Where nothing happens, a heartbeat every `journalHeartbeatMs` lets what is old leave the journal all the same.
 * - One at a time; it runs at the interval, when many records wait, when memory is short, and at the end.
 */
import { Effect, Semaphore, Stream } from "effect"
import { limits } from "../Limits.ts"
import { compositeKey } from "../storage/Keys.ts"
import { nextTurn } from "../storage/nextTurn.ts"
import type { Entry, Storage, StorageError } from "../storage/Storage.ts"
import { encodeValue } from "../storage/Values.ts"
import type { AnyActor } from "./Actor.ts"
import type { EngineMetrics } from "./EngineMetrics.ts"
import type { Erasure, Erasures } from "./Erasures.ts"
import { erasedEntries } from "./erasedEntries.ts"
import { actorEntry, eventIdEntry, pageEntries } from "./History.ts"
import type { IdempotencyKeys } from "./Idempotency.ts"
import { eraseFromBatches } from "./KeptAnswers.ts"
import type { PendingRecord } from "./Pending.ts"
import type { RecordTexts } from "./RecordTexts.ts"

/** What a snapshot says about itself, under `snapshotKey` in the table `meta`. */
export interface SnapshotMark {
  readonly watermark: number
  /** Epoch milliseconds. */
  readonly at: number
  /** Where the journal stood at earlier times, oldest first; what its retention is decided by. */
  readonly journal: ReadonlyArray<JournalMark>
}

export interface JournalMark {
  readonly sequence: number
  readonly at: number
  /** Bytes appended before it, since the oldest mark. */
  readonly bytes: number
}

export const snapshotKey = compositeKey("snapshot")

/** What others have to do with a snapshot. */
export interface SnapshotPart {
  /** Written with the watermark, as of the moment at which it was set. */
  readonly entries: ReadonlyArray<Entry>
  readonly ended: () => void
  /** Without space it did not end; the next one tries again. */
  readonly failed: () => void
}

export interface SnapshotterOptions {
  readonly storage: Storage["Service"]
  readonly texts: RecordTexts
  /** Ends when the journal has every record that this was told of. */
  readonly written: Effect.Effect<void>
  /** Writes what must be there before the states are, in transactions of its own. */
  readonly first: (
    write: (entries: ReadonlyArray<Entry>) => Effect.Effect<void, StorageError>,
  ) => Effect.Effect<void, StorageError>
  readonly idempotency: IdempotencyKeys
  /** Called when one begins, in the turn in which its watermark is set. */
  readonly begins: () => SnapshotPart
  readonly erasures: Erasures
  /** Whether a user has a state, as far as it is durable. */
  readonly isThere: (environment: string, userId: string) => boolean
  /** The lowest sequence that somebody still needs of the journal. */
  readonly held: Effect.Effect<number, StorageError>
  /** Appends a record that says nothing, and then calls back, whether or not it could. */
  readonly heartbeat: (over: () => void) => void
  readonly now: () => number
  readonly mark: SnapshotMark
  readonly sliceEntriesMax: number
  readonly metrics: EngineMetrics
}

export class Snapshotter {
  readonly #options: SnapshotterOptions
  readonly #one = Semaphore.makeUnsafe(1)
  #records: Array<PendingRecord> = []
  #dirty = new Set<AnyActor>()
  #mark: SnapshotMark
  #bytes: number
  #wanted: (() => void) | undefined
  #beating = false

  constructor(options: SnapshotterOptions) {
    this.#options = options
    this.#mark = options.mark
    this.#bytes = options.mark.journal.at(-1)?.bytes ?? 0
  }

  get watermark(): number {
    return this.#mark.watermark
  }

  /** When the last snapshot was taken, epoch milliseconds; 0 for none. */
  get takenAt(): number {
    return this.#mark.at
  }

  /** Records that are durable and not in the snapshot yet. */
  get pending(): number {
    return this.#records.length
  }

  /** A record became durable. */
  committed(entry: PendingRecord): void {
    const { actor } = entry
    this.#records.push(entry)
    this.#bytes += entry.textBytes
    actor.newest = entry
    actor.dirty = true
    this.#dirty.add(actor)
    if (this.#records.length >= limits.snapshotRecordsMax) this.request()
  }

  /** Asks the loop for a snapshot now. */
  request(): void {
    this.#wanted?.()
  }

  /** Ends when a snapshot is asked for. */
  readonly requested = Effect.callback<void>((resume) => {
    if (this.#records.length >= limits.snapshotRecordsMax) resume(Effect.void)
    else this.#wanted = () => resume(Effect.void)
  })

  /** Takes one every `intervalMs`, and when it is asked for. Runs for ever. */
  readonly run = Effect.fnUntraced(function* (this: Snapshotter, intervalMs: number) {
    while (true) {
      yield* Effect.race(Effect.sleep(intervalMs), this.requested)
      yield* this.#beat
      yield* Effect.catchTag(this.take, "NoSpace", (error) =>
        Effect.logError("No space for a snapshot; the journal keeps everything").pipe(
          Effect.annotateLogs({ operation: error.operation }),
          Effect.andThen(Effect.sleep(limits.noSpaceRetryMs)),
        ),
      )
    }
  })

  /** It is not waited for: with a full disk, only a snapshot may make room. The next snapshot finds its record. */
  readonly #beat: Effect.Effect<void> = Effect.suspend(() => {
    const { at, watermark } = this.#mark
    const { heartbeat, now } = this.#options
    const isBusy = this.#records.length > 0 || this.#beating || watermark === 0
    if (isBusy || now() - at < limits.journalHeartbeatMs) return Effect.void
    this.#beating = true
    const over = () => {
      this.#beating = false
    }
    // First, so that its record begins a segment where one is due.
    return Effect.andThen(
      Effect.ignore(this.#prune()),
      Effect.sync(() => heartbeat(over)),
    )
  })

  /** Takes a snapshot of all that is durable now. Without space, nothing is lost and the next one tries again. */
  readonly take: Effect.Effect<void, StorageError> = Semaphore.withPermit(
    this.#one,
    // In a turn of its own: it may have been asked for in the middle of a commit.
    Effect.andThen(
      nextTurn,
      Effect.suspend(() => this.#take()),
    ),
  )

  #take(): Effect.Effect<void, StorageError> {
    const records = this.#records
    const dirty = this.#dirty
    const { erasures, idempotency, sliceEntriesMax } = this.#options
    const self = this
    if (records.length === 0 && dirty.size === 0) return Effect.void
    const startedAt = performance.now()
    this.#records = []
    this.#dirty = new Set()
    const watermark = records.at(-1)?.sequence ?? this.#mark.watermark
    const part = this.#options.begins()
    const erased = erasures.begin()
    return Effect.gen(function* () {
      yield* self.#options.first((entries) => self.#write(entries))
      let slice: Array<Entry> = []
      let prepared = 0
      yield* Stream.runForEach(self.#erased(erased), (group) => {
        slice.push(...group)
        if (slice.length < sliceEntriesMax) return Effect.void
        const full = slice
        slice = []
        return self.#write(full)
      })
      for (const entry of self.#entries(records, dirty, watermark)) {
        slice.push(entry)
        if (++prepared % limits.snapshotTurnEntriesMax === 0) yield* nextTurn
        if (slice.length < sliceEntriesMax) continue
        yield* self.#write(slice)
        slice = []
      }
      slice.push(...(yield* idempotency.expired(limits.idempotencyExpiredMax)))
      const mark = yield* self.#nextMark(watermark)
      slice.push(...part.entries, {
        table: "meta",
        key: snapshotKey,
        value: encodeValue(JSON.stringify(mark)),
      })
      yield* self.#write(slice)
      self.#mark = mark
      self.#options.metrics.snapshotTaken(performance.now() - startedAt)
      for (const actor of dirty) if (!self.#dirty.has(actor)) actor.dirty = false
      self.#forget(records)
      part.ended()
      erasures.ended(erased, idempotency.runningSince)
    }).pipe(
      Effect.onError(() =>
        Effect.sync(() => {
          this.#options.metrics.snapshotFailed()
          this.#records = records.concat(this.#records)
          for (const actor of dirty) this.#dirty.add(actor)
          part.failed()
        }),
      ),
      // The snapshot stands, whatever becomes of this.
      Effect.andThen(Effect.suspend(() => this.#prune())),
    )
  }

  /** Lets go of the journal before the oldest mark, and ends a segment that is as old as one may be. */
  #prune(): Effect.Effect<void, StorageError> {
    const { journal } = this.#mark
    const old = this.#options.now() - limits.journalSegmentMs
    const closeThrough = journal.findLast(({ at }) => at <= old)?.sequence ?? 0
    return this.#options.storage.prune(journal[0]?.sequence ?? 0, closeThrough)
  }

  /** What must go, in groups that are written whole. */
  #erased(erased: ReadonlyArray<Erasure>): Stream.Stream<ReadonlyArray<Entry>, StorageError> {
    const { isThere, storage } = this.#options
    const users = Stream.fromIterable(erased).pipe(
      Stream.flatMap((erasure) =>
        erasedEntries(storage, erasure, () => isThere(erasure.environment, erasure.userId)),
      ),
    )
    const batches = Stream.fromIterable(Map.groupBy(erased, ({ environment }) => environment)).pipe(
      Stream.flatMap(([environment, ofOne]) => eraseFromBatches(storage, environment, ofOne)),
    )
    return Stream.concat(users, batches)
  }

  *#entries(
    records: ReadonlyArray<PendingRecord>,
    dirty: ReadonlySet<AnyActor>,
    watermark: number,
  ): Generator<Entry> {
    const { erasures, idempotency } = this.#options
    for (const actor of dirty) {
      const body = actor.kind.encode(actor)
      if (body !== undefined) yield actorEntry(actor.subject, body)
    }
    for (const [{ subject }, ofActor] of byActor(records)) {
      if (subject.actor !== "user") continue
      const { environment, userId } = subject
      const through = erasures.throughOf(environment, userId)
      const left = through === 0 ? ofActor : ofActor.filter(({ sequence }) => sequence > through)
      yield* pageEntries(environment, userId, left)
      for (const { key, sequence } of left) {
        if (key !== undefined) yield eventIdEntry(environment, userId, key, sequence)
      }
    }
    yield* idempotency.entries(watermark)
  }

  /** A slice may hold states as of this moment; it waits until the journal has what they rest on. */
  #write(slice: ReadonlyArray<Entry>): Effect.Effect<void, StorageError> {
    const { storage, written } = this.#options
    return Effect.andThen(written, storage.writeEntries(slice))
  }

  /**
   * The journal before the oldest mark is let go of: it is older than its retention, or too large. What
   * somebody needs stays longer, until it is far too large.
   */
  #nextMark(watermark: number): Effect.Effect<SnapshotMark, StorageError> {
    const at = this.#options.now()
    const here = { sequence: watermark, at, bytes: this.#bytes }
    const marks =
      this.#mark.journal.length > 0 ? this.#mark.journal : [{ sequence: 0, at, bytes: 0 }]
    const journal = at - marks.at(-1)!.at >= journalMarkEveryMs ? [...marks, here] : marks
    const bytesSince = (mark: JournalMark) => this.#bytes - mark.bytes
    const tooOld = (mark: JournalMark | undefined): mark is JournalMark =>
      mark !== undefined &&
      (at - mark.at >= limits.journalRetentionMs ||
        bytesSince(mark) >= limits.journalRetentionBytesMax)
    if (!tooOld(journal[1])) return Effect.succeed({ watermark, at, journal })
    return Effect.map(this.#options.held, (held) => {
      let oldest = 0
      for (
        let mark = journal[1];
        tooOld(mark) && (mark.sequence <= held || bytesSince(mark) >= limits.journalHeldBytesMax);
        mark = journal[oldest + 1]
      ) {
        oldest++
      }
      return { watermark, at, journal: journal.slice(oldest) }
    })
  }

  /** What is in the snapshot need not be remembered. */
  #forget(records: ReadonlyArray<PendingRecord>): void {
    for (const record of records) record.actor.forget(record)
    this.#options.idempotency.snapshotted(this.#mark.watermark)
    this.#options.texts.release(this.#mark.watermark)
  }
}

const journalMarkEveryMs = 3_600_000

/** Each actor's records, in order. */
const byActor = (
  records: ReadonlyArray<PendingRecord>,
): ReadonlyMap<AnyActor, ReadonlyArray<PendingRecord>> => {
  const groups = new Map<AnyActor, Array<PendingRecord>>()
  for (const record of records) {
    const group = groups.get(record.actor)
    if (group === undefined) groups.set(record.actor, [record])
    else group.push(record)
  }
  return groups
}
