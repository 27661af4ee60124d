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
import { limits } from "../../Limits.ts"
import type { Entry, Storage, StorageError } from "../../storage/Storage.ts"
import { checksumOf, encodeValue } from "../../storage/Values.ts"
import { yieldToEventLoop } from "../../storage/yieldToEventLoop.ts"
import type { AnyActor } from "../actor/Actor.ts"
import type { IdempotencyKeys } from "../dedupe/Idempotency.ts"
import type { IdIndex } from "../dedupe/IdIndex.ts"
import { IdList } from "../dedupe/IdList.ts"
import { eraseFromBatches } from "../dedupe/KeptAnswers.ts"
import type { Erasure, Erasures } from "../erasure/Erasures.ts"
import type { EngineMetrics } from "../metrics/EngineMetrics.ts"
import type { PendingRecords } from "../records/PendingRecords.ts"
import { actorEntry, pageEntries } from "../records/SnapshotValues.ts"
import { erasedEntries } from "./erasedEntries.ts"
import { partsByKey } from "./partsByKey.ts"
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
  readonly pending: PendingRecords
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
  /** A snapshot stands, and those whom it has may be evicted. */
  readonly onEnded: () => void
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
  /** Those that have a durable record after `#begun`, each once. */
  #dirty: Array<AnyActor> = []
  #mark: SnapshotMark
  /** The last durable record. */
  #last: number
  /** What the snapshot has, or has when the one that is being written stands. */
  #begun: number
  #bytes: number
  /** No later record was in a snapshot yet, not even in one that failed: in any run, since all of an earlier one are in the journal. */
  #offered: number
  #wanted: (() => void) | undefined
  #beating = false

  constructor(options: SnapshotterOptions) {
    this.#options = options
    this.#mark = options.mark
    this.#last = options.mark.watermark
    this.#begun = options.mark.watermark
    this.#offered = options.storage.lastSequence
    this.#bytes = options.mark.journal.at(-1)?.bytes ?? 0
  }

  /** When the last snapshot was taken, epoch milliseconds; 0 for none. */
  get takenAt(): number {
    return this.#mark.at
  }

  /** Records that are durable and that neither the snapshot has nor the one that is being written. */
  get pending(): number {
    return this.#last - this.#begun
  }

  /** The next record became durable. */
  committed(actor: AnyActor, sequence: number): void {
    this.#last = sequence
    this.#bytes += this.#options.pending.texts.bytesOf(sequence)
    if (actor.lastDurable <= this.#begun) this.#dirty.push(actor)
    actor.lastDurable = sequence
    if (this.pending >= limits.snapshotRecordsMax) this.request()
  }

  /** Asks the loop for a snapshot now. */
  request(): void {
    this.#wanted?.()
  }

  /** Ends when a snapshot is asked for. */
  readonly requested = Effect.callback<void>((resume) => {
    if (this.pending >= limits.snapshotRecordsMax) resume(Effect.void)
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
    const isBusy = this.pending > 0 || this.#beating || watermark === 0
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

  /** Runs `work` while no snapshot is written. */
  readonly alone = <A, E>(work: Effect.Effect<A, E>): Effect.Effect<A, E> =>
    Semaphore.withPermit(this.#one, work)

  /** Takes a snapshot of all that is durable now. Without space, nothing is lost and the next one tries again. */
  readonly take: Effect.Effect<void, StorageError> = Semaphore.withPermit(
    this.#one,
    // In a turn of its own: it may have been asked for in the middle of a commit.
    Effect.andThen(
      yieldToEventLoop,
      Effect.suspend(() => this.#take()),
    ),
  )

  #take(): Effect.Effect<void, StorageError> {
    const dirty = this.#dirty
    const { erasures, idempotency, ids, sliceEntriesMax } = this.#options
    const self = this
    if (this.pending === 0) return Effect.void
    const startedAt = performance.now()
    const watermark = this.#last
    const offered = this.#offered
    this.#offered = watermark
    this.#dirty = []
    this.#begun = watermark
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
      const parts = yield* partsByKey(dirty, sliceEntriesMax / 2)
      const newIds = new Map<string, IdList>()
      for (const entry of self.#entries(parts.flat(), { offered, watermark }, newIds)) {
        slice.push(entry)
        if (++prepared % limits.snapshotTurnEntriesMax === 0) yield* yieldToEventLoop
        if (slice.length >= sliceEntriesMax) yield* add([])
      }
      const through = { through: watermark, watermark: self.#mark.watermark }
      for (const [environment, list] of newIds) {
        yield* ids.write(environment, list, through, add)
      }
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
      self.#forget(dirty)
      part.ended()
      ids.ended()
      erasures.ended(erased, idempotency.runningSince)
      self.#options.onEnded()
    }).pipe(
      Effect.onError(() =>
        Effect.sync(() => {
          this.#options.metrics.snapshotFailed()
          this.#dirty = [...new Set([...dirty, ...this.#dirty])]
          // Some slices may stand.
          for (const actor of dirty) actor.storedChecksum = undefined
          this.#begun = this.#mark.watermark
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

  /**
   * What is written of `actors`, up to `watermark`, of which records up to `offered` may be there. The callers' ids that are new go
   * into `newIds`, by environment.
   */
  *#entries(
    actors: ReadonlyArray<AnyActor>,
    { offered, watermark }: { readonly offered: number; readonly watermark: number },
    newIds: Map<string, IdList>,
  ): Generator<Entry> {
    const { erasures, idempotency, pending } = this.#options
    for (const actor of actors) {
      const { subject } = actor
      const erasedThrough =
        subject.actor === "user" ? erasures.throughOf(subject.environment, subject.userId) : 0
      // An erasure removes the stored value in an entry of its own.
      if (erasedThrough > 0) actor.storedChecksum = undefined
      const body = actor.kind.encode(actor)
      if (body !== undefined) {
        const value = encodeValue(body)
        yield actorEntry(subject, value, actor.storedChecksum)
        actor.storedChecksum = checksumOf(value)
      }
      if (subject.actor !== "user") continue
      const { environment, userId } = subject
      const sequences = pending.durableOf(actor, erasedThrough, watermark)
      let list = newIds.get(environment)
      for (const sequence of sequences) {
        const hash = pending.hashOf(sequence)
        if (hash === undefined) continue
        if (list === undefined) {
          list = new IdList()
          newIds.set(environment, list)
        }
        list.add(hash, sequence)
      }
      yield* pageEntries(environment, userId, sequences, pending.texts, offered)
    }
    yield* idempotency.entries(watermark)
  }

  /** A slice may hold states as of this moment; it waits until the journal has what they rest on. */
  #write(slice: ReadonlyArray<Entry>): Effect.Effect<void, StorageError> {
    const { storage, written } = this.#options
    return Effect.andThen(written, storage.writeEntries(slice))
  }

  /** What is in the snapshot need not be remembered. */
  #forget(dirty: ReadonlyArray<AnyActor>): void {
    for (const actor of dirty) actor.named = undefined
    this.#options.idempotency.snapshotted(this.#mark.watermark)
    this.#options.pending.release(this.#mark.watermark)
  }
}
