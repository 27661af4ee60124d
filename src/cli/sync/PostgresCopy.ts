/**
 * A copy of an environment in PostgreSQL, which follows the API of a running server.
 *
 * A round reads a page of facts (`GET /v1/facts`) and the users that the page names as they are now,
 * and writes both and the page's cursor in one transaction. The transaction takes effect only if the
 * cursor in the table `sync` is the one that the page was read with.
 *
 * Invariants:
 * - After a transaction, `facts` has exactly the facts up to the cursor, each once, whatever crashed
 *   before: a page that was not committed is read again.
 * - `users` and `balances` are as new as the last fact of the user in `facts`, or newer.
 * - A second process that copies the same environment changes nothing: its cursor is not the one in
 *   the table.
 * - A user who was erased leaves all tables with the page that has the erasure. The server forgets
 *   after about a day whom it erased, so `compare` asks it for all users of the copy.
 *
 * Memory: one page of facts and its users.
 */
import type { FactsPage, User } from "../../client/generated/types.ts"
import type { Laurel } from "../../client/Laurel.ts"
import { factColumns } from "../../engine/archive/exports/factColumns.ts"
import { limits } from "../../Limits.ts"
import { type Client, insertRows, inTransaction, isDue, type Place } from "./rows.ts"
import { tables, userTables } from "./tables.ts"

/** Another process has moved the cursor. */
export class OtherCopy extends Error {}

export interface Round {
  /** Facts written. */
  readonly facts: number
  /** The last record that the copy has a fact of; 0: none. */
  readonly through: number
  /** Whether the server has more facts now. */
  readonly hasMore: boolean
}

export class PostgresCopy {
  readonly #client: Client
  readonly #laurel: Laurel
  readonly #place: Place
  readonly #values: readonly [project: string, environment: string]

  constructor(client: Client, laurel: Laurel, place: Place) {
    this.#client = client
    this.#laurel = laurel
    this.#place = place
    this.#values = [place.project, place.environment]
  }

