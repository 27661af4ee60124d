/**
 * Writes a new database, entries in the order of their keys, with its sums (`Sums.ts`). It holds the event loop while it
 * writes.
 */
import fs from "node:fs"
import os from "node:os"
import { Effect } from "effect"
import type { DiskError } from "../disk/Disk.ts"

import { checksumOf } from "../SealedValue.ts"
import { NoSpace, type Table } from "../Storage.ts"
import { type LmdbRoot, type LmdbTable, openTables, openWritable } from "./environment.ts"
import { reserveLock } from "./reserveLock.ts"
import { change, digestOf, encodeSums, hashKey, type Sums, sumsKey } from "./Sums.ts"

/** Of pages that a transaction writes beside its entries. */
const spareBytes = 1_048_576
const { EDQUOT, EIO, ENOSPC } = os.constants.errno

/** Begins a database in the existing, empty folder `folder`. */
export const newDatabase = (folder: string): Effect.Effect<DatabaseWriter, DiskError> =>
  Effect.map(reserveLock(folder), () => new DatabaseWriter(folder))

export class DatabaseWriter {
  readonly #folder: string
  readonly #root: LmdbRoot
  readonly #tables: Readonly<Record<Table, LmdbTable>>
  readonly #sums: Sums = {}
  #waiting: Array<readonly [LmdbTable, Uint8Array, Uint8Array]> = []
  /** Bytes of the entries that no transaction has yet. */
  waitingBytes = 0

  constructor(folder: string) {
    this.#folder = folder
    this.#root = openWritable(folder)
    this.#tables = openTables(this.#root)
  }

  /** Adds an entry with a key that was not there; keeps both buffers until the next `flush`. */
  add(table: Table, key: Uint8Array, value: Uint8Array): void {
    this.#sums[table] ??= { count: 0, sum: 0 }
    change(this.#sums[table], digestOf(hashKey(key), checksumOf(value)), 1)
    this.#waiting.push([this.#tables[table], key, value])
    this.waitingBytes += key.length + value.length
  }

  /** Writes what was added, in one transaction, to the disk. Throws `NoSpace`, or what `lmdb` throws. */
  flush(): void {
    try {
      this.#root.transactionSync(() => {
        for (const [table, key, value] of this.#waiting) table.put(key, value)
        this.#root.put(sumsKey, encodeSums(this.#sums))
      })
    } catch (error) {
      throw this.#isFull(error) ? new NoSpace({ operation: "write" }) : error
    }
    this.#waiting = []
    this.waitingBytes = 0
  }

  /** Of all that was added. */
  get sums(): Sums {
    return this.#sums
  }

  /** LMDB says that the disk failed where it fills up during a write. */
  #isFull(error: unknown): boolean {
    const { code } = error as { readonly code?: unknown }
    if (code === ENOSPC || code === EDQUOT) return true
    const { bavail, bsize } = fs.statfsSync(this.#folder)
    return code === EIO && bavail * bsize < 2 * this.waitingBytes + spareBytes
  }

  close(): Promise<void> {
    return this.#root.close()
  }
}
