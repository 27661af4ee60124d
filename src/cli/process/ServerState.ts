/**
 * The state of this process for the dashboard's owners: metrics, the data directory, archives,
 * settings.
 */
import { readFile } from "node:fs/promises"
import path from "node:path"
import { Effect, Result, type Scope } from "effect"
import { version } from "../../Build.ts"
import type { Config } from "../../config/Config.ts"
import { partitionNumber } from "../../config/Config.ts"
import type { ArchiveRow, ServerState, StateNow } from "../../dashboard/request/ServerState.ts"
import { laurelError } from "../../domain/values/Errors.ts"
import type { Archives } from "../../engine/archive/Archives.ts"
import { limits } from "../../Limits.ts"
import type { Metrics } from "../../metrics/Metrics.ts"
import { observeRecentEvents } from "../../metrics/RecentEvents.ts"
import { isGood, type ListedArchive } from "../../storage/archive/ArchiveCatalog.ts"
import { readDataUse } from "./DataUse.ts"

interface ServerStateParts {
  readonly config: Config
  readonly archives: Archives["Service"]
  readonly metrics: Metrics
}

/** The scope interrupts archives that the dashboard has started. */
export const makeServerState = Effect.fnUntraced(function* ({
  archives,
  config,
  metrics,
}: ServerStateParts): Effect.fn.Return<ServerState, never, Scope.Scope> {
  const scope = yield* Effect.scope
  const recent = yield* observeRecentEvents(metrics)
  let archiveFailure: string | undefined

  const read = Effect.gen(function* () {
    const { bytes, room } = yield* readDataUse(config)
    const isStalled = metrics.value("laurel_storage_stalled") > 0
    const state: StateNow = {
      version,
      startedAt: performance.timeOrigin,
      recent: recent.state,
      users: metrics.value("laurel_users"),
      stateBytes: metrics.value("laurel_state_bytes"),
      memoryBytes: process.memoryUsage.rss(),
      isOverloaded: metrics.value("laurel_overloaded") > 0,
      isDiskFull: isStalled && config.cluster === undefined,
      isDatabaseAway: isStalled && config.cluster !== undefined,
      snapshotAgeMs: ageMs(metrics.value("laurel_snapshot_age_seconds")),
      recordsAfterSnapshot: metrics.value("laurel_snapshot_pending_records"),
      archiveAgeMs: ageMs(metrics.value("laurel_archive_age_seconds")),
      shippedArchiveAgeMs: ageMs(metrics.value("laurel_shipped_archive_age_seconds")),
      isMakingArchive: archives.isMaking(),
      archiveFailure,
      journalBytes: bytes.journal,
      databaseBytes: bytes.database,
      dataFreeBytes: room.data?.free,
      archivesFreeBytes: room.archives?.free,
      cluster: config.cluster === undefined ? undefined : yield* readCluster(config.cluster),
      place:
        config.cluster !== undefined && limits.clusterPartitions > 1
          ? { partition: partitionNumber(config), address: config.clusterAddress }
          : undefined,
      limits: settingsInForce(config),
    }
    return state
  })

  const create = archives.create({ reason: "request" }).pipe(
    Effect.tap(() =>
      Effect.sync(() => {
        archiveFailure = undefined
      }),
    ),
    Effect.catch((failed) =>
      Effect.sync(() => {
        archiveFailure = failed.detail
      }),
    ),
    Effect.tapDefect((defect) => Effect.logError("An archive crashed", defect)),
  )

  return {
    read,
    archiveTrouble: () =>
      archiveTrouble({
        failure: archiveFailure,
        intervalMs: config.archiveIntervalMs,
        ageMs: ageMs(metrics.value("laurel_archive_age_seconds")),
        upMs: performance.now(),
      }),
    archives: Effect.map(archives.list, (all) => all.map(rowOf).reverse()),
    createArchive: Effect.suspend(() =>
      archives.isMaking()
        ? Effect.fail(oneIsMade)
        : // Starts at once, so that a second request finds `isMaking`.
          Effect.asVoid(Effect.forkIn(create, scope, { startImmediately: true })),
    ),
    runbook: Effect.promise(() => readFile(runbook, "utf8").catch(() => undefined)),
  }
})

/**
 * Archives by schedule are late when two intervals have passed since the newest good one, or since the
 * start if there is none.
 */
export const archiveTrouble = ({
  ageMs,
  failure,
  intervalMs,
  upMs,
}: {
  readonly failure: string | undefined
  readonly intervalMs: number | null
  readonly ageMs: number | undefined
  readonly upMs: number
}): string | undefined => {
  if (failure !== undefined) return `The last archive could not be made: ${failure}`
  if (intervalMs === null || Math.min(ageMs ?? upMs, upMs) <= 2 * intervalMs) return undefined
  return ageMs === undefined
    ? "No archive was made since the server started."
    : `The newest good archive is ${Math.floor(ageMs / 3_600_000)} hours old.`
}

/** On a session of its own, since the sessions of the server may be waiting. */
const readCluster = (url: string): Effect.Effect<NonNullable<StateNow["cluster"]>> =>
  Effect.gen(function* () {
    const { clusterStatusAt } = yield* Effect.promise(() => import("../../cluster/status.ts"))
    return yield* clusterStatusAt(url)
  }).pipe(Effect.catchTag("PgFailure", ({ words }) => Effect.succeed({ failure: words })))

const runbook = path.resolve(import.meta.dirname, "../../../snapshots/README.md")

const oneIsMade = laurelError(
  "conflict",
  "An archive is being made already. Wait until it is listed.",
)

/** The gauges are 0 without a value. */
const ageMs = (seconds: number): number | undefined => (seconds > 0 ? 1_000 * seconds : undefined)

const rowOf = (archive: ListedArchive): ArchiveRow => {
  const { at, id, manifest: found, sequence } = archive
  const known = Result.isSuccess(found) ? found.success : undefined
  return {
    id,
    at,
    sequence,
    isGood: isGood(archive),
    reason: known?.reason,
    users: known?.counts.users,
    bytes: known?.files.reduce((sum, { bytes }) => sum + bytes, 0),
  }
}

const seconds = (ms: number): string => `${ms / 1_000} s`
const number = (value: number): string => value.toLocaleString("en")
const mebibyte = 1_024 ** 2
const day = 86_400_000

const settingsInForce = (config: Config): StateNow["limits"] => [
  ["Durability", config.durability === "fsync" ? "fsync: replies after the flush" : "relaxed"],
  [
    "Memory for states of users",
    `at most ${number(Math.floor(config.stateBytesMax / mebibyte))} MiB`,
  ],
  ["Snapshots", `every ${seconds(config.snapshotIntervalMs)}`],
  [
    "Archives",
    config.archiveIntervalMs === null ? "on demand" : `every ${seconds(config.archiveIntervalMs)}`,
  ],
  ["Archives kept", `${config.archivesHourly} hourly, ${config.archivesDaily} daily`],
  ["History kept", config.historyMs === null ? "all" : `${config.historyMs / day} days`],
  ["Events or rewards in a batch", `at most ${number(limits.batchItemsMax)}`],
  ["Pending deliveries of a webhook", `at most ${number(config.webhookPendingMax)}`],
  ["Deliveries kept", `${config.webhookRetentionMs / day} days`],
  ["Webhooks of an environment", `at most ${number(config.webhooksMax)}`],
  [
    "Streams",
    `at most ${number(limits.streamsMax)}, and ${number(limits.userStreamsMax)} of one user each`,
  ],
]
