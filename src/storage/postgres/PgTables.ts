/**
 * The tables of webhooks in PostgreSQL, and the fence around them. `laurel_entries` has a row for
 * each key. Each write of the owner is one statement and has a number, its change.
 *
 * - The head row in `laurel_tables` has the epoch of the owner and the number of the last change. A
 *   write changes the head only if both match, and only then writes the entries: an earlier owner
 *   writes nothing. The head is separate from the head of the journal (`laurel_partition`):
 *   otherwise appends would wait for each write of webhooks.
 * - The column `change` of an entry is the last change that wrote it. A removed entry stays as a
 *   row without a value. So a copy that has all entries up to a change reads only entries of later
 *   changes. Rows of removed entries are deleted after `tableChangesKept` changes. Up to the change
 *   `kept` they may be deleted, and a copy that ends before `kept` is filled again.
 * - After the restore of a backup, or the promotion of a standby that was behind, PostgreSQL lacks
 *   changes and assigns their numbers again. So a copy names the claim of its last change by a
 *   random id, and `laurel_claims` has the first change of each claim: a copy continues only from a
 *   change that PostgreSQL still knows.
 *
 * Cost: one round trip and one commit per write.
 */
import { randomUUID } from "node:crypto"
import { Effect } from "effect"
import { limits } from "../../Limits.ts"
import {
  Broken,
  DamagedElsewhere,
  type Entry,
  Fenced,
  type StorageError,
  type Table,
} from "../Storage.ts"
import { toStorageError } from "./PgBatches.ts"
import {
  answerMsOf,
  type InPostgres,
  type PgFailure,
  type Query,
  type Run,
  type Sessions,
  type Statement,
} from "./PgConnection.ts"

/** How far a copy has followed: its last complete change, and the claim that made the change. */
export interface CopyMark {
  readonly claim: string
  readonly change: number
}

/** The place of an entry in the order in which copies read entries. */
export interface ChangePlace {
  readonly change: number
  readonly table: string
  readonly key: Uint8Array
}

/** Changed entries, in the order of their changes. */
export interface ChangedEntries {
  readonly entries: ReadonlyArray<Entry>
  readonly end: ChangePlace
  /** The mark of a copy that has all entries up to `end`. */
  readonly mark: CopyMark | undefined
}

const fenced = (operation: string): Broken =>
  new Broken({ operation, cause: new Fenced({ operation }) })

const upsert = `INSERT INTO laurel_entries (partition, name, key, value, change)
SELECT $1, e.name, e.key, e.value, head.changes
FROM head, unnest($3::text[], $4::bytea[], $5::bytea[]) AS e (name, key, value)
ON CONFLICT (partition, name, key) DO UPDATE SET value = excluded.value, change = excluded.change`

const writeText = `WITH head AS (
  UPDATE laurel_tables SET changes = changes + 1
  WHERE partition = $1 AND epoch = $2 AND changes = $6
  RETURNING changes
), written AS (${upsert})
SELECT changes FROM head`

const uploadText = `WITH head AS (
  UPDATE laurel_tables SET changes = changes + 1 WHERE partition = $1 AND epoch = $2
  RETURNING changes
)
${upsert}`

const headText = "SELECT epoch, changes FROM laurel_tables WHERE partition = $1"

// `<=`, since the answer to an earlier attempt may have been lost.
const takeText = `UPDATE laurel_tables SET epoch = $2 WHERE partition = $1 AND epoch <= $2
RETURNING changes`

const makeText = `INSERT INTO laurel_tables (partition, epoch, changes, kept) VALUES ($1, $2, 0, 0)
ON CONFLICT DO NOTHING RETURNING changes`

const noteText = `INSERT INTO laurel_claims (partition, epoch, id, first) VALUES ($1, $2, $3, $4)
ON CONFLICT (partition, epoch) DO UPDATE SET id = excluded.id, first = excluded.first`

const forgetText = "DELETE FROM laurel_claims WHERE partition = $1 AND epoch < $2"

/**
 * Returns no row if no owner has created the tables. The columns of the claim are null if
 * PostgreSQL does not know it.
 */
const markText = `SELECT t.kept, c.first, coalesce((
  SELECT n.first FROM laurel_claims n WHERE n.partition = $1 AND n.epoch > c.epoch
  ORDER BY n.epoch LIMIT 1
), t.changes) AS last
FROM laurel_tables t LEFT JOIN laurel_claims c ON c.partition = $1 AND c.id = $2
WHERE t.partition = $1`

