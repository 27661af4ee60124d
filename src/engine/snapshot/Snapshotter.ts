/**
 * The periodic, incremental snapshot: what became durable since the last snapshot goes into LMDB.
 *
 * Invariants:
 * - Everything up to the watermark is in the snapshot. The watermark is written last, in the final
 *   slice.
 * - The snapshot never has more than the journal. Only durable states are written (asserted), and
 *   in relaxed durability only once the journal has their records.
 * - A crash between slices does no harm. Each actor's value has its own sequence, so recovery skips
 *   records that the value includes; pages and index entries are written again unchanged.
 * - One snapshot is taken at a time.
 *
 * Order: boards of closed windows (`BoardWriter`), deletions of erased users, then the durable
 * states of changed actors, kept answers, callers' ids (`IdIndex`), and the watermark.
 *
 * Times: at the interval, when many records wait, when memory is short, and at the end. Without
 * writes, a heartbeat record every `heartbeatMs` lets old segments of the journal end (`JournalUpkeep`).
 *
 * Cost: a slice is a transaction of about `sliceEntriesMax` entries, of users with neighbouring
 * keys, so that they share pages of LMDB. The event loop packs a slice (`storage/EntryBlock.ts`) in
 * turns of `snapshotTurnMs`; a thread of the storage writes it. Slices of actors are packed while
 * the slice before is written.
 */
import { Effect, Exit, Fiber, Semaphore } from "effect"
import type { Subject } from "../../domain/record/Record.ts"
import { limits } from "../../Limits.ts"
import { markTurn } from "../../metrics/LongTurns.ts"
import { EntrySlice } from "../../storage/EntryBlock.ts"
import type { Entry, StorageError } from "../../storage/Storage.ts"
import { checksumOf, encodeValue } from "../../storage/Values.ts"
import { nextTurn } from "../../storage/yieldToEventLoop.ts"
import type { AnyActor } from "../actor/Actor.ts"
import { BoardWriter } from "../boards/BoardWriter.ts"
import { IdList } from "../dedupe/IdRun.ts"
import { type Erasure, jobEntry } from "../erasure/Erasures.ts"
import type { EngineMetrics } from "../metrics/EngineMetrics.ts"
import { actorEntry } from "../records/SnapshotValues.ts"
import type { EngineState } from "../state/EngineState.ts"
import { type SnapshotMark, snapshotKey } from "../state/SnapshotMark.ts"

/* The turns of the event loop in which a snapshot is prepared, each of `snapshotTurnMs`. */

/**
 * How many entries are handled between two readings of the clock; a reading costs a tenth of an
 * entry.
 */
const looksApart = 16

export class SnapshotTurns {
  #endsAt = 0
  #asked = 0

  /** A turn begins. */
  begin(): void {
    markTurn("snapshot")
    this.#endsAt = performance.now() + limits.snapshotTurnMs
  }

  /** Whether the turn has used up its time. Must be asked for each entry. */
  get isOver(): boolean {
    return ++this.#asked % looksApart === 0 && performance.now() >= this.#endsAt
  }

  /** Lets the event loop serve others, and begins the next turn. */
  readonly next: Effect.Effect<void> = nextTurn(() => this.begin())
}

/* Partitions changed actors by key range. */

interface OfSubject {
  readonly subject: Subject
}

/**
 * The items in parts of about `size`, by ranges of their keys in the snapshot: all of a part come
 * before all of the next. So a part is written to few pages of LMDB, and sorting it would save
 * none. A sample sets the ends of the parts. Yields to the event loop now and then.
 */
