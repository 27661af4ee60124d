/**
 * Creates a partition in PostgreSQL from the journal of a data directory, or replaces a partition:
 * one transaction, all or nothing.
 */
import { Effect } from "effect"
import { limits } from "../../Limits.ts"
import { dataFormat } from "../format.ts"
import type { JournalPosition } from "../journal/SegmentFormat.ts"
import { type ChainedBatch, endOf, insertBatches } from "./PgBatches.ts"
import type { InPostgres, PgFailure, Run } from "./PgConnection.ts"
import type { PgSessions } from "./PgPool.ts"

/** Inserts the batches of the journal, in order. */
export type Upload<E> = (
  insert: (batches: ReadonlyArray<ChainedBatch>) => InPostgres<void>,
) => Effect.Effect<unknown, E>

/** Further changes in the same transaction. */
export type More<E> = (run: Run, epoch: number) => Effect.Effect<void, PgFailure | E>

export interface MakeOptions<E> {
  readonly sessions: PgSessions
  readonly partition: number
  readonly lineage: string
  readonly upload: Upload<E>
  readonly more?: More<E>
  /** Removes all data that PostgreSQL has of the partition, and continues its epoch. */
  readonly replaces?: boolean
}

const createText =
  "INSERT INTO laurel_partition (id, lineage, epoch, owner, last, checksum, format) VALUES ($1, $2, $3, '', 0, 0, $4)"

// The row is first: its lock stops appends of an owner.
const removeTexts = [
  "DELETE FROM laurel_partition WHERE id = $1 RETURNING epoch",
  "DELETE FROM laurel_journal WHERE partition = $1",
  "DELETE FROM laurel_tables WHERE partition = $1",
  "DELETE FROM laurel_claims WHERE partition = $1",
  "DELETE FROM laurel_entries WHERE partition = $1",
  // Keeps the directory that the replaced partition 1 published for its next owner
  // (`cluster/ForgottenProjects.ts`).
  `WITH replaced AS (DELETE FROM laurel_directory WHERE id = $1 RETURNING epoch, sequence, state)
  INSERT INTO laurel_directory (id, epoch, sequence, state) SELECT 0, epoch, sequence, state FROM replaced
  ON CONFLICT (id) DO UPDATE
  SET epoch = EXCLUDED.epoch, sequence = EXCLUDED.sequence, state = EXCLUDED.state`,
]

const endText = "UPDATE laurel_partition SET last = $2, checksum = $3 WHERE id = $1"

export const makePartition = <E>({
  lineage,
  more,
  partition,
  replaces = false,
  sessions,
  upload,
}: MakeOptions<E>): Effect.Effect<void, PgFailure | E> =>
  sessions.others.transaction((run) =>
    Effect.gen(function* () {
      const epoch = replaces ? yield* remove(run, partition) : 0
      yield* run({ text: createText, values: [partition, lineage, epoch, dataFormat] })
      let end: JournalPosition = { lastSequence: 0, checksum: 0 }
      yield* upload((batches) => {
        const last = batches.at(-1)
        if (last !== undefined) end = endOf(last)
        return insertBatches(run, partition, batches)
      })
      yield* run({ text: endText, values: [partition, end.lastSequence, end.checksum] })
      if (more !== undefined) yield* more(run, epoch)
    }),
  )

/** Removes the partition. Returns the next epoch. */
const remove = (run: Run, partition: number): InPostgres<number> =>
  Effect.map(
    // Waits without a limit for another command that removes the same partition.
    Effect.forEach(["SET LOCAL lock_timeout = 0", ...removeTexts], (text) =>
      run({
        text,
        values: text.includes("$1") ? [partition] : [],
        moreAnswerMs: limits.postgresRemoveMs - limits.postgresAnswerMs,
      }),
    ),
    ([, removed]) => Number(removed?.[0]?.epoch ?? -1) + 1,
  )