/**
 * A setting for the sessions: pages of changes are read in the order of the index. Without
 * statistics, PostgreSQL would sort all remaining entries for each page.
 */
export const inIndexOrder = (query: Query) => query("SET enable_sort = off")

/** PostgreSQL knows the size of a value without reading it. */
export const changedText = `SELECT name, key, value, change FROM (
  SELECT *, sum(size) OVER (ORDER BY change, name, key) - size AS before FROM (
    SELECT name, key, value, change, coalesce(octet_length(value), 0) AS size FROM laurel_entries
    WHERE partition = $1 AND change >= $2 AND (change, name, key) > ($2::bigint, $3::text, $4::bytea)
    ORDER BY change, name, key LIMIT $5
  ) AS page
) AS sized WHERE before < $6 ORDER BY change, name, key`

/** The claim that made change $2. */
const claimOfText = `SELECT id FROM laurel_claims WHERE partition = $1 AND first < $2
ORDER BY epoch DESC LIMIT 1`

/**
 * The entries are found only by their row addresses: with a second condition PostgreSQL would
 * search all addresses for each row.
 */
export const pruneText = `WITH head AS (
  UPDATE laurel_tables SET kept = greatest(kept, $3::bigint) WHERE partition = $1 AND epoch = $2
  RETURNING $3::bigint AS through
)
DELETE FROM laurel_entries WHERE ctid = ANY (ARRAY(
  SELECT ctid FROM laurel_entries
  WHERE partition = $1 AND value IS NULL AND change <= (SELECT through FROM head) LIMIT $4
))`

/** Calls `write` with the first entries of the tables. */
type Upload = (
  write: (entries: ReadonlyArray<Entry>) => InPostgres<void>,
) => Effect.Effect<void, PgFailure | StorageError>

export class PgTables {
  readonly #sessions: Sessions
  readonly #partition: number
  /** A random id, since epochs can repeat after the restore of a backup of PostgreSQL. */
  readonly #claim = randomUUID()
  #epoch = 0
  #changes = 0

  constructor(sessions: Sessions, partition: number) {
    this.#sessions = sessions
    this.#partition = partition
  }

