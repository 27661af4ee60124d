/** Ids of requests: the caller's, or one made here. */
import { randomBytes } from "node:crypto"

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
