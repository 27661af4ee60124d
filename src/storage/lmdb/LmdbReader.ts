/**
 * Reads the snapshot's entries in one read transaction, which lasts from `open` to `close`. It runs
 * in a child process, also while the server writes.
 *
 * - Reads are synchronous, since the process does nothing else. An open reader pins old pages of
 *   the live environment, so the file grows by the pages that the server writes meanwhile.
 * - LMDB trusts its pages: a truncated file or a page of zeros ends the process with SIGBUS or
 *   SIGABRT. Never open a reader in a process that serves requests.
 */
import { Effect, type Scope } from "effect"
import type { Range, StoredEntry, Table } from "../Storage.ts"
import { tables } from "../tables.ts"
import {
  countOf,
  type LmdbRoot,
  type LmdbTable,
  openReadOnly,
  openTable,
  type Transaction,
} from "./environment.ts"
import { openingCause } from "./fullDisk.ts"
import { decodeSums, type Sums, sumsKey } from "./Sums.ts"

type Bytes = Uint8Array

/** Opens the environment in `folder` for the surrounding scope. Dies if it cannot be opened. */
export const openReader = (folder: string): Effect.Effect<LmdbReader, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.try({
      try: () => new LmdbReader(folder),
      catch: (error) => openingCause(folder, error),
    }).pipe(Effect.orDie),
    (reader) => Effect.promise(() => reader.close()),
  )

export class LmdbReader {
  readonly #root: LmdbRoot
  readonly #tables = new Map<Table, LmdbTable>()
  readonly #transaction: Transaction

  /** Throws if there is no environment in `folder`, or LMDB cannot open it. */
  constructor(folder: string) {
    this.#root = openReadOnly(folder)
    for (const table of tables) {
      const database = openTable(this.#root, table)
      if (database !== undefined) this.#tables.set(table, database)
    }
    // After the tables are open, since opening a table ends a read transaction.
    this.#transaction = this.#root.useReadTransaction()
  }

  get(table: Table, key: Bytes): Bytes | undefined {
    return this.#tables.get(table)?.get(key, { transaction: this.#transaction })
  }

  /** The entries of a range, in byte order of the keys. */
  *entries({
    table,
    from,
    until,
  }: Pick<Range, "table" | "from" | "until">): Generator<StoredEntry> {
    const database = this.#tables.get(table)
    if (database === undefined) return
    const transaction = this.#transaction
    for (const { key, value } of database.getRange({ start: from, end: until, transaction })) {
      yield [key, value]
    }
  }

  /** The number of entries of a table. */
  count(table: Table): number {
    const database = this.#tables.get(table)
    return database === undefined ? 0 : countOf(database)
  }

  /**
   * The sums in the same transaction; `undefined` if the database has none; a sentence if they are
   * damaged.
   */
  sums(): Sums | string | undefined {
    const value = this.#root.get(sumsKey, { transaction: this.#transaction })
    return value && decodeSums(value)
  }

  close(): Promise<void> {
    this.#transaction.done()
    return this.#root.close()
  }
}
