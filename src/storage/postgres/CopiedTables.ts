/**
 * The tables of webhooks in a data directory, as a copy of the tables in PostgreSQL
 * (`PgTables.ts`). All reads use the copy. Archives, and a server that leaves the cluster, find the
 * tables in their usual place.
 *
 * - The owner first writes to PostgreSQL, then writes the entries and the mark of the copy in one
 *   transaction: everything that a reader finds is in PostgreSQL. After a crash between both writes
 *   the copy is behind, and the next start catches up.
 * - The next write, of any caller, repeats the entries of a failed write: the mark never passes a
 *   change that the copy lacks.
 * - `follow` brings a copy up to date, page by page. If PostgreSQL does not know the mark of the
 *   copy, `follow` empties the copy first. Between two pages the tables are inconsistent, so nobody
 *   may use them before `follow` ends.
 * - A directory that left the cluster has no mark (`forgetMark`).
 */
import { Effect, Semaphore, Stream } from "effect"
import { toItsEnd } from "../disk/Deadline.ts"
import { asBuffer, compositeKey, everyKey } from "../Keys.ts"
import { type Entry, type Storage, type StorageError, webhookTables } from "../Storage.ts"
import { decodeValue, encodeValue, jsonOf } from "../Values.ts"
import type { PgFailure, Run } from "./PgConnection.ts"
import {
  allChanges,
  type ChangedEntries,
  type ChangePlace,
  type CopyMark,
  type PgTables,
} from "./PgTables.ts"

type Files = Pick<Storage["Service"], "readEntry" | "readEntries" | "writeEntries">

const markKey = compositeKey("copy")
const removedMark: Entry = { table: "outbox", key: markKey, value: null }

const markEntry = (mark: CopyMark): Entry => ({
  table: "outbox",
  key: markKey,
  value: encodeValue(JSON.stringify(mark)),
})

/** Removes the mark: from now on the tables are no copy. */
export const forgetMark = (files: Files): Effect.Effect<void, StorageError> =>
  Effect.flatMap(files.readEntry("outbox", markKey), (value) =>
    value === undefined ? Effect.void : files.writeEntries([removedMark]),
  )

const isMark = ({ key, table }: Entry): boolean =>
  table === "outbox" && asBuffer(key).equals(markKey)

const nameOf = ({ key, table }: Entry): string => `${table} ${asBuffer(key).toString("latin1")}`

export class CopiedTables {
  readonly #files: Files
  readonly #tables: PgTables
  readonly #writing = Semaphore.makeUnsafe(1)
  /** The entries of failed writes, by name. */
  readonly #unsettled = new Map<string, Entry>()

  constructor(files: Files, tables: PgTables) {
    this.#files = files
    this.#tables = tables
  }

  /** Brings the copy up to date. Changes nothing if PostgreSQL has no tables. */
  readonly follow: Effect.Effect<void, PgFailure | StorageError> = Effect.gen(
    { self: this },
    function* () {
      const own = yield* this.#mark
      const start = yield* this.#tables.placeOf(own)
      if (start === undefined) return
      if (start === allChanges) yield* this.#clear
      let place: ChangePlace = start
      while (true) {
        const { end, entries, mark }: ChangedEntries = yield* this.#tables.changedAfter(place)
        const isKnown =
          mark === undefined || (mark.claim === own?.claim && mark.change === own.change)
        const marked = isKnown ? entries : [...entries, markEntry(mark)]
        if (marked.length > 0) yield* this.#files.writeEntries(marked)
        if (entries.length === 0) return
        place = end
      }
    },
  )

  /**
   * Makes this server the owner, which may write. The tables of the first owner become the tables
   * of the cluster.
   */
  readonly claim = (epoch: number): Effect.Effect<void, PgFailure | StorageError> =>
    this.#tables.claim(epoch, this.#upload)

  /** `claim` as part of a transaction. */
  readonly claimIn = (run: Run, epoch: number): Effect.Effect<void, PgFailure | StorageError> =>
    this.#tables.claimIn(run, epoch, this.#upload)

  readonly #upload = (
    write: (entries: ReadonlyArray<Entry>) => Effect.Effect<void, PgFailure | StorageError>,
  ) => Effect.forEach(webhookTables, (table) => this.#slices(table, write), { discard: true })

  /** Writes all entries or none. A write that fails with `Unavailable` may still happen later. */
  readonly write = (entries: ReadonlyArray<Entry>): Effect.Effect<void, StorageError> =>
    toItsEnd(Semaphore.withPermit(this.#writing, this.#write(entries)))

  readonly #write = Effect.fnUntraced(function* (
    this: CopiedTables,
    entries: ReadonlyArray<Entry>,
  ): Effect.fn.Return<void, StorageError> {
    const repeated = this.#unsettled.size > 0
    // The last entry of a key counts.
    for (const entry of entries) this.#unsettled.set(nameOf(entry), entry)
    const all = [...this.#unsettled.values()]
    yield* this.#tables.write(all, repeated)
    yield* this.#files.writeEntries([...all, markEntry(this.#tables.mark)])
    this.#unsettled.clear()
    // After a failure the next write tries again.
    yield* Effect.ignore(this.#tables.prune)
  }).bind(this)

  /** Ends when no write is under way. */
  readonly settled: Effect.Effect<void> = Semaphore.withPermit(this.#writing, Effect.void)

  readonly #mark = Effect.gen({ self: this }, function* () {
    const value = yield* this.#files.readEntry("outbox", markKey)
    if (value === undefined) return undefined
    const body = yield* decodeValue(value, { table: "outbox", key: markKey })
    return jsonOf<CopyMark>(body)
  })

  /** Removes all entries, the mark first. */
  readonly #clear: Effect.Effect<void, PgFailure | StorageError> = Effect.gen(
    { self: this },
    function* () {
      yield* forgetMark(this.#files)
      for (const table of webhookTables) {
        yield* this.#slices(table, (entries) =>
          this.#files.writeEntries(entries.map(({ key }) => ({ table, key, value: null }))),
        )
      }
    },
  )

  /** Calls `use` with all entries of a table except the mark. */
  #slices(
    table: Entry["table"],
    use: (entries: ReadonlyArray<Entry>) => Effect.Effect<void, PgFailure | StorageError>,
  ): Effect.Effect<void, PgFailure | StorageError> {
    return Stream.runForEach(this.#files.readEntries({ table, ...everyKey }), (found) => {
      const entries = found
        .map(([key, value]): Entry => ({ table, key, value }))
        .filter((entry) => !isMark(entry))
      return entries.length === 0 ? Effect.void : use(entries)
    })
  }
}
