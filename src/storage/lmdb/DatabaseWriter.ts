/**
 * Writes a new database with its sums (`Sums.ts`). The caller adds entries in the order of their
 * keys. A flush holds the event loop.
 */
import { Effect } from "effect"
import { checksumOf } from "../SealedValue.ts"
import { type Table, Unavailable } from "../Storage.ts"
import { type LmdbRoot, type LmdbTable, openTables, openWritable } from "./environment.ts"
import { isFullDisk, openingCause } from "./fullDisk.ts"
import { spareBytes } from "./reserveSpace.ts"
import { change, digestOf, encodeSums, hashKey, type Sums, sumsKey } from "./Sums.ts"

/** Begins a database in the existing, empty folder `folder`. */
export const newDatabase = (folder: string): Effect.Effect<DatabaseWriter, unknown> =>
  Effect.try({
    try: () => new DatabaseWriter(folder),
    catch: (error) => openingCause(folder, error),
  })

class DatabaseWriter {
  readonly #folder: string
  readonly #root: LmdbRoot
  readonly #tables: Readonly<Record<Table, LmdbTable>>
  readonly #sums: Sums = {}
  #waiting: Array<readonly [LmdbTable, Uint8Array, Uint8Array]> = []
  /** Bytes of the entries that are not flushed yet. */
  waitingBytes = 0

  constructor(folder: string) {
    this.#folder = folder
    this.#root = openWritable(folder)
    this.#tables = openTables(this.#root)
  }

  /** Adds an entry with a new key. Keeps both buffers until the next `flush`. */
  add(table: Table, key: Uint8Array, value: Uint8Array): void {
    this.#sums[table] ??= { count: 0, sum: 0 }
    change(this.#sums[table], digestOf(hashKey(key), checksumOf(value)), 1)
    this.#waiting.push([this.#tables[table], key, value])
    this.waitingBytes += key.length + value.length
  }

  /**
   * Writes the added entries to the disk in one transaction. Fails with `Unavailable`, or with the
   * error that `lmdb` throws.
   */
  readonly flush: Effect.Effect<void, unknown> = Effect.try({
    try: () => {
      this.#root.transactionSync(() => {
        for (const [table, key, value] of this.#waiting) table.put(key, value)
        this.#root.put(sumsKey, encodeSums(this.#sums))
      })
      this.#waiting = []
      this.waitingBytes = 0
    },
    catch: (error) => {
      const isFull = isFullDisk(error, this.#folder, 2 * this.waitingBytes + spareBytes)
      return isFull ? new Unavailable({ operation: "write", reason: "disk_full" }) : error
    },
  })

  /** The sums of all added entries. */
  get sums(): Sums {
    return this.#sums
  }

  close(): Promise<void> {
    return this.#root.close()
  }
}
