/**
 * The stored form of the index from callers' ids to records (`IdIndex.ts`), in the table
 * `eventIds`:
 *
 *     environment, run           the run's head, JSON
 *     environment, run, bucket   ids, 12 bytes each: a hash (uint32) and the sequence of a record
 *                                (float64), little-endian
 *
 * Invariant: an id is in the bucket that the first `bits` bits of its hash name.
 *
 * Cost: ids on their way into a run are numbers in two typed arrays (`IdList`), no objects.
 */
import { asBuffer, compositeKey, dataViewOf, keyParts } from "../../storage/Keys.ts"
import type { Entry } from "../../storage/Storage.ts"
import { encodeValue, jsonOf, sealValue, valueBodyAt, valueFor } from "../../storage/Values.ts"

/** Ids of callers on their way into the index: hashes and sequences in two typed arrays. */
export class IdList {
  count = 0
  hashes: Uint32Array
  sequences: Float64Array

  constructor(capacity = 1_024) {
    this.hashes = new Uint32Array(capacity)
    this.sequences = new Float64Array(capacity)
  }

  /** `hash`: of environment, user and id; `sequence`: of the record with this id. */
  add(hash: number, sequence: number): void {
    if (this.count === this.hashes.length) this.#grow()
    this.hashes[this.count] = hash
    this.sequences[this.count++] = sequence
  }

  #grow(): void {
    const { hashes, sequences } = this
    const capacity = 2 * this.count + 64
    this.hashes = new Uint32Array(capacity)
    this.sequences = new Float64Array(capacity)
    this.hashes.set(hashes)
    this.sequences.set(sequences)
  }

  /**
   * Divides the ids by the first bits of their hashes into 2^bits lists, in the order of those
   * bits.
   */
  parts(bits: number): ReadonlyArray<IdList> {
    if (bits === 0) return [this]
    const counts = this.countsOf(bits, 0, 2 ** bits)
    const parts = Array.from(counts, (count) => new IdList(count))
    for (let n = 0; n < this.count; n++) {
      const hash = this.hashes[n]!
      parts[firstBits(hash, bits)]!.add(hash, this.sequences[n]!)
    }
    return parts
  }

  /**
   * How many ids have each of `values` values of the hash's first bits, from the value `first` on.
   */
  countsOf(bits: number, first: number, values: number): Uint32Array {
    const counts = new Uint32Array(values)
    for (let n = 0; n < this.count; n++) {
      const at = firstBits(this.hashes[n]!, bits) - first
      counts[at] = counts[at]! + 1
    }
    return counts
  }
}

/** The first `bits` bits of a 32-bit hash, as a number. */
export const firstBits = (hash: number, bits: number): number =>
  bits === 0 ? 0 : hash >>> (32 - bits)

export const idTable = "eventIds"

interface RunHead {
  /** The run has 2^bits buckets; the first bits of an id's hash are the number of its bucket. */
  readonly bits: number
  /** How many ids the run had when it was written; an erasure removes ids without changing this. */
  readonly ids: number
  /** The watermark of the snapshot that wrote the run. */
  readonly through: number
}

export interface IdRun extends RunHead {
  /** The runs of an environment are numbered in the order in which they were written. */
  readonly number: number
}

/** What an entry of the table is: the head of a run, or a bucket with its number. */
interface IdPlace {
  readonly environment: string
  readonly run: number
  readonly bucket: number | undefined
}

/** Throws a RangeError if `key` is no key of this table. */
export const idPlaceOf = (key: Uint8Array): IdPlace => {
  const [environment, run, bucket, ...more] = keyParts(key)
  if (
    typeof environment !== "string" ||
    typeof run !== "number" ||
    (bucket !== undefined && typeof bucket !== "number") ||
    more.length > 0
  ) {
    throw new RangeError("these bytes are no key of the index of callers' ids")
  }
  return { environment, run, bucket }
}

