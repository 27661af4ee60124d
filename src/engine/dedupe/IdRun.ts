/**
 * The form of the index from callers' ids to records (`IdIndex.ts`) in the table `eventIds`:
 *
 *     environment, run           the run's head, JSON
 *     environment, run, bucket   ids, 12 bytes each: a hash and the sequence of a record, little-endian
 */
import { asBuffer, compositeKey, dataViewOf, keyParts } from "../../storage/Keys.ts"
import type { Entry } from "../../storage/Storage.ts"
import { encodeValue, sealValue, valueBodyAt, valueFor } from "../../storage/Values.ts"

/** Ids of callers on their way into the index (`IdIndex.ts`): what it keeps of each, side by side in typed arrays. */
export class IdList {
  count = 0
  hashes: Uint32Array
  sequences: Float64Array

  constructor(capacity = 1_024) {
    this.hashes = new Uint32Array(capacity)
    this.sequences = new Float64Array(capacity)
  }

  /** `hash` is of an environment, a user and an id; `sequence` that of the record with this id. */
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

  /** The ids in 2^bits lists, by the first bits of their hashes, in the order of these. */
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

  /** How many ids there are of each value of the hash's first bits, of `values` from `first` on. */
  countsOf(bits: number, first: number, values: number): Uint32Array {
    const counts = new Uint32Array(values)
    for (let n = 0; n < this.count; n++) {
      const at = firstBits(this.hashes[n]!, bits) - first
      counts[at] = counts[at]! + 1
    }
    return counts
  }
}

/** The first `bits` of a hash of 32 bits, as a number. */
export const firstBits = (hash: number, bits: number): number =>
  bits === 0 ? 0 : hash >>> (32 - bits)

export const idTable = "eventIds"

export interface RunHead {
  /** There are two to the power of this many buckets: an id's is the number that the first bits of its hash make. */
  readonly bits: number
  /** How many ids there are; fewer, where some were erased. */
  readonly ids: number
  /** The watermark of the snapshot that wrote it. */
  readonly through: number
}

export interface IdRun extends RunHead {
  /** Those of an environment are numbered in the order in which they were written. */
  readonly number: number
}

/** The kind of a table entry: the head of a run, or a bucket with its number. */
export interface IdPlace {
  readonly environment: string
  readonly run: number
  readonly bucket: number | undefined
}

/** Throws a RangeError for the key of no such entry. */
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

/** Throws where the body is none. */
export const decodeRunHead = (body: Uint8Array): RunHead =>
  JSON.parse(asBuffer(body).toString("utf8"))

/** Whether a body is a head's, and not a bucket's: the text begins with the first member. */
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

/** Calls back for the hash of each id of a bucket whose body stands in `view` from `start` to `end`. */
export const eachHash = (
  view: DataView,
  start: number,
  end: number,
  visit: (hash: number) => void,
): void => {
  for (let at = start; at < end; at += idBytes) visit(view.getUint32(at, true))
}

/** The ids in the body of a bucket: of each, its hash and the sequence of its record. */
export const idPairs = (ids: Uint8Array): ReadonlyArray<readonly [number, number]> => {
  const pairs: Array<readonly [number, number]> = []
  eachId(ids, (hash, sequence) => pairs.push([hash, sequence]))
  return pairs
}

/** The body of a bucket that has these ids. */
export const idsBody = (pairs: ReadonlyArray<readonly [number, number]>): Uint8Array => {
  const body = Buffer.alloc(pairs.length * idBytes)
  for (const [n, [hash, sequence]] of pairs.entries()) {
    body.writeUInt32LE(hash, n * idBytes)
    body.writeDoubleLE(sequence, n * idBytes + sequenceAt)
  }
  return body
}

/** The body of a bucket without the id of one record. */
export const withoutId = (ids: Uint8Array, sequence: number): Uint8Array => {
  const view = dataViewOf(ids)
  for (let at = 0; at < ids.length; at += idBytes) {
    if (view.getFloat64(at + sequenceAt, true) !== sequence) continue
    return Buffer.concat([ids.subarray(0, at), ids.subarray(at + idBytes)])
  }
  return ids
}

/** The buckets of a run that its ids make in one of 2^partBits parts. */
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
