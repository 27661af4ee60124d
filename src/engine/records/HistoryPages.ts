/**
 * Where the pages of users' histories stand in the table `history`.
 *
 * - The records of a data directory are divided by sequence into partitions of `historyPartitionRecords`. The key of a page
 *   is its environment, the partition of its first record, its user, and the sequence of that record. A snapshot
 *   writes to the newest partition or two, where many of its entries share a page of LMDB. Under (environment, user,
 *   sequence) the records of a million users changed a million pages of LMDB.
 * - A page ends where its partition does, so a record is found in one partition.
 * - Versions before partitions wrote keys without one. Those pages are older than all others; `unpartitioned` stands for them.
 *   A snapshot that such a version did not end leaves records that are written again, in a partition.
 *
 * Cost: a record is a look-up in its partition; a user's whole history is a seek in each, so the size of a partition
 * weighs reads against writes.
 */
import { limits } from "../../Limits.ts"
import {
  compositeKey,
  isNumberAt,
  type KeyRange,
  keyParts,
  numberBytes,
} from "../../storage/Keys.ts"

/** The partition of a record. */
export const partitionOf = (sequence: number): number =>
  Math.floor(sequence / limits.historyPartitionRecords)

/** Below every partition. */
export const unpartitioned = -1

/** The key of a user's page that begins with the record `first`. */
export const pageKey = (environment: string, userId: string, first: number): Uint8Array =>
  keyIn(environment, partitionOf(first), userId, first)

const keyIn = (environment: string, partition: number, userId: string, first: number) =>
  partition === unpartitioned
    ? compositeKey(environment, userId, first)
    : compositeKey(environment, partition, userId, first)

/** The prefix of all keys of the environment and partition of a page's key, also where it has no partition. */
export const partitionPrefix = (key: Uint8Array): Uint8Array => {
  const environmentEnd = key.indexOf(0) + 1
  const isPartitioned = isNumberAt(key, environmentEnd)
  return key.subarray(0, environmentEnd + (isPartitioned ? numberBytes : 1))
}

/** A user's pages in a partition, or in none, whose first records are from `first` to `before` (exclusive). */
export const pagesIn = (
  environment: string,
  partition: number,
  userId: string,
  first: number,
  before: number,
): KeyRange & { readonly table: "history" } => ({
  table: "history",
  from: keyIn(environment, partition, userId, first),
  until: keyIn(environment, partition, userId, before),
})

export interface PagePlace {
  readonly environment: string
  readonly userId: string
  /** The sequence of the page's first record. */
  readonly first: number
  readonly isPartitioned: boolean
  /** The user's key in the table `users`. */
  readonly user: Uint8Array
}

/** Decodes the key of a page; `undefined` for other keys. */
export const placeOfPage = (key: Uint8Array): PagePlace | undefined => {
  let parts: ReadonlyArray<string | number>
  try {
    parts = keyParts(key)
  } catch {
    return undefined
  }
  const isPartitioned = typeof parts[1] === "number"
  const [userId, first, ...more] = parts.slice(isPartitioned ? 2 : 1)
  const [environment] = parts
  if (
    typeof environment !== "string" ||
    typeof userId !== "string" ||
    typeof first !== "number" ||
    more.length > 0
  ) {
    return undefined
  }
  const user = isPartitioned
    ? compositeKey(environment, userId)
    : key.subarray(0, key.length - numberBytes)
  return { environment, userId, first, isPartitioned, user }
}
