/**
 * The snapshot's entries as of one moment, read without changing them: one read transaction from `open` to
 * `close`, in a process of its own, beside the server that writes them or alone.
 *
 * - Synchronous, since its process has nothing else to do. It pins old pages of the live environment while it
 *   is open, which grows the file by what is written meanwhile.
 * - LMDB trusts its pages. A truncated file or a page of zeros ends the process with SIGBUS or an abort: never
 *   open one in a process that serves.
 */
import { Effect, type Scope } from "effect"
import { type DiskError, withFile } from "../disk/Disk.ts"
import { nodeDisk } from "../disk/NodeDisk.ts"
import { Broken, type Range, type StoredEntry, type Table, tables } from "../Storage.ts"
import {
  countOf,
  dataFile,
  type LmdbRoot,
  type LmdbTable,
  openReadOnly,
  openTable,
  type Transaction,
} from "./environment.ts"

type Bytes = Uint8Array

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

  /** How many entries a table has. */
  count(table: Table): number {
    const database = this.#tables.get(table)
    return database === undefined ? 0 : countOf(database)
  }

  close(): Promise<void> {
    this.#transaction.done()
    return this.#root.close()
  }
}

/** An environment of which no page is written over that its state of one moment needs. */
export interface PinnedPages {
  /** The first bytes of its file: they say which state that is. All others are as the file has them, in any order of reading. */
  readonly head: Uint8Array
  /** What the file had at that moment; what it has grown by since belongs to later states. */
  readonly bytes: number
}

/**
 * Pins the environment in `folder` for the surrounding scope, also beside the process that writes it: LMDB writes
 * over no page that belongs to the state of a read transaction that is open, or to any later one. But the first two
 * pages, which name the newest state, are written over in turn: they are read until two readings agree, so that none
 * is half of one and half of the next. Fails with what `lmdb` throws, or the disk.
 */
export const pinPages = (
  folder: string,
): Effect.Effect<PinnedPages, Broken | DiskError, Scope.Scope> =>
  Effect.gen(function* () {
    const broken = (cause: unknown) => new Broken({ operation: "read", cause })
    const root = yield* Effect.acquireRelease(
      Effect.try({ try: () => openReadOnly(folder), catch: broken }),
      (opened) => Effect.promise(() => opened.close()),
    )
    const { pageSize } = root.getStats() as { readonly pageSize: number }
    yield* Effect.acquireRelease(
      Effect.try({ try: () => root.useReadTransaction(), catch: broken }),
      (transaction) => Effect.sync(() => transaction.done()),
    )
    return yield* withFile(nodeDisk, dataFile(folder), "read", (file) =>
      Effect.gen(function* () {
        let head = Buffer.alloc(0)
        let again = Buffer.alloc(2 * pageSize)
        yield* file.read(0, again)
        while (!head.equals(again)) {
          head = again
          again = Buffer.alloc(head.length)
          yield* file.read(0, again)
        }
        return { head, bytes: yield* file.size }
      }),
    )
  })
