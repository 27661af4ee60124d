/**
 * The rows of a journal in PostgreSQL, one per batch: inserts an upload, and reads batches. A read
 * checks the checksum of each batch, its link to the previous batch and its frames: a lost, changed
 * or swapped row fails the read.
 */
import { crc32 } from "node:zlib"
import { Effect, Option, Stream } from "effect"
import { limits } from "../../Limits.ts"
import { batchFault, holdsTombstone, withTombstones } from "../Frames.ts"
import { batchChecksum, type JournalPosition } from "../journal/SegmentFormat.ts"
import {
  Broken,
  DamagedElsewhere,
  type JournalBatch,
  type StorageError,
  Unavailable,
} from "../Storage.ts"
import { formatRefusal } from "./formats.ts"
import {
  answerMsOf,
  type InPostgres,
  type PgFailure,
  type Rows,
  type Run,
  type Sessions,
} from "./PgConnection.ts"

/** A batch and its place in the chain of checksums. */
export interface ChainedBatch extends JournalBatch {
  readonly previous: number
  readonly checksum: number
}

const insertText = `INSERT INTO laurel_journal
(partition, first, count, epoch, previous, checksum, frames, contents)
VALUES ($1, $2, $3, 0, $4, $5, $6, $7)`

// The statement reads the format together with the records, so no record of another format is read.
// The size of frames is known without reading them.
const readText = `SELECT first, count, previous, checksum, frames, contents,
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
    ({ checksum, count, firstSequence, frames, keptChecksum, previous }) => {
      const contents = keptChecksum === undefined ? null : crc32(frames)
      const values = [partition, firstSequence, count, previous, checksum, frames, contents]
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
    const batch = batchIn(row)
    const fault = isAsWritten(batch, row) ? faultAfter(batch, end) : notAsWritten(batch)
    if (fault !== undefined) return yield* damaged(fault)
    batches.push(batch)
    end = endOf(batch)
  }
  return batches
})

/** Why `batch` cannot follow `end`; `undefined` if it can. */
const faultAfter = (batch: ChainedBatch, end: JournalPosition): string | undefined => {
  const { firstSequence, previous } = batch
  if (firstSequence !== end.lastSequence + 1) {
    return `records ${end.lastSequence + 1} to ${firstSequence - 1} are missing`
  }
  const name = `the batch from record ${firstSequence} on`
  if (previous !== end.checksum) return `${name} does not follow the one before it`
  return batchFault(batch, end.lastSequence)
}

const notAsWritten = ({ firstSequence }: ChainedBatch): string =>
  `the batch from record ${firstSequence} on is not as it was written`

/** The batch of a row. */
export const batchIn = (row: Rows[number]): ChainedBatch => {
  const checksum = Number(row.checksum)
  return {
    firstSequence: Number(row.first),
    count: Number(row.count),
    frames: row.frames as Uint8Array,
    previous: Number(row.previous),
    checksum,
    ...(row.contents !== null && { keptChecksum: checksum }),
  }
}

/** Whether the bytes of a batch have the checksums of its row. */
export const isAsWritten = (batch: ChainedBatch, { contents }: Rows[number]): boolean =>
  batch.keptChecksum === undefined
    ? batchChecksum(batch, batch.previous) === batch.checksum
    : crc32(batch.frames) === Number(contents) && holdsTombstone(batch)

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

const rowOfText = `SELECT first, count, previous, checksum, frames, contents FROM laurel_journal
WHERE partition = $1 AND first = (
  SELECT max(first) FROM laurel_journal WHERE partition = $1 AND first <= $2
)`

// Another server may erase other records of the same batch.
const eraseText = `UPDATE laurel_journal SET frames = $4, contents = $5
WHERE partition = $1 AND first = $2 AND contents IS NOT DISTINCT FROM $6
AND EXISTS (SELECT FROM laurel_partition WHERE id = $1 AND lineage = $3) RETURNING first`

/**
 * Puts tombstones in the place of these records, ascending, batch by batch. Records that were
 * pruned or erased before are passed over, and so is a journal of another lineage. Any server that
 * has the records may do so: an erasure is complete although the owner changes.
 */
export const eraseRows = Effect.fnUntraced(function* (
  { run }: Sessions,
  { lineage, partition }: { readonly partition: number; readonly lineage: string },
  sequences: ReadonlyArray<number>,
): Effect.fn.Return<void, StorageError> {
  const ask = (text: string, values: ReadonlyArray<unknown>) =>
    Effect.mapError(run({ text, values }), (failure) => toStorageError("erase", failure))
  let tries = 0
  for (let at = 0; at < sequences.length; ) {
    const sequence = sequences[at]!
    const [row] = yield* ask(rowOfText, [partition, sequence])
    const batch = row && batchIn(row)
    const end = batch === undefined ? 0 : endOf(batch).lastSequence
    if (batch === undefined || end < sequence) {
      at++
      continue
    }
    if (!isAsWritten(batch, row!)) return yield* damaged(notAsWritten(batch))
    const next = sequences.findIndex((one, index) => index > at && one > end)
    const gone = new Set(sequences.slice(at, next < 0 ? undefined : next))
    const frames = withTombstones(batch, gone)
    if (frames.length < batch.frames.length) {
      const values = [partition, batch.firstSequence, lineage, frames, crc32(frames), row!.contents]
      const changed = yield* ask(eraseText, values)
      if (changed.length === 0 && ++tries < eraseTriesMax) continue
    }
    tries = 0
    at += gone.size
  }
})

/** A row that stays unchanged so often is of another lineage, or was pruned. */
const eraseTriesMax = 3
