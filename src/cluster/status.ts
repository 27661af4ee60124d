/** What PostgreSQL knows of a cluster: its runners, and who owns each partition. Nothing is asked of the runners. */
import { Effect } from "effect"
import type { InPostgres, PgConnection, PgFailure } from "../storage/postgres/PgConnection.ts"

/** Begins the names of Effect Cluster's tables. */
export const tablePrefix = "laurel_cluster"

/** Times are ISO 8601. */
export interface RunnerStatus {
  readonly address: string
  /** Seconds since its last sign of life. */
  readonly silentSeconds: number
}

export interface PartitionStatus {
  readonly partition: number
  readonly owner: string
  readonly epoch: number
  readonly since: string
  readonly records: number
}

export interface ClusterStatus {
  readonly runners: ReadonlyArray<RunnerStatus>
  readonly partitions: ReadonlyArray<PartitionStatus>
}

const runnersText = `SELECT address,
  extract(epoch FROM now() AT TIME ZONE 'UTC' - last_heartbeat)::float8 AS silent
FROM ${tablePrefix}_runners ORDER BY address`

const partitionsText =
  "SELECT id, owner, epoch, since, last FROM laurel_partition ORDER BY laurel_partition.id"

const undefinedTable = "42P01"

/** Without its tables a cluster has nothing. */
const orNone = <A>(
  read: Effect.Effect<ReadonlyArray<A>, PgFailure>,
): InPostgres<ReadonlyArray<A>> =>
  Effect.catchIf(
    read,
    ({ code }) => code === undefinedTable,
    () => Effect.succeed([]),
  )

export const readClusterStatus = (connection: PgConnection): InPostgres<ClusterStatus> =>
  Effect.gen(function* () {
    const runners = yield* orNone(connection.run({ text: runnersText }))
    const partitions = yield* orNone(connection.run({ text: partitionsText }))
    return {
      runners: runners.map(({ address, silent }) => ({
        address: String(address),
        silentSeconds: Math.max(0, Number(silent)),
      })),
      partitions: partitions.map(({ epoch, id, last, owner, since }) => ({
        partition: Number(id),
        owner: String(owner),
        epoch: Number(epoch),
        since: (since as Date).toISOString(),
        records: Number(last),
      })),
    }
  })
