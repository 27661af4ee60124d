/**
 * Values of the snapshot: those of projects and the directory, and each user's records in pages.
 *
 * A page holds consecutive records of one user, up to `historyPageBytesMax`. A larger record has a
 * page of its own. The same records are always cut into the same pages, so after an interrupted
 * snapshot the next one writes them again unchanged.
 */

import { Effect, Exit, Stream } from "effect"
import type { JournalRecord, Subject } from "../../domain/record/Record.ts"
import { limits } from "../../Limits.ts"
import { continueWith } from "../../storage/exitOf.ts"
import { compositeKey, type KeyRange, keyParts, numberBytes } from "../../storage/Keys.ts"
import type { Broken, Entry, Storage } from "../../storage/Storage.ts"
import { decodeValue } from "../../storage/Values.ts"
import { decodePage, encodePage } from "./Codec.ts"
import type { RecordBuffer } from "./RecordBuffer.ts"

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
  /** Environment and user as a key. */
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

type SharedSubject = Exclude<Subject, { readonly actor: "user" }>

/** The key of a project or the directory in the table `actors`. */
const actorKey = (subject: SharedSubject): Uint8Array =>
  subject.actor === "project"
    ? compositeKey("project", subject.environment)
    : compositeKey("directory")

export const actorEntry = (
  subject: SharedSubject,
  value: Uint8Array,
  replaces: Entry["replaces"],
): Entry => ({ table: "actors", key: actorKey(subject), value, replaces })

/**
 * The body of the value of a project or the directory; `undefined`: it has none. As with
 * `Storage.readEntry`, an exit if nothing must be waited for.
 */
export const readActorValue = (
  storage: Store,
  subject: SharedSubject,
): Effect.Effect<Uint8Array | undefined, Broken> => {
  const table = "actors"
  const key = actorKey(subject)
  return continueWith(storage.readEntry(table, key), (value) =>
    value === undefined ? Exit.succeed(undefined) : decodeValue(value, { table, key }),
  )
}

/**
 * The entries of pages with the records `sequences`, which are consecutive records of one user,
 * oldest first. No page that begins after record `offered` was ever written.
 */
export function* pageEntries(
  environment: string,
  userId: string,
  sequences: ReadonlyArray<number>,
  texts: RecordBuffer,
  offered: number,
): Generator<Entry> {
  let first = 0
  let bytes = 0
  const page = (end: number): Entry => ({
    table: "history",
    key: pageKey(environment, userId, sequences[first]!),
    value: encodePage(texts, sequences, first, end, bytes),
    replaces: sequences[first]! > offered ? null : undefined,
  })
  for (let index = 0; index < sequences.length; index++) {
    const sequence = sequences[index]!
    const textBytes = texts.bytesOf(sequence)
    const isFull = bytes + textBytes > limits.historyPageBytesMax
    if (index > first && (isFull || partitionOf(sequence) > partitionOf(sequences[first]!))) {
      yield page(index)
      first = index
      bytes = 0
    }
    bytes += textBytes
  }
  if (first < sequences.length) yield page(sequences.length)
}

/** The user's record with this sequence; `undefined`: the snapshot does not have it. */
export const findStored = Effect.fnUntraced(function* (
  storage: Store,
  environment: string,
  userId: string,
  sequence: number,
): Effect.fn.Return<JournalRecord | undefined, Broken> {
  const range = pagesIn(environment, partitionOf(sequence), userId, 0, sequence + 1)
  const last = { ...range, reverse: true, limit: 1 } as const
  const entry = (yield* Stream.runCollect(storage.readEntries(last))).flat()[0]
  if (entry === undefined) return undefined
  const [key, value] = entry
  const page = decodePage(yield* decodeValue(value, { table: "history", key }))
  return page.find((record) => record.sequence === sequence)
})
