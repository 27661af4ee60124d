/**
 * The periodic, incremental snapshot: what became durable since the last one goes into LMDB, behind the
 * journal.
 *
 * - First come the boards of windows that were closed (`boards/BoardWriter.ts`), then what must go of users who
 *   were erased (`Erasures.ts`).
 * - Written are then the dirty actors' durable states, the new records as history pages, kept replies, and the
 *   callers' ids (`IdIndex.ts`); last, in the final slice, the watermark: everything up to it is in the snapshot.
 * - A slice is one transaction of about `sliceEntriesMax` entries, of users whose keys stand together, so that they share
 *   pages (`partsByKey.ts`). Preparing one gives way to others every `snapshotTurnEntriesMax` entries. A crash between slices does no harm: every actor's value carries its own sequence, and recovery
 *   skips the records it already has; pages and index entries are written again as they were.
 * - The snapshot never knows more than the journal: only states that were committed are written, and in
 *   relaxed durability not before the journal has them.
 * - Where nothing happens, a heartbeat every `journalHeartbeatMs` lets what is old leave the journal all the same.
 * - One at a time; it runs at the interval, when many records wait, when memory is short, and at the end.
 */
import { Effect, Semaphore, Stream } from "effect"
import { limits } from "../Limits.ts"
import { nextTurn } from "../storage/nextTurn.ts"
import type { Entry, Storage, StorageError } from "../storage/Storage.ts"
import { encodeValue } from "../storage/Values.ts"
import type { AnyActor } from "./Actor.ts"
import type { EngineMetrics } from "./EngineMetrics.ts"
import type { Erasure, Erasures } from "./Erasures.ts"
import { erasedEntries } from "./erasedEntries.ts"
import { actorEntry, pageEntries } from "./History.ts"
import type { IdempotencyKeys } from "./Idempotency.ts"
import { hashText } from "./IdFilter.ts"
import type { IdIndex } from "./IdIndex.ts"
import { IdList } from "./IdList.ts"
import { eraseFromBatches } from "./KeptAnswers.ts"
import type { PendingRecord } from "./Pending.ts"
import { partsByKey } from "./partsByKey.ts"
import type { RecordTexts } from "./RecordTexts.ts"
import { nextMark, type SnapshotMark, snapshotKey } from "./SnapshotMark.ts"

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
  readonly ids: IdIndex
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
    const { erasures, idempotency, ids, sliceEntriesMax } = this.#options
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
      yield* self.#erase(erased)
      let slice: Array<Entry> = []
      const add = (entries: ReadonlyArray<Entry>) => {
        slice.push(...entries)
        if (slice.length < sliceEntriesMax) return Effect.void
        const full = slice
        slice = []
        return self.#write(full)
      }
      let prepared = 0
      const parts = yield* partsByKey([...dirty], sliceEntriesMax / 2)
      for (const entry of self.#entries(records, parts.flat(), watermark)) {
        slice.push(entry)
        if (++prepared % limits.snapshotTurnEntriesMax === 0) yield* nextTurn
        if (slice.length >= sliceEntriesMax) yield* add([])
      }
      const through = { through: watermark, watermark: self.#mark.watermark }
      for (const [environment, list] of yield* self.#newIds(records)) {
        yield* ids.write(environment, list, through, add)
      }
      slice.push(...(yield* idempotency.expired(limits.idempotencyExpiredMax)))
      const { held, now } = self.#options
      const mark = yield* nextMark(self.#mark, { watermark, at: now(), bytes: self.#bytes }, held)
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
      ids.ended()
      erasures.ended(erased, idempotency.runningSince)
    }).pipe(
      Effect.onError(() =>
        Effect.sync(() => {
          this.#options.metrics.snapshotFailed()
          this.#records = records.concat(this.#records)
          for (const actor of dirty) this.#dirty.add(actor)
          part.failed()
          ids.failed()
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

  /** Takes out what must go. */
  readonly #erase = Effect.fnUntraced(function* (
    this: Snapshotter,
    erased: ReadonlyArray<Erasure>,
  ): Effect.fn.Return<void, StorageError> {
    const { ids, sliceEntriesMax } = this.#options
    let slice: Array<Entry> = []
    const write = () => {
      const full = [...slice, ...ids.takeRemoved()]
      slice = []
      return this.#write(full)
    }
    yield* Stream.runForEach(this.#erased(erased), (group) => {
      slice.push(...group)
      return slice.length < sliceEntriesMax ? Effect.void : write()
    })
    // New ids are written beside what is left of those that are there.
    if (slice.length > 0) yield* write()
  }).bind(this)

  /** What must go, in groups that are written whole. */
  #erased(erased: ReadonlyArray<Erasure>): Stream.Stream<ReadonlyArray<Entry>, StorageError> {
    const { ids, isThere, storage } = this.#options
    const users = Stream.fromIterable(erased).pipe(
      Stream.flatMap((erasure) =>
        erasedEntries(storage, ids, erasure, () => isThere(erasure.environment, erasure.userId)),
      ),
    )
    const batches = Stream.fromIterable(Map.groupBy(erased, ({ environment }) => environment)).pipe(
      Stream.flatMap(([environment, ofOne]) => eraseFromBatches(storage, environment, ofOne)),
    )
    return Stream.concat(users, batches)
  }

  *#entries(
    records: ReadonlyArray<PendingRecord>,
    actors: ReadonlyArray<AnyActor>,
    watermark: number,
  ): Generator<Entry> {
    const { erasures, idempotency } = this.#options
    const groups = byActor(records)
    for (const actor of actors) {
      const { subject } = actor
      const body = actor.kind.encode(actor)
      if (body !== undefined) yield actorEntry(subject, body)
      const ofActor = groups.get(actor)
      if (ofActor === undefined || subject.actor !== "user") continue
      const { environment, userId } = subject
      const through = erasures.throughOf(environment, userId)
      const left = through === 0 ? ofActor : ofActor.filter(({ sequence }) => sequence > through)
      yield* pageEntries(environment, userId, left)
    }
    yield* idempotency.entries(watermark)
  }

  /** The callers' ids that are new, of each environment. */
  readonly #newIds = Effect.fnUntraced(function* (
    this: Snapshotter,
    records: ReadonlyArray<PendingRecord>,
  ): Effect.fn.Return<ReadonlyMap<string, IdList>> {
    const { erasures } = this.#options
    const lists = new Map<string, IdList>()
    for (let n = 0; n < records.length; n++) {
      const { actor, key, sequence } = records[n]!
      if ((n + 1) % limits.snapshotTurnIdsMax === 0) yield* nextTurn
      const { subject } = actor
      if (key === undefined || subject.actor !== "user") continue
      const { environment, userId } = subject
      if (sequence <= erasures.throughOf(environment, userId)) continue
      const list = lists.get(environment) ?? new IdList()
      lists.set(environment, list)
      list.add(hashText(key, actor.idSeed), sequence)
    }
    return lists
  }).bind(this)

  /** A slice may hold states as of this moment; it waits until the journal has what they rest on. */
  #write(slice: ReadonlyArray<Entry>): Effect.Effect<void, StorageError> {
    const { storage, written } = this.#options
    return Effect.andThen(written, storage.writeEntries(slice))
  }

  /** What is in the snapshot need not be remembered. */
  #forget(records: ReadonlyArray<PendingRecord>): void {
    for (const record of records) record.actor.forget(record)
    this.#options.idempotency.snapshotted(this.#mark.watermark)
    this.#options.texts.release(this.#mark.watermark)
  }
}

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
