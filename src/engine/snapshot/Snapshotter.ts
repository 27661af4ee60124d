/**
 * The periodic, incremental snapshot: what became durable since the last snapshot goes into LMDB.
 *
 * Invariants:
 * - Everything up to the watermark is in the snapshot. The watermark is written last, in the final
 *   slice.
 * - The snapshot never has more than the journal. Only durable states are written (asserted), and
 *   in relaxed durability only once the journal has their records.
 * - A crash between slices does no harm. Each user's state has its own sequence, so recovery skips
 *   records that it includes; index entries are written again unchanged.
 * - Projects and the directory have the watermark's state, in the slice that sets the watermark. What
 *   recovery folds by a project's state, such as scores of teams, sees the states that it saw live.
 * - One snapshot is taken at a time.
 *
 * Order: boards of closed windows (`BoardWriter`), jobs and ids of erased users, the states of users
 * (`UserPart`), kept answers, callers' ids of the new records (`IdIndex`), and last, with the watermark,
 * counts, changed projects and the directory.
 *
 * Times: at the interval, when many records wait, and at the end. The states are paced over
 * `snapshotPaceShare` of the interval, until many records wait again or the end wants a snapshot.
 * Without writes, a heartbeat record every
 * `heartbeatMs` lets old segments of the journal end (`JournalUpkeep`).
 */
import { Effect, Exit, Semaphore } from "effect"
import type { ProjectState } from "../../domain/project/Project.ts"
import { limits } from "../../Limits.ts"
import { compositeKey } from "../../storage/Keys.ts"
import type { Entry, StorageError } from "../../storage/Storage.ts"
import { checksumOf, encodeValue } from "../../storage/Values.ts"
import type { AnyActor } from "../actor/Actor.ts"
import { BoardWriter } from "../boards/BoardWriter.ts"
import { IdList } from "../dedupe/IdRun.ts"
import { type Erasure, jobEntry } from "../erasure/Erasures.ts"
import type { EngineMetrics } from "../metrics/EngineMetrics.ts"
import { actorEntry } from "../records/SnapshotValues.ts"
import type { EngineState } from "../state/EngineState.ts"
import { type SnapshotMark, snapshotKey } from "../state/SnapshotMark.ts"
import { SliceWriter, SnapshotTurns } from "./SliceWriter.ts"
import { UserPart } from "./UserPart.ts"

export interface SnapshotterOptions {
  readonly state: EngineState
  /** Ends when the journal has every record that is durable to callers. */
  readonly written: Effect.Effect<void>
  /** Called when a snapshot is complete. */
  readonly onEnded: () => void
  readonly sliceEntriesMax: number
  readonly metrics: EngineMetrics
}

/** The durable state of a project or the directory when the snapshot began. */
interface SharedState {
  readonly actor: AnyActor
  readonly state: AnyActor["durable"]
}

/** Appends a record without facts, then calls back, whether or not that succeeded. */
export type Heartbeat = (over: () => void) => void

export class Snapshotter {
  readonly #options: SnapshotterOptions
  readonly #state: EngineState
  readonly #writeBoards: Effect.Effect<void, StorageError>
  readonly #slices: SliceWriter
  readonly #users: UserPart
  readonly #one = Semaphore.makeUnsafe(1)
  #mark: SnapshotMark
  #beating = false
  /** How many callers of `take` wait for a snapshot. */
  #taking = 0
  readonly #turns = new SnapshotTurns()

