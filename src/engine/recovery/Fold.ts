/**
 * Folds records of the journal into a snapshot without an engine that serves: what a start and the snapshot after it would
 * make of them, so that a long journal needs no more memory than a slice of it. Nothing is decided and no record is
 * written: time stands still at the last record.
 *
 * Cost of a slice: that of a start, of which the users' heads are the most, and of a snapshot.
 */
import { Array as Arr, Effect, Stream } from "effect"
import { limits } from "../../Limits.ts"
import { Metrics } from "../../metrics/Metrics.ts"
import type { LmdbStore } from "../../storage/lmdb/LmdbStore.ts"
import { Broken, Storage, type StorageError, type StoredRecord } from "../../storage/Storage.ts"
import { domain, Environments, newDirectory } from "../actor/Environments.ts"
import { BoardWriter } from "../boards/BoardWriter.ts"
import { IdempotencyKeys } from "../dedupe/Idempotency.ts"
import { IdIndex } from "../dedupe/IdIndex.ts"
import { Erasures } from "../erasure/Erasures.ts"
import { EngineMetrics } from "../metrics/EngineMetrics.ts"
import { PendingRecords } from "../records/PendingRecords.ts"
import { Snapshotter } from "../snapshot/Snapshotter.ts"
import { readMark, recover } from "./Recovery.ts"

/** Folds `records`, which follow the watermark of the snapshot in `entries`, or have records up to it first. */
export const foldRecords = Effect.fnUntraced(function* (
  entries: LmdbStore,
  records: ReadonlyArray<StoredRecord>,
): Effect.fn.Return<void, StorageError> {
  const last = records.at(-1)
  if (last === undefined) return
  const storage = storageOf(entries, records, last.sequence)
  let at = 0
  const now = () => at
  const environments = new Environments({
    domain,
    now,
    sooner: () => {},
  })
  const erasures = new Erasures()
  const next = () => last.sequence + 1
  const idempotency = new IdempotencyKeys({ storage, now, erasures, next })
  const boards = new BoardWriter({ storage, environments, now })
  const mark = yield* readMark(storage)
  const pending = new PendingRecords(mark.watermark)
  const snapshotter = new Snapshotter({
    storage,
    pending,
    ids: yield* IdIndex.open(storage),
    written: Effect.void,
    first: (write) => boards.write(write),
    idempotency,
    begins: () => environments.beginSnapshot(),
    onEnded: () => {},
    erasures,
    isThere: (environment, userId) => environments.isThere(environment, userId),
    held: Effect.succeed(0),
    heartbeat: (over) => over(),
    now,
    mark,
    sliceEntriesMax: limits.snapshotSliceEntriesMax,
    metrics: new EngineMetrics(new Metrics()),
  })
  yield* recover({
    storage,
    environments,
    directory: newDirectory(),
    mark,
    pending,
    userActor: (id, userId) => {
      const environment = environments.of(id)
      const known = environment.users.get(userId)
      if (known !== undefined) return known
      const actor = environment.newUser(userId)
      environment.users.set(userId, actor)
      return actor
    },
    replayed: (actor, record) => {
      at = Math.max(at, record.at)
      environments.durable(record)
      idempotency.committed(record)
      snapshotter.committed(actor, record.sequence)
      erasures.replayed(actor, record)
    },
    progressed: () => {},
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
      Effect.fail(
        new Broken({ operation: "append", cause: new Error("only what is there is folded") }),
      ),
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