  /** Reads and writes one page. */
  async round(): Promise<Round> {
    await this.#client.query(
      "INSERT INTO sync (project, environment, synced_at) VALUES ($1, $2, now()) ON CONFLICT DO NOTHING",
      [...this.#values],
    )
    const { rows } = await this.#client.query<{
      readonly cursor: string | null
      readonly through: string
    }>("SELECT cursor, through FROM sync WHERE project = $1 AND environment = $2", [
      ...this.#values,
    ])
    const { cursor, through: before } = rows[0]!
    const query = { limit: limits.factsPageMax, ...(cursor !== null && { cursor }) }
    const page = await this.#laurel.facts.list(query)
    const { gone, users } = await this.#read(namedBy(page))
    const through = page.facts.at(-1)?.fact.sequence ?? Number(before)
    if (page.nextCursor !== cursor) {
      await inTransaction(this.#client, async () => {
        const moved = await this.#client.query(
          `UPDATE sync SET cursor = $3, through = $4, synced_at = now()
WHERE project = $1 AND environment = $2 AND cursor IS NOT DISTINCT FROM $5`,
          [...this.#values, page.nextCursor, through, cursor],
        )
        if (moved.rowCount === 0) throw new OtherCopy("Another process copies this environment.")
        await this.#write(page, users, gone)
      })
    }
    return { facts: page.facts.length, through, hasMore: page.hasMore }
  }

  /** Deletes all that the copy has of the environment. */
  async reset(): Promise<void> {
    await inTransaction(this.#client, async () => {
      for (const table of tables) {
        const text = `DELETE FROM ${table} WHERE project = $1 AND environment = $2`
        await this.#client.query(text, [...this.#values])
      }
    })
  }

  /**
   * Deletes the users that the server does not have, if the copy was not compared with it for
   * `everyMs`. Returns how many there were; `undefined`: it was compared lately.
   */
  async compare(everyMs: number): Promise<number | undefined> {
    if (!(await isDue(this.#client, this.#place, "compared_at", everyMs))) return undefined
    let deleted = 0
    for (let last = ""; ; ) {
      const { rows } = await this.#client.query<{ readonly id: string }>(
        `SELECT DISTINCT id FROM (
(SELECT DISTINCT user_id AS id FROM facts WHERE project = $1 AND environment = $2 AND user_id > $3 ORDER BY 1 LIMIT $4)
UNION ALL
(SELECT user_id FROM users WHERE project = $1 AND environment = $2 AND user_id > $3 ORDER BY 1 LIMIT $4)
) AS ids ORDER BY id LIMIT $4`,
        [...this.#values, last, limits.syncComparedUsers],
      )
      if (rows.length === 0) break
      last = rows.at(-1)!.id
      const { gone } = await this.#read(new Set(rows.map(({ id }) => id)))
      if (gone.length > 0) await inTransaction(this.#client, () => this.#delete(gone))
      deleted += gone.length
    }
    await this.#client.query(
      "UPDATE sync SET compared_at = now() WHERE project = $1 AND environment = $2",
      [...this.#values],
    )
    return deleted
  }

  /** The users with these ids, or to whom they lead after a merge, and the ids without a user. */
  async #read(ids: ReadonlySet<string>) {
    const users = new Map<string, User>()
    const gone: Array<string> = []
    for (const some of inRequests(ids)) {
      const { unknown = [], users: found } = await this.#laurel.users.list({ ids: some })
      for (const user of found) users.set(user.id, user)
      gone.push(...unknown)
    }
    return { users: [...users.values()], gone }
  }

  async #write(
    { erased, facts }: FactsPage,
    users: ReadonlyArray<User>,
    gone: ReadonlyArray<string>,
  ): Promise<void> {
    for (const { sequence, userId } of erased) {
      await this.#delete([userId], sequence)
    }
    const inColumns = facts.map(({ fact, number, userId }) => {
      const columns = factColumns(fact)
      return {
        user_id: userId,
        sequence: columns.sequence,
        number,
        decided_at: columns.decidedAt,
        kind: columns.kind,
        cause: columns.cause,
        cause_id: columns.causeId,
        action: columns.action,
        occurred_at: columns.occurredAt,
        currency: columns.currency,
        amount: columns.amount,
        total: columns.total,
        data: columns.data,
        metadata: columns.metadata,
      }
    })
    await insertRows(this.#client, this.#place, "facts", inColumns)
    await this.#replaceUsers(users)
    for (const { fact, userId } of facts) {
      if (fact.kind === "user.merged") await this.#merge(fact.from, userId)
    }
    await this.#delete(gone)
  }

  async #replaceUsers(users: ReadonlyArray<User>): Promise<void> {
    for (const table of ["users", "balances"] as const) {
      await this.#client.query(
        `DELETE FROM ${table} WHERE project = $1 AND environment = $2 AND user_id = ANY($3)`,
        [...this.#values, users.map(({ id }) => id)],
      )
    }
    const profiles = users.map((user) => ({
      user_id: user.id,
      display_name: user.displayName,
      timezone: user.timezone,
      hidden: user.hidden,
      attributes: user.attributes,
      xp: user.xp,
      level: user.level,
      points: user.points,
      created_at: user.createdAt,
      updated_at: user.updatedAt,
    }))
    await insertRows(this.#client, this.#place, "users", profiles)
    const balances = users.flatMap(({ balances, id, pending = {} }) =>
      Object.entries(balances).map(([currency, amount]) => ({
        user_id: id,
        currency,
        amount,
        pending: pending[currency]?.amount ?? 0,
      })),
    )
    await insertRows(this.#client, this.#place, "balances", balances)
  }

  /** `from` leads to `into` from now on, and so does each id that led to `from`. */
  async #merge(from: string, into: string): Promise<void> {
    for (const table of ["users", "balances"] as const) {
      await this.#client.query(
        `DELETE FROM ${table} WHERE project = $1 AND environment = $2 AND user_id = $3`,
        [...this.#values, from],
      )
    }
    await this.#client.query(
      "UPDATE former_ids SET user_id = $4 WHERE project = $1 AND environment = $2 AND user_id = $3",
      [...this.#values, from, into],
    )
    await this.#client.query(
      `INSERT INTO former_ids (project, environment, former_id, user_id) VALUES ($1, $2, $3, $4)
ON CONFLICT (project, environment, former_id) DO UPDATE SET user_id = excluded.user_id`,
      [...this.#values, from, into],
    )
  }

  /** Deletes users with the ids that led to them. `before`: only facts with a lower sequence. */
  async #delete(ids: ReadonlyArray<string>, before?: number): Promise<void> {
    if (ids.length === 0) return
    const { rows } = await this.#client.query<{ readonly id: string }>(
      "SELECT former_id AS id FROM former_ids WHERE project = $1 AND environment = $2 AND user_id = ANY($3)",
      [...this.#values, ids],
    )
    const all = [...ids, ...rows.map(({ id }) => id)]
    for (const [table, column] of userTables) {
      const lower = table === "facts" && before !== undefined ? ` AND sequence < ${before}` : ""
      await this.#client.query(
        `DELETE FROM ${table} WHERE project = $1 AND environment = $2 AND ${column} = ANY($3)${lower}`,
        [...this.#values, all],
      )
    }
  }
}

/** The users that a page tells something about. */
const namedBy = ({ erased, facts }: FactsPage): ReadonlySet<string> =>
  new Set([...facts, ...erased].map(({ userId }) => userId))

/** The ids in the parameters of as few requests as the length of a URL allows. */
function* inRequests(ids: ReadonlySet<string>): Generator<string> {
  let some: Array<string> = []
  let characters = 0
  for (const id of ids) {
    const encoded = encodeURIComponent(id)
    // A parameter is encoded once more, and a comma joins.
    const length = encodeURIComponent(encoded).length + 3
    if (some.length === limits.usersNamedMax || characters + length > limits.syncUrlCharactersMax) {
      yield some.join(",")
      some = []
      characters = 0
    }
    some.push(encoded)
    characters += length
  }
  if (some.length > 0) yield some.join(",")
}
