/**
 * Reads the rows of partitions, for all partitions of a process. One statement answers all reads of
 * one turn of the event loop, and all reads that began while the previous statement ran. So each
 * answer comes from a statement that began after the call: a runner that asks whether it owns a
 * partition may rely on the time of its call.
 */
import { Deferred, Effect, Exit } from "effect"
import type { InPostgres, PgConnection, PgFailure, Rows } from "./PgConnection.ts"

type Row = Rows[number]

/** Reads a row of a partition; `undefined` if there is none. */
type Read = (partition: number) => InPostgres<Row | undefined>

const stateText = `SELECT p.id, p.lineage, p.epoch, p.owner, p.last, p.checksum, p.format,
  coalesce((SELECT min(first) FROM laurel_journal WHERE partition = p.id), p.last + 1) AS first
FROM laurel_partition p WHERE p.id = ANY ($1::int[])`

const epochText = "SELECT id, epoch FROM laurel_partition WHERE id = ANY ($1::int[])"

/**
 * A claim has a random id. So the same claim with the same number of changes means the same tables,
 * also after PostgreSQL was restored from a backup.
 */
const tablesText = `SELECT t.partition AS id, t.changes, (
  SELECT c.id FROM laurel_claims c WHERE c.partition = t.partition ORDER BY c.epoch DESC LIMIT 1
) AS claim FROM laurel_tables t WHERE t.partition = ANY ($1::int[])`

export class PartitionRows {
  /** Reads lineage, epoch, owner, end, format, and the first record that is kept. */
  readonly state: Read
  /** Reads only the epoch. */
  readonly epoch: Read
  /** Reads the latest claim of the tables of webhooks, and the number of their changes. */
  readonly tables: Read

  constructor({ run }: Pick<PgConnection, "run">) {
    this.state = gathered((ids) => run({ name: "states", text: stateText, values: [ids] }))
    this.epoch = gathered((ids) => run({ name: "epochs", text: epochText, values: [ids] }))
    this.tables = gathered((ids) => run({ name: "tables", text: tablesText, values: [ids] }))
  }
}

const gathered = (read: (ids: ReadonlyArray<number>) => InPostgres<Rows>): Read => {
  let asked = new Map<number, Deferred.Deferred<Row | undefined, PgFailure>>()
  let isReading = false
  const answer = Effect.gen(function* () {
    // Waits for all calls of this turn.
    yield* Effect.yieldNow
    while (true) {
      const calls = asked
      if (calls.size === 0) break
      asked = new Map()
      const found = yield* Effect.exit(read([...calls.keys()]))
      for (const [id, call] of calls) {
        const rowOf = (rows: Rows) => rows.find((row) => Number(row.id) === id)
        Deferred.doneUnsafe(call, Exit.map(found, rowOf))
      }
    }
    isReading = false
  })
  return (partition) =>
    Effect.suspend(() => {
      const call = asked.get(partition) ?? Deferred.makeUnsafe<Row | undefined, PgFailure>()
      asked.set(partition, call)
      const wait = Deferred.await(call)
      if (isReading) return wait
      isReading = true
      return Effect.andThen(Effect.forkDetach(answer), wait)
    })
}
