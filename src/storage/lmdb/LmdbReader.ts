/**
 * Reads the snapshot's entries as of one moment: one read transaction from `open` to `close`, in a child process, also
 * beside the server that writes.
 *
 * - Synchronous, since its process does nothing else. While open, it pins old pages of the live environment, so the
 *   file grows by the pages written meanwhile.
 * - LMDB trusts its pages: a truncated file or a page of zeros ends the process with SIGBUS or an abort. Never
 *   open a reader in a process that serves.
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

/** Opens the environment in `folder` for the surrounding scope. */
export const openReader = (folder: string): Effect.Effect<LmdbReader, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => new LmdbReader(folder)),
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

  close(): Promise<void> {
    this.#transaction.done()
    return this.#root.close()
  }
}

/** A pinned state of an environment: LMDB overwrites none of its pages. */
export interface PinnedPages {
  /** The first bytes of the file, which identify the state. All other bytes can be read from the file in any order. */
  readonly head: Uint8Array
  /** Size of the file at that moment; later growth belongs to later states. */
  readonly bytes: number
}

/**
 * Pins the environment in `folder` for the surrounding scope, also beside the process that writes it: LMDB overwrites
 * no page that belongs to the state of an open read transaction or to a later state. It overwrites only the first two
 * pages, which name the newest state, in turn: they are read until two reads agree, so that neither
 * is torn. Fails with the error of `lmdb` or the disk.
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
