/**
 * A server from its start to its end. It listens first, so that a start can be followed on `/readyz`; then it
 * opens its data, lets the engine take over, and last opens the admin server and writes `server.json`. What is
 * opened first is closed last. So an orderly end takes no new requests, lets those under way finish, writes
 * a last snapshot and closes the storage.
 *
 * Addresses are tried before any data is opened, so that a start that must fail leaves nothing behind.
 */
import { Console, Context, Effect, Fiber, type Scope } from "effect"
import { ApiKeys } from "../../accounts/ApiKeys.ts"
import { archivesIn, type Config, erasureMsOf } from "../../config/Config.ts"
import { ArchiveMetrics } from "../../engine/archive/ArchiveMetrics.ts"
import {
  Archives,
  archiveOnSchedule,
  makeArchives,
  newestArchiveAt,
} from "../../engine/archive/Archives.ts"
import { watchDatabase } from "../../engine/archive/DatabaseWatch.ts"
import { makeWorkerHost, type WorkerHost } from "../../engine/archive/WorkerHost.ts"
import { serveAdmin } from "../../http/admin/AdminServer.ts"
import { close, listen } from "../../http/server/Listener.ts"
import { createServer } from "../../http/server/nodeHttp.ts"
import { newReadiness, Readiness, type ReadinessState } from "../../http/server/Readiness.ts"
import { listenHttp } from "../../http/server/Server.ts"
import { limits } from "../../Limits.ts"
import { Metrics } from "../../metrics/Metrics.ts"
import { observeProcess } from "../../metrics/ProcessMetrics.ts"
import { DeliveryLog } from "../../webhooks/DeliveryLog.ts"
import { type CommandFailed, refused } from "../output/ExitCode.ts"
import { listenFailure } from "../output/ListenFailure.ts"
import { createDemoKey, showOrKeep, welcomeText } from "../output/Welcome.ts"
import { leaveArchiveSettings } from "./ArchiveSettings.ts"
import { observeDataUse } from "./DataUse.ts"
import { loadConfig } from "./LoadConfig.ts"
import { observabilityLayer } from "./Logging.ts"
import { keepSetupLink, type OpenedDashboard, openDashboard } from "./OpenDashboard.ts"
import { type ArchiveSource, type OpenProgress, openEngine } from "./OpenEngine.ts"
import { keepServerFile, makeToken, realPath } from "./ServerFile.ts"
import { firstSignal } from "./Signals.ts"

/** Serves until the first SIGTERM or SIGINT, and then ends in order. */
export const runServer: Effect.Effect<void, CommandFailed> = Effect.gen(function* () {
  const config = yield* loadConfig
  const metrics = new Metrics()
  yield* Effect.provide(serveUntilSignal(config, metrics), observabilityLayer(config, metrics))
})

const serveUntilSignal = Effect.fnUntraced(function* (config: Config, metrics: Metrics) {
  const running = Effect.scoped(Effect.andThen(start(config, metrics), Effect.never))
  const server = yield* Effect.forkChild(running)
  const signal = yield* Effect.raceFirst(Fiber.join(server), firstSignal)
  yield* Effect.logInfo("Stopping").pipe(Effect.annotateLogs({ signal }))
  yield* Fiber.interrupt(server)
  yield* Effect.logInfo("Stopped")
})

