/**
 * The periodic, incremental snapshot: what became durable since the last one goes into LMDB, behind the
 * journal.
 *
 * - Written are the dirty actors' durable states, the new records as history pages, the index of callers'
 *   ids, and kept replies; last, in the final slice, the watermark: everything up to it is in the snapshot.
 * - A slice is one transaction of at most `sliceEntriesMax` entries: index keys are scattered, and
 *   in large slices more of them share a page (13 µs an entry by 500, 2.6 by 20,000, nearly all of it off
 *   the loop). Preparing one gives way to others every `snapshotTurnEntriesMax` entries. A crash between slices does no harm: every actor's value carries its own sequence, and recovery
 *   skips the records it already has; pages and index entries are written again as they were.
 * - The snapshot never knows more than the journal: only states that were committed are written, and in
 *   relaxed durability not before the journal has them.
 * - One at a time; it runs at the interval, when many records wait, when memory is short, and at the end.
 */
import { Effect, Semaphore } from "effect"
import { limits } from "../Limits.ts"
import { compositeKey } from "../storage/Keys.ts"
import type { Entry, Storage, StorageError } from "../storage/Storage.ts"
import { encodeValue } from "../storage/Values.ts"
import type { AnyActor } from "./Actor.ts"
import { encodeDirectory, encodeProject, encodeUser } from "./Codec.ts"
import type { DirectoryActor, ProjectActor, UserActor } from "./Environments.ts"
import { actorEntry, eventIdEntry, pageEntries } from "./History.ts"
import type { IdempotencyKeys } from "./Idempotency.ts"
import { nextTurn } from "./nextTurn.ts"
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

export interface SnapshotterOptions {
  readonly storage: Storage["Service"]
  readonly texts: RecordTexts
  /** Ends when the journal has every record that this was told of. */
  readonly written: Effect.Effect<void>
  readonly idempotency: IdempotencyKeys
  readonly now: () => number
  readonly mark: SnapshotMark
  readonly sliceEntriesMax: number
}

export class Snapshotter {
  readonly #options: SnapshotterOptions
  readonly #one = Semaphore.makeUnsafe(1)
  #records: Array<PendingRecord> = []
  #dirty = new Set<AnyActor>()
  #mark: SnapshotMark
  #bytes: number
  #wanted: (() => void) | undefined

  constructor(options: SnapshotterOptions) {
    this.#options = options
    this.#mark = options.mark
    this.#bytes = options.mark.journal.at(-1)?.bytes ?? 0
  }

  get watermark(): number {
    return this.#mark.watermark
  }

  /** Records that are durable and not in the snapshot yet. */
  get pending(): number {
    return this.#records.length
  }

  /** A record became durable. */
  committed(entry: PendingRecord): void {
    this.#records.push(entry)
    this.#bytes += entry.textBytes
    entry.actor.dirty = true
    this.#dirty.add(entry.actor)
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

  /** Takes a snapshot of all that is durable now. Without space, nothing is lost and the next one tries again. */
  readonly take: Effect.Effect<void, StorageError> = Semaphore.withPermit(
    this.#one,
    Effect.suspend(() => this.#take()),
  )

  #take(): Effect.Effect<void, StorageError> {
    const records = this.#records
    const dirty = this.#dirty
    const { idempotency, sliceEntriesMax, storage } = this.#options
    const self = this
    if (records.length === 0 && dirty.size === 0) return Effect.void
    this.#records = []
    this.#dirty = new Set()
    const watermark = records.at(-1)?.sequence ?? this.#mark.watermark
    return Effect.gen(function* () {
      let slice: Array<Entry> = []
      let prepared = 0
      for (const entry of entriesOf(records, dirty, idempotency, watermark)) {
        slice.push(entry)
        if (++prepared % limits.snapshotTurnEntriesMax === 0) yield* nextTurn
        if (slice.length < sliceEntriesMax) continue
        yield* self.#write(slice)
        slice = []
      }
      slice.push(...(yield* idempotency.expired(limits.idempotencyExpiredMax)))
      const mark = self.#nextMark(watermark)
      slice.push({
        table: "meta",
        key: snapshotKey,
        value: encodeValue(JSON.stringify(mark)),
      })
      yield* self.#write(slice)
      self.#mark = mark
      for (const actor of dirty) if (!self.#dirty.has(actor)) actor.dirty = false
      self.#forget(records)
    }).pipe(
      Effect.onError(() =>
        Effect.sync(() => {
          this.#records = records.concat(this.#records)
          for (const actor of dirty) this.#dirty.add(actor)
        }),
      ),
      // The snapshot stands, whatever becomes of this.
      Effect.andThen(Effect.suspend(() => storage.prune(this.#mark.journal[0]?.sequence ?? 0))),
    )
  }

  /** A slice may hold states as of this moment; it waits until the journal has what they rest on. */
  #write(slice: ReadonlyArray<Entry>): Effect.Effect<void, StorageError> {
    const { storage, written } = this.#options
    return Effect.andThen(written, storage.writeEntries(slice))
  }

  /** The journal before the oldest mark is let go of: it is older than its retention, or too large. */
  #nextMark(watermark: number): SnapshotMark {
    const at = this.#options.now()
    const here = { sequence: watermark, at, bytes: this.#bytes }
    const marks =
      this.#mark.journal.length > 0 ? this.#mark.journal : [{ sequence: 0, at, bytes: 0 }]
    const journal = at - marks.at(-1)!.at >= journalMarkEveryMs ? [...marks, here] : marks
    const tooOld = (mark: JournalMark | undefined) =>
      mark !== undefined &&
      (at - mark.at >= limits.journalRetentionMs ||
        this.#bytes - mark.bytes >= limits.journalRetentionBytesMax)
    let oldest = 0
    while (tooOld(journal[oldest + 1])) oldest++
    return { watermark, at, journal: journal.slice(oldest) }
  }

  /** What is in the snapshot need not be remembered. */
  #forget(records: ReadonlyArray<PendingRecord>): void {
    for (const record of records) record.actor.forget(record)
    this.#options.idempotency.snapshotted(this.#mark.watermark)
    this.#options.texts.release(this.#mark.watermark)
  }
}

const journalMarkEveryMs = 3_600_000

function* entriesOf(
  records: ReadonlyArray<PendingRecord>,
  dirty: ReadonlySet<AnyActor>,
  idempotency: IdempotencyKeys,
  watermark: number,
): Generator<Entry> {
  for (const actor of dirty) {
    const { subject } = actor
    if (subject.actor === "user") {
      const state = (actor as UserActor).durable
      if (state !== undefined) yield actorEntry(subject, encodeUser(state))
    } else if (subject.actor === "project") {
      yield actorEntry(subject, encodeProject((actor as ProjectActor).durable))
    } else {
      yield actorEntry(subject, encodeDirectory((actor as DirectoryActor).durable))
    }
  }
  for (const [{ subject }, ofUser] of byActor(records)) {
    if (subject.actor !== "user") continue
    yield* pageEntries(subject.environment, subject.userId, ofUser)
    for (const { key, sequence } of ofUser) {
      if (key !== undefined) yield eventIdEntry(subject.environment, subject.userId, key, sequence)
    }
  }
  yield* idempotency.entries(watermark)
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
