/**
 * Faults of a request's head that RFC 9112 refuses and Node's parser accepts; the request's target,
 * id, trace and preferences. Cost per request: one look at the length of each header field's name.
 */

import { randomBytes } from "node:crypto"
import type { IncomingMessage } from "node:http"
import { type LaurelError, laurelError } from "../../domain/values/Errors.ts"

/** The fault of a head; `undefined` if there is none. The refusal closes the connection. */
export const headFault = (request: IncomingMessage): LaurelError | undefined => {
  const { headers, httpVersion } = request
  if (httpVersion !== "1.1" && httpVersion !== "1.0") {
    // For a request line without a version, the parser reports version 0.9.
    return httpVersion === "0.9" ? noVersion : httpVersionNotSupported
  }
  const { rawHeaders } = request
  let hosts = 0
  let keys = 0
  // Of a repeated field, Node keeps the first value.
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!
    if (name.length === 4 && name.toLowerCase() === "host") hosts++
    else if (name.length === 13 && name.toLowerCase() === "authorization") keys++
  }
  if (hosts > 1) return twoHosts
  if (keys > 1) return twoKeys
  if (hosts === 0 && httpVersion === "1.1") return noHost
  const coding = headers["transfer-encoding"]
  return coding === undefined || coding.toLowerCase() === "chunked" ? undefined : unknownCoding
}

const noVersion = laurelError("malformed_request", "The request line has no HTTP version.")
const noHost = laurelError("malformed_request", "The Host header field is missing.")
const twoHosts = laurelError("malformed_request", "More than one Host header field.")
const twoKeys = laurelError("malformed_request", "More than one Authorization header field.")
const unknownCoding = laurelError(
  "transfer_coding_not_supported",
  "Send the body with a Content-Length or as Transfer-Encoding: chunked.",
)

export const httpVersionNotSupported = laurelError(
  "http_version_not_supported",
  "Send HTTP/1.1 or HTTP/1.0.",
)

const absoluteForm = /^https?:\/\/[^/?#]+(.*)$/is

/** The target of a request in origin form (`/path?query`), even if the client sent a whole URL. */
export const originForm = (target: string): string => {
  if (target.startsWith("/")) return target
  const rest = absoluteForm.exec(target)?.[1]
  if (rest === undefined) return target
  return rest.startsWith("/") ? rest : `/${rest}`
}

/* Ids of requests: the caller's id, or a new one. */

/** A random part of this process, so that no two processes make the same id. */
const processPart = randomBytes(10).toString("hex")
const countDigits = 12
let requests = 0

/**
 * An id for a request whose caller sent none. Each request needs one, so it costs a counter and no
 * random numbers.
 */
export const newRequestId = (): string =>
  `req_${processPart}${(++requests).toString(16).padStart(countDigits, "0")}`

const visibleAscii = /^[\x21-\x7e]{1,128}$/

/** The caller's request id if it is 1 to 128 visible ASCII characters, else a new one. */
export const requestIdOf = (header: string | undefined): string =>
  header !== undefined && visibleAscii.test(header) ? header : newRequestId()

/*
 * The trace of a request: its `traceparent` (W3C Trace Context, level 1). A field that breaks the
 * specification is ignored. Laurel passes on the caller's span unchanged, and drops `tracestate`.
 */

/** Lower-case hexadecimal digits: 32 of the trace, 16 of the span. */
export interface TraceParent {
  readonly traceId: string
  readonly parentSpanId: string
  /** Whether the caller records the trace. */
  readonly sampled: boolean
}

/** Later versions may add parts. */
const form = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/

/** `field` has the values of a repeated field joined with commas, as Node joins them. */
export const traceParentOf = (field: unknown): TraceParent | undefined => {
  const [, version, traceId, parentSpanId, flags, more] = form.exec(String(field ?? "")) ?? []
  if (version === undefined || version === "ff") return undefined
  if (version === "00" && more !== undefined) return undefined
  if (/^0*$/.test(traceId!) || /^0*$/.test(parentSpanId!)) return undefined
  const sampled = (Number.parseInt(flags!, 16) & sampledFlag) !== 0
  return { traceId: traceId!, parentSpanId: parentSpanId!, sampled }
}

const sampledFlag = 1

/* Preferences of a request (RFC 7240). Unknown and malformed preferences are ignored. */

/**
 * A quoted string, a token or a separator, at the end of the last one. An open quotation ends the
 * reading: to go on after its mark would scan the rest again for each further mark.
 */
const lexeme = /\s*("(?:[^"\\]|\\.)*"|[^\s",;=]+|[,;=])/gy

/**
 * Whether a `Prefer` field asks for `return=minimal`. Of preferences with the same name, the first
 * counts. Its parameters, and spaces around separators, are ignored.
 */
export const prefersMinimal = (field: string | undefined): boolean => {
  if (field === undefined) return false
  let preference: Array<string> = []
  for (const [, text] of `${field},`.matchAll(lexeme)) {
    if (text !== ",") {
      preference.push(text!)
      continue
    }
    const [name, equals, value, after] = preference
    if (name?.toLowerCase() === "return") {
      const isWhole = equals === "=" && (after === undefined || after === ";")
      return isWhole && minimal.test(value ?? "")
    }
    preference = []
  }
  return false
}

const minimal = /^("?)minimal\1$/i
