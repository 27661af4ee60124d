/**
 * A server from its start to its end.
 *
 * 1. The API listens first, so that `/readyz` shows the progress of the start.
 * 2. `OpenServices.ts` opens the data; in a cluster `ClusterServer.ts` does the rest.
 * 3. The engine takes over the API, the admin server listens, and `server.json` is written.
 *
 * All addresses are tried before any data is opened, so that a start that must fail leaves nothing
 * behind. What is opened first is closed last: an orderly end refuses new requests, finishes the
 * requests in progress, writes a last snapshot and closes the storage.
 */
import path from "node:path"
import { getHeapStatistics } from "node:v8"
import { Console, Effect, Fiber, type Scope } from "effect"
import { type Config, erasureMsOf, isGiven } from "../../config/Config.ts"
import { serveAdmin } from "../../http/admin/AdminServer.ts"
import { close, listen } from "../../http/server/Listener.ts"
import { createServer } from "../../http/server/nodeHttp.ts"
import { newReadiness, Readiness, type ReadinessState } from "../../http/server/Readiness.ts"
import { listenHttp, type ServeOptions } from "../../http/server/Server.ts"
import { limits } from "../../Limits.ts"
import { Metrics } from "../../metrics/Metrics.ts"
import { observeProcess } from "../../metrics/ProcessMetrics.ts"
import { type CommandFailed, commandFailed, exitCodes, refused } from "../output/ExitCode.ts"
import { listenFailure } from "../output/ListenFailure.ts"
import { welcomeText } from "../output/Welcome.ts"
import { keepServerFile, makeToken, reachable, realPath } from "./AdminRequest.ts"
import { leaveArchiveSettings } from "./ArchiveSettings.ts"
import { loadConfig } from "./DataDirectory.ts"
import { observabilityLayer, openAccessLog } from "./Logging.ts"
import { setupLink } from "./OpenDashboard.ts"
import { openServices, watchData } from "./OpenServices.ts"
import { firstSignal } from "./Signals.ts"
import { RequestSpans } from "./Telemetry.ts"

/** Serves until the first SIGTERM or SIGINT, then shuts down in order. */
export const runServer: Effect.Effect<void, CommandFailed> = Effect.gen(function* () {
  const config = yield* loadConfig
  yield* checkHeap
  const metrics = new Metrics()
  const isTraced = config.tracing === "on" && config.otlpEndpoint !== undefined
  const spans = isTraced ? new RequestSpans() : undefined
  const running = serveUntilSignal(config, metrics, spans)
  yield* Effect.provide(running, observabilityLayer(config, metrics, spans))
})

/**
 * Refuses a heap that is too small: V8 would end the process under load without naming the cause.
 */
const checkHeap: Effect.Effect<void, CommandFailed> = Effect.suspend(() => {
  const { heap_size_limit: bytes } = getHeapStatistics()
  if (bytes >= limits.heapBytesMin) return Effect.void
  const [most, least] = [bytes, limits.heapBytesMin].map((each) => Math.floor(each / 1_048_576))
  return commandFailed(
    exitCodes.configuration,
    `The heap of this process may take ${most} MiB, and a server needs ${least} MiB. Give the machine or container 1 GiB of memory, and raise --max-old-space-size where NODE_OPTIONS has it.`,
  )
})

const serveUntilSignal = Effect.fnUntraced(function* (
  config: Config,
  metrics: Metrics,
  spans: RequestSpans | undefined,
) {
  const running = Effect.scoped(Effect.andThen(start(config, metrics, spans), Effect.never))
  const server = yield* Effect.forkChild(running)
  const signal = yield* Effect.raceFirst(Fiber.join(server), firstSignal)
  yield* Effect.logInfo("Stopping").pipe(Effect.annotateLogs({ signal }))
  yield* Fiber.interrupt(server)
  yield* Effect.logInfo("Stopped")
})

