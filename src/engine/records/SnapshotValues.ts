/**
 * The values of the snapshot by subject: each actor's value, and each user's records in pages.
 *
 * A page holds consecutive records of one user, up to `historyPageBytesMax`. A larger record has a
 * page of its own. The same records are always cut into the same pages, so after an interrupted
 * snapshot the next one writes them again unchanged.
 */

import { type Effect, Exit } from "effect"
import type { Subject } from "../../domain/record/Record.ts"
import { limits } from "../../Limits.ts"
import { continueWith } from "../../storage/exitOf.ts"
import {
  compositeKey,
  isNumberAt,
  type KeyRange,
  keyParts,
  numberBytes,
} from "../../storage/Keys.ts"
import type { Broken, Entry, Storage } from "../../storage/Storage.ts"
import { decodeValue } from "../../storage/Values.ts"

/*
 * The keys of pages in the table `history`:
 *
 * - The records of a data directory are divided by sequence into partitions of
 *   `historyPartitionRecords`. The key of a page is its environment, the partition of its first
 *   record, its user, and the sequence of that record. A snapshot writes to the newest partition or
 *   two, where many of its entries share a page of LMDB. Under (environment, user, sequence) the
 *   records of a million users changed a million pages of LMDB.
 * - A page ends where its partition does, so a record is found in one partition.
 * - Versions before partitions wrote keys without a partition. Those pages are older than all
 *   others; `unpartitioned` stands for them. Records of a snapshot that such a version did not
 *   finish are written again, in a partition.
 *
 * Cost: a record takes a look-up in its partition. A user's whole history takes a seek in each
 * partition, so a larger partition makes reads cheaper and writes dearer.
 */

/** The partition of a record. */
export const partitionOf = (sequence: number): number =>
  Math.floor(sequence / limits.historyPartitionRecords)

/** Stands for pages without a partition; less than every partition. */
export const unpartitioned = -1

/** The key of a user's page that begins with the record `first`. */
export const pageKey = (environment: string, userId: string, first: number): Uint8Array =>
  keyIn(environment, partitionOf(first), userId, first)

const keyIn = (environment: string, partition: number, userId: string, first: number) =>
  partition === unpartitioned
    ? compositeKey(environment, userId, first)
    : compositeKey(environment, partition, userId, first)

/** The prefix of all keys with the environment and the partition, if any, of a page's key. */
export const partitionPrefix = (key: Uint8Array): Uint8Array => {
  const environmentEnd = key.indexOf(0) + 1
  const isPartitioned = isNumberAt(key, environmentEnd)
  return key.subarray(0, environmentEnd + (isPartitioned ? numberBytes : 1))
}

/**
 * A user's pages in a partition (or `unpartitioned`) whose first records are from `first` to
 * `before` (exclusive).
 */
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

type Store = Storage["Service"]

const actorPlace = (
  subject: Subject,
): { readonly table: Entry["table"]; readonly key: Uint8Array } => {
  switch (subject.actor) {
    case "user":
      return { table: "users", key: compositeKey(subject.environment, subject.userId) }
    case "project":
      return { table: "actors", key: compositeKey("project", subject.environment) }
    case "directory":
      return { table: "actors", key: compositeKey("directory") }
  }
}

export const actorEntry = (
  subject: Subject,
  value: Uint8Array | null,
  replaces: Entry["replaces"],
): Entry => ({ ...actorPlace(subject), value, replaces })

/**
 * The body of an actor's value in the snapshot; `undefined`: it has none. As with
 * `Storage.readEntry`, an exit if nothing must be waited for.
 */
export const readActorValue = (
  storage: Store,
  subject: Subject,
): Effect.Effect<Uint8Array | undefined, Broken> => {
  const { table, key } = actorPlace(subject)
  return continueWith(storage.readEntry(table, key), (value) =>
    value === undefined ? Exit.succeed(undefined) : decodeValue(value, { table, key }),
  )
}
