/**
 * The users of an environment in memory: extendible hashing. The upper bits of a user's hash lead
 * through the directory to a bucket (`Bucket.ts`), in which the ids are compared byte for byte.
 *
 * Invariants:
 * - A bucket of depth d is in all 2^(D − d) places of the directory, of depth D, that begin with
 *   its prefix. So each hash leads to exactly one bucket.
 * - A bucket above `bucketBytesMax` splits by the next bit of the hash, unless it has fewer than
 *   `bucketSplitUsersMin` users or is `bucketDepthMax` deep.
 * - The bytes of a bucket, with the present durable states of its users in `changed`, are the
 *   durable state. `settle` brings them together.
 * - A bucket with a difference to its stored value is dirty. Right halves of a split have no stored
 *   value yet: their users are in the value of an ancestor, whose key is that of the leftmost
 *   bucket in its range. So a snapshot writes dirty buckets from the highest prefix down: each new
 *   half is written before the key of its ancestor is overwritten.
 *
 * Iteration goes over prefixes, so splits between two steps neither hide nor repeat a user.
 *
 * Cost: a look-up hashes the id (0.2 µs) and scans about 100 hashes. The heap has one object for a
 * bucket, not for a user.
 */
import { limits } from "../../Limits.ts"
import { BadState } from "../records/StateBytes.ts"
import { Bucket, isTooLarge, type LargeState } from "./Bucket.ts"
import { SipHash } from "./SipHash.ts"

/** The bytes of states in memory, of all environments that share a bound. */
export interface StateBytes {
  bytes: number
}

/** A user whose state changed: the upper half of its hash leads to its bucket. */
export interface Hashed {
  readonly hash: number
}

const idBytesMax = 4 * limits.idCharactersMax

/** The end of all prefixes. */
export const prefixesEnd = 2 ** 32

export class BucketTable<A extends Hashed> {
  readonly #hash: SipHash
  readonly #bytes: StateBytes
  #directory: Array<Bucket<A>>
  #depth = 0
  /** How many users there are. */
  size = 0
  /** How many buckets there are, and how many of them are dirty. */
  count = 1
  dirty = 0
  /** The id of the last look-up, and its size. */
  readonly #id = Buffer.allocUnsafeSlow(idBytesMax)
  #idBytes = 0

  constructor(secret: Uint8Array, bytes: StateBytes = { bytes: 0 }) {
    this.#hash = new SipHash(secret)
    this.#bytes = bytes
    this.#directory = [new Bucket<A>(0, 0)]
  }

  /** The table is not used any more: its bytes no longer count. */
  leave(): void {
    for (const { bytes, large } of this.buckets()) {
      this.#bytes.bytes -= bytes.length
      for (const state of large?.values() ?? []) this.#bytes.bytes -= state.bytes.length
    }
  }

  /** The bucket of a prefix or of the upper half of a hash. */
  bucketOf(hash: number): Bucket<A> {
    return this.#depth === 0 ? this.#directory[0]! : this.#directory[hash >>> (32 - this.#depth)]!
  }

  /** The upper half of the hash of `id`. */
  hashOf(id: string): number {
    this.#locate(id)
    return this.#hash.high
  }

