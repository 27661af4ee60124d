/**
 * The tables of a cluster, in the first schema of the session's `search_path`; made and brought up
 * to date at a start.
 *
 * - `laurel_schema`: one row, the version of the tables.
 * - `laurel_partition`: one row a partition. `epoch` counts its owners: only the latest claim may
 *   append. `last` and `checksum` are the end of its journal. `lineage` tells journals apart that
 *   were begun independently. `since` is the time of the latest claim, for people. `format` is the
 *   format in force (`formats.ts`).
 * - `laurel_journal`: one row a batch of the group commit. `previous` and `checksum` chain the
 *   batches as in the segment files (`journal/SegmentFormat.ts`), so that a lost or changed row is
 *   found when it is read.
 * - `laurel_secret`: one row, the secret with which runners forward requests to each other.
 * - `laurel_tables`, `laurel_claims`, `laurel_entries`: the tables of webhooks; `PgTables.ts`
 *   describes them.
 * - `laurel_directory`: one row, the directory as of a record of partition 1, for all runners
 *   (`cluster/DirectoryTable.ts`).
 * - `laurel_audit`: the audit log of the cluster, a row an entry
 *   (`accounts/audit/ClusterAuditStore.ts`).
 * - `laurel_follower`: one row a follower of a partition, for people: its last record, and when it
 *   last had all of them.
 * - `laurel_load`: one row a partition, its load as its owner measured it (`cluster/Loads.ts`).
 * - `laurel_cluster_runners`: one row a runner, with its last sign of life, as Effect Cluster's own
 *   storage has it (`cluster/RunnerLocks.ts`).
 * - `laurel_runner`: one row a runner, with its version, the newest format that it knows, and its
 *   lock expiration (`cluster/RunnerRow.ts`).
 *
 * The first server of a newer version changes the tables while servers of older versions use them,
 * and one of these may start again: tables of a newer version are used as they are. So a migration
 * only adds: tables, indexes that are not unique, and columns that may be null or have a default.
 * Columns and tables are never removed, renamed or changed in their meaning. What older servers
 * must know of is a new format instead, which comes into force without them.
 *
 * The head rows are changed by each append: room in their pages keeps that a change in place.
 */
import { Effect } from "effect"
import { limits } from "../../Limits.ts"
import { type InPostgres, type Sessions, undefinedTable } from "./PgConnection.ts"

export const schemaVersion = 9

