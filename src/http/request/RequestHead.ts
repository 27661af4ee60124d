/**
 * Faults of a request's head that Node's parser accepts although RFC 9112 has it refused, and the forms of a target. Cost
 * per request: a look at the length of each header field's name.
 */
import type { IncomingMessage } from "node:http"
import { type LaurelError, laurelError } from "../../domain/values/Errors.ts"

/** The fault of a head, whose reply ends the connection; `undefined`: none. */
export const headFault = (request: IncomingMessage): LaurelError | undefined => {
  const { headers, httpVersion } = request
  if (httpVersion !== "1.1" && httpVersion !== "1.0") {
    // The parser calls a request line without a version 0.9.
    return httpVersion === "0.9" ? noVersion : httpVersionNotSupported
  }
  const { rawHeaders } = request
  let hosts = 0
  let keys = 0
  // Of fields with several lines, Node keeps the first.
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

/** The target of a request in origin form (`/path?query`), also when it was sent as a whole URL. */
export const originForm = (target: string): string => {
  if (target.startsWith("/")) return target
  const rest = absoluteForm.exec(target)?.[1]
  if (rest === undefined) return target
  return rest.startsWith("/") ? rest : `/${rest}`
}
