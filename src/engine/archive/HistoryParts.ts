/**
 * What of the table `history` changes no more, and goes into parts (`storage/archive/PartFile.ts`): the pages of partitions
 * (`records/HistoryPages.ts`) whose records are all in the snapshot. Only an erasure changes them.
 */
import { duplicateKey } from "../../domain/record/Record.ts"
import { limits } from "../../Limits.ts"
import type { Part } from "../../storage/archive/PartFile.ts"
import { compositeKey, type KeyRange, rangeOf, successor } from "../../storage/Keys.ts"
import type { StoredEntry } from "../../storage/Storage.ts"
import { openValue } from "../../storage/Values.ts"
import { decodePage } from "../records/Codec.ts"
import { partitionOf, placeOfPage } from "../records/SnapshotValues.ts"
import { recordWeight } from "./IdCheck.ts"

/** Reads the entries of a range of the table `history` in byte order. */
type ReadPages = (range: KeyRange) => Generator<StoredEntry>

/** How many partitions, from the first on, have all of their records in a snapshot that goes up to `watermark`. */
const sealedPartitions = (watermark: number): number => partitionOf(watermark + 1)

/** The last record of the first `count` partitions. */
export const lastSealed = (count: number): number => count * limits.historyPartitionRecords - 1

/** The history of a snapshot, divided into partitions that are sealed and all the rest. */
export class HistoryRanges {
  readonly #read: ReadPages
  readonly #environments: ReadonlyArray<string>
  /** How many partitions are sealed. */
  readonly sealed: number

  constructor(read: ReadPages, watermark: number) {
    this.#read = read
    this.#environments = environmentsIn(read)
    this.sealed = sealedPartitions(watermark)
  }

  /** The pages of a partition whose keys are in `among`, in their order. */
  *pagesOf(partition: number, among: KeyRange = everything): Generator<StoredEntry> {
    for (const environment of this.#environments) {
      const { from, until } = rangeOf(compositeKey(environment, partition))
      const range = { from: later(from, among.from), until: earlier(until, among.until) }
      if (Buffer.compare(range.from, range.until) < 0) yield* this.#read(range)
    }
  }

  /** The pages that are in no sealed partition. */
  *others(): Generator<StoredEntry> {
    let { from } = everything
    const { until } = everything
    for (const environment of this.sealed > 0 ? this.#environments : []) {
      yield* this.#read({ from, until: compositeKey(environment, 0) })
      from = compositeKey(environment, this.sealed)
    }
    yield* this.#read({ from, until })
  }
}

const everything = rangeOf(new Uint8Array())

const earlier = (one: Uint8Array, other: Uint8Array): Uint8Array =>
  Buffer.compare(one, other) < 0 ? one : other
const later = (one: Uint8Array, other: Uint8Array): Uint8Array =>
  Buffer.compare(one, other) < 0 ? other : one

const environmentsIn = (read: ReadPages): ReadonlyArray<string> => {
  const names: Array<string> = []
  let { from } = everything
  while (true) {
    const first = firstKey(read({ ...everything, from }))
    if (first === undefined) return names
    const environment = placeOfPage(first)?.environment
    // A key of no page: `others` has it, and a check reports it.
    if (environment === undefined) return names
    names.push(environment)
    from = successor(compositeKey(environment))
  }
}

const firstKey = (entries: Generator<StoredEntry>): Uint8Array | undefined => {
  for (const [key] of entries) return key
  return undefined
}

/** What the pages of a part add to the counts of a check. Throws where a page cannot be decoded. */
export const contentsOf = (
  pages: Iterable<StoredEntry>,
): Pick<Part, "records" | "ids" | "weight"> => {
  let records = 0
  let ids = 0
  let weight = 0
  for (const [key, value] of pages) {
    const { environment, userId } = placeOfPage(key)!
    const body = openValue(value)
    if (typeof body === "string") throw new RangeError(body)
    for (const { cause, sequence } of decodePage(body)) {
      records++
      const id = duplicateKey(cause)
      if (id === undefined) continue
      ids++
      weight = (weight + recordWeight(environment, userId, id, sequence)) | 0
    }
  }
  return { records, ids, weight }
}
