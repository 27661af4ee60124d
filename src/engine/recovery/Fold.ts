/**
 * Folds records of the journal into a snapshot without an engine that serves: what a start and the snapshot after it would
 * make of them, so that a long journal needs no more memory than a slice of it. Nothing is decided and no record is
 * written: time stands still at the last record.
 *
 * A slice costs as much as a start, mostly for the users' heads, and a snapshot.
 */
import { Array as Arr, Effect, Stream } from "effect"
import { limits } from "../../Limits.ts"
import { Metrics } from "../../metrics/Metrics.ts"
import type { LmdbStore } from "../../storage/lmdb/LmdbStore.ts"
import { Broken, Storage, type StorageError, type StoredRecord } from "../../storage/Storage.ts"
import { EngineMetrics } from "../metrics/EngineMetrics.ts"
import { decodeRecord } from "../records/Codec.ts"
import { Snapshotter } from "../snapshot/Snapshotter.ts"
import { openState } from "../state/EngineState.ts"
import { readMark } from "../state/SnapshotMark.ts"
import { recover } from "./Recovery.ts"

/** Folds `records`, which follow the watermark of the snapshot in `entries`, or have records up to it first. */
export const foldRecords = Effect.fnUntraced(function* (
  entries: LmdbStore,
  records: ReadonlyArray<StoredRecord>,
): Effect.fn.Return<void, StorageError> {
  const last = records.at(-1)
  if (last === undefined) return
  const storage = storageOf(entries, records, last.sequence)
  const { at } = decodeRecord(last.body)
  const mark = yield* readMark(storage)
  const state = yield* openState({ storage, mark, now: () => at }, { idFilterBytes: 64 })
  yield* recover(state, () => {})
  const snapshotter = new Snapshotter({
    state,
    written: Effect.void,
    held: Effect.succeed(0),
    onEnded: () => {},
    sliceEntriesMax: limits.snapshotSliceEntriesMax,
    metrics: new EngineMetrics(new Metrics()),
  })
  yield* snapshotter.take
})

/** The storage as if the journal ended with these records. */
const storageOf = (
  { readBlocks, readEntries, readEntry, writeEntries }: LmdbStore,
  records: ReadonlyArray<StoredRecord>,
  lastSequence: number,
): Storage["Service"] =>
  Storage.of({
    lastSequence,
    firstSequence: Effect.succeed(records[0]!.sequence),
    append: () =>
      Effect.fail(new Broken({ operation: "append", cause: new Error("a fold only reads") })),
    readRecords: (sequence) =>
      Stream.fromIterable(
        Arr.chunksOf(
          records.filter((record) => record.sequence >= sequence),
          chunkRecords,
        ),
      ),
    prune: () => Effect.void,
    readBlocks,
    readEntries,
    readEntry,
    writeEntries,
  })

const chunkRecords = 1_000
