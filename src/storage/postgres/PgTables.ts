/**
 * The tables of webhooks in PostgreSQL, and the fence around them: a row of `laurel_entries` for
 * each key, each write of the owner is one statement and has a number, its change.
 *
 * - The head row in `laurel_tables` has the epoch of the owner and the number of the last change. A
 *   write changes the head where both fit, and only then the entries: an earlier owner writes
 *   nothing. The head is not that of the journal (`laurel_partition`), whose appends would wait for
 *   each write of webhooks.
 * - `change` of an entry is the last one that wrote it, and a removed entry stays as one without a
 *   value: a copy that has all up to one change reads the entries of later ones. Removed entries go
 *   after `tableChangesKept` changes; up to `kept` they may be gone, and a copy that ends before
 *   that is begun again.
 * - A backup of PostgreSQL, or a standby that was behind, takes changes back, and their numbers are
 *   given again. So a copy names the claim that made its last change by a random id, and
 *   `laurel_claims` has the first change of each claim: only a change that PostgreSQL still knows
 *   is gone on from.
 *
 * Cost: one round trip and one commit a write.
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

/** How far a copy follows: the last change that it has whole, and the claim that made it. */
export interface CopyMark {
  readonly claim: string
  readonly change: number
}

/** The place of an entry in the order in which copies read: behind it come later ones. */
export interface ChangePlace {
  readonly change: number
  readonly table: string
  readonly key: Uint8Array
}

/** Entries that have changed, in the order of their changes. */
export interface ChangedEntries {
  readonly entries: ReadonlyArray<Entry>
  readonly end: ChangePlace
  /** A copy that has all entries up to `end` may go on from here. */
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

// The answer to an earlier attempt may have been lost.
const takeText = `UPDATE laurel_tables SET epoch = $2 WHERE partition = $1 AND epoch <= $2
RETURNING changes`

const makeText = `INSERT INTO laurel_tables (partition, epoch, changes, kept) VALUES ($1, $2, 0, 0)
ON CONFLICT DO NOTHING RETURNING changes`

const noteText = `INSERT INTO laurel_claims (partition, epoch, id, first) VALUES ($1, $2, $3, $4)
ON CONFLICT (partition, epoch) DO UPDATE SET id = excluded.id, first = excluded.first`

const forgetText = "DELETE FROM laurel_claims WHERE partition = $1 AND epoch < $2"

/**
 * No row: no owner has made the tables. The members of a claim are null where PostgreSQL does not
 * know it.
 */
const markText = `SELECT t.kept, c.first, coalesce((
  SELECT n.first FROM laurel_claims n WHERE n.partition = $1 AND n.epoch > c.epoch
  ORDER BY n.epoch LIMIT 1
), t.changes) AS last
FROM laurel_tables t LEFT JOIN laurel_claims c ON c.partition = $1 AND c.id = $2
WHERE t.partition = $1`

/**
 * For the sessions: pages of changes are read in the order of the index. Where PostgreSQL does not
 * know yet how many entries there are, it would sort all that are left for each page.
 */
export const inIndexOrder = (query: Query) => query("SET enable_sort = off")

/** The size of a value is known without reading it. */
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
 * The entries are found by their places alone: a second condition would make PostgreSQL look for
 * each in all places.
 */
export const pruneText = `WITH head AS (
  UPDATE laurel_tables SET kept = greatest(kept, $3::bigint) WHERE partition = $1 AND epoch = $2
  RETURNING $3::bigint AS through
)
DELETE FROM laurel_entries WHERE ctid = ANY (ARRAY(
  SELECT ctid FROM laurel_entries
  WHERE partition = $1 AND value IS NULL AND change <= (SELECT through FROM head) LIMIT $4
))`

/** Passes on the entries of which tables are made. */
type Upload = (
  write: (entries: ReadonlyArray<Entry>) => InPostgres<void>,
) => Effect.Effect<void, PgFailure | StorageError>

export class PgTables {
  readonly #sessions: Sessions
  readonly #partition: number
  /** Random: epochs come back after PostgreSQL lost some. */
  readonly #claim = randomUUID()
  #epoch = 0
  #changes = 0

  constructor(sessions: Sessions, partition: number) {
    this.#sessions = sessions
    this.#partition = partition
  }

  /** The mark of a copy that has all. */
  get mark(): CopyMark {
    return { claim: this.#claim, change: this.#changes }
  }

  /**
   * Makes the owner of `epoch` the one who writes. Where there are no tables yet, they are made of
   * the entries that `upload` writes, in the same transaction. Fails as fenced where a later owner
   * was faster.
   */
  readonly claim = (epoch: number, upload: Upload): Effect.Effect<void, PgFailure | StorageError> =>
    this.#sessions.transaction((run) => this.claimIn(run, epoch, upload))

  /** `claim` as a part of a transaction. */
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
   * Where a copy with this mark goes on: `undefined` without tables, `allChanges` where it is to be
   * begun again.
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

  /** Some of the entries behind a place; none: a copy that has all before has all. */
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
      // Other entries of the last change may follow, unless there are none.
      const whole = last === undefined && table !== "" ? change : end.change - 1
      const [claim] = yield* run({ text: claimOfText, values: [this.#partition, whole] })
      return { entries, end, mark: claim && { claim: String(claim.id), change: whole } }
    })

  /** Writes entries, at most one of a key. `repeated`: an earlier attempt may have written them. */
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
      // The earlier attempt went through. Writing the same once more changes nothing, and waits for
      // the standbys.
      this.#changes++
    }
  }).bind(this)

  /** Forgets entries that were removed long ago, some of them. */
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

/** Before all entries. */
export const allChanges: ChangePlace = { change: 0, table: "", key: new Uint8Array() }

/** Behind all entries up to a change. */
const behind = (change: number): ChangePlace => ({ ...allChanges, change: change + 1 })

/** A large write, such as the first one after an outage, would otherwise be cut at each attempt. */
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
