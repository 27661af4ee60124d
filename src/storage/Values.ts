/** Decodes stored values (`SealedValue.ts`) as effects: a damaged value fails the operation. */
import { Effect } from "effect"
import { openValue, valueFault } from "./SealedValue.ts"
import { Broken, Damaged, type Table } from "./Storage.ts"

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