export const partsByKey = Effect.fnUntraced(function* <A extends OfSubject>(
  items: ReadonlyArray<A>,
  size: number,
  turns: SnapshotTurns,
) {
  const parts = Math.max(1, Math.ceil(items.length / size))
  if (parts === 1) return [items]
  const every = Math.max(1, Math.floor(items.length / (parts * samplesPerPart)))
  const sample: Array<A> = []
  for (let index = 0; index < items.length; index += every) sample.push(items[index]!)
  sample.sort(compare)
  const ends = Array.from(
    { length: parts - 1 },
    (_, part) => sample[Math.floor(((part + 1) * sample.length) / parts)]!,
  )
  const divided: Array<Array<A>> = Array.from({ length: parts }, () => [])
  for (let index = 0; index < items.length; index++) {
    const item = items[index]!
    let low = 0
    let high = ends.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (compare(item, ends[middle]!) < 0) high = middle
      else low = middle + 1
    }
    divided[low]!.push(item)
    if (turns.isOver) yield* turns.next
  }
  return divided
})

// Not quite the order of keys: code points beyond U+FFFF come before U+E000. That does not matter
// here.
const compare = ({ subject: one }: OfSubject, { subject: other }: OfSubject): number => {
  if (one.actor !== "user" || other.actor !== "user") return compareTexts(one.actor, other.actor)
  return compareTexts(one.environment, other.environment) || compareTexts(one.userId, other.userId)
}

const samplesPerPart = 16

const compareTexts = (one: string, other: string): number =>
  one === other ? 0 : one < other ? -1 : 1

export interface SnapshotterOptions {
  readonly state: EngineState
  /** Ends when the journal has every record that is durable to callers. */
  readonly written: Effect.Effect<void>
  /** Called when a snapshot is complete: actors that it has may be evicted. */
  readonly onEnded: () => void
  readonly sliceEntriesMax: number
  readonly metrics: EngineMetrics
}

/** Appends a record without facts, then calls back, whether or not that succeeded. */
export type Heartbeat = (over: () => void) => void

export class Snapshotter {
  readonly #options: SnapshotterOptions
  readonly #state: EngineState
  readonly #boards: BoardWriter
  readonly #one = Semaphore.makeUnsafe(1)
  #mark: SnapshotMark
  #beating = false
  readonly #turns = new SnapshotTurns()
  /** Entries of the next transaction. */
  #slice = new EntrySlice()
  /** Entries of the transaction that is being written. */
  #written = new EntrySlice()
  #writing: Fiber.Fiber<void, StorageError> | undefined

  constructor(options: SnapshotterOptions) {
    const { state } = options
    this.#options = options
    this.#state = state
    this.#boards = new BoardWriter(state)
    this.#mark = state.mark
  }

  /** Every record up to this one is in the snapshot. */
  get watermark(): number {
    return this.#mark.watermark
  }

  /** When the last snapshot was taken, epoch milliseconds; 0: there is none. */
  get takenAt(): number {
    return this.#mark.at
  }

  /** Durable records that are neither in the snapshot nor in the one that is being written. */
  get pending(): number {
    return this.#state.changed.pending
  }

