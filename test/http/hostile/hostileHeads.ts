/** Heads of requests that aim at processor time, of the largest accepted size. */
import { limits } from "../../../src/Limits.ts"

/** Every header field that the server reads, and how a value of the field may begin. */
export const hostileFields: Readonly<Record<string, ReadonlyArray<string>>> = {
  accept: ["text/html;"],
  "accept-encoding": ["gzip;q=0"],
  "access-control-request-method": ["POST"],
  authorization: ["Bearer ", "Bearer lk_test_", "Bearer lut_"],
  connection: ["keep-alive,"],
  "content-encoding": ["identity"],
  "content-type": ["application/json;", "application/json; charset="],
  cookie: ["laurel=", "laurel-device=", "laurel-browser="],
  forwarded: ["for=", 'for="', "for=127.0.0.1,"],
  host: ["localhost:", "["],
  "idempotency-key": [],
  "if-none-match": ['W/"', "W/"],
  "last-event-id": ["1"],
  "laurel-shows": ["page"],
  origin: ["http://", "null"],
  prefer: ["return=", 'foo="', "return=minimal;"],
  referer: ["http://localhost/"],
  "sec-fetch-mode": ["navigate"],
  "sec-fetch-site": ["same-origin"],
  "stripe-signature": ["t=1,v1=", "t=1,"],
  traceparent: ["00-"],
  "user-agent": ["Mozilla/5.0 ("],
  "webhook-id": ["msg_"],
  "webhook-signature": ["v1,", "v1, "],
  "webhook-timestamp": ["1"],
  "x-forwarded-for": ["127.0.0.1,", "["],
  "x-github-delivery": [],
  "x-github-event": ["push"],
  "x-hub-signature-256": ["sha256="],
  "x-request-id": ["req_"],
}

/**
 * Read by the parser of HTTP, by the port among servers of a cluster alone, or from the replies of
 * others.
 */
export const fieldsOfOthers: ReadonlySet<string> = new Set([
  "content-length",
  "transfer-encoding",
  "retry-after",
])

const pieces = [
  '"',
  '"\\',
  "\\",
  " ",
  ",",
  " ,",
  "a,",
  "a=b;",
  ";",
  "=",
  "%",
  "%2",
  "[",
  ":",
  "::",
  "1",
  "1.",
  ".",
  "/",
  "@",
  "a",
  "é",
  "~",
]

/** Room for the other fields of a request. */
const valueBytesMax = limits.headerBytesMax - 1_500

const filled = (start: string, piece: string, end: string): string =>
  `${start}${piece.repeat(Math.floor((valueBytesMax - start.length) / Buffer.byteLength(piece, "latin1")))}${end}`

export interface HostileHead {
  readonly name: string
  /** Lines of the head, beside those that each request needs. */
  readonly lines: ReadonlyArray<string>
  /** Follows the path of the request. */
  readonly more: string
}

export const hostileHeads = function* (): Generator<HostileHead> {
  for (const [field, starts] of Object.entries(hostileFields)) {
    for (const start of ["", ...starts]) {
      for (const piece of pieces) {
        for (const end of ["", "x"]) {
          const line = `${field}: ${filled(start, piece, end)}`
          yield { name: `${field}: ${start}${piece}…${end}`, lines: [line], more: "" }
        }
      }
    }
    const lines = Array.from({ length: valueBytesMax / (field.length + 5) }, () => `${field}: a`)
    yield { name: `many lines of ${field}`, lines, more: "" }
  }
  for (const piece of [
    ...pieces.filter((each) => !/[ "\\é]/.test(each)),
    "a=1&",
    "&",
    "=&",
    "+",
    "%41",
  ]) {
    for (const start of ["?", "/", "?limit=", "/../", "#"]) {
      yield { name: `path${start}${piece}…`, lines: [], more: filled(start, piece, "") }
    }
  }
  const names = Array.from({ length: 1_000 }, (_, index) => index.toString(36))
  yield {
    name: "many names in Connection beside many fields",
    lines: [`connection: ${names.join(",")}`, ...names.map((name) => `${name}: `)],
    more: "",
  }
}
