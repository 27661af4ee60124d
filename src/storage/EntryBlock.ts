/**
 * Consecutive entries of a table, in memory that each block reuses. For reads of a million entries: two buffers and an array
 * per entry would cost several times the read itself.
 *
 * One buffer holds all keys, another all values, so that one CRC checks all values (`SealedValue.ts`).
 */
import { limits } from "../Limits.ts"
import { dataViewOf } from "./Keys.ts"

/** At first. The buffers grow to what is read: a database with few entries needs little memory. */
const keyBytes = 4 * 1024
const valueBytes = 16 * 1024

/** With values of this size the block is full. */
const valueBytesMax = 1024 * 1024

/**
 * A whole value and these four bytes (little-endian) bring the CRC-32 back to its initial state. So any number of whole
 * values, each followed by them, have CRC 0.
 */
const separator = 0x4c9dd581
const separatorBytes = 4

export class EntryBlock {
  /** Number of entries. */
  count = 0
  keys: Buffer = Buffer.allocUnsafeSlow(keyBytes)
  values: Buffer = Buffer.allocUnsafeSlow(valueBytes)
  /** Over the memory of `values`. */
  valuesView = dataViewOf(this.values)
  readonly #keyEnds = new Uint32Array(limits.readChunkEntriesMax)
  readonly #valueEnds = new Uint32Array(limits.readChunkEntriesMax)
  /** Where the next entry begins. */
  #keyAt = 0
  #valueAt = 0

  /** Empties the block. */
  clear(): void {
    this.count = 0
    this.#keyAt = 0
    this.#valueAt = 0
  }

  /** Whether the block takes no more entries; an empty block takes one entry of any size. */
  get full(): boolean {
    return this.count === limits.readChunkEntriesMax || this.#valueAt >= valueBytesMax
  }

  /** Begins an entry whose key stands in `source` from `start` to `end`; its value follows. */
  addKey(source: Uint8Array, start: number, end: number): void {
    const size = end - start
    if (this.#keyAt + size > this.keys.length) this.keys = grown(this.keys, this.#keyAt + size)
    const { keys } = this
    // A view to copy from would cost more than the copy of so few bytes.
    for (let at = this.#keyAt, from = start; from < end; at++, from++) keys[at] = source[from]!
    this.#keyAt += size
    this.#keyEnds[this.count] = this.#keyAt
  }

  /** Ends it with the first `size` bytes of `source`. */
  addValue(source: Buffer, size: number): void {
    const needed = this.#valueAt + size + separatorBytes
    if (needed > this.values.length) {
      this.values = grown(this.values, needed)
      this.valuesView = dataViewOf(this.values)
    }
    source.copy(this.values, this.#valueAt, 0, size)
    this.#valueEnds[this.count] = this.#valueAt + size
    this.valuesView.setUint32(this.#valueAt + size, separator, true)
    this.#valueAt = needed
    this.count++
  }

  /** Where the key of entry `n` begins and ends in `keys`. */
  keyStart(n: number): number {
    return n === 0 ? 0 : this.#keyEnds[n - 1]!
  }

  keyEnd(n: number): number {
    return this.#keyEnds[n]!
  }

  /** Where the value of entry `n` begins and ends in `values`. */
  valueStart(n: number): number {
    return n === 0 ? 0 : this.#valueEnds[n - 1]! + separatorBytes
  }

  valueEnd(n: number): number {
    return this.#valueEnds[n]!
  }

  /** The key of entry `n`, as a view that is good until the next `clear`. */
  key(n: number): Buffer {
    return this.keys.subarray(this.keyStart(n), this.keyEnd(n))
  }

  /** The value of entry `n`, as such a view. */
  value(n: number): Buffer {
    return this.values.subarray(this.valueStart(n), this.valueEnd(n))
  }

  /** All values, with a separator after each, as such a view. */
  get separated(): Buffer {
    return this.values.subarray(0, this.#valueAt)
  }
}

const grown = (bytes: Buffer, needed: number): Buffer => {
  const larger = Buffer.allocUnsafeSlow(Math.max(needed, 2 * bytes.length))
  bytes.copy(larger)
  return larger
}
