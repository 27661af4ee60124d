/**
 * A bucket: the users whose hashes begin with the same bits, as consecutive entries in one range of
 * bytes outside V8's heap. The range in memory is the body of the stored value (`StoredBucket.ts`).
 *
 *     offset 0  high half of the hash   uint32, little-endian
 *            4  low half of the hash    uint32
 *            8  id                      uint16, its bytes
 *           10  state                   uint16, its bytes
 *           12  id (UTF-8), state (`records/UserCodec.ts`)
 *
 * A state above `stateInlineBytesMax` is not in the range. It is a value of its own (`large`), so
 * that one large user does not make every write of a bucket large.
 *
 * The index is in the order of the hashes' low halves, the range in the order of arrival.
 *
 * Cost of a user: 12 bytes here, 8 in the index, and the spare room of the range, which grows by a
 * quarter. Hashes are spread evenly, so that a look-up computes where the index has an entry and
 * passes over a few others. A put moves the entries behind it.
 */
import { limits } from "../../Limits.ts"
import { sequenceOf } from "../records/UserHead.ts"

export const entryHeadBytes = 12

/** A state that is too large for the range. */
export interface LargeState {
  readonly high: number
  readonly low: number
  readonly bytes: Buffer
  /** Whether the stored value is as `bytes`. */
  isStored: boolean
}

export class Bucket<A> {
  /** The bits that all hashes have in common, at the upper end of 32 bits. */
  readonly prefix: number
  /** How many bits they are. */
  readonly depth: number
  bytes: Buffer
  used = 0
  count = 0
  /** Of each entry, in the order of the low halves: the low half of the hash, and the offset. */
  index: Uint32Array
  large: Map<string, LargeState> | undefined
  /** Ids whose stored values must go, since the states are no longer large or were removed. */
  gone: Set<string> | undefined
  /** Users whose states changed since they were put into the bucket. */
  changed: Array<A> = []
  /** Whether the stored value differs, or will once `changed` is put. */
  isDirty = false
  /** The checksum of the stored value; null: there is none; `undefined`: unknown. */
  checksum: number | null | undefined = null

  constructor(prefix: number, depth: number, bytes = 0, count = 0) {
    this.prefix = prefix
    this.depth = depth
    this.bytes = Buffer.from(new ArrayBuffer(bytes))
    this.index = new Uint32Array(2 * count)
  }

  /** The first prefix behind the bucket; 2^32 behind the last one. */
  get end(): number {
    return this.prefix + 2 ** (32 - this.depth)
  }

  /** How many users there are, large ones included. */
  get users(): number {
    return this.count + (this.large?.size ?? 0)
  }

  /** The offset of entry `n`. */
  offsetOf(n: number): number {
    return this.index[2 * n + 1]!
  }

  /** The number of the entry of this id, which is in `id` from 0 to `size`; -1: there is none. */
  find(high: number, low: number, id: Buffer, size: number): number {
    const { bytes, count, index } = this
    for (let n = this.#placeOf(low); n < count && index[2 * n] === low; n++) {
      const at = index[2 * n + 1]!
      if (bytes.readUInt32LE(at) === high && bytes.readUInt16LE(at + 8) === size) {
        if (bytes.compare(id, 0, size, at + entryHeadBytes, at + entryHeadBytes + size) === 0) {
          return n
        }
      }
    }
    return -1
  }

