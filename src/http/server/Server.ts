/**
 * The HTTP server. It listens before the engine is open: until the engine takes over, `/healthz`
 * answers 200, `/readyz` shows the progress of the start, and operations get 503 `starting`.
 *
 * Shutdown: the server accepts no connections and closes idle ones. Requests in progress have up to
 * `shutdownGraceMs`, and their replies close the connection. Then all connections are closed. New
 * requests on open connections get 503.
 */
import type { AddressInfo } from "node:net"
import { Context, Effect, Fiber, References, type Scope } from "effect"
import { Accounts } from "../../accounts/Accounts.ts"
import { userSubject } from "../../accounts/audit/userSubject.ts"
import { shuttingDown } from "../../engine/actor/Actor.ts"
import { Engine } from "../../engine/Engine.ts"
import { limits } from "../../Limits.ts"
import { Metrics } from "../../metrics/Metrics.ts"
import { DeliveryLog } from "../../webhooks/DeliveryLog.ts"
import { AllowedRanges } from "../../webhooks/send/AddressGuard.ts"
import type { WebhookUrlPolicy } from "../../webhooks/WebhookUrl.ts"
import { Api } from "../api/Api.ts"
import { auditedOperations } from "../contract/AuditedOperations.ts"
import {
  alive,
  compileOperations,
  type PlainHandler,
  readyNow,
  routerOf,
} from "../contract/Interpreter.ts"
import type { CompiledOperation } from "../contract/Operation.ts"
import { makeOperations } from "../contract/Operations.ts"
import { docsFor } from "../docs/Docs.ts"
import { handlersOf } from "../handlers/handlersOf.ts"
import type { MakePages } from "../pages/Pages.ts"
import { Admission, type AdmissionBounds } from "../pipeline/Admission.ts"
import { Pipeline, type PipelineParts } from "../pipeline/Pipeline.ts"
import type { TrustedProxies } from "../request/ClientAddress.ts"
import { EventMetrics, RequestMetrics } from "../request/RequestMetrics.ts"
import { RequestWatch, type WatchOptions } from "../request/RequestWatch.ts"
import { StreamHub } from "../stream/StreamHub.ts"
import { type StreamBounds, StreamPlaces } from "../stream/StreamPlaces.ts"
import { type Address, Listener, type ListenerBounds, listen, type ServeError } from "./Listener.ts"
import { notReady, Readiness, type ReadinessState } from "./Readiness.ts"
import { Starting } from "./Starting.ts"

export interface ServeOptions extends Address {
  readonly webhookUrls?: WebhookUrlPolicy
  /** The maximum number of webhooks of an environment. */
  readonly webhooksMax?: number
  readonly shutdownGraceMs?: number
  /** Bounds that replace those in `Limits.ts`. */
  readonly bounds?: Partial<ServerBounds>
  readonly metrics?: Metrics
  /** Proxies whose header fields name the client's address. Default: none. */
  readonly trustedProxies?: TrustedProxies | undefined
  /** Logs and traces of requests. Default: none. */
  readonly watch?: WatchOptions
}

/** Parts that are added when the engine takes over. */
interface TakeOver {
  /** Pages beside the API, which call its operations. Default: none. */
  readonly pages?: MakePages | undefined
}

export type ServerBounds = ListenerBounds &
  AdmissionBounds &
  StreamBounds &
  Record<"streamStallMs" | "streamHeartbeatMs" | "erasureMs", number>

export interface Served {
  readonly port: number
  readonly url: string
}

export interface Listening extends Served {
  readonly listener: Listener
  readonly requestMetrics: RequestMetrics
  readonly watch: RequestWatch
  /**
   * Makes the pipeline of an engine, which answers until the scope closes. `metrics` are the
   * engine's.
   */
  readonly assemble: (
    more?: TakeOver,
    metrics?: Metrics,
  ) => Effect.Effect<Pipeline, never, Engine | Accounts | DeliveryLog | Scope.Scope>
  /** Lets the engine answer all requests. When the scope closes, the server ends. */
  readonly takeOver: (
    more?: TakeOver,
  ) => Effect.Effect<void, never, Engine | Accounts | DeliveryLog | Scope.Scope>
}

/** Listens until the scope closes. The engine need not be open yet. */
export const listenHttp = Effect.fnUntraced(function* (
  options: ServeOptions,
): Effect.fn.Return<Listening, ServeError, Readiness | Scope.Scope> {
  const readiness = yield* Readiness
  const bounds: ServerBounds = { ...limits, ...options.bounds }
  const serverMetrics = options.metrics ?? new Metrics()
  const requestMetrics = new RequestMetrics(serverMetrics)
  const watch = new RequestWatch(options.watch, options.trustedProxies)
  const starting = new Starting(readiness, requestMetrics, watch)
  const listener = new Listener(starting, bounds, (status, socket, latest) => {
    requestMetrics.none.counted(status)
    watch.malformed(status, socket, latest)
  })
  // Node caches an address that was read. Reading it now makes it known after the connection has
  // ended.
  if (options.watch?.accessLog !== undefined) {
    listener.server.on("connection", ({ remoteAddress }) => remoteAddress)
  }
  serverMetrics.gauge("laurel_http_connections", () => listener.connections)
  const admission = new Admission(bounds, () => listener.connections)
  const places = new StreamPlaces(bounds)
  admission.observe(serverMetrics)
  requestMetrics.observeRefusedEvents()
  yield* Effect.acquireRelease(listen(listener.server, options), () => listener.close(0))

  const front: Front = { options, bounds, readiness, requestMetrics, watch, admission, places }
  const assemble = (more: TakeOver = {}, metrics: Metrics = serverMetrics) =>
    assemblePipeline(front, more, metrics)
  const takeOver = Effect.fnUntraced(function* (more: TakeOver = {}) {
    const pipeline = yield* assemble(more)
    yield* Effect.acquireRelease(
      Effect.sync(() => {
        listener.handlerOf = () => pipeline
      }),
      () =>
        Effect.andThen(
          Effect.sync(() => pipeline.drain()),
          listener.close(options.shutdownGraceMs ?? limits.shutdownGraceMs),
        ),
    )
  })

  const where = whereIs(listener.server.address() as AddressInfo, options.host)
  return { ...where, listener, requestMetrics, watch, assemble, takeOver }
})