const start = (
  config: Config,
  metrics: Metrics,
  spans: RequestSpans | undefined,
): Effect.Effect<void, CommandFailed, Scope.Scope> =>
  Effect.gen(function* () {
    yield* observeProcess(metrics)
    const readiness = newReadiness()
    const api = yield* listenHttp(yield* httpOptions(config, metrics, spans)).pipe(
      Effect.provideService(Readiness, readiness),
      Effect.mapError((error) => listenFailure("api", config, error)),
    )
    yield* tryAdminAddress(config)
    if (config.cluster !== undefined) {
      const { serveInCluster } = yield* Effect.promise(() => import("./ClusterServer.ts"))
      return yield* serveInCluster({ api, config, metrics, readiness, url: config.cluster })
    }

    const opened = yield* openServices(config, metrics, readiness)
    const { dashboard, operator, services, shownKey } = opened
    yield* Effect.provide(api.takeOver({ pages: dashboard?.pages }), services)
    const token = makeToken()
    const admin = yield* Effect.provide(
      serveAdmin({
        host: config.adminHost,
        port: config.adminPort,
        hostNames: config.adminHostNames,
        token,
        metrics,
        accounts: dashboard?.accounts,
      }),
      operator,
    ).pipe(Effect.mapError((error) => listenFailure("admin", config, error)))
    const url = reachable(api.url)
    const dashboardAt = yield* setupLink(config, url, dashboard)
    yield* leaveArchiveSettings(config)
    yield* keepServerFile(config.dataDirectory, {
      pid: process.pid,
      url,
      adminUrl: reachable(admin.url),
      token,
      startedAt: new Date().toISOString(),
      directory: yield* Effect.promise(() => realPath(config.dataDirectory)),
    })
    yield* takeRequests(readiness)
    yield* Effect.logInfo("Ready").pipe(Effect.annotateLogs({ url: api.url, adminUrl: admin.url }))
    // If the access log goes to standard output, standard output has nothing else.
    const say = config.accessLog === "stdout" ? Console.error : Console.log
    yield* say(
      welcomeText(url, {
        shown: shownKey,
        dashboard: dashboardAt,
        directory: path.resolve(config.dataDirectory),
        isTrial: !isGiven("dataDirectory"),
      }),
    )
    yield* watchData(config, metrics, opened)
  }).pipe(Effect.mapError((error) => (error._tag === "LaurelError" ? refused(error) : error)))

/** The options of the API server; opens the access log. */
const httpOptions = Effect.fnUntraced(function* (
  config: Config,
  metrics: Metrics,
  spans: RequestSpans | undefined,
): Effect.fn.Return<ServeOptions, never, Scope.Scope> {
  const { accessLog: where, trustedProxies } = config
  const accessLog = where === "off" ? undefined : yield* openAccessLog(process[where], metrics)
  return {
    host: config.host,
    port: config.port,
    shutdownGraceMs: config.shutdownGraceMs,
    webhookUrls: {
      allowed: config.webhookAllowedRanges,
      requireHttps: config.webhookRequireHttps,
    },
    webhooksMax: config.webhooksMax,
    bounds: { erasureMs: erasureMsOf(config), keepAliveTimeoutMs: config.keepAliveMs },
    metrics,
    trustedProxies: trustedProxies && { ranges: trustedProxies, field: config.trustedProxyField },
    watch: {
      slowMs: config.slowRequestMs,
      accessLog: accessLog?.write,
      tracing: config.tracing === "on",
      spans: spans?.ended,
    },
  }
})

/** Ready from now on until the scope closes. */
const takeRequests = (readiness: ReadinessState): Effect.Effect<void, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => {
      readiness.phase = "ready"
    }),
    () =>
      Effect.sync(() => {
        readiness.phase = "stopping"
      }),
  )

/** Listens for a moment, so that a start with a used address fails before data is opened. */
const tryAdminAddress = (config: Config): Effect.Effect<void, CommandFailed> =>
  listen(createServer(), { host: config.adminHost, port: config.adminPort }).pipe(
    Effect.flatMap(close),
    Effect.mapError((error) => listenFailure("admin", config, error)),
  )
