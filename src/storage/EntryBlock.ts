/**
 * Consecutive entries of a table in memory that is used again for the next ones, for who reads a million of
 * them: two buffers and an array for each would cost several times what reading them does.
 *
 * All keys lie in one buffer, all values in another, where those of `Values.ts` can be checked at once.
 */
import { limits } from "../Limits.ts"
import { dataViewOf } from "./Keys.ts"

const keyBytes = 64 * 1024
const valueBytes = 1024 * 1024

/**
 * After a whole value and these four bytes (little-endian) the CRC-32 is what it is at the beginning. So any
 * number of whole values, each followed by them, have the CRC of nothing at all, 0.
 */
const separator = 0x4c9dd581
const separatorBytes = 4

export class EntryBlock {
  /** How many entries there are. */
  count = 0
  keys: Buffer = Buffer.allocUnsafeSlow(keyBytes)
  values: Buffer = Buffer.allocUnsafeSlow(valueBytes)
  /** Over the memory of `values`. */
  valuesView = dataViewOf(this.values)
  readonly #keyEnds = new Uint32Array(limits.readChunkEntriesMax)
  readonly #valueEnds = new Uint32Array(limits.readChunkEntriesMax)
  /** Where the next one goes. */
  #keyAt = 0
  #valueAt = 0

  /** Makes room for other entries. */
  clear(): void {
    this.count = 0
    this.#keyAt = 0
    this.#valueAt = 0
  }

  /** Whether it takes no more; one entry goes into an empty block whatever its size. */
  get full(): boolean {
    return this.count === limits.readChunkEntriesMax || this.#valueAt >= valueBytes
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