/**
 * The parts that all engines behind one listener share, since they share its event loop and memory.
 */
interface Front {
  readonly options: ServeOptions
  readonly bounds: ServerBounds
  readonly readiness: ReadinessState
  readonly requestMetrics: RequestMetrics
  readonly watch: RequestWatch
  readonly admission: Admission
  readonly places: StreamPlaces
}

/** The pipeline of one engine, until the scope closes. `metrics` are the engine's. */
const assemblePipeline = Effect.fnUntraced(function* (
  front: Front,
  { pages }: TakeOver,
  metrics: Metrics,
): Effect.fn.Return<Pipeline, never, Engine | Accounts | DeliveryLog | Scope.Scope> {
  const { admission, bounds, readiness, requestMetrics, watch } = front
  // First, so that its finalizer runs after the end of the streams' hub.
  const run = yield* requestRunner
  const compiled = yield* compiledFor(front, metrics)
  const operations = pages === undefined ? compiled : audited(compiled, yield* Engine, pages)
  const ready: PlainHandler = () =>
    pipeline.draining ? shuttingDown : (notReady(readiness) ?? readyNow)
  const pipeline = new Pipeline({
    router: routerOf(
      operations,
      new Map([...docsFor(pages?.prefix), ["/healthz", () => alive], ["/readyz", ready]]),
    ),
    accounts: yield* Accounts,
    admission,
    pages: pages?.make(makeOperations(operations)),
    watch,
    metrics: requestMetrics,
    run,
    streamStallMs: bounds.streamStallMs,
  })
  metrics.gauge("laurel_http_requests_in_flight", () => pipeline.inFlight)
  return pipeline
})

/** The operations of the contract, with the handlers for one engine. */
const compiledFor = Effect.fnUntraced(function* (
  { bounds, options, places }: Front,
  metrics: Metrics,
): Effect.fn.Return<
  ReadonlyArray<CompiledOperation>,
  never,
  Engine | Accounts | DeliveryLog | Scope.Scope
> {
  const engine = yield* Engine
  const urls = options.webhookUrls ?? { allowed: new AllowedRanges([]), requireHttps: true }
  const { webhooksMax = limits.webhooks } = options
  const webhooks = { deliveries: yield* DeliveryLog, urls, webhooksMax }
  const hub = new StreamHub(engine)
  yield* Effect.forkScoped(hub.run)
  const accounts = yield* Accounts
  const streams = { hub, places, accounts, heartbeatMs: bounds.streamHeartbeatMs }
  const events = new EventMetrics(metrics)
  return compileOperations(Api, handlersOf(engine, webhooks, streams, events, bounds.erasureMs))
})

/** The operations with the audit log of `pages`. */
const audited = (
  compiled: ReadonlyArray<CompiledOperation>,
  engine: Engine["Service"],
  pages: MakePages,
) =>
  auditedOperations(compiled, {
    log: pages.audit,
    now: engine.now,
    keyName: (keyId) => {
      const key = engine.directoryNow().keys.get(keyId)
      return key?.name ?? key?.hint ?? ""
    },
    userSubject: (environment, userId) =>
      userSubject(engine.directoryNow().hashSecret, environment, userId),
  })

/** Runs the effects of requests; interrupts those that run when the scope closes. */
const requestRunner = Effect.gen(function* () {
  const context = yield* Effect.context<never>()
  const fibers = new Set<Fiber.Fiber<unknown, unknown>>()
  yield* Effect.addFinalizer(() => Fiber.interruptAll(fibers))
  const run: PipelineParts["run"] = (effect, { annotations }) => {
    const annotated = Context.add(context, References.CurrentLogAnnotations, annotations)
    const fiber = Effect.runForkWith(annotated)(effect)
    if (fiber.pollUnsafe() === undefined) {
      fibers.add(fiber)
      fiber.addObserver(() => fibers.delete(fiber))
    }
    return fiber
  }
  return run
})

/** Serves the API until the scope closes. */
export const serveHttp = (
  options: ServeOptions,
): Effect.Effect<Served, ServeError, Engine | Accounts | DeliveryLog | Readiness | Scope.Scope> =>
  Effect.tap(listenHttp(options), ({ takeOver }) => takeOver())

export const whereIs = ({ port }: AddressInfo, host: string): Served => ({
  port,
  url: `http://${host.includes(":") ? `[${host}]` : host}:${port}`,
})
