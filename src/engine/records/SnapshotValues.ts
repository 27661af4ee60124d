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
import { compositeKey, type KeyRange, keyParts, numberBytes } from "../../storage/Keys.ts"
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
 *
 * Cost: a record takes a look-up in its partition. A user's whole history takes a seek in each
 * partition, so a larger partition makes reads cheaper and writes dearer.
 */

/** The partition of a record. */
export const partitionOf = (sequence: number): number =>
  Math.floor(sequence / limits.historyPartitionRecords)

/** The key of a user's page that begins with the record `first`. */
export const pageKey = (environment: string, userId: string, first: number): Uint8Array =>
  compositeKey(environment, partitionOf(first), userId, first)

/** The prefix of all keys with the environment and the partition of a page's key. */
export const partitionPrefix = (key: Uint8Array): Uint8Array =>
  key.subarray(0, key.indexOf(0) + 1 + numberBytes)

/** A user's pages in a partition whose first records are from `first` to `before` (exclusive). */
export const pagesIn = (
  environment: string,
  partition: number,
  userId: string,
  first: number,
  before: number,
): KeyRange & { readonly table: "history" } => ({
  table: "history",
  from: compositeKey(environment, partition, userId, first),
  until: compositeKey(environment, partition, userId, before),
})

export interface PagePlace {
  readonly environment: string
  readonly userId: string
  /** The sequence of the page's first record. */
  readonly first: number
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
  const [environment, partition, userId, first, ...more] = parts
  if (
    typeof environment !== "string" ||
    typeof partition !== "number" ||
    typeof userId !== "string" ||
    typeof first !== "number" ||
    more.length > 0
  ) {
    return undefined
  }
  return { environment, userId, first, user: compositeKey(environment, userId) }
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