  /**
   * The user's state, as a view that is valid until the next change; `undefined`: there is none.
   */
  get(id: string): Buffer | undefined {
    this.#locate(id)
    const { high, low } = this.#hash
    const bucket = this.bucketOf(high)
    const n = bucket.find(high, low, this.#id, this.#idBytes)
    if (n >= 0) return bucket.bytes.subarray(bucket.stateStart(n), bucket.stateEnd(n))
    return bucket.large?.get(id)?.bytes
  }

  /** Puts a copy of `state`. */
  put(id: string, state: Buffer): void {
    this.#locate(id)
    const { high, low } = this.#hash
    const bucket = this.bucketOf(high)
    const n = bucket.find(high, low, this.#id, this.#idBytes)
    const isNew = n < 0 && bucket.large?.has(id) !== true
    const before = bucket.bytes.length
    this.touch(bucket)
    if (state.length > limits.stateInlineBytesMax) {
      if (n >= 0) bucket.remove(n)
      this.#putLarge(bucket, id, { high, low, bytes: Buffer.from(state), isStored: false })
    } else {
      this.#dropLarge(bucket, id)
      if (n >= 0) bucket.replace(n, state)
      else bucket.append(high, low, this.#id, this.#idBytes, state)
    }
    this.#bytes.bytes += bucket.bytes.length - before
    if (isNew) this.size++
    this.#splitWhere(bucket)
  }

  /** Removes the user, if it is there. */
  remove(id: string): void {
    this.#locate(id)
    const { high, low } = this.#hash
    const bucket = this.bucketOf(high)
    const n = bucket.find(high, low, this.#id, this.#idBytes)
    if (n < 0 && bucket.large?.has(id) !== true) return
    this.touch(bucket)
    if (n >= 0) bucket.remove(n)
    else this.#dropLarge(bucket, id)
    this.size--
  }

  /** The stored value of the bucket is out of date. */
  touch(bucket: Bucket<A>): void {
    if (bucket.isDirty) return
    bucket.isDirty = true
    this.dirty++
  }

  /** The stored value of the bucket is written, or is about to be. */
  written(bucket: Bucket<A>): void {
    if (!bucket.isDirty) return
    bucket.isDirty = false
    this.dirty--
  }

  /**
   * It is not known what of the bucket under this prefix is stored, and whether the ids in `gone`
   * are: all of it is written again.
   */
  forget(prefix: number, gone: ReadonlySet<string> | undefined): void {
    const bucket = this.bucketOf(prefix)
    this.touch(bucket)
    bucket.checksum = undefined
    for (const state of bucket.large?.values() ?? []) state.isStored = false
    for (const id of gone ?? []) {
      const of = this.bucketOf(this.hashOf(id))
      this.touch(of)
      if (of.large?.has(id) === true) continue
      of.gone ??= new Set()
      of.gone.add(id)
    }
  }

  /** The durable state of a user has changed; its bucket must have it by the next snapshot. */
  change(user: A): void {
    const bucket = this.bucketOf(user.hash)
    this.touch(bucket)
    bucket.changed.push(user)
  }

  /** The user's state is about to be put. */
  unchange(user: A): void {
    const { changed } = this.bucketOf(user.hash)
    const at = changed.indexOf(user)
    if (at < 0) return
    changed[at] = changed.at(-1)!
    changed.pop()
  }

  /**
   * Calls `put` for each changed user of the bucket that covers `prefix`, which puts its state or
   * removes it. Returns that bucket, which may have split meanwhile.
   */
  settle(prefix: number, put: (user: A) => void): Bucket<A> {
    const { changed } = this.bucketOf(prefix)
    this.bucketOf(prefix).changed = []
    for (const user of changed) put(user)
    return this.bucketOf(prefix)
  }

  /** The dirty bucket with the highest prefix below `end`; `undefined`: there is none. */
  dirtyBelow(end: number): Bucket<A> | undefined {
    for (const bucket of this.downFrom(end)) if (bucket.isDirty) return bucket
    return undefined
  }

  /** The buckets with prefixes below `end`, from the highest down. */
  *downFrom(end: number): Generator<Bucket<A>> {
    for (let at = end; at > 0; ) {
      const bucket = this.bucketOf(at - 1)
      at = bucket.prefix
      yield bucket
    }
  }

  /** All buckets, in the order of their prefixes. */
  *buckets(): Generator<Bucket<A>> {
    for (let prefix = 0; prefix < prefixesEnd; ) {
      const bucket = this.bucketOf(prefix)
      prefix = bucket.end
      yield bucket
    }
  }

  /* Loading. */

  /**
   * Takes the buckets that were stored, in the order of their prefixes. A user counts only in the
   * deepest one that covers its hash: the others are ancestors whose keys were not overwritten yet.
   * A range that no bucket covers has no users: the first snapshot of its users was interrupted.
   * Throws `BadState` if a bucket is there twice.
   */
  load(stored: ReadonlyArray<Bucket<A>>): void {
    if (stored.length === 0) return
    for (let n = 1; n < stored.length; n++) {
      if (stored[n]!.prefix === stored[n - 1]!.prefix)
        throw new BadState("a bucket is stored twice")
    }
    this.#openDirectory(Math.max(...stored.map(({ depth }) => depth)))
    this.count = 0
    this.#bytes.bytes -= this.#directory[0]!.bytes.length
    this.#loadRange(stored, 0, stored.length, 0, 0, undefined)
  }

  /**
   * Loads the range with this prefix and depth. The buckets from `from` to `until` have their
   * prefixes in it; `source` is the deepest one that covers all of it, if they do not.
   */
  #loadRange(
    stored: ReadonlyArray<Bucket<A>>,
    from: number,
    until: number,
    prefix: number,
    depth: number,
    source: Bucket<A> | undefined,
  ): void {
    const first = from < until ? stored[from] : undefined
    const isHere = first !== undefined && first.prefix === prefix && first.depth <= depth
    const covers = isHere && first.depth === depth ? first : source
    const inside = from + Number(isHere)
    if (inside === until) {
      const isWhole = covers === undefined || covers.depth === depth
      const bucket = isWhole
        ? (covers ?? new Bucket<A>(prefix, depth))
        : pieceOf(covers, prefix, depth)
      if (isHere) bucket.checksum = first.checksum
      this.#take(bucket, !isWhole)
      return
    }
    const middle = prefix + 2 ** (31 - depth)
    let split = from
    while (split < until && stored[split]!.prefix < middle) split++
    this.#loadRange(stored, from, split, prefix, depth + 1, covers)
    this.#loadRange(stored, split, until, middle, depth + 1, covers)
  }

  #take(bucket: Bucket<A>, isDirty: boolean): void {
    this.#point(bucket)
    this.count++
    this.size += bucket.count
    this.#bytes.bytes += bucket.bytes.length
    if (isDirty) this.touch(bucket)
  }

  /** Takes a state that is stored as a value of its own. `load` comes before. */
  loadLarge(id: string, state: Buffer): void {
    if (this.get(id) !== undefined) throw new BadState("a user is stored twice")
    const { high, low } = this.#hash
    this.#putLarge(this.bucketOf(high), id, { high, low, bytes: state, isStored: true })
    this.size++
  }

  #locate(id: string): void {
    const bytes = this.#id
    let size = 0
    for (; size < id.length; size++) {
      const unit = id.charCodeAt(size)
      if (unit > 0x7f || size === bytes.length) {
        size = Buffer.byteLength(id)
        if (size > bytes.length) throw new RangeError("the id of a user is too long")
        bytes.write(id, 0, "utf8")
        break
      }
      bytes[size] = unit
    }
    this.#idBytes = size
    this.#hash.hash(bytes, 0, size)
  }

  #putLarge(bucket: Bucket<A>, id: string, state: LargeState): void {
    bucket.large ??= new Map()
    this.#bytes.bytes += state.bytes.length - (bucket.large.get(id)?.bytes.length ?? 0)
    bucket.large.set(id, state)
    bucket.gone?.delete(id)
  }

