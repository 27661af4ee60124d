/**
 * The HTTP server: sockets with limits on everything a peer could stretch, problem details also for what
 * is not HTTP, and an end that lets requests finish.
 *
 * Shutdown: no new connections; idle ones close; requests under way get up to `shutdownGraceMs` and their
 * replies close the connection; then whatever is left is cut. New requests on open connections get a 503.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import type { AddressInfo, Socket } from "node:net"
import { Data, Effect, Fiber, type Scope } from "effect"
import { Accounts } from "../accounts/Accounts.ts"
import { laurelError } from "../domain/Errors.ts"
import { Engine } from "../engine/Engine.ts"
import { limits } from "../Limits.ts"
import { AllowedRanges } from "../webhooks/AddressGuard.ts"
import type { WebhookUrlPolicy } from "../webhooks/WebhookUrl.ts"
import { Api } from "./api/Api.ts"
import { makeDocs } from "./Docs.ts"
import { Exchange } from "./Exchange.ts"
import { handlersOf } from "./handlers/Handlers.ts"
import { compileRoutes, type PlainHandler } from "./Interpreter.ts"
import { refuseConnection } from "./Malformed.ts"
import { Pipeline } from "./Pipeline.ts"
import { Readiness } from "./Readiness.ts"

export interface ServeOptions {
  readonly host: string
  /** 0 takes any free port. */
  readonly port: number
  readonly webhookUrls?: WebhookUrlPolicy
  readonly shutdownGraceMs?: number
  /** Other bounds than those in `Limits.ts`. */
  readonly bounds?: Partial<ServerBounds>
}

/** How long peers may take, and how many may be connected. */
export type ServerBounds = Record<
  | "headersTimeoutMs"
  | "requestTimeoutMs"
  | "keepAliveTimeoutMs"
  | "connectionsCheckMs"
  | "connectionsMax",
  number
>

export interface Served {
  readonly port: number
  readonly url: string
}

/** The address can not be listened on. */
export class ServeError extends Data.TaggedError("ServeError")<{
  readonly message: string
  readonly cause: unknown
}> {}

/** Serves the API until the scope closes. */
export const serveHttp = (
  options: ServeOptions,
): Effect.Effect<Served, ServeError, Engine | Accounts | Readiness | Scope.Scope> =>
  Effect.gen(function* () {
    const engine = yield* Engine
    const accounts = yield* Accounts
    const readiness = yield* Readiness
    const docs = yield* makeDocs(Api)
    const runFork = Effect.runForkWith(yield* Effect.context<never>())
    const fibers = new Set<Fiber.Fiber<unknown, unknown>>()

    const health: PlainHandler = () => okay
    const ready: PlainHandler = () => (readiness.ready && !pipeline.draining ? okay : notReady)
    const policy = options.webhookUrls ?? { allowed: new AllowedRanges([]), requireHttps: true }
    const pipeline = new Pipeline({
      router: compileRoutes(
        Api,
        handlersOf(engine, policy),
        new Map([...docs, ["/healthz", health], ["/readyz", ready]]),
      ),
      accounts,
      run: (effect) => {
        const fiber = runFork(effect)
        if (fiber.pollUnsafe() === undefined) {
          fibers.add(fiber)
          fiber.addObserver(() => fibers.delete(fiber))
        }
        return fiber
      },
    })

    const bounds: ServerBounds = { ...limits, ...options.bounds }
    const server = createLimitedServer(pipeline, bounds)
    yield* Effect.acquireRelease(listen(server, options), () =>
      Effect.gen(function* () {
        pipeline.draining = true
        const grace = options.shutdownGraceMs ?? limits.shutdownGraceMs
        yield* close(server).pipe(Effect.timeoutOption(grace))
        server.closeAllConnections()
        yield* Fiber.interruptAll(fibers)
      }),
    )
    const { port } = server.address() as AddressInfo
    const host = options.host.includes(":") ? `[${options.host}]` : options.host
    return { port, url: `http://${host}:${port}` }
  })

const okay = { status: 200, contentType: "application/json", body: '{"status":"ok"}' }

const notReady = laurelError("shutting_down", "The service is starting or shutting down.", {
  retryAfterSeconds: 1,
})

const createLimitedServer = (pipeline: Pipeline, bounds: ServerBounds): Server => {
  const server = createServer({
    headersTimeout: bounds.headersTimeoutMs,
    requestTimeout: bounds.requestTimeoutMs,
    keepAliveTimeout: bounds.keepAliveTimeoutMs,
    connectionsCheckingInterval: bounds.connectionsCheckMs,
    maxHeaderSize: limits.headerBytesMax,
    // Answered by the pipeline, with a body.
    requireHostHeader: false,
  })
  server.maxConnections = bounds.connectionsMax

  /** The last request of each connection. */
  const latest = new WeakMap<Socket, Exchange>()
  const begin = (
    request: IncomingMessage,
    response: ServerResponse,
    expectsContinue: boolean,
  ): void => {
    const exchange = new Exchange(request, response, expectsContinue, pipeline)
    latest.set(request.socket, exchange)
    pipeline.handle(exchange)
  }
  server.on("request", (request, response) => begin(request, response, false))
  server.on("checkContinue", (request, response) => begin(request, response, true))
  // Other expectations are none that HTTP knows; the request is answered as if it had none.
  server.on("checkExpectation", (request, response) => begin(request, response, false))
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Socket) =>
    refuseConnection(error, socket, latest.get(socket)),
  )
  return server
}

export const listen = (
  server: Server,
  { host, port }: ServeOptions,
): Effect.Effect<Server, ServeError> =>
  Effect.callback((resume) => {
    const failed = (cause: NodeJS.ErrnoException): void => {
      const reason = cause.code === "EADDRINUSE" ? "it is in use" : cause.message
      const message = `Can not listen on ${host}:${port}: ${reason}`
      resume(Effect.fail(new ServeError({ message, cause })))
    }
    server.once("error", failed)
    server.listen({ host, port, backlog: 1024 }, () => {
      server.off("error", failed)
      resume(Effect.succeed(server))
    })
  })

/** Ends when the last connection has. */
export const close = (server: Server): Effect.Effect<void> =>
  Effect.callback((resume) => {
    server.close(() => resume(Effect.void))
  })