  /** The mark of a copy that has all changes. */
  get mark(): CopyMark {
    return { claim: this.#claim, change: this.#changes }
  }

  /**
   * Makes the owner of `epoch` the writer. If there are no tables yet, the same transaction creates
   * them from the entries that `upload` writes. Fails as fenced if a later owner has claimed the
   * tables.
   */
  readonly claim = (epoch: number, upload: Upload): Effect.Effect<void, PgFailure | StorageError> =>
    this.#sessions.transaction((run) => this.claimIn(run, epoch, upload))

  /** `claim` as part of a transaction. An epoch below an earlier epoch of this object is a bug. */
  readonly claimIn = Effect.fnUntraced(function* (
    this: PgTables,
    run: Run,
    epoch: number,
    upload: Upload,
  ): Effect.fn.Return<void, PgFailure | StorageError> {
    if (!(epoch >= this.#epoch)) {
      return yield* Effect.die(new Error(`the epoch ${epoch} is before ${this.#epoch}`))
    }
    const partition = this.#partition
    const [made] = yield* run({ text: makeText, values: [partition, epoch] })
    if (made !== undefined) yield* upload((entries) => this.#upload(run, epoch, entries))
    const [taken] = yield* run({ text: takeText, values: [partition, epoch] })
    if (taken === undefined) return yield* fenced("claim")
    const changes = Number(taken.changes)
    const first = made === undefined ? changes : 0
    yield* run({ text: noteText, values: [partition, epoch, this.#claim, first] })
    yield* run({ text: forgetText, values: [partition, epoch - limits.tableClaimsKept] })
    this.#epoch = epoch
    this.#changes = changes
  }).bind(this)

  readonly #upload = (run: Run, epoch: number, entries: ReadonlyArray<Entry>): InPostgres<void> =>
    Effect.asVoid(
      run({
        text: uploadText,
        values: [this.#partition, epoch, ...columnsOf(entries)],
        moreAnswerMs: timeFor(entries),
      }),
    )

  /**
   * Where a copy with this mark continues: `undefined` if there are no tables, `allChanges` if the
   * copy must be filled again.
   */
  readonly placeOf = (mark: CopyMark | undefined): InPostgres<ChangePlace | undefined> =>
    Effect.map(
      this.#sessions.run({ text: markText, values: [this.#partition, mark?.claim ?? ""] }),
      ([row]) => {
        if (row === undefined) return undefined
        if (mark === undefined || row.first === null) return allChanges
        const { change } = mark
        const isKnown = change >= Number(row.first) && change <= Number(row.last)
        return isKnown && change >= Number(row.kept) ? behind(change) : allChanges
      },
    )

  /**
   * The next entries after a place. No entries: a copy that has all entries up to the place is
   * complete.
   */
  readonly changedAfter = (place: ChangePlace): InPostgres<ChangedEntries> =>
    Effect.gen({ self: this }, function* () {
      const { run } = this.#sessions
      const { postgresEntryBytes: bytes, postgresEntryRows: rows } = limits
      const { change, key, table } = place
      const values = [this.#partition, change, table, key, rows, bytes]
      const moreAnswerMs = answerMsOf(limits.postgresEntryBytes)
      const found = yield* run({ name: "changed", text: changedText, values, moreAnswerMs })
      const entries = found.map((row) => ({
        table: row.name as Table,
        key: row.key as Uint8Array,
        value: row.value as Uint8Array | null,
      }))
      const last = found.at(-1)
      const end =
        last === undefined
          ? place
          : { change: Number(last.change), table: String(last.name), key: entries.at(-1)!.key }
      // More entries of the last change may follow, unless this page is empty.
      const whole = last === undefined && table !== "" ? change : end.change - 1
      const [claim] = yield* run({ text: claimOfText, values: [this.#partition, whole] })
      return { entries, end, mark: claim && { claim: String(claim.id), change: whole } }
    })

  /** Writes entries, at most one per key. `repeated`: an earlier attempt may have written them. */
  readonly write = Effect.fnUntraced(function* (
    this: PgTables,
    entries: ReadonlyArray<Entry>,
    repeated: boolean,
  ): Effect.fn.Return<void, StorageError> {
    const run = (statement: Statement) =>
      Effect.mapError(this.#sessions.run(statement), (failure) => toStorageError("write", failure))
    const columns = columnsOf(entries)
    const moreAnswerMs = timeFor(entries)
    while (true) {
      const values = [this.#partition, this.#epoch, ...columns, this.#changes]
      const [written] = yield* run({ name: "write", text: writeText, values, moreAnswerMs })
      if (written !== undefined) {
        this.#changes = Number(written.changes)
        return
      }
      const [head] = yield* run({ text: headText, values: [this.#partition] })
      if (head !== undefined && Number(head.epoch) !== this.#epoch) return yield* fenced("write")
      if (!repeated || Number(head?.changes) !== this.#changes + 1) {
        const words = `PostgreSQL has ${head?.changes ?? "no"} changes of webhooks, but this server has made ${this.#changes}: was a backup restored, or a standby promoted that was behind?`
        return yield* new Broken({ operation: "write", cause: new DamagedElsewhere(words) })
      }
      // The earlier attempt was committed. Writing the same entries again changes nothing, and
      // waits for the standbys.
      this.#changes++
    }
  }).bind(this)

  /** Deletes some rows of entries that were removed long ago. */
  readonly prune: InPostgres<void> = Effect.suspend(() => {
    const below = this.#changes - limits.tableChangesKept
    if (below <= 0 || this.#changes % limits.tablePruneChanges !== 0) return Effect.void
    const { postgresEntryAnswerMs, tablePruneRows } = limits
    const values = [this.#partition, this.#epoch, below, tablePruneRows]
    const moreAnswerMs = tablePruneRows * postgresEntryAnswerMs
    return Effect.asVoid(
      this.#sessions.run({ name: "prune tables", text: pruneText, values, moreAnswerMs }),
    )
  })
}

/** The place before all entries. */
export const allChanges: ChangePlace = { change: 0, table: "", key: new Uint8Array() }

/** The place after all entries up to a change. */
const behind = (change: number): ChangePlace => ({ ...allChanges, change: change + 1 })

/**
 * The additional time for a write. Without it, each attempt of a large write would be cut, such as
 * the first write after an outage.
 */
const timeFor = (entries: ReadonlyArray<Entry>): number => {
  const bytes = entries.reduce((sum, { value }) => sum + (value?.byteLength ?? 0), 0)
  return entries.length * limits.postgresEntryAnswerMs + answerMsOf(bytes)
}

type Columns = readonly [
  tables: ReadonlyArray<string>,
  keys: ReadonlyArray<Uint8Array>,
  values: ReadonlyArray<Uint8Array | null>,
]

const columnsOf = (entries: ReadonlyArray<Entry>): Columns => [
  entries.map(({ table }) => table),
  entries.map(({ key }) => key),
  entries.map(({ value }) => value),
]