  constructor(options: SnapshotterOptions) {
    const { state } = options
    this.#options = options
    this.#state = state
    const boards = new BoardWriter(state)
    this.#writeBoards = boards.write((entries) => this.#write(entries))
    const turns = this.#turns
    const slices = new SliceWriter({
      write: (slice) => this.#write(slice),
      entriesMax: options.sliceEntriesMax,
      turns,
    })
    this.#slices = slices
    this.#users = new UserPart({ state, slices, turns, writeBoards: this.#writeBoards })
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
      const taken = this.#takeAlone(intervalMs * limits.snapshotPaceShare)
      yield* Effect.catchTag(taken, "Unavailable", (error) =>
        Effect.logError("No snapshot; the journal keeps all records").pipe(
          Effect.annotateLogs({ cause: error.message }),
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
   * Takes a snapshot of all that is durable now, without pauses. Without space nothing is lost, and
   * the next one tries again.
   */
  readonly take: Effect.Effect<void, StorageError> = Effect.suspend(() => {
    this.#taking++
    this.#users.hurry()
    return Effect.ensuring(
      this.#takeAlone(0),
      Effect.sync(() => {
        this.#taking--
      }),
    )
  })

  #takeAlone(paceMs: number): Effect.Effect<void, StorageError> {
    return Semaphore.withPermit(
      this.#one,
      // In a turn of its own: the request may have come in the middle of a commit.
      Effect.andThen(
        Effect.suspend(() => this.#turns.next),
        Effect.suspend(() => this.#take(paceMs)),
      ),
    )
  }

  #take(paceMs: number): Effect.Effect<void, StorageError> {
    const { changed, environments, erasures, idempotency, ids, now } = this.#state
    const self = this
    const slices = this.#slices
    if (this.pending === 0) return Effect.void
    slices.begin()
    this.#users.begin(this.#taking > 0 ? 0 : paceMs)
    const startedAt = performance.now()
    const watermark = changed.lastDurable
    const actors = changed.begin()
    const shared = actors.map((actor) => ({ actor, state: actor.durable }))
    const part = environments.beginSnapshot()
    const erased = erasures.begin()
    return Effect.gen(function* () {
      yield* self.#writeBoards
      self.#turns.begin()
      yield* self.#erase(erased)
      yield* self.#users.write()
      for (const entry of idempotency.entries(watermark)) {
        slices.add(entry)
        if (self.#turns.isOver) yield* self.#turns.next
        if (slices.isFull) yield* slices.handOn
      }
      const through = { through: watermark, watermark: self.#mark.watermark }
      for (const [environment, list] of yield* self.#newIds(watermark)) {
        yield* ids.write(environment, list, through, slices.addGroup)
      }
      const mark: SnapshotMark = { watermark, at: now() }
      for (const entry of part.entries) {
        slices.add(entry)
        if (self.#turns.isOver) yield* self.#turns.next
      }
      for (const entry of self.#sharedEntries(shared)) {
        slices.add(entry)
        if (self.#turns.isOver) yield* self.#turns.next
      }
      const value = encodeValue(JSON.stringify(mark))
      slices.add({ table: "meta", key: snapshotKey, value })
      yield* slices.flush
      self.#mark = mark
      self.#options.metrics.snapshotTaken(performance.now() - startedAt)
      self.#forget()
      part.ended()
      ids.ended()
      erasures.stored(erased)
      self.#options.onEnded()
    }).pipe(
      Effect.onExit((exit) =>
        Exit.hasInterrupts(exit) ? slices.abandon : Effect.exit(slices.idle),
      ),
      Effect.onError(() =>
        Effect.sync(() => {
          this.#options.metrics.snapshotFailed()
          // Some slices may have been written.
          for (const actor of actors) actor.storedChecksum = undefined
          for (const { storedTeams } of environments) storedTeams.failed()
          changed.failed(actors, this.#mark.watermark)
          this.#users.failed()
          part.failed()
          ids.failed()
        }),
      ),
    )
  }

  /** Stores the jobs that delete the data of erased users, and deletes their ids. */
  #erase(erased: ReadonlyArray<Erasure>): Effect.Effect<void, StorageError> {
    const { environments } = this.#state
    const slices = this.#slices
    return Effect.gen(function* () {
      for (const erasure of erased) {
        const { environment, userId } = erasure
        const id = {
          table: "userIds",
          key: compositeKey(environment, userId),
          value: null,
        } as const
        const gone = environments.isThere(environment, userId) ? [] : [id]
        yield* slices.addGroup([jobEntry(erasure), ...gone])
      }
      if (!slices.isEmpty) yield* slices.flush
    })
  }

  /**
   * The entries of the projects and the directory that changed, in one slice: a project's value and
   * its chunks of teams are as of one record.
   */
  *#sharedEntries(shared: ReadonlyArray<SharedState>): Generator<Entry> {
    for (const { actor, state } of shared) {
      const { kind, storedChecksum, subject } = actor
      if (subject.actor === "user") continue
      const value = encodeValue(kind.stored!.encode(state))
      yield actorEntry(subject, value, storedChecksum)
      actor.storedChecksum = checksumOf(value)
      if (subject.actor !== "project") continue
      const { id, storedTeams } = this.#state.environments.of(subject.environment)
      yield* storedTeams.entries(id, (state as ProjectState).teams)
    }
  }

  /**
   * The callers' ids in the records after the last snapshot and up to `through`, by environment.
   * Those of erased users are among them: their jobs delete them (`ErasureRuns`).
   */
  readonly #newIds = Effect.fnUntraced(function* (this: Snapshotter, through: number) {
    const { pending } = this.#state
    const lists = new Map<string, IdList>()
    for (let sequence = pending.watermark + 1; sequence <= through; sequence++) {
      const hash = pending.hashOf(sequence)
      if (hash !== undefined) {
        const environment = pending.environmentOf(sequence)
        const list = lists.get(environment) ?? new IdList()
        lists.set(environment, list)
        list.add(hash, sequence)
      }
      if (this.#turns.isOver) yield* this.#turns.next
    }
    return lists
  }).bind(this)

  /**
   * A slice may have states as of now, so the write waits until the journal has the records of
   * those states.
   */
  #write(slice: Iterable<Entry>): Effect.Effect<void, StorageError> {
    return Effect.andThen(this.#options.written, this.#state.storage.writeEntries(slice))
  }

  /** Drops from memory the records that the snapshot has. */
  #forget(): void {
    this.#state.idempotency.snapshotted(this.#mark.watermark)
    this.#state.pending.release(this.#mark.watermark)
  }
}
