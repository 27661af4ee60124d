/**
 * Reads the snapshot's entries as of one moment: one read transaction from `open` to `close`, in a
 * child process, also beside the server that writes.
 *
 * - Synchronous, since its process does nothing else. While open, it pins old pages of the live
 *   environment, so the file grows by the pages written meanwhile.
 * - LMDB trusts its pages: a truncated file or a page of zeros ends the process with SIGBUS or an
 *   abort. Never open a reader in a process that serves.
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

/** Opens the environment in `folder` for the surrounding scope. Dies where it cannot be opened. */
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

  /** Throws when there is no environment in `folder`, or none that LMDB can open. */
  constructor(folder: string) {
    this.#root = openReadOnly(folder)
    for (const table of tables) {
      const database = openTable(this.#root, table)
      if (database !== undefined) this.#tables.set(table, database)
    }
    // After the tables are open: opening one ends a read transaction.
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

  /** Number of entries of a table. */
  count(table: Table): number {
    const database = this.#tables.get(table)
    return database === undefined ? 0 : countOf(database)
  }

  /**
   * As of the same moment; `undefined`: a version without sums wrote the database. A sentence where
   * they are damaged.
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
