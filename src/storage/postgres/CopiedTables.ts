/**
 * The tables of webhooks in a data directory, as the copy of those in PostgreSQL (`PgTables.ts`):
 * all reads are from the copy, and archives and a way out of the cluster find the tables where they
 * always are.
 *
 * - The owner writes to PostgreSQL first, then, in one transaction, entries and mark of the copy:
 *   what a reader finds is in PostgreSQL. A crash between both leaves the copy behind, and the next
 *   start catches up.
 * - Entries of a write that failed go with the next write, of any caller: the mark never passes a
 *   change that the copy does not have.
 * - `follow` brings a copy up to date, page by page; one that PostgreSQL cannot tell from others is
 *   removed first. In between the tables are those of no moment, so nobody may use them before the
 *   end.
 * - A directory that has been out of the cluster has no mark (`forgetMark`).
 */
import { Effect, Fiber, Semaphore, Stream } from "effect"
import { asBuffer, compositeKey, rangeOf } from "../Keys.ts"
import { type Entry, type Storage, type StorageError, webhookTables } from "../Storage.ts"
import { decodeValue, encodeValue } from "../Values.ts"
import type { PgFailure, Run } from "./PgConnection.ts"
import {
  allChanges,
  type ChangedEntries,
  type ChangePlace,
  type CopyMark,
  type PgTables,
} from "./PgTables.ts"

type Files = Pick<Storage["Service"], "readEntry" | "readEntries" | "writeEntries">

const everything = rangeOf(new Uint8Array())
const markKey = compositeKey("copy")
const removedMark: Entry = { table: "outbox", key: markKey, value: null }

const markEntry = (mark: CopyMark): Entry => ({
  table: "outbox",
  key: markKey,
  value: encodeValue(JSON.stringify(mark)),
})

/** From now on the tables are no copy. */
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
  /** Of writes that failed, by name. */
  readonly #unsettled = new Map<string, Entry>()

  constructor(files: Files, tables: PgTables) {
    this.#files = files
    this.#tables = tables
  }

  /** Brings the copy up to date; where PostgreSQL has no tables, they stay as they are. */
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

  /** This server is the owner who writes. The first one's tables become those of the cluster. */
  readonly claim = (epoch: number): Effect.Effect<void, PgFailure | StorageError> =>
    this.#tables.claim(epoch, this.#upload)

  /** The same as a part of a transaction. */
  readonly claimIn = (run: Run, epoch: number): Effect.Effect<void, PgFailure | StorageError> =>
    this.#tables.claimIn(run, epoch, this.#upload)

  readonly #upload = (
    write: (entries: ReadonlyArray<Entry>) => Effect.Effect<void, PgFailure | StorageError>,
  ) => Effect.forEach(webhookTables, (table) => this.#slices(table, write), { discard: true })

  /** Writes all entries or none; a write that ends with `Unavailable` may still come to pass. */
  readonly write = (entries: ReadonlyArray<Entry>): Effect.Effect<void, StorageError> =>
    Effect.flatMap(
      Effect.forkDetach(Semaphore.withPermit(this.#writing, this.#write(entries)), {
        startImmediately: true,
        uninterruptible: true,
      }),
      (fiber) => Fiber.join(fiber),
    )

  readonly #write = Effect.fnUntraced(function* (
    this: CopiedTables,
    entries: ReadonlyArray<Entry>,
  ): Effect.fn.Return<void, StorageError> {
    const repeated = this.#unsettled.size > 0
    // The last one of a key counts.
    for (const entry of entries) this.#unsettled.set(nameOf(entry), entry)
    const all = [...this.#unsettled.values()]
    yield* this.#tables.write(all, repeated)
    yield* this.#files.writeEntries([...all, markEntry(this.#tables.mark)])
    this.#unsettled.clear()
    // A failure is for the next time.
    yield* Effect.ignore(this.#tables.prune)
  }).bind(this)

  /** Ends when no write is under way. */
  readonly settled: Effect.Effect<void> = Semaphore.withPermit(this.#writing, Effect.void)

  readonly #mark = Effect.gen({ self: this }, function* () {
    const value = yield* this.#files.readEntry("outbox", markKey)
    if (value === undefined) return undefined
    const body = yield* decodeValue(value, { table: "outbox", key: markKey })
    return JSON.parse(asBuffer(body).toString("utf8")) as CopyMark
  })

  /** Removes all, the mark first. */
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

  /** Passes on all entries of a table but the mark. */
  #slices(
    table: Entry["table"],
    use: (entries: ReadonlyArray<Entry>) => Effect.Effect<void, PgFailure | StorageError>,
  ): Effect.Effect<void, PgFailure | StorageError> {
    return Stream.runForEach(this.#files.readEntries({ table, ...everything }), (found) => {
      const entries = found
        .map(([key, value]): Entry => ({ table, key, value }))
        .filter((entry) => !isMark(entry))
      return entries.length === 0 ? Effect.void : use(entries)
    })
  }
}
