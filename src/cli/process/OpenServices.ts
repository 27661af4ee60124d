/**
 * All services over a data directory: engine, accounts, archives, webhooks, dashboard. They stay
 * open until the scope closes. The first one opened is closed last.
 */
import { Context, Effect, Fiber } from "effect"
import { ApiKeys } from "../../accounts/ApiKeys.ts"
import { Projects } from "../../accounts/Projects.ts"
import { bucketOf } from "../../config/BucketSettings.ts"
import {
  archivesIn,
  type Config,
  clusterDirectory,
  partitionNumber,
  retentionOf,
} from "../../config/Config.ts"
import { firstPartition } from "../../domain/project/Directory.ts"
import { ArchiveMetrics } from "../../engine/archive/ArchiveMetrics.ts"
import {
  Archives,
  archiveOnSchedule,
  makeArchives,
  newestArchiveAt,
} from "../../engine/archive/Archives.ts"
import { watchDatabase } from "../../engine/archive/DatabaseWatch.ts"
import type { WorkerHost } from "../../engine/archive/jobs/WorkerHost.ts"
import type { ReadinessState } from "../../http/server/Readiness.ts"
import { limits } from "../../Limits.ts"
import type { Metrics } from "../../metrics/Metrics.ts"
import type { Sessions } from "../../storage/postgres/PgConnection.ts"
import { DeliveryLog } from "../../webhooks/DeliveryLog.ts"
import { createDemoKey, showOrKeep } from "../output/Welcome.ts"
import { observeDataUse } from "./DataUse.ts"
import { AuditSessions } from "./OpenAudit.ts"
import { openDashboard } from "./OpenDashboard.ts"
import {
  type ArchiveSource,
  type OpenObservers,
  type OpenProgress,
  openHosts,
  type Prepared,
  prepareEngine,
} from "./OpenEngine.ts"
import type { Shipping } from "./OpenShipments.ts"

/**
 * Opens the data and recovers the engine; `serve` opens the rest. `readiness` follows the progress.
 */
export const prepareServices = Effect.fnUntraced(function* (
  config: Config,
  metrics: Metrics,
  readiness: ReadinessState,
  owning: Pick<
    OpenObservers,
    "directory" | "hasLock" | "onClaimed" | "onDamaged" | "onFenced" | "shared"
  > = {},
) {
  const hosts = owning.shared?.hosts ?? (yield* openHosts(config))
  const { data: host, shipments } = hosts
  const place = bucketOf(config)
  const shipping =
    place && shipments && (yield* loadShipments).openShipments(config, place, shipments, metrics)
  const prepared = yield* withProgressLog(
    readiness,
    prepareEngine(config, {
      metrics,
      ...owning,
      ...(shipping !== undefined && { shipped: shipping.shipped }),
      onRecovering: (progress) => {
        readiness.doing = sentenceOf(progress)
      },
    }),
  )
  const sessions = owning.shared?.sessions.others
  const parts = { config, metrics, readiness, host, prepared, shipping, sessions }
  return { ...prepared, serve: serveServices(parts) }
})

/** Opens all services. */
export const openServices = (config: Config, metrics: Metrics, readiness: ReadinessState) =>
  Effect.flatMap(prepareServices(config, metrics, readiness), ({ serve }) => serve)

interface ServiceParts {
  readonly config: Config
  readonly metrics: Metrics
  readonly readiness: ReadinessState
  readonly host: WorkerHost
  readonly prepared: Prepared
  readonly shipping: Shipping | undefined
  /** In a cluster. */
  readonly sessions: Sessions | undefined
}

