/**
 * The sums after a batch of entries. Each entry names the value that it replaces (`Entry.replaces`), or has it looked up,
 * which costs 1 µs; where the batch has several entries of one key, each replaces the value of the one before.
 */
import { asBuffer } from "../Keys.ts"
import { checksumOf } from "../SealedValue.ts"
import type { Entry, Table } from "../Storage.ts"
import { type LmdbTable, lookUp } from "./environment.ts"
import { change, digestOf, hashKey, type Sums, type TableSum } from "./Sums.ts"

export class NextSums {
  readonly sums: Sums
  readonly #old: Sums
  readonly #tables: Readonly<Record<Table, LmdbTable>>
  readonly #entries: ReadonlyArray<Entry>
  /** Hashes of the keys that were looked up: a key whose hash is missing has no earlier entry. */
  readonly #hashes = new Set<number>()
  #taken = 0

  constructor(
    sums: Sums,
    tables: Readonly<Record<Table, LmdbTable>>,
    entries: ReadonlyArray<Entry>,
  ) {
    this.#old = sums
    this.sums = { ...sums }
    this.#tables = tables
    this.#entries = entries
  }

  /** Takes up to `count` entries; answers whether any are left. Throws what `lmdb` throws. */
  take(count: number): boolean {
    const end = Math.min(this.#entries.length, this.#taken + count)
    for (; this.#taken < end; this.#taken++) {
      const entry = this.#entries[this.#taken]!
      const { key, table, value } = entry
      const hash = hashKey(key)
      const sum = this.#sumOf(table)
      const before = entry.replaces === undefined ? this.#before(entry, hash) : entry.replaces
      if (before !== null) change(sum, digestOf(hash, before), -1)
      if (value !== null) change(sum, digestOf(hash, checksumOf(value)), 1)
    }
    return end < this.#entries.length
  }

  /** A table's sum, copied before its first change. */
  #sumOf(table: Table): TableSum {
    const sum = this.sums[table]
    if (sum !== undefined && sum !== this.#old[table]) return sum
    const copy = { count: 0, sum: 0, ...sum }
    this.sums[table] = copy
    return copy
  }

  /** The checksum of the value that the entry replaces; `null`: none is there. */
  #before({ key, table }: Entry, hash: number): number | null {
    let before: Uint8Array | null | undefined
    for (let index = this.#hashes.has(hash) ? this.#taken - 1 : -1; index >= 0; index--) {
      const earlier = this.#entries[index]!
      if (earlier.table !== table || !asBuffer(earlier.key).equals(key)) continue
      before = earlier.value
      break
    }
    this.#hashes.add(hash)
    if (before === undefined) before = lookUp(this.#tables[table], key)
    return before ? checksumOf(before) : null
  }
}