  /** The number of the first entry whose low half is not below `low`. */
  #placeOf(low: number): number {
    const { count, index } = this
    let n = Math.floor((low / 2 ** 32) * count)
    while (n > 0 && index[2 * n - 2]! >= low) n--
    while (n < count && index[2 * n]! < low) n++
    return n
  }

  idOf(n: number): string {
    const at = this.offsetOf(n)
    const start = at + entryHeadBytes
    return this.bytes.toString("utf8", start, start + this.bytes.readUInt16LE(at + 8))
  }

  /** The ids of all users, large ones included. */
  *ids(): Generator<string> {
    for (let n = 0; n < this.count; n++) yield this.idOf(n)
    if (this.large !== undefined) yield* this.large.keys()
  }

  /** The sequence of each state's last record, in the order of `ids`. */
  *sequences(): Generator<number> {
    for (let n = 0; n < this.count; n++) {
      yield sequenceOf(this.bytes, this.stateStart(n), this.stateEnd(n))
    }
    for (const { bytes } of this.large?.values() ?? []) yield sequenceOf(bytes, 0, bytes.length)
  }

  /** Where the state of entry `n` begins and ends in `bytes`. */
  stateStart(n: number): number {
    const at = this.offsetOf(n)
    return at + entryHeadBytes + this.bytes.readUInt16LE(at + 8)
  }

  stateEnd(n: number): number {
    return this.stateStart(n) + this.bytes.readUInt16LE(this.offsetOf(n) + 10)
  }

  /** Puts `state` in place of that of entry `n`. */
  replace(n: number, state: Buffer): void {
    const start = this.stateStart(n)
    const end = this.stateEnd(n)
    const longer = start + state.length - end
    if (longer !== 0) {
      this.#reserve(longer)
      this.bytes.copyWithin(end + longer, end, this.used)
      this.#moveBehind(this.offsetOf(n), longer)
      this.bytes.writeUInt16LE(state.length, this.offsetOf(n) + 10)
    }
    state.copy(this.bytes, start)
  }

  /** Adds an entry. The id is in `id` from 0 to `size`. */
  append(high: number, low: number, id: Buffer, size: number, state: Buffer): void {
    const at = this.used
    this.#reserve(entryHeadBytes + size + state.length)
    const { bytes } = this
    bytes.writeUInt32LE(high, at)
    bytes.writeUInt32LE(low, at + 4)
    bytes.writeUInt16LE(size, at + 8)
    bytes.writeUInt16LE(state.length, at + 10)
    id.copy(bytes, at + entryHeadBytes, 0, size)
    state.copy(bytes, at + entryHeadBytes + size)
    this.list(low, at)
    this.used += entryHeadBytes + size + state.length
  }

  /** Adds a copy of the entry in `source` from `start` to `end`. */
  copyFrom(source: Buffer, start: number, end: number): void {
    this.#reserve(end - start)
    source.copy(this.bytes, this.used, start, end)
    this.list(source.readUInt32LE(start + 4), this.used)
    this.used += end - start
  }

  remove(n: number): void {
    const start = this.offsetOf(n)
    const end = this.stateEnd(n)
    this.bytes.copyWithin(start, end, this.used)
    this.index.copyWithin(2 * n, 2 * n + 2, 2 * this.count)
    this.count--
    this.#moveBehind(start, start - end)
  }

  /** Enters the entry at offset `at` into the index. */
  list(low: number, at: number): void {
    if (2 * this.count === this.index.length) {
      const larger = new Uint32Array(2 * Math.max(4, Math.ceil(this.count * grownBy)))
      larger.set(this.index)
      this.index = larger
    }
    const n = this.#placeOf(low)
    this.index.copyWithin(2 * n + 2, 2 * n, 2 * this.count)
    this.index[2 * n] = low
    this.index[2 * n + 1] = at
    this.count++
  }

  /** The entries behind offset `at` have moved by `distance`. */
  #moveBehind(at: number, distance: number): void {
    const { count, index } = this
    for (let n = 0; n < count; n++) if (index[2 * n + 1]! > at) index[2 * n + 1]! += distance
    this.used += distance
  }

  #reserve(more: number): void {
    const needed = this.used + more
    if (needed <= this.bytes.length) return
    const size = Math.max(needed, bytesMin, Math.ceil(this.used * grownBy))
    const larger = Buffer.from(new ArrayBuffer(Math.ceil(size / 256) * 256))
    this.bytes.copy(larger, 0, 0, this.used)
    this.bytes = larger
  }
}

/** By how much a range grows beyond what it holds. */
const grownBy = 1.25

const bytesMin = 256

/** Whether a bucket must split, if it can. */
export const isTooLarge = ({ count, depth, used }: Bucket<unknown>): boolean =>
  used > limits.bucketBytesMax &&
  count >= limits.bucketSplitUsersMin &&
  depth < limits.bucketDepthMax