const serveServices = Effect.fnUntraced(function* (parts: ServiceParts) {
  const { config, host, metrics, prepared, readiness, sessions, shipping } = parts
  const { deliver, isChecked, onDamage, recovered, services, source } = yield* withProgressLog(
    readiness,
    prepared.serve,
  )
  yield* Effect.logInfo("Opened the data directory").pipe(
    Effect.annotateLogs({ directory: config.dataDirectory, ...recovered }),
  )
  yield* logDurability(config)
  readiness.doing = "The data directory is open; the server is almost ready."

  const onMade = shipping && (yield* shipping.start(source))
  const archives = yield* keepArchives(config, host, source, metrics, onMade)
  const dashboard = yield* Effect.provide(
    openDashboard(config, archives, metrics),
    Context.add(services, AuditSessions, sessions),
  )
  // With a dashboard, the operator's changes of keys and projects are in the audit log.
  const operator =
    dashboard === undefined
      ? services
      : services.pipe(
          Context.add(ApiKeys, dashboard.keys),
          Context.add(Projects, dashboard.projects),
        )
  const demoKey = isFirst(config) ? yield* Effect.provide(createDemoKey, operator) : undefined
  const shownKey =
    demoKey === undefined ? undefined : yield* showOrKeep(clusterDirectory(config), demoKey)
  const deliveries = yield* deliver
  const watched = { host, isChecked, onDamage, forgetDeadReaders: source.forgetDeadReaders }
  return {
    /** For the API. */
    services: Context.add(services, DeliveryLog, deliveries),
    /** For the operator. */
    operator: Context.add(operator, Archives, archives),
    dashboard,
    shownKey,
    watched,
  }
})

/** The other partitions of a cluster have no accounts, keys and projects of their own. */
const isFirst = (config: Config): boolean => partitionNumber(config) === firstPartition

const loadShipments = Effect.promise(() => import("./OpenShipments.ts"))

type Opened = Effect.Success<ReturnType<typeof serveServices>>

/** Watches the data while it is served: its size, and the integrity of its database. */
export const watchData = Effect.fnUntraced(function* (
  config: Config,
  metrics: Metrics,
  { watched }: Opened,
) {
  yield* Effect.forkScoped(observeDataUse(config, metrics))
  yield* Effect.forkScoped(watchDatabase({ directory: config.dataDirectory, metrics, ...watched }))
})

/**
 * Logs the progress of a long opening every `startLogEveryMs`. The log ends with the opening: in a
 * cluster the process outlives an opening that fails.
 */
export const withProgressLog = <A, E, R>(
  readiness: Pick<ReadinessState, "doing">,
  opening: Effect.Effect<A, E, R>,
): Effect.Effect<A, E, R> =>
  Effect.flatMap(Effect.forkChild(logProgress(readiness)), (log) =>
    Effect.ensuring(opening, Fiber.interrupt(log)),
  )

const logProgress = (readiness: Pick<ReadinessState, "doing">): Effect.Effect<never> =>
  Effect.gen(function* () {
    while (true) {
      yield* Effect.sleep(limits.startLogEveryMs)
      yield* Effect.logInfo("Starting").pipe(Effect.annotateLogs({ doing: readiness.doing }))
    }
  })

const sentenceOf = (progress: OpenProgress): string => {
  if (progress.stage === "postgres") return `Waiting for PostgreSQL: ${progress.why}.`
  const done = progress.done.toLocaleString("en")
  if (progress.stage === "users") return `Reading users: ${done} so far.`
  const total = progress.total.toLocaleString("en")
  const of = `${done} of ${total}`
  if (progress.stage === "entries") return `Checking the database: ${of} entries.`
  return progress.stage === "catchUp"
    ? `Reading the journal from PostgreSQL: ${of} records.`
    : `Replaying the journal: ${of} records.`
}

/** Archives on demand, and at intervals if that is configured. */
const keepArchives = Effect.fnUntraced(function* (
  config: Config,
  host: WorkerHost,
  { forgetDeadReaders, now, position, since }: ArchiveSource,
  metrics: Metrics,
  onMade: () => void = () => {},
) {
  const folder = archivesIn(config)
  const newestAt = newestArchiveAt(folder)
  const archives = makeArchives({
    directory: config.dataDirectory,
    archives: folder,
    retention: retentionOf(config),
    host,
    onMade,
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

const logDurability = ({ durability }: Config): Effect.Effect<void> =>
  durability === "fsync"
    ? Effect.logInfo("Durability fsync: replies are sent after the flush to disk")
    : Effect.logWarning(
        "DURABILITY RELAXED: replies are sent before the flush to disk. A crash or power cut can lose acknowledged writes. For caches and benchmarks only",
      )
