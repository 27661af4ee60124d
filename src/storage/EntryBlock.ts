/**
 * Consecutive entries of a table, in memory that the block reuses. It serves reads of a million
 * entries: two buffers and an array per entry would cost several times the read.
 *
 * One buffer holds all keys, another all values, so that one CRC checks all values
 * (`SealedValue.ts`).
 */
import { limits } from "../Limits.ts"
import { dataViewOf, keyBytesMax } from "./Keys.ts"
import { type Entry, tables } from "./tables.ts"

/**
 * The first sizes. The buffers grow with the entries, so a database with few entries needs little
 * memory.
 */
const keyBytes = 4 * 1024
const valueBytes = 16 * 1024

/** A block with this many bytes of values is full. */
const valueBytesMax = 1024 * 1024

/**
 * After an intact value, these four bytes (little-endian) bring the CRC-32 back to its initial
 * state. So the CRC of any number of intact values, each followed by the separator, is 0.
 */
const separator = 0x4c9dd581
const separatorBytes = 4

export class EntryBlock {
  /** Number of entries. */
  count = 0
  keys: Buffer = Buffer.allocUnsafeSlow(keyBytes)
  values: Buffer = Buffer.allocUnsafeSlow(valueBytes)
  /** A view over the memory of `values`. */
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

  /** Begins an entry: its key is in `source` from `start` to `end`. `addValue` must follow. */
  addKey(source: Uint8Array, start: number, end: number): void {
    const size = end - start
    if (this.#keyAt + size > this.keys.length) this.keys = grown(this.keys, this.#keyAt + size)
    const { keys } = this
    // For so few bytes, creating a view would cost more than this loop.
    for (let at = this.#keyAt, from = start; from < end; at++, from++) keys[at] = source[from]!
    this.#keyAt += size
    this.#keyEnds[this.count] = this.#keyAt
  }

  /** Ends the entry: its value is the first `size` bytes of `source`. */
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

  /** The key of entry `n`, as a view that is valid until the next `clear`. */
  key(n: number): Buffer {
    return this.keys.subarray(this.keyStart(n), this.keyEnd(n))
  }

  /** The value of entry `n`, as a view that is valid until the next `clear`. */
  value(n: number): Buffer {
    return this.values.subarray(this.valueStart(n), this.valueEnd(n))
  }

  /** All values with a separator after each, as a view that is valid until the next `clear`. */
  get separated(): Buffer {
    return this.values.subarray(0, this.#valueAt)
  }
}

const grown = (bytes: Buffer, needed: number): Buffer => {
  const larger = Buffer.allocUnsafeSlow(Math.max(needed, 2 * bytes.length))
  bytes.copy(larger)
  return larger
}

/*
 * The entries of one transaction, packed into memory that threads can share. `add` copies an entry,
 * so that its key and value are garbage at once. Tens of thousands of small buffers that live until
 * their transaction is written would be copied by each garbage collection until then. Does not load
 * Effect.
 *
 *     offset 0  table      uint8, its place in `tables`
 *            1  flags      uint8; 1: there is a value; 2: `replaces` is known; 4: and it is `null`
 *            2  key        uint16, its bytes
 *            4  value      uint32, its bytes
 *            8  replaces   int32
 *           12  key, value
 *
 * Cost: 0.3 µs and a copy per entry.
 */

const headBytes = 12
const hasValue = 1
const knowsReplaced = 2
const replacesNothing = 4

const numberOfTable = new Map<string, number>(tables.map((table, number) => [table, number]))

/** The message for another thread. */
export interface SharedSlice {
  readonly memory: SharedArrayBuffer
  readonly used: number
  /** How many entries there are. */
  readonly count: number
}

export class EntrySlice implements Iterable<Entry> {
  #bytes: Buffer
  #used = 0
  #count = 0

  constructor(memory = new SharedArrayBuffer(initialBytes)) {
    this.#bytes = Buffer.from(memory)
  }

  /** A slice of all `entries`. Throws as `add` does. */
  static of(entries: Iterable<Entry>): EntrySlice {
    if (entries instanceof EntrySlice) return entries
    const slice = new EntrySlice()
    for (const entry of entries) slice.add(entry)
    return slice
  }

  /** The slice that another thread packed. */
  static from({ count, memory, used }: SharedSlice): EntrySlice {
    const slice = new EntrySlice(memory)
    slice.#used = used
    slice.#count = count
    return slice
  }

  /** How many entries the slice has. */
  get count(): number {
    return this.#count
  }

  /** The bytes of all entries, including their heads. */
  get bytes(): number {
    return this.#used
  }

  /** Valid until the next call of `add` or `clear`. */
  get shared(): SharedSlice {
    return {
      memory: this.#bytes.buffer as unknown as SharedArrayBuffer,
      used: this.#used,
      count: this.#count,
    }
  }

  /** Copies the entry. Throws a RangeError for a key that LMDB does not accept. */
  add({ key, replaces, table, value }: Entry): void {
    if (key.length === 0 || key.length > keyBytesMax) {
      throw new RangeError(`a key of ${key.length} bytes in table ${table}`)
    }
    const valueBytes = value === null ? 0 : value.length
    const at = this.#used
    const keyAt = at + headBytes
    const end = keyAt + key.length + valueBytes
    if (end > this.#bytes.length) this.#grow(end)
    const bytes = this.#bytes
    bytes[at] = numberOfTable.get(table)!
    bytes[at + 1] =
      (value === null ? 0 : hasValue) |
      (replaces === undefined ? 0 : knowsReplaced) |
      (replaces === null ? replacesNothing : 0)
    bytes.writeUInt16LE(key.length, at + 2)
    bytes.writeUInt32LE(valueBytes, at + 4)
    bytes.writeInt32LE(replaces ?? 0, at + 8)
    bytes.set(key, keyAt)
    if (value !== null) bytes.set(value, keyAt + key.length)
    this.#used = end
    this.#count++
  }

  #grow(bytes: number): void {
    const larger = Buffer.from(new SharedArrayBuffer(Math.max(bytes, 2 * this.#bytes.length)))
    this.#bytes.copy(larger, 0, 0, this.#used)
    this.#bytes = larger
  }

  /** Empties the slice. The memory is reused, unless it has grown beyond two full slices. */
  clear(): void {
    this.#used = 0
    this.#count = 0
    if (this.#bytes.length > 2 * limits.snapshotSliceBytesMax) {
      this.#bytes = Buffer.from(new SharedArrayBuffer(initialBytes))
    }
  }

  /**
   * The entries as views of the slice. Throws if the heads do not add up to its count and bytes.
   */
  *[Symbol.iterator](): Generator<Entry> {
    const bytes = this.#bytes
    let at = 0
    let found = 0
    while (at < this.#used) {
      const flags = bytes[at + 1]!
      const keyAt = at + headBytes
      const valueAt = keyAt + bytes.readUInt16LE(at + 2)
      const end = valueAt + bytes.readUInt32LE(at + 4)
      yield {
        table: tables[bytes[at]!]!,
        key: bytes.subarray(keyAt, valueAt),
        value: (flags & hasValue) === 0 ? null : bytes.subarray(valueAt, end),
        replaces:
          (flags & knowsReplaced) === 0
            ? undefined
            : (flags & replacesNothing) !== 0
              ? null
              : bytes.readInt32LE(at + 8),
      }
      at = end
      found++
    }
    if (at !== this.#used || found !== this.#count) {
      throw new Error(
        `a slice of ${this.#count} entries in ${this.#used} bytes has ${found} in ${at}`,
      )
    }
  }
}

const initialBytes = 4_096
