/**
 * Replies to malformed HTTP: broken or oversized heads, slow requests, bodies that end too early, CONNECT. The connection
 * always ends, after the replies that are due on it.
 */
import type { Socket } from "node:net"
import { type ErrorCode, errorKinds, laurelError } from "../../domain/values/Errors.ts"
import { limits } from "../../Limits.ts"
import { problemContentType } from "../api/Problems.ts"
import type { Exchange } from "../request/Exchange.ts"
import { problemBody } from "../request/Problem.ts"
import { replies } from "../request/Replies.ts"
import { httpVersionNotSupported } from "../request/RequestHead.ts"
import { newRequestId } from "../request/RequestIds.ts"
import { STATUS_CODES } from "./nodeHttp.ts"

/** An error of Node's parser. */
export interface ParserError extends NodeJS.ErrnoException {
  readonly reason?: string
}

/**
 * Ends `socket` after a parser error; `latest` is the last request that began on it, if any. Returns the status sent, if
 * any.
 */
export const refuseConnection = (
  error: ParserError,
  socket: Socket,
  latest: Exchange | undefined,
): number | undefined => {
  replies.send()
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy()
    return undefined
  }
  if (latest?.request.complete === false) {
    if (latest.response.headersSent) {
      // A refusal that was sent before the parser failed gets out; of half a reply the caller must see that it is cut.
      if (latest.last && latest.response.writableEnded) letLinger(socket)
      else socket.destroy()
      return undefined
    }
  } else if (latest !== undefined && !latest.response.writableFinished) {
    // The fault lies behind a request that is still being answered.
    latest.last = true
    latest.response.once("close", () => socket.destroy())
    return undefined
  }
  const path = latest?.request.complete === false ? latest.path : ""
  const code = codeOf(error)
  socket.end(rawReply(code, path))
  letLinger(socket)
  return errorKinds[code].status
}

/**
 * Refuses CONNECT, for which Node hands over the socket: with 405, behind the reply that is due to the request before.
 * Returns the status.
 */
export const refuseTunnel = (socket: Socket, latest?: Exchange): number | undefined => {
  socket.on("error", () => socket.destroy())
  socket.resume()
  return refuseConnection(tunnel, socket, latest)
}

const tunnel: ParserError = Object.assign(new Error("CONNECT"), { code: "CONNECT" })

/** The peer of an ended socket may still be sending, or may never read. */
const letLinger = (socket: Socket): void => {
  socket.setTimeout(limits.lingerMs, () => socket.destroy())
  socket.on("error", () => socket.destroy())
}

/** `reason` is the parser's: other reasons than this one are for a version that is broken, not foreign. */
const codeOf = ({ code, reason }: ParserError): ErrorCode => {
  switch (code) {
    case "HPE_INVALID_VERSION":
      return reason === "Invalid HTTP version" ? httpVersionNotSupported.code : "malformed_request"
    case "HPE_PAUSED_H2_UPGRADE":
      return httpVersionNotSupported.code
    case tunnel.code:
      return "method_not_allowed"
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
  http_version_not_supported: httpVersionNotSupported.detail,
  method_not_allowed: "The server opens no tunnels.",
  malformed_request: "The request could not be parsed; nothing was changed.",
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
    ...(code === "method_not_allowed" ? ["Allow: "] : []),
    "Connection: close",
    "",
    body,
  ].join("\r\n")
}
