/**
 * The tables of a cluster, in the first schema of the session's `search_path`. A start creates and
 * migrates them.
 *
 * - `laurel_schema`: one row, the version of the tables.
 * - `laurel_partition`: one row per partition. `epoch` counts its claims: only the latest owner may
 *   append. `last` and `checksum` are the end of its journal. `lineage` identifies the journal.
 *   `since` is the time of the latest claim, for people. `format` is the format of its
 *   data (`formats.ts`).
 * - `laurel_journal`: one row per batch of the group commit. `previous` and `checksum` chain the
 *   batches as in the segment files (`journal/SegmentFormat.ts`), so that a read finds a lost or
 *   changed row. `contents` is the checksum of the frames once records of the batch were erased;
 *   `checksum` stays.
 * - `laurel_secret`: one row, the secret with which runners forward requests to each other.
 * - `laurel_tables`, `laurel_claims`, `laurel_entries`: the tables of webhooks; `PgTables.ts`
 *   describes them.
 * - `laurel_directory`: one row, the directory after a record of partition 1, for all runners
 *   (`cluster/DirectoryTable.ts`).
 * - `laurel_audit`: the audit log of the cluster, one row per entry
 *   (`accounts/audit/ClusterAuditStore.ts`).
 * - `laurel_follower`: one row per follower of a partition, for people: its last record, and when
 *   it last had all records.
 * - `laurel_load`: one row per partition, the load that its owner measured (`cluster/Loads.ts`).
 * - `laurel_cluster_runners`: one row per runner with its last heartbeat, and its
 *   number (`cluster/RunnerLocks.ts`).
 * - `laurel_runner`: one row per runner with its version and its lock expiration
 *   (`cluster/RunnerRow.ts`).
 *
 * The first server of a newer version changes the tables while servers of older versions use them,
 * and an older server may start again: it uses the tables of a newer version as they are. So a
 * migration only adds tables, indexes that are not unique, and columns that may be null or have a
 * default. Tables and columns are never removed or renamed, and never change their meaning. Any
 * other change is a new format (`formats.ts`).
 *
 * Each append changes a head row. The free space of `fillfactor` lets PostgreSQL update the row in
 * its page.
 */
import { Effect } from "effect"
import { limits } from "../../Limits.ts"
import { dataFormat } from "../format.ts"
import { type InPostgres, type Sessions, undefinedTable } from "./PgConnection.ts"

export const schemaVersion = 10

/** From no tables to version 10, from version 10 to 11, and so on. */
export const migrations: ReadonlyArray<ReadonlyArray<string>> = [
  [
    `CREATE TABLE laurel_partition (
      id int PRIMARY KEY,
      lineage text NOT NULL,
      epoch bigint NOT NULL,
      owner text NOT NULL,
      last bigint NOT NULL,
      checksum bigint NOT NULL,
      since timestamptz NOT NULL DEFAULT now(),
      format int NOT NULL DEFAULT ${dataFormat}
    ) WITH (fillfactor = 50)`,
    `CREATE TABLE laurel_journal (
      partition int NOT NULL,
      first bigint NOT NULL,
      count int NOT NULL,
      epoch bigint NOT NULL,
      previous bigint NOT NULL,
      checksum bigint NOT NULL,
      frames bytea NOT NULL,
      contents bigint,
      PRIMARY KEY (partition, first)
    )`,
    "CREATE TABLE laurel_secret (id int PRIMARY KEY, secret text NOT NULL)",
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
    `CREATE TABLE laurel_directory (
      id int PRIMARY KEY,
      epoch bigint NOT NULL,
      sequence bigint NOT NULL,
      state bytea NOT NULL
    )`,
    `CREATE TABLE laurel_follower (
      partition int NOT NULL,
      runner text NOT NULL,
      last bigint NOT NULL,
      complete_at timestamptz NOT NULL,
      PRIMARY KEY (partition, runner)
    ) WITH (fillfactor = 50)`,
    `CREATE TABLE laurel_runner (
      address text PRIMARY KEY,
      version text NOT NULL,
      answered bigint NOT NULL,
      forwarded bigint NOT NULL,
      lock_expiration_ms int NOT NULL,
      seen_at timestamptz NOT NULL DEFAULT now()
    ) WITH (fillfactor = 50)`,
    `CREATE TABLE laurel_audit (
      number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      id text NOT NULL UNIQUE,
      at bigint NOT NULL,
      body bytea NOT NULL
    )`,
    "CREATE INDEX laurel_audit_at ON laurel_audit (at, number)",
    `CREATE TABLE laurel_cluster_runners (
      machine_id serial PRIMARY KEY,
      address varchar(255) NOT NULL UNIQUE,
      runner text NOT NULL,
      healthy boolean NOT NULL DEFAULT true,
      last_heartbeat timestamp NOT NULL DEFAULT now()
    )`,
    `CREATE TABLE laurel_load (
      partition int PRIMARY KEY,
      load float8 NOT NULL,
      measured_at timestamptz NOT NULL DEFAULT now()
    ) WITH (fillfactor = 50)`,
  ],
]

/** Any number that is the same in all versions, so that servers migrate one after another. */
const lockNumber = 4_702_111_234

/** What brings tables of `version` (0: none) to the present one. */
const missing = (version: number): ReadonlyArray<string> =>
  migrations.slice(version === 0 ? 0 : migrations.length - (schemaVersion - version)).flat()

const readVersion = { text: "SELECT version FROM laurel_schema" }

/**
 * Creates the tables, or migrates them to this version. Tables of a newer version stay. Needs no
 * right to create tables if there is nothing to change.
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
      // Appends wait behind a migration that waits for the lock of a table, so the wait is bounded.
      // A timeout counts as an outage, and the start tries again.
      yield* run({ text: `SET LOCAL lock_timeout = ${limits.postgresMigrateMs}` })
      for (const text of missing(version)) yield* run({ text })
      yield* run({ text: "DELETE FROM laurel_schema" })
      yield* run({ text: "INSERT INTO laurel_schema VALUES ($1)", values: [schemaVersion] })
    }),
  )
