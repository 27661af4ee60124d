/** Rows of the copy in PostgreSQL: transactions, and what its text can hold. */
import type { newClient } from "../../storage/postgres/PgConnection.ts"

export type Client = ReturnType<typeof newClient>

/** What each row of the copy belongs to. */
export interface Place {
  readonly project: string
  readonly environment: string
}

export const inTransaction = async (client: Client, work: () => Promise<void>): Promise<void> => {
  await client.query("BEGIN")
  try {
    await work()
    await client.query("COMMIT")
  } catch (error) {
    await client.query("ROLLBACK").catch(() => {})
    throw error
  }
}

/** Whether the time in a column of `sync` is longer ago than `everyMs`, or there is none. */
export const isDue = async (
  client: Client,
  { environment, project }: Place,
  column: "boards_at" | "compared_at",
  everyMs: number,
): Promise<boolean> => {
  const { rowCount } = await client.query(
    `SELECT 1 FROM sync WHERE project = $1 AND environment = $2
AND (${column} IS NULL OR ${column} < now() - make_interval(secs => $3))`,
    [project, environment, everyMs / 1_000],
  )
  return rowCount !== 0
}

/** The members of `rows` have the names of the columns of the table. */
export const insertRows = async (
  client: Client,
  place: Place,
  table: string,
  rows: ReadonlyArray<object>,
): Promise<void> => {
  if (rows.length === 0) return
  const placed = rows.map((row) => ({ ...place, ...row }))
  await client.query(
    `INSERT INTO ${table} SELECT * FROM jsonb_populate_recordset(NULL::${table}, $1::jsonb)`,
    [JSON.stringify(storable(placed))],
  )
}

/** `value` without what text of PostgreSQL cannot have: NUL, and halves of surrogate pairs. */
const storable = (value: unknown): unknown => {
  if (typeof value === "string") return value.toWellFormed().replaceAll("\0", "\ufffd")
  if (Array.isArray(value)) return value.map(storable)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [storable(name), storable(member)]),
  )
}
