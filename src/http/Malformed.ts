/**
 * Answers to what is not HTTP as it should be: broken or oversized heads, requests that arrive too slowly,
 * bodies that end too early. The connection always ends; a reply that is still due on it goes out first.
 */
import type { Socket } from "node:net"
import { type ErrorCode, errorKinds, laurelError } from "../domain/Errors.ts"
import { limits } from "../Limits.ts"
import { problemContentType } from "./api/Problems.ts"
import type { Exchange } from "./Exchange.ts"
import { newRequestId } from "./Ids.ts"
import { STATUS_CODES } from "./nodeHttp.ts"
import { problemBody } from "./Problem.ts"

/**
 * Ends `socket` because of what the parser said; `latest` is the last request that began on it, if any.
 * Returns the status that the peer was told, if it was told any.
 */
export const refuseConnection = (
  error: NodeJS.ErrnoException,
  socket: Socket,
  latest: Exchange | undefined,
): number | undefined => {
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy()
    return undefined
  }
  if (latest?.request.complete === false) {
    if (latest.response.headersSent) {
      socket.destroy()
      return undefined
    }
  } else if (latest !== undefined && !latest.response.writableFinished) {
    // The fault lies behind a request that is still being answered.
    latest.last = true
    latest.response.once("close", () => socket.destroy())
    return undefined
  }
  const path = latest?.request.complete === false ? latest.path : ""
  const code = codeOf(error.code)
  socket.end(rawReply(code, path))
  // The peer may still be sending, or may never read.
  socket.setTimeout(limits.lingerMs, () => socket.destroy())
  socket.on("error", () => socket.destroy())
  return errorKinds[code].status
}

const codeOf = (parserCode: string | undefined): ErrorCode => {
  switch (parserCode) {
    case "HPE_HEADER_OVERFLOW":
      return "headers_too_large"
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return "request_timeout"
    default:
      return "malformed_request"
  }
}

const details: Partial<Record<ErrorCode, string>> = {
  headers_too_large: `All header fields together may have at most ${limits.headerBytesMax} bytes.`,
  request_timeout: "The request did not arrive in time; nothing was changed.",
  malformed_request: "The request could not be read; nothing was changed.",
}

const rawReply = (code: ErrorCode, path: string): string => {
  const { status } = errorKinds[code]
  const requestId = newRequestId()
  const body = problemBody(laurelError(code, details[code] ?? ""), path, requestId)
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    `Content-Type: ${problemContentType}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${requestId}`,
    "Connection: close",
    "",
    body,
  ].join("\r\n")
}