  /**
   * Takes a snapshot every `intervalMs` and on request. Without writes, calls `heartbeat` when the
   * last snapshot is `heartbeatMs` old. Never ends.
   */
  readonly run = Effect.fnUntraced(function* (
    this: Snapshotter,
    intervalMs: number,
    heartbeatMs: number,
    heartbeat: Heartbeat,
  ) {
    while (true) {
      yield* Effect.race(Effect.sleep(intervalMs), this.#state.changed.requested)
      yield* this.#beat(heartbeatMs, heartbeat)
      yield* Effect.catchTag(this.take, "Unavailable", (error) =>
        Effect.logError("Disk full: no snapshot; the journal keeps all records").pipe(
          Effect.annotateLogs({ operation: error.operation }),
          Effect.andThen(Effect.sleep(limits.unavailableRetryMs)),
        ),
      )
    }
  })

  /**
   * Does not wait for the record: with a full disk, only a snapshot may make room. The next
   * snapshot has it.
   */
  #beat(heartbeatMs: number, heartbeat: Heartbeat): Effect.Effect<void> {
    const { at, watermark } = this.#mark
    const isBusy = this.pending > 0 || this.#beating || watermark === 0
    if (isBusy || this.#state.now() - at < heartbeatMs) return Effect.void
    this.#beating = true
    const over = () => {
      this.#beating = false
    }
    return Effect.sync(() => heartbeat(over))
  }

  /** Runs `work` while no snapshot is written. */
  readonly alone = <A, E>(work: Effect.Effect<A, E>): Effect.Effect<A, E> =>
    Semaphore.withPermit(this.#one, work)

  /**
   * Takes a snapshot of all that is durable now. Without space nothing is lost, and the next one
   * tries again.
   */
  readonly take: Effect.Effect<void, StorageError> = Semaphore.withPermit(
    this.#one,
    // In a turn of its own: the request may have come in the middle of a commit.
    Effect.andThen(
      Effect.suspend(() => this.#turns.next),
      Effect.suspend(() => this.#take()),
    ),
  )

  #take(): Effect.Effect<void, StorageError> {
    const { changed, environments, erasures, ids, now } = this.#state
    const { sliceEntriesMax } = this.#options
    const self = this
    this.#slice.clear()
    if (this.pending === 0) return Effect.void
    const startedAt = performance.now()
    const watermark = changed.lastDurable
    const actors = changed.begin()
    const part = environments.beginSnapshot()
    const erased = erasures.begin()
    return Effect.gen(function* () {
      yield* self.#boards.write((entries) => self.#write(entries))
      self.#turns.begin()
      yield* self.#erase(erased)
      const turns = self.#turns
      const parts = yield* partsByKey(actors, sliceEntriesMax / 2, turns)
      const newIds = new Map<string, IdList>()
      for (const entry of self.#entries(parts, watermark, newIds)) {
        self.#slice.add(entry)
        if (turns.isOver) yield* turns.next
        if (self.#isFull) yield* self.#handOn
      }
      const through = { through: watermark, watermark: self.#mark.watermark }
      for (const [environment, list] of newIds) {
        yield* ids.write(environment, list, through, self.#add)
      }
      const mark: SnapshotMark = { watermark, at: now() }
      for (const entry of part.entries) self.#slice.add(entry)
      const value = encodeValue(JSON.stringify(mark))
      self.#slice.add({ table: "meta", key: snapshotKey, value })
      yield* self.#flush
      self.#mark = mark
      self.#options.metrics.snapshotTaken(performance.now() - startedAt)
      self.#forget(actors)
      part.ended()
      ids.ended()
      erasures.stored(erased)
      self.#options.onEnded()
    }).pipe(
      Effect.onExit((exit) =>
        Exit.hasInterrupts(exit) ? this.#abandonSlices : Effect.exit(this.#idle),
      ),
      Effect.onError(() =>
        Effect.sync(() => {
          this.#options.metrics.snapshotFailed()
          // Some slices may have been written.
          for (const actor of actors) actor.storedChecksum = undefined
          changed.failed(actors, this.#mark.watermark)
          part.failed()
          ids.failed()
        }),
      ),
    )
  }

  /** Deletes the states of erased users, and stores the jobs that delete the rest of their data. */
  #erase(erased: ReadonlyArray<Erasure>): Effect.Effect<void, StorageError> {
    const { environments } = this.#state
    return Effect.gen({ self: this }, function* () {
      for (const erasure of erased) {
        const { environment, userId } = erasure
        const user = { actor: "user", environment, userId } as const
        const state = environments.isThere(environment, userId)
          ? []
          : [actorEntry(user, null, undefined)]
        yield* this.#add([jobEntry(erasure), ...state])
      }
      if (this.#slice.count > 0) yield* this.#flush
    })
  }

  /**
   * The entries of all actors up to `watermark`. Adds callers' new ids to `newIds`, by environment.
   */
  *#entries(
    parts: ReadonlyArray<ReadonlyArray<AnyActor>>,
    watermark: number,
    newIds: Map<string, IdList>,
  ): Generator<Entry> {
    const { changed, erasures, idempotency, pending } = this.#state
    for (const actor of flat(parts)) {
      const { subject } = actor
      const stateSequence = actor.kind.sequenceOf(actor.durable)
      if (stateSequence > changed.lastDurable) {
        const words = `A state as of record ${stateSequence} is beyond the last durable record`
        throw new Error(`${words}, ${changed.lastDurable}`)
      }
      const erasedThrough =
        subject.actor === "user" ? erasures.throughOf(subject.environment, subject.userId) : 0
      // An erasure removes the stored value in an entry of its own.
      if (erasedThrough > this.#mark.watermark) actor.storedChecksum = undefined
      const body = actor.kind.encode(actor)
      if (body !== undefined) {
        const value = encodeValue(body)
        yield actorEntry(subject, value, actor.storedChecksum)
        actor.storedChecksum = checksumOf(value)
      }
      if (subject.actor !== "user") continue
      const { environment } = subject
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
    }
    yield* idempotency.entries(watermark)
  }

  get #isFull(): boolean {
    const { bytes, count } = this.#slice
    return count >= this.#options.sliceEntriesMax || bytes >= limits.snapshotSliceBytesMax
  }

  /** Adds a group, which must be written whole. */
  readonly #add = (group: ReadonlyArray<Entry>): Effect.Effect<void, StorageError> => {
    for (const entry of group) this.#slice.add(entry)
    return this.#isFull ? this.#flush : Effect.void
  }

  readonly #flush: Effect.Effect<void, StorageError> = Effect.suspend(() =>
    this.#idle.pipe(
      Effect.andThen(this.#write(this.#slice)),
      Effect.andThen(
        Effect.sync(() => {
          this.#slice.clear()
          this.#turns.begin()
        }),
      ),
    ),
  )

  /**
   * `#flush` that lets the next slice be packed while this one is written. Fails if the write
   * before did.
   */
  readonly #handOn: Effect.Effect<void, StorageError> = Effect.suspend(() =>
    Effect.andThen(
      this.#idle,
      Effect.map(Effect.forkChild(this.#write(this.#slice)), (fiber) => {
        this.#writing = fiber
        const free = this.#written
        this.#written = this.#slice
        this.#slice = free
        free.clear()
      }),
    ),
  )

  /** Ends when no slice is being written. Fails if the last write did. */
  readonly #idle: Effect.Effect<void, StorageError> = Effect.suspend(() => {
    const writing = this.#writing
    if (writing === undefined) return Effect.void
    return Effect.ensuring(
      Fiber.join(writing),
      Effect.sync(() => {
        this.#writing = undefined
        this.#turns.begin()
      }),
    )
  })

  /**
   * Does not wait for the write, which may never end. The storage may still read the slice, so the
   * next snapshot gets other memory.
   */
  readonly #abandonSlices = Effect.suspend(() => {
    const writing = this.#writing
    this.#writing = undefined
    this.#slice = new EntrySlice()
    this.#written = new EntrySlice()
    return writing === undefined ? Effect.void : Fiber.interrupt(writing)
  })

  /**
   * A slice may have states as of now, so the write waits until the journal has the records of
   * those states.
   */
  #write(slice: Iterable<Entry>): Effect.Effect<void, StorageError> {
    return Effect.andThen(this.#options.written, this.#state.storage.writeEntries(slice))
  }

  /** Drops from memory the records that the snapshot has. */
  #forget(actors: ReadonlyArray<AnyActor>): void {
    for (const actor of actors) actor.named = undefined
    this.#state.idempotency.snapshotted(this.#mark.watermark)
    this.#state.pending.release(this.#mark.watermark)
  }
}

function* flat<A>(parts: ReadonlyArray<ReadonlyArray<A>>): Generator<A> {
  for (const part of parts) yield* part
}
