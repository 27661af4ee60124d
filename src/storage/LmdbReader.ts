/**
 * The snapshot's entries as of one moment, read without changing them: one read transaction from `open` to
 * `close`, in a process of its own, beside the server that writes them or alone.
 *
 * - Synchronous, since its process has nothing else to do. It pins old pages of the live environment while it
 *   is open, which grows the file by what is written meanwhile.
 * - LMDB trusts its pages. A truncated file or a page of zeros ends the process with SIGBUS or an abort: never
 *   open one in a process that serves.
 */
import {
  type Database,
  openReadOnly,
  openTable,
  openWritable,
  type RootDatabase,
  type Transaction,
} from "./LmdbStore.ts"
import { type Range, type StoredEntry, type Table, tables } from "./Storage.ts"

type Bytes = Uint8Array

export class LmdbReader {
  readonly #root: RootDatabase<Bytes, Bytes>
  readonly #tables = new Map<Table, Database<Bytes, Bytes>>()
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

  /** How many entries a table has. */
  count(table: Table): number {
    const database = this.#tables.get(table)
    if (database === undefined) return 0
    return (database.getStats() as { readonly entryCount: number }).entryCount
  }

  close(): Promise<void> {
    this.#transaction.done()
    return this.#root.close()
  }
}

/**
 * Copies the environment in `folder`, as of one moment, compacted, into `into`: an existing folder without one.
 * Nothing is flushed (LMDB's backup does no fsync). Rejects when space runs out.
 */
export const copyEnvironment = async (folder: string, into: string): Promise<void> => {
  const root = openReadOnly(folder)
  try {
    await root.backup(into, true)
  } finally {
    await root.close()
  }
  await fillFreeList(into)
}

/**
 * A compacted copy has an empty list of free pages, and the first transaction that frees more than about 250
 * pages of such an environment ends the process: LMDB 0.9.90 (lmdb 3.5.6) follows a page that is not written
 * yet when the list's first entry is a large one (SIGSEGV in `mdb_cursor_last` under `mdb_freelist_save`).
 * After two small transactions the list has small entries, and the last one is never used up.
 */
const fillFreeList = async (folder: string): Promise<void> => {
  const root = openWritable(folder)
  try {
    for (const name of tables) {
      const table = openTable(root, name)
      const first = table === undefined ? undefined : [...table.getRange({ limit: 1 })][0]
      if (table === undefined || first === undefined) continue
      for (let transaction = 0; transaction < 2; transaction++) {
        await table.put(first.key, first.value)
      }
      return
    }
  } finally {
    await root.close()
  }
}
