/**
 * The state of a cluster for `laurel cluster status` and the dashboard: its runners, and the owner
 * and the followers of each partition. PostgreSQL has all of it. No runner is asked.
 */
import { Effect } from "effect"
import { partitionOf } from "../domain/project/Directory.ts"
import { checkFormat } from "../storage/postgres/formats.ts"
import {
  type InPostgres,
  PgConnection,
  type PgFailure,
  undefinedTable,
} from "../storage/postgres/PgConnection.ts"
import { readDirectory } from "./DirectoryTable.ts"

/** The prefix of the names of Effect Cluster's tables. */
export const tablePrefix = "laurel_cluster"

/** Times are ISO 8601. */
export interface RunnerStatus {
  readonly address: string
  /** Seconds since its last heartbeat. */
  readonly silentSeconds: number
  /** This and the following fields are unknown until the runner has written its row. */
  readonly version: string | undefined
  /** Requests of the last minute: answered, also for other runners, and forwarded. */
  readonly answered: number | undefined
  readonly forwarded: number | undefined
  readonly lockExpirationMs: number | undefined
}

export interface PartitionStatus {
  readonly partition: number
  readonly owner: string
  readonly epoch: number
  readonly since: string
  readonly records: number
  /** Requests answered and records written in a second (`Loads.ts`). */
  readonly load: number
  /**
   * The sorted names of its projects that are in use. `undefined`: the directory cannot be read.
   */
  readonly projects: ReadonlyArray<string> | undefined
}

export interface FollowerStatus {
  readonly partition: number
  readonly address: string
  /**
   * The number of records of the partition that it lacked at its last report, at most a second ago.
   */
  readonly behindRecords: number
  /** The time since it last had all records. */
  readonly lagSeconds: number
}

export interface ClusterStatus {
  readonly runners: ReadonlyArray<RunnerStatus>
  readonly partitions: ReadonlyArray<PartitionStatus>
  readonly followers: ReadonlyArray<FollowerStatus>
  /** The share of forwarded requests in the last minute, 0 to 1. `undefined` without requests. */
  readonly forwardedShare: number | undefined
}

/**
 * The age in seconds of the heartbeat in a row of `laurel_cluster_runners`. A heartbeat that is n
 * seconds in the future counts as n seconds old: PostgreSQL's clock was set back, and a live runner
 * would have renewed its row since.
 */
export const silentSecondsText =
  "abs(extract(epoch FROM now() AT TIME ZONE 'UTC' - last_heartbeat))::float8"

const runnersText = `SELECT address, ${silentSecondsText} AS silent
FROM ${tablePrefix}_runners ORDER BY address`

const knownText =
  "SELECT address, version, answered, forwarded, lock_expiration_ms AS expiration FROM laurel_runner"

const loadsText = "SELECT partition, load FROM laurel_load"

const partitionsText =
  "SELECT id, owner, epoch, since, last FROM laurel_partition ORDER BY laurel_partition.id"

const followersText = `SELECT f.partition, f.runner, greatest(p.last - f.last, 0) AS behind,
  extract(epoch FROM now() - f.complete_at)::float8 AS lag
FROM laurel_follower f JOIN laurel_partition p ON p.id = f.partition
ORDER BY f.partition, f.runner`

/** Reads a table that may not exist yet. */
const orNone = <A>(
  read: Effect.Effect<ReadonlyArray<A>, PgFailure>,
): InPostgres<ReadonlyArray<A>> =>
  Effect.catchIf(
    read,
    ({ code }) => code === undefinedTable,
    () => Effect.succeed([]),
  )

/**
 * The names of the projects in use, by partition. `undefined` if the directory cannot be read, so
 * that the rest of the status is still shown.
 */
const projectsByPartition = (
  connection: PgConnection,
): InPostgres<ReadonlyMap<number, ReadonlyArray<string>> | undefined> =>
  readDirectory(connection.run).pipe(
    Effect.catchIf(
      ({ isOutage }) => !isOutage,
      () => Effect.undefined,
    ),
    Effect.map((directory) => {
      if (directory === undefined) return undefined
      const inUse = [...directory.projects.values()].filter((each) => each.archivedAt === undefined)
      const names = new Map<number, Array<string>>()
      for (const [partition, projects] of Map.groupBy(inUse, partitionOf)) {
        names.set(partition, projects.map(({ name }) => name).sort())
      }
      return names
    }),
  )

const shareOf = (runners: ReadonlyArray<RunnerStatus>): number | undefined => {
  const answered = runners.reduce((sum, runner) => sum + (runner.answered ?? 0), 0)
  const forwarded = runners.reduce((sum, runner) => sum + (runner.forwarded ?? 0), 0)
  return answered === 0 ? undefined : Math.min(1, forwarded / answered)
}

export const readClusterStatus = (connection: PgConnection): InPostgres<ClusterStatus> =>
  Effect.gen(function* () {
    yield* checkFormat(connection)
    const seen = yield* orNone(connection.run({ text: runnersText }))
    const known = yield* orNone(connection.run({ text: knownText }))
    const partitions = yield* orNone(connection.run({ text: partitionsText }))
    const followers = yield* orNone(connection.run({ text: followersText }))
    const loads = yield* orNone(connection.run({ text: loadsText }))
    const loadOf = new Map(loads.map(({ load, partition }) => [Number(partition), Number(load)]))
    const projects = yield* projectsByPartition(connection)
    const runners = seen.map(({ address, silent }) => {
      const row = known.find((other) => other.address === address)
      return {
        address: String(address),
        silentSeconds: Number(silent),
        version: row && String(row.version),
        answered: row && Number(row.answered),
        forwarded: row && Number(row.forwarded),
        lockExpirationMs: (row?.expiration as number | null | undefined) ?? undefined,
      }
    })
    return {
      runners,
      partitions: partitions.map(({ epoch, id, last, owner, since }) => ({
        partition: Number(id),
        owner: String(owner),
        epoch: Number(epoch),
        since: (since as Date).toISOString(),
        records: Number(last),
        load: loadOf.get(Number(id)) ?? 0,
        projects: projects && (projects.get(Number(id)) ?? []),
      })),
      followers: followers.map(({ behind, lag, partition, runner }) => ({
        partition: Number(partition),
        address: String(runner),
        behindRecords: Number(behind),
        lagSeconds: Math.max(0, Number(lag)),
      })),
      forwardedShare: shareOf(runners),
    }
  })

/** Reads the status on a session of its own. */
export const clusterStatusAt = (url: string): InPostgres<ClusterStatus> =>
  Effect.suspend(() => {
    const connection = new PgConnection({ url })
    return Effect.ensuring(readClusterStatus(connection), connection.close)
  })
