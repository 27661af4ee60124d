/**
 * The tables that `laurel sync postgres` writes, in a schema of their own, and how they change from
 * one version of Laurel to the next.
 *
 * `sync` has a row for each environment that is copied: how far the copy has read. A later form of
 * the tables is one more step of `steps`; the table `form` has the number of steps that were taken.
 */
import type { newClient } from "../../storage/postgres/PgConnection.ts"

const place = "project text NOT NULL, environment text NOT NULL"

const steps: ReadonlyArray<string> = [
  `
CREATE TABLE sync (
  ${place}, cursor text, through bigint NOT NULL DEFAULT 0, synced_at timestamptz NOT NULL,
  compared_at timestamptz, PRIMARY KEY (project, environment)
);
CREATE TABLE facts (
  ${place}, user_id text NOT NULL, sequence bigint NOT NULL, number int NOT NULL,
  decided_at timestamptz NOT NULL, kind text NOT NULL, cause text NOT NULL, cause_id text, action text,
  occurred_at timestamptz, currency text, amount bigint, total double precision,
  data jsonb NOT NULL, metadata jsonb, PRIMARY KEY (project, environment, sequence, number)
);
CREATE INDEX facts_user ON facts (project, environment, user_id);
CREATE INDEX facts_decided ON facts (project, environment, decided_at);
CREATE TABLE users (
  ${place}, user_id text NOT NULL, display_name text, timezone text, hidden boolean NOT NULL,
  attributes jsonb NOT NULL, xp bigint NOT NULL, level int NOT NULL, points bigint NOT NULL,
  created_at timestamptz NOT NULL, updated_at timestamptz NOT NULL,
  PRIMARY KEY (project, environment, user_id)
);
CREATE TABLE balances (
  ${place}, user_id text NOT NULL, currency text NOT NULL, amount bigint NOT NULL, pending bigint NOT NULL,
  PRIMARY KEY (project, environment, user_id, currency)
);
CREATE TABLE former_ids (
  ${place}, former_id text NOT NULL, user_id text NOT NULL, PRIMARY KEY (project, environment, former_id)
);
CREATE INDEX former_ids_user ON former_ids (project, environment, user_id);`,
  `
ALTER TABLE sync ADD COLUMN boards_at timestamptz;
CREATE TABLE leaderboard_windows (
  ${place}, leaderboard text NOT NULL, "window" text NOT NULL, starts_at timestamptz NOT NULL,
  ends_at timestamptz, closed boolean NOT NULL, total bigint NOT NULL, entrants text NOT NULL,
  read_at timestamptz NOT NULL, PRIMARY KEY (project, environment, leaderboard, "window", starts_at)
);
CREATE TABLE leaderboard_entries (
  ${place}, leaderboard text NOT NULL, "window" text NOT NULL, starts_at timestamptz NOT NULL,
  entrant text NOT NULL, user_id text, team_id text, rank bigint NOT NULL,
  score double precision NOT NULL, prizes jsonb NOT NULL,
  PRIMARY KEY (project, environment, leaderboard, "window", starts_at, entrant)
);
CREATE INDEX leaderboard_entries_user ON leaderboard_entries (project, environment, user_id);`,
  `
ALTER TABLE leaderboard_entries ADD COLUMN "group" text, ADD COLUMN group_rank bigint;`,
]

/** The tables that have rows of users, with the column that names the user. */
export const userTables = [
  ["facts", "user_id"],
  ["users", "user_id"],
  ["balances", "user_id"],
  ["leaderboard_entries", "user_id"],
  ["former_ids", "user_id"],
  ["former_ids", "former_id"],
] as const

/** All tables but that of the form. */
export const tables = [
  "sync",
  "facts",
  "users",
  "balances",
  "former_ids",
  "leaderboard_windows",
  "leaderboard_entries",
] as const

/** The form of the tables that this version writes. */
export const form = steps.length

export class NewerForm extends Error {}

/**
 * Makes the schema and the tables, or brings them to this version's form. All steps are one
 * transaction, and one process at a time takes them. Throws `NewerForm` if a later version of Laurel
 * made the tables.
 */
export const migrate = async (
  client: ReturnType<typeof newClient>,
  schema: string,
): Promise<void> => {
  const name = client.escapeIdentifier(schema)
  await client.query("BEGIN")
  try {
    await client.query("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [
      `laurel sync ${schema}`,
    ])
    await client.query(`CREATE SCHEMA IF NOT EXISTS ${name}`)
    await client.query(`SET search_path TO ${name}`)
    await client.query("CREATE TABLE IF NOT EXISTS form (number int NOT NULL)")
    const found = await client.query<{ readonly number: number }>("SELECT number FROM form")
    const from = found.rows[0]?.number ?? 0
    if (from > steps.length) {
      throw new NewerForm(
        `The tables of the schema ${schema} have form ${from}, and this version of Laurel writes form ${steps.length}: use the version that made them, or another --schema`,
      )
    }
    for (const step of steps.slice(from)) await client.query(step)
    if (found.rows.length === 0) await client.query("INSERT INTO form VALUES ($1)", [steps.length])
    else if (from < steps.length) await client.query("UPDATE form SET number = $1", [steps.length])
    await client.query("COMMIT")
  } catch (error) {
    await client.query("ROLLBACK").catch(() => {})
    throw error
  }
}
