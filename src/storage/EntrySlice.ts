/**
 * The entries of one transaction, packed one behind the other into memory that a thread can share. An entry is copied when
 * it is added, so that its key and value die young: tens of thousands of small buffers that live until their transaction is
 * written would be copied by each garbage collection in between. Loads nothing of Effect.
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
import { limits } from "../Limits.ts"
import { keyBytesMax } from "./Keys.ts"
import { type Entry, tables } from "./tables.ts"

const headBytes = 12
const hasValue = 1
const knowsReplaced = 2
const replacesNothing = 4

const numberOfTable = new Map<string, number>(tables.map((table, number) => [table, number]))

/** The part that goes to another thread. */
export interface SharedSlice {
  readonly memory: SharedArrayBuffer
  readonly used: number
}

export class EntrySlice implements Iterable<Entry> {
  #bytes: Buffer
  #used = 0
  #count = 0

  constructor(memory = new SharedArrayBuffer(initialBytes)) {
    this.#bytes = Buffer.from(memory)
  }

  /** All of `entries`; throws as `add` does. */
  static of(entries: Iterable<Entry>): EntrySlice {
    if (entries instanceof EntrySlice) return entries
    const slice = new EntrySlice()
    for (const entry of entries) slice.add(entry)
    return slice
  }

  /** Those that another thread has packed. */
  static from({ memory, used }: SharedSlice): EntrySlice {
    const slice = new EntrySlice(memory)
    slice.#used = used
    return slice
  }

  /** How many were added here. */
  get count(): number {
    return this.#count
  }

  /** The bytes of all keys and values, with their heads. */
  get bytes(): number {
    return this.#used
  }

  /** Good until the next call of `add` or `clear`. */
  get shared(): SharedSlice {
    return { memory: this.#bytes.buffer as unknown as SharedArrayBuffer, used: this.#used }
  }

  /** Copies the entry. Throws a RangeError for a key that LMDB does not take. */
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

  /** Makes it empty; the memory is used again, unless it has grown beyond two full slices. */
  clear(): void {
    this.#used = 0
    this.#count = 0
    if (this.#bytes.length > 2 * limits.snapshotSliceBytesMax) {
      this.#bytes = Buffer.from(new SharedArrayBuffer(initialBytes))
    }
  }

  /** The entries as views of the slice. */
  *[Symbol.iterator](): Generator<Entry> {
    const bytes = this.#bytes
    for (let at = 0; at < this.#used; ) {
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
    }
  }
}

const initialBytes = 4_096
