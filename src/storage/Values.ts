/** The values of the snapshot (`SealedValue.ts`) as they are read: one that is not what was written ends the operation. */
import { Effect } from "effect"
import { keyName, openValue } from "./SealedValue.ts"
import { Broken, Damaged, type Table } from "./Storage.ts"

export * from "./SealedValue.ts"

/** Where a value was found, for the report of a damaged one. */
export interface Place {
  readonly table: Table
  readonly key: Uint8Array
}

/** A value of the database is damaged, or the database is. */
export class DamagedValue extends Damaged {}

/** The same, where a value that is wrong ends the operation. */
export const decodeValue = (value: Uint8Array, place: Place): Effect.Effect<Uint8Array, Broken> => {
  const body = openValue(value)
  return typeof body === "string" ? brokenValue(place, body) : Effect.succeed(body)
}

/** What `openValue` says is wrong, as the end of an operation. */
export const brokenValue = (place: Place, words: string): Effect.Effect<never, Broken> =>
  Effect.fail(
    new Broken({
      operation: "read",
      cause: new DamagedValue(`The value ${keyName(place.key)} of table ${place.table} ${words}`),
    }),
  )
