/**
 * Checks a PostgreSQL server at a start: its version and settings, and whether a pooler gives each
 * transaction another session.
 *
 * A pooler is recognised by the process id that it announces for the session: it differs from the
 * id of the process that answers. A pooler that keeps a session for each client is harmless. To
 * find out, two clients run transactions in turn and end them in both orders: if each transaction
 * gets another session, the first client meets another process in one of both orders, whichever
 * session the pooler picks.
 */
import { Effect } from "effect"
import pg from "pg"
import { limits } from "../../Limits.ts"
import { cut, failureOf, newClient, PgFailure } from "./PgConnection.ts"

/** Settings as strings, as in `pg_settings`. */
export interface ServerSettings {
  readonly server_version: string
  readonly server_version_num: string
  readonly fsync: string
  readonly full_page_writes: string
  readonly synchronous_commit: string
  readonly synchronous_standby_names: string
}

/**
 * The first version with `idle_session_timeout`: without this setting, the lock of a machine that
 * lost its power stays.
 */
const versionMin = 140_000

const names: ReadonlyArray<keyof ServerSettings> = [
  "server_version",
  "server_version_num",
  "fsync",
  "full_page_writes",
  "synchronous_commit",
  "synchronous_standby_names",
]

/** Why Laurel cannot run on a server; `undefined` if it can. */
export const faultOf = (settings: ServerSettings): string | undefined =>
  Number(settings.server_version_num) >= versionMin
    ? undefined
    : `PostgreSQL ${settings.server_version} is too old: ${versionMin / 10_000} or newer is needed`

/** The settings that can lose acknowledged writes. */
export const risksOf = (settings: ServerSettings): ReadonlyArray<string> => {
  const risks: Array<string> = []
  if (settings.fsync === "off") {
    risks.push("fsync is off: a power cut at PostgreSQL can destroy the data")
  }
  if (settings.full_page_writes === "off") {
    risks.push("full_page_writes is off: a power cut at PostgreSQL can destroy the data")
  }
  const { synchronous_commit: commit, synchronous_standby_names: standbys } = settings
  if (standbys !== "" && (commit === "local" || commit === "remote_write")) {
    risks.push(
      `synchronous_commit is ${commit}: a promoted standby can lack acknowledged writes. Set it to on`,
    )
  }
  return risks
}

const refusal = (words: string): PgFailure =>
  new PgFailure({ code: "unfit", words, isOutage: false, isRefusal: true })

const pooled =
  "LAUREL_CLUSTER leads to a pooler in transaction or statement mode: connect to PostgreSQL directly, or set pool_mode = session"

/** The risks of the server at `url`. Fails if Laurel cannot run on it. */
export const checkServer = (url: string): Effect.Effect<ReadonlyArray<string>, PgFailure> =>
  Effect.tryPromise({
    try: () =>
      withClient(url, async (client) => {
        const settings = await readSettings(client)
        const fault = faultOf(settings)
        if (fault !== undefined) throw refusal(fault)
        const isPooled = (await processOf(client)) !== announcedBy(client)
        if (isPooled && (await changesSessions(url, client).catch(refusesTransactions))) {
          throw refusal(pooled)
        }
        return risksOf(settings)
      }),
    catch: (error) => (error instanceof PgFailure ? error : failureOf(error)),
  })

const withClient = async <A>(url: string, use: (client: pg.Client) => Promise<A>): Promise<A> => {
  const client = clientOf(url)
  client.on("error", () => {})
  try {
    await client.connect()
    return await use(client)
  } finally {
    cut(client)
  }
}

const clientOf = (url: string): pg.Client => {
  try {
    return newClient(url, {
      application_name: "laurel check",
      query_timeout: limits.postgresAnswerMs,
    })
  } catch (error) {
    throw refusal(`LAUREL_CLUSTER: ${(error as Error).message}`)
  }
}

const readSettings = async (client: pg.Client): Promise<ServerSettings> => {
  const { rows } = await client.query<{ name: keyof ServerSettings; setting: string }>(
    "SELECT name, setting FROM pg_settings WHERE name = ANY ($1)",
    [names],
  )
  const read = Object.fromEntries(rows.map(({ name, setting }) => [name, setting]))
  return read as unknown as ServerSettings
}

/** The announced process id, which the types of `pg` do not include. */
const announcedBy = (client: pg.Client): number =>
  (client as unknown as { readonly processID: number }).processID

const processOf = async (client: pg.Client): Promise<number> =>
  (await client.query<{ pid: number }>("SELECT pg_backend_pid() AS pid")).rows[0]!.pid

/**
 * Whether the error is PgBouncer's answer to BEGIN if it gives each statement another session.
 * Throws other errors.
 */
const refusesTransactions = (error: unknown): boolean => {
  if (error instanceof pg.DatabaseError && error.code === "08P01") return true
  throw error
}

const changesSessions = (url: string, first: pg.Client): Promise<boolean> =>
  withClient(url, async (second) => {
    const seen = new Set<number>()
    for (const order of [
      [first, second],
      [second, first],
    ]) {
      for (const client of [first, second]) await client.query("BEGIN")
      seen.add(await processOf(first))
      for (const client of order) await client.query("COMMIT")
      await second.query("BEGIN")
      seen.add(await processOf(first))
      await second.query("COMMIT")
    }
    return seen.size > 1
  })
