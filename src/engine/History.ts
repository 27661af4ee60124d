/**
 * What the snapshot keeps by subject: each actor's value, each user's records in pages, and the index from
 * callers' ids to records.
 *
 * A page holds consecutive records of one user, up to `historyPageBytesMax`, under the sequence of its
 * first. Pages are cut the same way however often they are written, so a snapshot that was interrupted is
 * simply written again. Large records have a page of their own.
 */
import { Effect, Stream } from "effect"
import type { JournalRecord, Subject } from "../domain/Record.ts"
import { duplicateKey } from "../domain/User.ts"
import { limits } from "../Limits.ts"
import { compositeKey, keyParts, rangeOf } from "../storage/Keys.ts"
import { Broken, type Entry, type Storage } from "../storage/Storage.ts"
import { decodeValue, encodeValue } from "../storage/Values.ts"
import { decodePage, encodePage } from "./Codec.ts"
import { hashText, type IdFilter, idSeed } from "./IdFilter.ts"
import type { PendingRecord } from "./Pending.ts"

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

export const actorEntry = (subject: Subject, body: Uint8Array | string): Entry => ({
  ...actorPlace(subject),
  value: encodeValue(body),
})

/** The body of an actor's value in the snapshot; `undefined`: it has none. */
export const readActorValue = (
  storage: Store,
  subject: Subject,
): Effect.Effect<Uint8Array | undefined, Broken> => {
  const { table, key } = actorPlace(subject)
  return Effect.flatMap(storage.readEntry(table, key), (value) =>
    value === undefined ? Effect.succeed(undefined) : decodeValue(value, { table, key }),
  )
}

// The id comes before the user, so that ids which grow with time (UUIDv7, ULID) are written side by side.
export const eventIdKey = (environment: string, userId: string, key: string): Uint8Array =>
  compositeKey(environment, key, userId)

/**
 * The index entry of a caller's id. Its value is the bare sequence, 8 bytes: whether it is right shows when
 * the record that it names turns out to have that id.
 */
export const eventIdEntry = (
  environment: string,
  userId: string,
  key: string,
  sequence: number,
): Entry => ({
  table: "eventIds",
  key: eventIdKey(environment, userId, key),
  value: sequenceBytes(sequence),
})

const sequenceBytes = (sequence: number): Uint8Array => {
  const bytes = Buffer.allocUnsafe(8)
  bytes.writeDoubleLE(sequence)
  return bytes
}

/** The entries that hold one user's consecutive `records`, oldest first. */
export const pageEntries = (
  environment: string,
  userId: string,
  records: ReadonlyArray<PendingRecord>,
): ReadonlyArray<Entry> => {
  const entries: Array<Entry> = []
  let first = 0
  let bytes = 0
  const close = (end: number) => {
    if (first === end) return
    const key = compositeKey(environment, userId, records[first]!.sequence)
    entries.push({ table: "history", key, value: encodePage(records, first, end, bytes) })
    first = end
    bytes = 0
  }
  for (let index = 0; index < records.length; index++) {
    const { textBytes } = records[index]!
    if (bytes + textBytes > limits.historyPageBytesMax) close(index)
    bytes += textBytes
  }
  close(records.length)
  return entries
}

/** The record of a user with this sequence. */
const findRecord = (
  storage: Store,
  environment: string,
  userId: string,
  sequence: number,
): Effect.Effect<JournalRecord | undefined, Broken> => {
  const { from } = rangeOf(compositeKey(environment, userId))
  const until = compositeKey(environment, userId, sequence + 1)
  return storage.readEntries({ table: "history", from, until, reverse: true, limit: 1 }).pipe(
    Stream.runCollect,
    Effect.flatMap((chunks) => {
      const entry = chunks.flat()[0]
      if (entry === undefined) return Effect.succeed(undefined)
      return Effect.map(decodeValue(entry[1], { table: "history", key: entry[0] }), (page) =>
        decodePage(page).find((record) => record.sequence === sequence),
      )
    }),
  )
}

/** The record of a user's command with this caller's id, if the snapshot has it; up to `erasedThrough` it counts as deleted. */
export const findByKey = Effect.fnUntraced(function* (
  storage: Store,
  subject: Subject,
  key: string,
  erasedThrough: number,
) {
  if (subject.actor !== "user") return undefined
  const { environment, userId } = subject
  const value = yield* storage.readEntry("eventIds", eventIdKey(environment, userId, key))
  if (value === undefined) return undefined
  const sequence = Buffer.from(value.buffer, value.byteOffset).readDoubleLE()
  if (sequence <= erasedThrough) return undefined
  const record = yield* findRecord(storage, environment, userId, sequence)
  if (record === undefined || duplicateKey(record.cause) !== key) {
    const cause = `The index leads to record ${sequence}, which is not the one in the history`
    return yield* new Broken({ operation: "read a user's history", cause })
  }
  return record
})

/** Adds every id that the snapshot has to `filter`, and completes it. */
export const fillIdFilter = (storage: Store, filter: IdFilter): Effect.Effect<void, Broken> =>
  storage.readEntries({ table: "eventIds", ...rangeOf(new Uint8Array()) }).pipe(
    Stream.runForEach((entries) =>
      Effect.sync(() => {
        for (const [entryKey] of entries) {
          const [environment, key, userId] = keyParts(entryKey) as [string, string, string]
          filter.add(hashText(key, idSeed(environment, userId)))
        }
      }),
    ),
    Effect.andThen(Effect.sync(() => filter.complete())),
  )
