/** Ids that Laurel makes: a prefix that tells their kind, and a UUID that sorts by time. */
import { randomBytes, randomUUIDv7 } from "node:crypto"
import type { IdPrefix } from "../../domain/values/Ids.ts"

/** A new id such as `evt_01a1fc1e64c07345932e273286b5ca30`. */
export const makeId = (prefix: IdPrefix): string => {
  const id = randomUUIDv7()
  // Five slices take a third less time than replacing the dashes.
  return `${prefix}_${id.slice(0, 8)}${id.slice(9, 13)}${id.slice(14, 18)}${id.slice(19, 23)}${id.slice(24)}`
}

/** Of this process, so that no two ever give a request the same id. */
const processPart = randomBytes(10).toString("hex")
const countDigits = 12
let requests = 0

/** An id for a request that has none of its caller's. One is made for every request, so it costs a count and no random numbers. */
export const newRequestId = (): string =>
  `req_${processPart}${(++requests).toString(16).padStart(countDigits, "0")}`

const visibleAscii = /^[\x21-\x7e]{1,128}$/

/** The caller's request id if it is 1 to 128 visible ASCII characters, else a new one. */
export const requestIdOf = (header: string | undefined): string =>
  header !== undefined && visibleAscii.test(header) ? header : newRequestId()
