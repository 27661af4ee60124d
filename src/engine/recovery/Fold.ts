/**
 * Folds records into a state without an engine that serves.
 *
 * - `foldRecords` folds a slice of a long journal into a snapshot, as a start and the snapshot
 *   after it would. So a long journal needs only the memory for one slice. A slice costs a start,
 *   mostly the read of the users' heads, and a snapshot.
 * - `Folding` folds the records that another server appends into the state of a follower.
 *
 * Nothing is decided and no record is written. The time of a slice is that of its last record.
 */
import { Array as Arr, Effect, Stream } from "effect"
import { limits } from "../../Limits.ts"
import { markTurn } from "../../metrics/LongTurns.ts"
import { Metrics } from "../../metrics/Metrics.ts"
import type { LmdbStore } from "../../storage/lmdb/LmdbStore.ts"
import { Broken, Storage, type StorageError, type StoredRecord } from "../../storage/Storage.ts"
import { nextTurnOf } from "../../storage/yieldToEventLoop.ts"
import type { CommitPipeline } from "../commit/GroupCommit.ts"
import { EngineMetrics } from "../metrics/EngineMetrics.ts"
import { decodeRecord } from "../records/Codec.ts"
import { Snapshotter } from "../snapshot/Snapshotter.ts"
import type { DurableRecord } from "../state/EngineState.ts"
import { type EngineState, openState } from "../state/EngineState.ts"
import { readMark } from "../state/SnapshotMark.ts"
import type { EngineTime } from "../time/Clock.ts"
import { LostErasures } from "./LostErasures.ts"
import { recover, replay, replayErased, replayPipeline } from "./Recovery.ts"

/**
 * Folds `records` into the snapshot in `entries`. They must have every record from its watermark
 * on; earlier ones are skipped.
 */
export const foldRecords = Effect.fnUntraced(function* (
  entries: LmdbStore,
  records: ReadonlyArray<StoredRecord>,
): Effect.fn.Return<void, StorageError> {
  const last = records.at(-1)
  if (last === undefined) return
  const storage = storageOf(entries, records, last.sequence)
  const mark = yield* readMark(storage)
  const whole = records.findLast(({ body }) => body.length > 0)
  const at = whole === undefined ? mark.at : decodeRecord(whole.body).at
  const state = yield* openState({ storage, mark, now: () => at }, { idFilterBytes: 64 })
  yield* recover(state, () => {})
  const snapshotter = new Snapshotter({
    state,
    written: Effect.void,
    onEnded: () => {},
    sliceEntriesMax: limits.snapshotSliceEntriesMax,
    metrics: new EngineMetrics(new Metrics()),
  })
  yield* snapshotter.take
})

/** A storage whose journal consists of these records. */
const storageOf = (
  { readBlocks, readEntries, readEntry, writeEntries }: LmdbStore,
  records: ReadonlyArray<StoredRecord>,
  lastSequence: number,
): Storage["Service"] =>
  Storage.of({
    lastSequence,
    firstSequence: Effect.succeed(records[0]!.sequence),
    segments: Effect.succeed([records[0]!.sequence]),
    append: () =>
      Effect.fail(new Broken({ operation: "append", cause: new Error("a fold only reads") })),
    readRecords: (sequence) =>
      Stream.fromIterable(
        Arr.chunksOf(
          records.filter((record) => record.sequence >= sequence),
          chunkRecords,
        ),
      ),
    readRecord: (sequence) => Effect.succeed(records[sequence - records[0]!.sequence]),
    eraseRecords: () => Effect.undefined,
    prune: () => Effect.void,
    readBlocks,
    readEntries,
    readEntry,
    writeEntries,
  })

const chunkRecords = 1_000

/*
 * Folds records that another server appends into the state of a follower, as recovery does with the
 * records of its own journal. Each record is applied in one turn, so a snapshot that is written
 * meanwhile has either all of a record or nothing of it.
 *
 * Memory is bounded as in an engine that serves: with `snapshotPendingRecordsMax` records that
 * await a snapshot, the next record waits for one. All engines of the process share this bound. If
 * a snapshot of this engine makes no room, folding waits for snapshots of the others.
 */

export class Folding {
  readonly #state: EngineState
  readonly #snapshotter: Snapshotter
  readonly #time: EngineTime
  readonly #pipeline: CommitPipeline<DurableRecord>
  readonly #lost: LostErasures

  constructor(state: EngineState, snapshotter: Snapshotter, time: EngineTime) {
    this.#state = state
    this.#snapshotter = snapshotter
    this.#time = time
    this.#pipeline = replayPipeline(state)
    this.#lost = new LostErasures(state)
  }

  readonly fold = Effect.fnUntraced(function* (
    this: Folding,
    records: ReadonlyArray<StoredRecord>,
  ): Effect.fn.Return<void, StorageError> {
    markTurn("follow")
    let endsAt = performance.now() + limits.foldTurnMs
    for (const stored of records) {
      const record = this.#lost.meaningOf(stored)
      if (record === undefined) {
        yield* replayErased(this.#state, stored, this.#pipeline, this.#lost)
        continue
      }
      while (!this.#hasRoom) yield* this.#makeRoom
      yield* replay(this.#state, record, stored, this.#pipeline)
      this.#time.reached(record.at)
      if (performance.now() < endsAt) continue
      yield* nextTurnOf("follow")
      endsAt = performance.now() + limits.foldTurnMs
    }
  }).bind(this)

  get #hasRoom(): boolean {
    return this.#state.changed.pendingOfAll < limits.snapshotPendingRecordsMax
  }

  /**
   * Takes a snapshot, or waits. With a full disk it retries: the other server's journal keeps the
   * records.
   */
  get #makeRoom(): Effect.Effect<void, Broken> {
    return this.#snapshotter.take.pipe(
      Effect.catchTag("Unavailable", () => Effect.sleep(limits.unavailableRetryMs)),
      Effect.andThen(
        Effect.suspend(() =>
          this.#hasRoom ? nextTurnOf("follow") : Effect.sleep(limits.foldRoomMs),
        ),
      ),
    )
  }
}
