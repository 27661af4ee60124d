/**
 * The table `buckets`: the states of users as they are stored.
 *
 * - Key: environment, prefix (a number). Body: depth, uint8; number of users, uint32; bytes of
 *   their entries, uint32; the entries (`Bucket.ts`); zeros, so that the value has n × 4,096 − 24
 *   bytes. LMDB then reuses whole runs of pages.
 * - Key: environment, user (a text), of a state above `stateInlineBytesMax`. Body: both halves of
 *   the hash, uint32; the state.
 */

import { limits } from "../../Limits.ts"
import { asBuffer, compositeKey, keyParts } from "../../storage/Keys.ts"
import type { Entry } from "../../storage/Storage.ts"
import { checksumOf, sealValue, valueBodyAt, valueFor } from "../../storage/Values.ts"
import { BadState } from "../records/StateBytes.ts"
import { Bucket, entryHeadBytes } from "./Bucket.ts"
import type { BucketTable, Hashed } from "./BucketTable.ts"

const headBytes = 9
const pageBytes = 4_096
/** What LMDB needs of the first page of a run. */
const pageHeadBytes = 24
const sealBytes = valueFor(0).length
const largeHeadBytes = 8

/** The bytes of the stored value of a bucket whose entries take `used` bytes. */
export const storedBytes = (used: number): number => {
  const least = sealBytes + headBytes + used + pageHeadBytes
  return Math.ceil(least / pageBytes) * pageBytes - pageHeadBytes
}

/**
 * The entries that bring the stored form of a bucket up to date. They belong to one transaction.
 */
export const bucketEntries = (
  environment: string,
  bucket: Bucket<unknown>,
): ReadonlyArray<Entry> => {
  const { bytes, checksum, count, depth, gone, large, prefix, used } = bucket
  const value = valueFor(storedBytes(used) - sealBytes)
  let at = value.writeUInt8(depth, valueBodyAt)
  at = value.writeUInt32LE(count, at)
  at = value.writeUInt32LE(used, at)
  bytes.copy(value, at, 0, used)
  value.fill(0, at + used)
  const sealed = sealValue(value)
  const key = compositeKey(environment, prefix)
  const entries: Array<Entry> = [{ table: "buckets", key, value: sealed, replaces: checksum }]
  bucket.checksum = checksumOf(sealed)
  for (const [id, state] of large ?? []) {
    if (state.isStored) continue
    state.isStored = true
    entries.push({ table: "buckets", key: compositeKey(environment, id), value: largeValue(state) })
  }
  for (const id of gone ?? []) {
    entries.push({ table: "buckets", key: compositeKey(environment, id), value: null })
  }
  bucket.gone = undefined
  return entries
}

const largeValue = ({
  bytes,
  high,
  low,
}: {
  readonly bytes: Buffer
  readonly high: number
  readonly low: number
}): Uint8Array => {
  const value = valueFor(largeHeadBytes + bytes.length)
  let at = value.writeUInt32LE(high, valueBodyAt)
  at = value.writeUInt32LE(low, at)
  bytes.copy(value, at)
  return sealValue(value)
}

/** The secret of an environment's hashes: `meta`, this and the environment. */
export const secretPrefix = "userHashes"

/** Loads the users of an environment: all its entries, in any order, then `finish`. */
export class BucketLoader<A extends Hashed> {
  readonly #buckets: Array<Bucket<A>> = []
  readonly #large: Array<readonly [id: string, state: Buffer]> = []

  /**
   * Adds an entry of the table `buckets`; `checksum` is that of its value. Throws `BadState` for a
   * body that is no bucket.
   */
  add(key: Uint8Array, body: Uint8Array, checksum: number): void {
    const place = keyParts(key)[1]
    const bytes = asBuffer(body)
    if (typeof place === "string") {
      const state = Buffer.from(new ArrayBuffer(Math.max(0, bytes.length - largeHeadBytes)))
      bytes.copy(state, 0, largeHeadBytes)
      this.#large.push([place, state])
    } else if (place === undefined) throw new BadState("the key of a bucket has no prefix")
    else this.#buckets.push(bucketFrom(place, bytes, checksum))
  }

  /** Fills an empty table. Throws `BadState` if a bucket or a user is stored twice. */
  finish(table: BucketTable<A>): void {
    this.#buckets.sort((one, other) => one.prefix - other.prefix)
    table.load(this.#buckets)
    for (const [id, state] of this.#large) table.loadLarge(id, state)
  }
}

const bucketFrom = <A>(prefix: number, body: Buffer, checksum: number): Bucket<A> => {
  const bad = (why: string) => new BadState(`the bucket ${prefix} ${why}`)
  if (body.length < headBytes) throw bad("ends early")
  const depth = body.readUInt8(0)
  const count = body.readUInt32LE(1)
  const used = body.readUInt32LE(5)
  if (depth > limits.bucketDepthMax) throw bad(`is ${depth} deep`)
  if (headBytes + used > body.length || count * entryHeadBytes > used) throw bad("ends early")
  const bucket = new Bucket<A>(prefix, depth, used, count)
  if (prefix % 2 ** (32 - depth) !== 0) throw bad("has a prefix that is longer than its depth")
  bucket.checksum = checksum
  const { bytes } = bucket
  body.copy(bytes, 0, headBytes, headBytes + used)
  let at = 0
  for (let n = 0; n < count; n++) {
    if (at + entryHeadBytes > used) throw bad("has fewer users than it says")
    const high = bytes.readUInt32LE(at)
    if (high < prefix || high >= bucket.end) throw bad("has another bucket's user")
    bucket.list(bytes.readUInt32LE(at + 4), at)
    at += entryHeadBytes + bytes.readUInt16LE(at + 8) + bytes.readUInt16LE(at + 10)
  }
  if (at !== used) throw bad("has more bytes than its users")
  bucket.used = used
  return bucket
}
