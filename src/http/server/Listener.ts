/**
 * A listening server. It bounds the resources that a peer can take, and answers malformed HTTP with
 * problem details. Its handler can change while it listens.
 */

import type { IncomingMessage, Server, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import { Data, Effect } from "effect"
import { version } from "../../Build.ts"
import { type ErrorCode, errorKinds, laurelError } from "../../domain/values/Errors.ts"
import { limits } from "../../Limits.ts"
import { problemContentType } from "../api/Problems.ts"
import { Exchange, type RequestHandler, replies } from "../request/Exchange.ts"
import { problemBody } from "../request/Problem.ts"
import { httpVersionNotSupported, newRequestId } from "../request/RequestHead.ts"
import { createServer, STATUS_CODES } from "./nodeHttp.ts"
import { ServerRequest } from "./ServerRequest.ts"

/*
 * Replies to malformed HTTP: broken or oversized heads, slow requests, bodies that end too early,
 * CONNECT. The connection always ends, after the replies to the requests before.
 */

/** An error of Node's parser. */
interface ParserError extends NodeJS.ErrnoException {
  readonly reason?: string
}

/**
 * Answers a parser error and ends `socket`. `latest` is the last request that began on the socket.
 * Returns the status that was sent, if any.
 */
const refuseConnection = (
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
      // A refusal that was complete before the error still reaches the peer. A partial reply is cut
      // off, so that the peer sees that it is incomplete.
      if (latest.last && latest.response.writableEnded) letLinger(socket)
      else socket.destroy()
      return undefined
    }
  } else if (latest !== undefined && !latest.response.writableFinished) {
    // The error comes after a complete request that still waits for its reply.
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
 * Answers CONNECT, for which Node hands over the socket, with 405, after the reply to the request
 * before. Returns the status.
 */
const refuseTunnel = (socket: Socket, latest?: Exchange): number | undefined => {
  socket.on("error", () => socket.destroy())
  socket.resume()
  return refuseConnection(tunnel, socket, latest)
}

const tunnel: ParserError = Object.assign(new Error("CONNECT"), { code: "CONNECT" })

/** Closes an ended socket after a while: the peer may still send, or may never read. */
const letLinger = (socket: Socket): void => {
  socket.setTimeout(limits.lingerMs, () => socket.destroy())
  socket.on("error", () => socket.destroy())
}

/**
 * `Invalid HTTP version` is the parser's reason for a well-formed version that it does not support.
 * Other reasons are for malformed versions.
 */
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
    `Laurel-Version: ${version}`,
    ...(code === "method_not_allowed" ? ["Allow: "] : []),
    "Connection: close",
    "",
    body,
  ].join("\r\n")
}

/** Bounds on the time that peers take, and on the number of connections. */
export type ListenerBounds = Record<
  | "headersTimeoutMs"
  | "requestTimeoutMs"
  | "keepAliveTimeoutMs"
  | "connectionsCheckMs"
  | "connectionsMax"
  | "headerBytesMax",
  number
>

export interface Address {
  readonly host: string
  /** 0 takes any free port. */
  readonly port: number
}

/** Listening failed. `cause` has the code of the operating system or of the resolver. */
export class ServeError extends Data.TaggedError("ServeError")<{
  readonly cause: NodeJS.ErrnoException
}> {}

export class Listener {
  readonly server: Server
  /** Chooses the handler of a request. */
  handlerOf: (request: ServerRequest) => RequestHandler
  connections = 0

  /**
   * `counted` receives the status of each reply that no handler sent, and the last request of the
   * connection.
   */
  constructor(
    handler: RequestHandler,
    bounds: ListenerBounds,
    counted: (status: number, socket: Socket, latest?: Exchange) => void = () => {},
  ) {
    this.handlerOf = () => handler
    const server = createServer({
      headersTimeout: bounds.headersTimeoutMs,
      requestTimeout: bounds.requestTimeoutMs,
      keepAliveTimeout: bounds.keepAliveTimeoutMs,
      connectionsCheckingInterval: bounds.connectionsCheckMs,
      maxHeaderSize: bounds.headerBytesMax,
      IncomingMessage: ServerRequest,
      // A request without a body emits no stream events.
      optimizeEmptyRequests: true,
      // The handler itself refuses requests without Host, with a body.
      requireHostHeader: false,
    })
    this.server = server
    letHalfClose(server)
    server.maxConnections = bounds.connectionsMax

    /** The last request of each connection. */
    const latest = new WeakMap<Socket, Exchange>()
    const begin = (
      request: ServerRequest,
      response: ServerResponse,
      expectsContinue: boolean,
    ): void => {
      const handler = this.handlerOf(request)
      const exchange = new Exchange(request, response, expectsContinue, handler)
      latest.set(request.socket, exchange)
      handler.handle(exchange)
    }
    server.on("request", (request, response) => begin(request, response, false))
    server.on("checkContinue", (request, response) => begin(request, response, true))
    // HTTP defines no other expectations. They are ignored.
    server.on("checkExpectation", (request, response) => begin(request, response, false))
    const count = (status: number | undefined, socket: Socket): void => {
      if (status !== undefined) counted(status, socket, latest.get(socket))
    }
    server.on("clientError", (error: NodeJS.ErrnoException, socket: Socket) =>
      count(refuseConnection(error, socket, latest.get(socket)), socket),
    )
    server.on("connect", ({ socket }: IncomingMessage) =>
      count(refuseTunnel(socket, latest.get(socket)), socket),
    )
    server.on("connection", (socket: Socket) => {
      this.connections++
      socket.once("close", () => {
        this.connections--
        latest.get(socket)?.disconnected()
      })
    })
  }

  /** Waits up to `graceMs` for requests in progress, then closes all connections. */
  close(graceMs: number): Effect.Effect<void> {
    return Effect.andThen(
      Effect.timeoutOption(close(this.server), graceMs),
      Effect.sync(() => this.server.closeAllConnections()),
    )
  }
}

/**
 * Lets a peer that closes its side after the request (`nc -N`) receive its replies before the
 * connection ends. Node has this switch, but its types do not.
 */
const letHalfClose = (server: Server): void => {
  Object.assign(server, { httpAllowHalfOpen: true })
}

export const listen = (
  server: Server,
  { host, port }: Address,
): Effect.Effect<Server, ServeError> =>
  Effect.callback((resume) => {
    const failed = (cause: NodeJS.ErrnoException): void => {
      resume(Effect.fail(new ServeError({ cause })))
    }
    server.once("error", failed)
    server.listen({ host, port, backlog: 1024 }, () => {
      server.off("error", failed)
      resume(Effect.succeed(server))
    })
  })

/** Ends when the last connection has ended; at once if the server does not listen. */
export const close = (server: Server): Effect.Effect<void> =>
  Effect.callback((resume) => {
    server.close(() => resume(Effect.void))
  })
