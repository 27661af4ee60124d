import { randomUUIDv7 } from "node:crypto"
import type { IdPrefix } from "../domain/values/Ids.ts"

/** A new id such as `bdg_01a1fc1e64c07345932e273286b5ca30`: a prefix that names its kind, and a UUID that sorts by time. */
export const makeId = (prefix: IdPrefix): string => {
  const id = randomUUIDv7()
  // Five slices take a third less time than replacing the dashes.
  return `${prefix}_${id.slice(0, 8)}${id.slice(9, 13)}${id.slice(14, 18)}${id.slice(19, 23)}${id.slice(24)}`
}
