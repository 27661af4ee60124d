/**
 * A listening server: bounds on everything that a peer can stretch, and problem details for malformed HTTP. Its handler can
 * change while it listens.
 */
import type { IncomingMessage, Server, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import { Data, Effect } from "effect"
import { Exchange, type RequestHandler } from "../request/Exchange.ts"
import { refuseConnection, refuseTunnel } from "./Malformed.ts"
import { createServer } from "./nodeHttp.ts"
import { ServerRequest } from "./ServerRequest.ts"

/** How long peers may take, and how many may be connected. */
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

/** Listening failed; `cause` has the code of the operating system or of the resolver. */
export class ServeError extends Data.TaggedError("ServeError")<{
  readonly cause: NodeJS.ErrnoException
}> {}

export class Listener {
  readonly server: Server
  /** Chooses who answers a request. */
  handlerOf: (request: ServerRequest) => RequestHandler
  connections = 0

  /** `counted` gets the status of each reply that no handler sent, and the last request of its connection. */
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
      // A request without a body needs no events of a stream.
      optimizeEmptyRequests: true,
      // Answered by the handler, with a body.
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
    // Other expectations are none that HTTP knows; the request is answered as if it had none.
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

  /** Waits up to `graceMs` for requests in progress, then cuts all connections. */
  close(graceMs: number): Effect.Effect<void> {
    return Effect.andThen(
      Effect.timeoutOption(close(this.server), graceMs),
      Effect.sync(() => this.server.closeAllConnections()),
    )
  }
}

/**
 * A peer that has sent its request and closes its side (`nc -N`) still gets the replies that are due; then the connection
 * ends. Node knows this switch of its server, but its types do not.
 */
export const letHalfClose = (server: Server): void => {
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

/** Ends when the last connection has; at once when nothing listens. */
export const close = (server: Server): Effect.Effect<void> =>
  Effect.callback((resume) => {
    server.close(() => resume(Effect.void))
  })
