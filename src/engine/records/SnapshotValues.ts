/**
 * The values of the snapshot by subject: each actor's value, and each user's records in pages.
 *
 * A page holds consecutive records of one user, up to `historyPageBytesMax`; `HistoryPages.ts` says where.
 * Pages are cut the same way however often they are written, so a snapshot that was interrupted is
 * simply written again. Large records have a page of their own.
 */
import { Effect, Exit, Stream } from "effect"
import type { JournalRecord, Subject } from "../../domain/record/Record.ts"
import { limits } from "../../Limits.ts"
import { continueWith } from "../../storage/exitOf.ts"
import { compositeKey } from "../../storage/Keys.ts"
import type { Broken, Entry, Storage } from "../../storage/Storage.ts"
import { decodeValue } from "../../storage/Values.ts"
import { decodePage, encodePage } from "./Codec.ts"
import { pageKey, pagesIn, partitionOf, unpartitioned } from "./HistoryPages.ts"
import type { RecordBuffer } from "./RecordBuffer.ts"

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
  value: Uint8Array,
  replaces: Entry["replaces"],
): Entry => ({ ...actorPlace(subject), value, replaces })

/** The body of an actor's value in the snapshot; `undefined`: it has none. An exit as in `Storage.readEntry`. */
export const readActorValue = (
  storage: Store,
  subject: Subject,
): Effect.Effect<Uint8Array | undefined, Broken> => {
  const { table, key } = actorPlace(subject)
  return continueWith(storage.readEntry(table, key), (value) =>
    value === undefined ? Exit.succeed(undefined) : decodeValue(value, { table, key }),
  )
}

/**
 * The entries that hold the records `sequences` of one user, consecutive ones of that user and oldest first. No entry was
 * ever written that begins after record `offered`.
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

/** The record of a user with this sequence, if the snapshot has it. */
export const findStored = Effect.fnUntraced(function* (
  storage: Store,
  environment: string,
  userId: string,
  sequence: number,
): Effect.fn.Return<JournalRecord | undefined, Broken> {
  for (const partition of [partitionOf(sequence), unpartitioned]) {
    const range = pagesIn(environment, partition, userId, 0, sequence + 1)
    const last = { ...range, reverse: true, limit: 1 } as const
    const entry = (yield* Stream.runCollect(storage.readEntries(last))).flat()[0]
    if (entry === undefined) continue
    const [key, value] = entry
    const page = decodePage(yield* decodeValue(value, { table: "history", key }))
    const found = page.find((record) => record.sequence === sequence)
    if (found !== undefined) return found
  }
  return undefined
})
