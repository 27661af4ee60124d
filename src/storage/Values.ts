/**
 * Reads and decodes stored values (`SealedValue.ts`) as effects: a damaged value fails the
 * operation.
 */
import { Effect, Stream } from "effect"
import { asBuffer } from "./Keys.ts"
import { openValue, valueFault } from "./SealedValue.ts"
import {
  Broken,
  Damaged,
  type Range,
  type Storage,
  type StoredEntry,
  type Table,
} from "./Storage.ts"

export * from "./SealedValue.ts"

/** Table and key of a value, for reports. */
export interface Place {
  readonly table: Table
  readonly key: Uint8Array
}

/** A value of the database is damaged, or the database is. */
export class DamagedValue extends Damaged {}

/** The body of a stored value; fails if the value is damaged. */
export const decodeValue = (value: Uint8Array, place: Place): Effect.Effect<Uint8Array, Broken> => {
  const body = openValue(value)
  return typeof body === "string" ? brokenValue(place, body) : Effect.succeed(body)
}

/** Fails with the fault that `openValue` returned. */
export const brokenValue = (place: Place, words: string): Effect.Effect<never, Broken> =>
  Effect.fail(
    new Broken({
      operation: "read",
      cause: new DamagedValue(valueFault(place.table, place.key, words)),
    }),
  )

type Entries = Pick<Storage["Service"], "readEntries">

/** The entries of a range that has few. */
export const collectEntries = (
  storage: Entries,
  range: Range,
): Effect.Effect<ReadonlyArray<StoredEntry>, Broken> =>
  Effect.map(Stream.runCollect(storage.readEntries(range)), (chunks) => chunks.flat())

/** Calls `use` with the key and the body of each entry of a range, in order. */
export const eachBody = (
  storage: Entries,
  range: Range,
  use: (key: Uint8Array, body: Buffer) => void,
): Effect.Effect<void, Broken> =>
  Stream.runForEach(
    storage.readEntries(range),
    Effect.fnUntraced(function* (entries) {
      for (const [key, value] of entries) {
        use(key, asBuffer(yield* decodeValue(value, { table: range.table, key })))
      }
    }),
  )