export const runKey = (environment: string, run: number): Uint8Array =>
  compositeKey(environment, run)

export const bucketKey = (environment: string, run: number, bucket: number): Uint8Array =>
  compositeKey(environment, run, bucket)

/** The entry of a run's head. */
export const headEntry = (environment: string, { bits, ids, number, through }: IdRun): Entry => {
  const head: RunHead = { bits, ids, through }
  return {
    table: idTable,
    key: runKey(environment, number),
    value: encodeValue(JSON.stringify(head)),
  }
}

/** Throws if the body is no head. */
export const decodeRunHead = (body: Uint8Array): RunHead => jsonOf(body)

/** Whether a body is that of a head, not of a bucket: the text begins with the first member. */
export const isRunHead = (body: Uint8Array): boolean =>
  asBuffer(body).subarray(0, headStart.length).equals(headStart)

const headStart = Buffer.from('{"bits":')

const idBytes = 12
const sequenceAt = 4

/** Calls back for each id in the body of a bucket. */
export const eachId = (ids: Uint8Array, visit: (hash: number, sequence: number) => void): void => {
  const view = dataViewOf(ids)
  for (let at = 0; at < ids.length; at += idBytes) {
    visit(view.getUint32(at, true), view.getFloat64(at + sequenceAt, true))
  }
}

/** Calls back for the hash of each id in a bucket; its body is in `view` from `start` to `end`. */
export const eachHash = (
  view: DataView,
  start: number,
  end: number,
  visit: (hash: number) => void,
): void => {
  for (let at = start; at < end; at += idBytes) visit(view.getUint32(at, true))
}

/** The hash and the sequence of each id in the body of a bucket. */
export const idPairs = (ids: Uint8Array): ReadonlyArray<readonly [number, number]> => {
  const pairs: Array<readonly [number, number]> = []
  eachId(ids, (hash, sequence) => pairs.push([hash, sequence]))
  return pairs
}

/** The body of a bucket with these ids. */
export const idsBody = (pairs: ReadonlyArray<readonly [number, number]>): Uint8Array => {
  const body = Buffer.alloc(pairs.length * idBytes)
  for (const [n, [hash, sequence]] of pairs.entries()) {
    body.writeUInt32LE(hash, n * idBytes)
    body.writeDoubleLE(sequence, n * idBytes + sequenceAt)
  }
  return body
}

/** The body of a bucket without the id of this record; the same array if it has none. */
export const withoutId = (ids: Uint8Array, sequence: number): Uint8Array => {
  const view = dataViewOf(ids)
  for (let at = 0; at < ids.length; at += idBytes) {
    if (view.getFloat64(at + sequenceAt, true) !== sequence) continue
    return Buffer.concat([ids.subarray(0, at), ids.subarray(at + idBytes)])
  }
  return ids
}

/** The entries of a run's buckets in one of 2^partBits parts; `ids` are those of the part. */
export const bucketEntries = (
  environment: string,
  { bits, number }: IdRun,
  ids: IdList,
  part: number,
  partBits: number,
): ReadonlyArray<Entry> => {
  const buckets = 2 ** (bits - partBits)
  const first = part * buckets
  const counts = ids.countsOf(bits, first, buckets)
  const values = Array.from(counts, (count) => valueFor(count * idBytes))
  const ends = new Uint32Array(buckets).fill(valueBodyAt)
  for (let n = 0; n < ids.count; n++) {
    const hash = ids.hashes[n]!
    const bucket = firstBits(hash, bits) - first
    const value = values[bucket]!
    const at = ends[bucket]!
    value.writeUInt32LE(hash, at)
    value.writeDoubleLE(ids.sequences[n]!, at + sequenceAt)
    ends[bucket] = at + idBytes
  }
  return values.flatMap((value, bucket) => {
    if (counts[bucket] === 0) return []
    const key = bucketKey(environment, number, first + bucket)
    return [{ table: idTable, key, value: sealValue(value) }]
  })
}
