/**
 * The rows of a journal in PostgreSQL, one per batch: inserts an upload, and reads batches. A read
 * checks the checksum of each batch, its link to the previous batch and its frames: a lost, changed
 * or swapped row fails the read.
 */
import { Effect, Option, Stream } from "effect"
import { limits } from "../../Limits.ts"
import { batchFault } from "../Frames.ts"
import { encodeBatchHeader, type JournalPosition } from "../journal/SegmentFormat.ts"
import {
  Broken,
  DamagedElsewhere,
  type JournalBatch,
  type StorageError,
  Unavailable,
} from "../Storage.ts"
import { formatRefusal } from "./formats.ts"
import { answerMsOf, type InPostgres, type PgFailure, type Run } from "./PgConnection.ts"

/** A batch and its place in the chain of checksums. */
export interface ChainedBatch extends JournalBatch {
  readonly previous: number
  readonly checksum: number
}

const insertText = `INSERT INTO laurel_journal (partition, first, count, epoch, previous, checksum, frames)
VALUES ($1, $2, $3, 0, $4, $5, $6)`

// The statement reads the format together with the records, so no record of another format is read.
// The size of frames is known without reading them.
const readText = `SELECT first, count, previous, checksum, frames,
  (SELECT format FROM laurel_partition WHERE id = $1) AS format
FROM (
  SELECT *, sum(octet_length(frames)) OVER (ORDER BY first) - octet_length(frames) AS before
  FROM (
    SELECT * FROM laurel_journal WHERE partition = $1 AND first >= $2 ORDER BY first LIMIT $3
  ) AS page
) AS sized WHERE before < $4 ORDER BY first`

/** Turns a failure of PostgreSQL into an error of the storage. An outage becomes `Unavailable`. */
export const toStorageError = (operation: string, failure: PgFailure): StorageError =>
  failure.isOutage
    ? new Unavailable({ operation, reason: "database_away", detail: failure.words })
    : new Broken({ operation, cause: failure })

/** Inserts batches of an upload. */
export const insertBatches = (
  run: Run,
  partition: number,
  batches: ReadonlyArray<ChainedBatch>,
): InPostgres<void> =>
  Effect.forEach(
    batches,
    ({ checksum, count, firstSequence, frames, previous }) => {
      const values = [partition, firstSequence, count, previous, checksum, frames]
      return run({ name: "insert", text: insertText, values })
    },
    { discard: true },
  )

/** The batches after `after`, in order, up to the last batch. */
export const readBatches = (
  run: Run,
  partition: number,
  after: JournalPosition,
): Stream.Stream<ReadonlyArray<ChainedBatch>, StorageError> =>
  Stream.paginate(after, (position) =>
    Effect.map(readSome(run, partition, position), (batches) => {
      const last = batches.at(-1)
      return last === undefined ? [[], Option.none()] : [[batches], Option.some(endOf(last))]
    }),
  )

const readSome = Effect.fnUntraced(function* (
  run: Run,
  partition: number,
  after: JournalPosition,
): Effect.fn.Return<ReadonlyArray<ChainedBatch>, StorageError> {
  const { postgresReadBytes: bytes, postgresReadRows } = limits
  const values = [partition, after.lastSequence + 1, postgresReadRows, bytes]
  const statement = { text: readText, values, moreAnswerMs: answerMsOf(bytes) }
  const rows = yield* Effect.mapError(run(statement), (failure) => toStorageError("read", failure))
  let end = after
  const batches: Array<ChainedBatch> = []
  const refusal = formatRefusal(rows[0])
  if (refusal !== undefined) return yield* toStorageError("read", refusal)
  for (const row of rows) {
    const batch: ChainedBatch = {
      firstSequence: Number(row.first),
      count: Number(row.count),
      frames: row.frames as Uint8Array,
      previous: Number(row.previous),
      checksum: Number(row.checksum),
    }
    const fault = faultAfter(batch, end)
    if (fault !== undefined) return yield* damaged(fault)
    batches.push(batch)
    end = endOf(batch)
  }
  return batches
})

/** Why `batch` cannot follow `end`; `undefined` if it can. */
const faultAfter = (batch: ChainedBatch, end: JournalPosition): string | undefined => {
  const { checksum, firstSequence, previous } = batch
  if (firstSequence !== end.lastSequence + 1) {
    return `records ${end.lastSequence + 1} to ${firstSequence - 1} are missing`
  }
  const name = `the batch from record ${firstSequence} on`
  if (previous !== end.checksum) return `${name} does not follow the one before it`
  return encodeBatchHeader(batch, previous).checksum === checksum
    ? batchFault(batch, end.lastSequence)
    : `${name} is not as it was written`
}

/** The error for a damaged journal in PostgreSQL. */
export const damaged = (words: string): Broken =>
  new Broken({
    operation: "read",
    cause: new DamagedElsewhere(`The journal in PostgreSQL is damaged: ${words}`),
  })

/** The end of a batch. */
export const endOf = ({ checksum, count, firstSequence }: ChainedBatch): JournalPosition => ({
  lastSequence: firstSequence + count - 1,
  checksum,
})