  #dropLarge(bucket: Bucket<A>, id: string): void {
    const large = bucket.large?.get(id)
    if (large === undefined) return
    bucket.large!.delete(id)
    bucket.gone ??= new Set()
    bucket.gone.add(id)
    this.#bytes.bytes -= large.bytes.length
  }

  #splitWhere(bucket: Bucket<A>): void {
    if (!isTooLarge(bucket)) return
    this.#openDirectory(bucket.depth + 1)
    const bit = 2 ** (31 - bucket.depth)
    const left = new Bucket<A>(bucket.prefix, bucket.depth + 1, limits.bucketBytesMax * splitShare)
    const right = new Bucket<A>(bucket.prefix + bit, bucket.depth + 1, left.bytes.length)
    const halfOf = (high: number) => (high >= right.prefix ? right : left)
    for (let n = 0; n < bucket.count; n++) {
      const start = bucket.offsetOf(n)
      halfOf(bucket.bytes.readUInt32LE(start)).copyFrom(bucket.bytes, start, bucket.stateEnd(n))
    }
    for (const [id, state] of bucket.large ?? []) {
      const half = halfOf(state.high)
      half.large ??= new Map()
      half.large.set(id, state)
    }
    for (const user of bucket.changed) halfOf(user.hash).changed.push(user)
    // The value of its own must go with the half that has the state now: the other half may be
    // written much later.
    for (const id of bucket.gone ?? []) {
      const half = halfOf(this.hashOf(id))
      half.gone ??= new Set()
      half.gone.add(id)
    }
    left.checksum = bucket.checksum
    this.#bytes.bytes += left.bytes.length + right.bytes.length - bucket.bytes.length
    this.count++
    this.written(bucket)
    for (const half of [left, right]) {
      this.touch(half)
      this.#point(half)
    }
    this.#splitWhere(left)
    this.#splitWhere(right)
  }

  /** Makes the directory at least `depth` deep. */
  #openDirectory(depth: number): void {
    while (this.#depth < depth) {
      const before = this.#directory
      this.#directory = new Array(2 * before.length)
      for (let at = 0; at < this.#directory.length; at++) this.#directory[at] = before[at >>> 1]!
      this.#depth++
    }
  }

  /** Enters the bucket into its places of the directory. */
  #point(bucket: Bucket<A>): void {
    const first = this.#depth === 0 ? 0 : bucket.prefix >>> (32 - this.#depth)
    const places = 2 ** (this.#depth - bucket.depth)
    this.#directory.fill(bucket, first, first + places)
  }
}

/** The users of `source` with this prefix, as a bucket of its own. */
const pieceOf = <A>(source: Bucket<A>, prefix: number, depth: number): Bucket<A> => {
  const piece = new Bucket<A>(prefix, depth)
  for (let n = 0; n < source.count; n++) {
    const start = source.offsetOf(n)
    const high = source.bytes.readUInt32LE(start)
    if (high < prefix || high >= piece.end) continue
    piece.copyFrom(source.bytes, start, source.stateEnd(n))
  }
  return piece
}

/** The room of a half of a split, as a share of `bucketBytesMax`: half, and room to grow. */
const splitShare = 0.625