/** From no tables to version 1, from version 1 to 2, and so on. */
export const migrations: ReadonlyArray<ReadonlyArray<string>> = [
  [
    `CREATE TABLE laurel_partition (
      id int PRIMARY KEY,
      lineage text NOT NULL,
      epoch bigint NOT NULL,
      owner text NOT NULL,
      last bigint NOT NULL,
      checksum bigint NOT NULL
    ) WITH (fillfactor = 50)`,
    `CREATE TABLE laurel_journal (
      partition int NOT NULL,
      first bigint NOT NULL,
      count int NOT NULL,
      epoch bigint NOT NULL,
      previous bigint NOT NULL,
      checksum bigint NOT NULL,
      frames bytea NOT NULL,
      PRIMARY KEY (partition, first)
    )`,
  ],
  [
    "ALTER TABLE laurel_partition ADD since timestamptz NOT NULL DEFAULT now()",
    "CREATE TABLE laurel_secret (id int PRIMARY KEY, secret text NOT NULL)",
  ],
  [
    `CREATE TABLE laurel_tables (
      partition int PRIMARY KEY,
      epoch bigint NOT NULL,
      changes bigint NOT NULL,
      kept bigint NOT NULL
    ) WITH (fillfactor = 50)`,
    `CREATE TABLE laurel_claims (
      partition int NOT NULL,
      epoch bigint NOT NULL,
      id text NOT NULL,
      first bigint NOT NULL,
      PRIMARY KEY (partition, epoch)
    )`,
    `CREATE TABLE laurel_entries (
      partition int NOT NULL,
      name text NOT NULL,
      key bytea NOT NULL,
      value bytea,
      change bigint NOT NULL,
      PRIMARY KEY (partition, name, key)
    )`,
    "CREATE INDEX laurel_entries_change ON laurel_entries (partition, change, name, key)",
    `CREATE INDEX laurel_entries_removed ON laurel_entries (partition, change)
    WHERE value IS NULL`,
  ],
  [
    `CREATE TABLE laurel_directory (
      id int PRIMARY KEY,
      epoch bigint NOT NULL,
      sequence bigint NOT NULL,
      state bytea NOT NULL
    )`,
  ],
  [
    `CREATE TABLE laurel_follower (
      partition int NOT NULL,
      runner text NOT NULL,
      last bigint NOT NULL,
      complete_at timestamptz NOT NULL,
      PRIMARY KEY (partition, runner)
    ) WITH (fillfactor = 50)`,
  ],
  [
    "ALTER TABLE laurel_partition ADD format int NOT NULL DEFAULT 1",
    `CREATE TABLE laurel_runner (
      address text PRIMARY KEY,
      version text NOT NULL,
      format int NOT NULL,
      answered bigint NOT NULL,
      forwarded bigint NOT NULL,
      seen_at timestamptz NOT NULL DEFAULT now()
    ) WITH (fillfactor = 50)`,
  ],
  [
    `CREATE TABLE laurel_audit (
      number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      id text NOT NULL UNIQUE,
      at bigint NOT NULL,
      body bytea NOT NULL
    )`,
    "CREATE INDEX laurel_audit_at ON laurel_audit (at, number)",
  ],
  [
    // Before version 8 Effect Cluster made it.
    `CREATE TABLE IF NOT EXISTS laurel_cluster_runners (
      machine_id serial PRIMARY KEY,
      address varchar(255) NOT NULL UNIQUE,
      runner text NOT NULL,
      healthy boolean NOT NULL DEFAULT true,
      last_heartbeat timestamp NOT NULL DEFAULT now()
    )`,
    "ALTER TABLE laurel_runner ADD lock_expiration_ms int",
  ],
  [
    `CREATE TABLE laurel_load (
      partition int PRIMARY KEY,
      load float8 NOT NULL,
      measured_at timestamptz NOT NULL DEFAULT now()
    ) WITH (fillfactor = 50)`,
  ],
]

/** Any number, the same in all versions: starts migrate one after another. */
const lockNumber = 4_702_111_234

const readVersion = { text: "SELECT version FROM laurel_schema" }

/**
 * Makes the tables, or changes them to this version; those of a newer one stay. Needs no right to
 * make tables where they are as they should be.
 */
export const migrate = (sessions: Sessions): InPostgres<void> =>
  sessions.run(readVersion).pipe(
    Effect.map(([row]) => Number(row?.version ?? 0) >= schemaVersion),
    Effect.catchIf(
      ({ code }) => code === undefinedTable,
      () => Effect.succeed(false),
    ),
    Effect.flatMap((isCurrent) => (isCurrent ? Effect.void : change(sessions))),
  )

const change = (sessions: Sessions): InPostgres<void> =>
  sessions.transaction((run) =>
    Effect.gen(function* () {
      yield* run({ text: `SELECT pg_advisory_xact_lock(${lockNumber})` })
      yield* run({ text: "CREATE TABLE IF NOT EXISTS laurel_schema (version int NOT NULL)" })
      const [row] = yield* run(readVersion)
      const version = Number(row?.version ?? 0)
      if (version >= schemaVersion) return
      // The wait for a table makes appends wait behind it. PostgreSQL ends it as an outage, which
      // the start waits for.
      yield* run({ text: `SET LOCAL lock_timeout = ${limits.postgresMigrateMs}` })
      for (const text of migrations.slice(version).flat()) yield* run({ text })
      yield* run({ text: "DELETE FROM laurel_schema" })
      yield* run({ text: "INSERT INTO laurel_schema VALUES ($1)", values: [schemaVersion] })
    }),
  )