const start = (config: Config, metrics: Metrics): Effect.Effect<void, CommandFailed, Scope.Scope> =>
  Effect.gen(function* () {
    yield* observeProcess(metrics)
    const readiness = newReadiness()
    const api = yield* listenHttp({
      host: config.host,
      port: config.port,
      shutdownGraceMs: config.shutdownGraceMs,
      webhookUrls: {
        allowed: config.webhookAllowedRanges,
        requireHttps: config.webhookRequireHttps,
      },
      bounds: { erasureMs: erasureMsOf(config), keepAliveTimeoutMs: config.keepAliveMs },
      metrics,
      trustedProxies: config.trustedProxies,
    }).pipe(
      Effect.provideService(Readiness, readiness),
      Effect.mapError((error) => listenFailure("api", config, error)),
    )
    yield* tryAdminAddress(config)

    // Before there is any state: see WorkerHost.
    const host = yield* makeWorkerHost({ background: true, directory: config.dataDirectory })
    const progressLog = yield* Effect.forkChild(logProgress(readiness))
    const { deliver, isChecked, onDamage, recovered, services, source } = yield* openEngine(
      config,
      {
        metrics,
        onRecovering: (progress) => {
          readiness.doing = sentenceOf(progress)
        },
      },
    )
    yield* Fiber.interrupt(progressLog)
    yield* Effect.logInfo("Opened the data directory").pipe(
      Effect.annotateLogs({ directory: config.dataDirectory, ...recovered }),
    )
    yield* logDurability(config)
    readiness.doing = "The data directory is open; the server is almost ready."

    const archives = yield* keepArchives(config, host, source, metrics)
    const dashboard = yield* Effect.provide(openDashboard(config, archives, metrics), services)
    // What the operator does with keys is logged where there is a dashboard.
    const operator =
      dashboard === undefined ? services : Context.add(services, ApiKeys, dashboard.keys)
    const demoKey = yield* Effect.provide(createDemoKey, operator)
    const shownKey =
      demoKey === undefined ? undefined : yield* showOrKeep(config.dataDirectory, demoKey)
    const deliveries = yield* deliver
    const takeOver = api.takeOver({ pages: dashboard?.pages })
    yield* Effect.provide(takeOver, Context.add(services, DeliveryLog, deliveries))
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
      Context.add(operator, Archives, archives),
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
    yield* Effect.acquireRelease(
      Effect.sync(() => {
        readiness.phase = "ready"
      }),
      () =>
        Effect.sync(() => {
          readiness.phase = "stopping"
        }),
    )
    yield* Effect.logInfo("Ready").pipe(Effect.annotateLogs({ url: api.url, adminUrl: admin.url }))
    yield* Console.log(welcomeText(url, shownKey, dashboardAt))
    yield* Effect.forkScoped(observeDataUse(config, metrics))
    const { forgetDeadReaders } = source
    yield* Effect.forkScoped(
      watchDatabase({
        directory: config.dataDirectory,
        host,
        metrics,
        isChecked,
        onDamage,
        forgetDeadReaders,
      }),
    )
  }).pipe(Effect.mapError((error) => (error._tag === "LaurelError" ? refused(error) : error)))

/** The link that creates the first account or, where standard output is a log, the file that has the link. */
const setupLink = (config: Config, url: string, dashboard: OpenedDashboard | undefined) =>
  Effect.gen(function* () {
    if (dashboard === undefined) return undefined
    const { setupToken } = dashboard
    const base = config.publicUrl?.replace(/\/$/, "") ?? url.replace("//127.0.0.1:", "//localhost:")
    const link = setupToken && `${base}${dashboard.pages.prefix}/setup#${setupToken}`
    const file = yield* keepSetupLink(config.dataDirectory, link)
    if (link === undefined) return `${base}${dashboard.pages.prefix}`
    return process.stdout.isTTY || file === undefined ? link : file
  })

const sentenceOf = (progress: OpenProgress): string => {
  const done = progress.done.toLocaleString("en")
  if (progress.stage === "users") return `Reading users: ${done} so far.`
  const total = progress.total.toLocaleString("en")
  return progress.stage === "entries"
    ? `Checking the database: ${done} of ${total} entries.`
    : `Replaying the journal: ${done} of ${total} records.`
}

/** Says now and then what a long start is at; never ends. */
const logProgress = (readiness: ReadinessState): Effect.Effect<never> =>
  Effect.gen(function* () {
    while (true) {
      yield* Effect.sleep(limits.startLogEveryMs)
      yield* Effect.logInfo("Starting").pipe(Effect.annotateLogs({ doing: readiness.doing }))
    }
  })
/** Archives on demand, and by the clock where that is configured. */
const keepArchives = Effect.fnUntraced(function* (
  config: Config,
  host: WorkerHost,
  { forgetDeadReaders, now, position, since }: ArchiveSource,
  metrics: Metrics,
) {
  const folder = archivesIn(config)
  const newestAt = newestArchiveAt(folder)
  const archives = makeArchives({
    directory: config.dataDirectory,
    archives: folder,
    retention: { hourly: config.archivesHourly, daily: config.archivesDaily },
    host,
    position,
    forgetDeadReaders,
    now,
    metrics: new ArchiveMetrics(metrics, yield* newestAt, now),
  })
  const { archiveIntervalMs: intervalMs } = config
  if (intervalMs !== null) {
    const schedule = { intervalMs, newestAt, now, since: since ?? now() }
    yield* Effect.forkScoped(archiveOnSchedule(archives, schedule))
  }
  return archives
})

/** Listens for a moment; whether the address is free will show again when it is needed. */
const tryAdminAddress = (config: Config): Effect.Effect<void, CommandFailed> =>
  listen(createServer(), { host: config.adminHost, port: config.adminPort }).pipe(
    Effect.flatMap(close),
    Effect.mapError((error) => listenFailure("admin", config, error)),
  )

const logDurability = ({ durability }: Config): Effect.Effect<void> =>
  durability === "fsync"
    ? Effect.logInfo("Durability fsync: replies are sent after the flush to disk")
    : Effect.logWarning(
        "DURABILITY RELAXED: replies are sent before the flush to disk. A crash or power cut can lose acknowledged writes. For caches and benchmarks only",
      )

/** The address of this machine for a listener on all addresses. */
const reachable = (url: string): string =>
  url.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:")
