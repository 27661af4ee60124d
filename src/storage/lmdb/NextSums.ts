/**
 * The sums after a batch of entries. For each it looks up what is there; of several with one key, the one before is what
 * is there. An entry that is known to be new costs no look-up, which is most of the cost (1 µs).
 */
import { asBuffer } from "../Keys.ts"
import type { Entry, Table } from "../Storage.ts"
import { type LmdbTable, lookUp } from "./environment.ts"
import { change, copyOf, digestOf, hashKey, type Sums, sumOf } from "./Sums.ts"

export class NextSums {
  readonly sums: Sums
  readonly #tables: Readonly<Record<Table, LmdbTable>>
  readonly #entries: ReadonlyArray<Entry>
  /** Hashes of the keys that were taken: whose is not there has none before it. */
  readonly #hashes = new Set<number>()
  #taken = 0

  constructor(
    sums: Sums,
    tables: Readonly<Record<Table, LmdbTable>>,
    entries: ReadonlyArray<Entry>,
  ) {
    this.sums = copyOf(sums)
    this.#tables = tables
    this.#entries = entries
  }

  /** Takes up to `count` entries; answers whether any are left. Throws what `lmdb` throws. */
  take(count: number): boolean {
    const end = Math.min(this.#entries.length, this.#taken + count)
    for (; this.#taken < end; this.#taken++) {
      const entry = this.#entries[this.#taken]!
      const { key, table, value } = entry
      const hash = hashKey(key, 0, key.length)
      const sum = sumOf(this.sums, table)
      const before = this.#before(entry, hash)
      this.#hashes.add(hash)
      if (before !== undefined) change(sum, digestOf(hash, before, before.length), -1)
      if (value !== null) change(sum, digestOf(hash, value, value.length), 1)
    }
    return end < this.#entries.length
  }

  /** The value that the entry takes the place of. */
  #before({ isNew, key, table }: Entry, hash: number): Uint8Array | undefined {
    if (this.#hashes.has(hash)) {
      for (let index = this.#taken - 1; index >= 0; index--) {
        const earlier = this.#entries[index]!
        if (earlier.table === table && asBuffer(earlier.key).equals(key)) {
          return earlier.value ?? undefined
        }
      }
    }
    return isNew === true ? undefined : lookUp(this.#tables[table], key)
  }
}
