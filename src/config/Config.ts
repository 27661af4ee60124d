/**
 * The settings of a server: for each its variable, default, parser and meaning. Only this file
 * reads environment variables. An empty variable counts as unset. All faults are reported together.
 */
import path from "node:path"
import { Result } from "effect"
import { firstPartition } from "../domain/project/Directory.ts"
import { proxyFields } from "../http/request/ClientAddress.ts"
import { limits } from "../Limits.ts"
import { archiveKeptMs, type Retention } from "../storage/archive/ArchiveRetention.ts"
import { defaultSchedule } from "../webhooks/endpoint/RetrySchedule.ts"
import { bucketFaults, bucketSettings } from "./BucketSettings.ts"
import {
  addressRanges,
  cidrs,
  daysOrAll,
  duration,
  durationOrOff,
  folder,
  halfOrMebibytes,
  headerFields,
  host,
  hostAndPort,
  hosts,
  logLevel,
  logLevels,
  oneOf,
  postgresAddress,
  retrySchedule,
  type Setting,
  setting,
  type ValuesOf,
  webAddress,
  wholeNumber,
  yesOrNo,
} from "./SettingForms.ts"

const settings = {
  host: setting("LAUREL_HOST", "127.0.0.1", host, "Address that the API listens on"),
  port: setting(
    "LAUREL_PORT",
    "8080",
    wholeNumber(0, 65_535),
    "Port of the API; 0 picks a free one",
  ),
  keepAliveMs: setting(
    "LAUREL_KEEP_ALIVE",
    `${limits.keepAliveTimeoutMs / 1_000} seconds`,
    duration(1_000, 3_600_000),
    "Idle timeout of connections; set it above the idle timeout of a proxy in front",
  ),
  trustedProxies: setting(
    "LAUREL_TRUSTED_PROXIES",
    "",
    addressRanges,
    "Addresses and ranges of proxies that are trusted about the client's address, comma-separated; none: the client's address is that of the connection",
  ),
  trustedProxyField: setting(
    "LAUREL_TRUSTED_PROXY_HEADER",
    "x-forwarded-for",
    oneOf(...proxyFields),
    "Header field in which the trusted proxies write the client's address; the other field is ignored, since clients can send it",
  ),
  publicUrl: setting(
    "LAUREL_PUBLIC_URL",
    "",
    webAddress,
    "Address at which people reach this server, such as https://laurel.example.com; passkeys belong to its host; none: the dashboard is served under loopback names alone",
  ),
  dashboard: setting(
    "LAUREL_DASHBOARD",
    "on",
    oneOf("on", "off"),
    "Serve the dashboard under /dashboard, on the address of the API",
  ),
  dashboardInsecure: setting(
    "LAUREL_DASHBOARD_INSECURE",
    "false",
    yesOrNo,
    "Serve the dashboard over plain HTTP under any name; passwords and sessions can then be read on the network",
  ),
  adminHost: setting(
    "LAUREL_ADMIN_HOST",
    "127.0.0.1",
    host,
    "Address of the admin server, for metrics and the command line; keep it private",
  ),
  adminPort: setting(
    "LAUREL_ADMIN_PORT",
    "8081",
    wholeNumber(0, 65_535),
    "Port of the admin server; 0 picks a free one",
  ),
  adminHostNames: setting(
    "LAUREL_ADMIN_HOST_NAMES",
    "",
    hosts,
    "Allowed host names of requests to the admin server, comma-separated; IP addresses and localhost are always allowed",
  ),
  cluster: {
    ...setting(
      "LAUREL_CLUSTER",
      "",
      postgresAddress,
      "PostgreSQL database that keeps the journal, such as postgres://user:password@host/laurel; none: the data directory keeps it",
    ),
    secret: true,
  },
  clusterAddress: setting(
    "LAUREL_CLUSTER_ADDRESS",
    "127.0.0.1:8082",
    hostAndPort,
    "Address on which this server accepts requests from the other servers of the cluster, as they must connect to it; keep it private",
  ),
  clusterLockExpirationMs: setting(
    "LAUREL_CLUSTER_LOCK_EXPIRATION",
    `${limits.lockExpirationMs / 1_000} seconds`,
    duration(limits.lockExpirationMsMin, limits.lockExpirationMsMax),
    "Time without a heartbeat after which another server takes over; set the same value on all servers of the cluster",
  ),
  clusterFollowers: setting(
    "LAUREL_CLUSTER_FOLLOWERS",
    String(limits.followers),
    wholeNumber(0, limits.followersMax),
    "Number of followers of each partition: servers that keep its data in memory, ready to take over; set the same value on all servers",
  ),
  dataDirectory: setting("LAUREL_DATA_DIR", "./snapshots", folder, "Data directory"),
  durability: setting(
    "LAUREL_DURABILITY",
    "fsync",
    oneOf("fsync", "relaxed"),
    "fsync: reply after the flush to disk; relaxed: reply before it, a crash can lose acknowledged writes",
  ),
  snapshotIntervalMs: setting(
    "LAUREL_SNAPSHOT_INTERVAL",
    `${limits.snapshotIntervalMs / 1_000} seconds`,
    duration(100, 86_400_000),
    "Time between snapshots; a longer interval reduces writes and lengthens recovery",
  ),
  historyMs: setting(
    "LAUREL_HISTORY_DAYS",
    "all",
    daysOrAll(limits.historyDaysMin, limits.historyDaysMax),
    "Number of days that the records of users are kept: their history, and what undo, repeated ids and limits of rules look up; all: for ever",
  ),
  clockJumpMsMax: setting(
    "LAUREL_CLOCK_JUMP_MAX",
    `${limits.clockJumpMsMax / 86_400_000} days`,
    duration(3_600_000, 36_500 * 86_400_000),
    "Maximum jump ahead of the machine's clock, also since the newest record; a larger jump counts as a wrong clock",
  ),
  archiveIntervalMs: setting(
    "LAUREL_ARCHIVE_INTERVAL",
    `${limits.archiveIntervalMs / 3_600_000} hour`,
    durationOrOff(60_000, 31 * 86_400_000),
    "Time between archives (complete copies to restore from); off: only on demand",
  ),
  archiveDirectory: setting(
    "LAUREL_ARCHIVE_DIR",
    "",
    folder,
    "Directory of archives, preferably on another disk; default: archive/ in the data directory",
  ),
  ...bucketSettings,
  archivesHourly: setting(
    "LAUREL_ARCHIVE_HOURLY",
    String(limits.archivesHourly),
    wholeNumber(0, limits.archivesKeptMax),
    "Number of hourly archives to keep",
  ),
  archivesDaily: setting(
    "LAUREL_ARCHIVE_DAILY",
    String(limits.archivesDaily),
    wholeNumber(0, limits.archivesKeptMax),
    "Number of daily archives to keep",
  ),
  stateBytesMax: setting(
    "LAUREL_STATE_MIB_MAX",
    "half",
    halfOrMebibytes(64, 16_777_216),
    "Memory for the states of all users, in MiB, or half of the memory of the machine or container; beyond it new users are refused",
  ),
  shutdownGraceMs: setting(
    "LAUREL_SHUTDOWN_GRACE",
    `${limits.shutdownGraceMs / 1_000} seconds`,
    duration(0, 3_600_000),
    "Time for requests in progress to finish at shutdown",
  ),
  webhookAllowedRanges: setting(
    "LAUREL_WEBHOOK_ALLOW_CIDR",
    "",
    cidrs,
    "Private address ranges that webhooks may reach, comma-separated, such as 127.0.0.0/8 for receivers on this machine",
  ),
  webhookRequireHttps: setting(
    "LAUREL_WEBHOOK_REQUIRE_HTTPS",
    "true",
    yesOrNo,
    "Whether webhooks of production environments must use https",
  ),
  webhookRetrySchedule: setting(
    "LAUREL_WEBHOOK_RETRY_SCHEDULE",
    defaultSchedule.map((ms) => ms / 1_000).join(),
    retrySchedule,
    "Delay before each delivery attempt, the first included, in seconds",
  ),
  webhookRetentionMs: setting(
    "LAUREL_WEBHOOK_RETENTION",
    `${limits.webhookRetentionMs / 86_400_000} days`,
    duration(60_000, limits.historyDaysMin * 86_400_000),
    "Retention of deliveries, and the maximum time that a delivery stays pending",
  ),
  webhooksMax: setting(
    "LAUREL_WEBHOOKS_MAX",
    String(limits.webhooks),
    wholeNumber(1, limits.webhooksMax),
    "Number of webhooks that an environment may have: each event may become a message to every one of them",
  ),
  webhookPendingMax: setting(
    "LAUREL_WEBHOOK_PENDING_MAX",
    String(limits.webhookPendingMax),
    wholeNumber(1, limits.webhookPendingTotalMax),
    "Maximum pending deliveries per webhook. Further deliveries are dropped; recover them with POST /v1/webhooks/:id/recover",
  ),
  webhookLogMax: setting(
    "LAUREL_WEBHOOK_LOG_MAX",
    String(limits.webhookLogMax),
    wholeNumber(1, 10_000_000),
    "Maximum finished deliveries to keep per webhook and status",
  ),
  logLevel: setting(
    "LAUREL_LOG_LEVEL",
    "info",
    logLevel,
    `Lowest level that is logged: ${logLevels.join(", ")}`,
  ),
  logFormat: setting(
    "LAUREL_LOG_FORMAT",
    "auto",
    oneOf("auto", "pretty", "json", "logfmt"),
    "pretty, json or logfmt; auto: pretty on a terminal, else json",
  ),
  accessLog: setting(
    "LAUREL_ACCESS_LOG",
    "off",
    oneOf("off", "stdout", "stderr"),
    "Where a line of JSON is written for each request of the API and the dashboard: off, stdout or stderr",
  ),
  slowRequestMs: setting(
    "LAUREL_SLOW_REQUEST",
    `${limits.slowRequestMs / 1_000} second`,
    durationOrOff(1, 3_600_000),
    "Requests whose reply takes at least this long to begin are logged, at most 60 a minute; off: none",
  ),
  tracing: setting(
    "LAUREL_TRACING",
    "off",
    oneOf("off", "on"),
    "Take traceparent (W3C) from requests and pass it on: into log lines, into webhooks, and with LAUREL_OTLP_ENDPOINT into spans of slow and failed requests",
  ),
  otlpEndpoint: setting(
    "LAUREL_OTLP_ENDPOINT",
    "",
    webAddress,
    "Base URL of an OpenTelemetry collector for logs, metrics and spans (OTLP over HTTP); none: no export",
  ),
  otlpHeaders: {
    ...setting(
      "LAUREL_OTLP_HEADERS",
      "",
      headerFields,
      "Header fields for the collector, name=value, comma-separated, values percent-encoded",
    ),
    secret: true,
  },
}

/** The configuration. Times are milliseconds. */
export interface Config extends ValuesOf<typeof settings> {
  /**
   * Only in a cluster: the partition that this configuration belongs to, and the configuration of
   * the whole process.
   */
  readonly partition?: { readonly number: number; readonly whole: Config }
}

export interface ConfigReading {
  /** The configuration, or one line for each fault. */
  readonly config: Result.Result<Config, ReadonlyArray<string>>
  /** One line for each unknown `LAUREL_` variable. */
  readonly warnings: ReadonlyArray<string>
}

export type Environment = { readonly [variable: string]: string | undefined }

/** The variables of commands that call the API of a server. They are no settings of a server. */
export const commandVariables = {
  key: "LAUREL_KEY",
  syncTo: "LAUREL_SYNC_TO",
  url: "LAUREL_URL",
} as const

/** Reads the configuration from `environment`, by default the environment of the process. */
export const readConfig = (environment: Environment = process.env): ConfigReading => {
  const values: Record<string, unknown> = {}
  const faults: Array<string> = []
  const all: { readonly [name: string]: Setting<unknown> } = settings
  for (const [name, { fallback, parse, secret, variable }] of Object.entries(all)) {
    const text = givenText(variable, environment) ?? fallback
    const parsed = parse(text)
    if (Result.isSuccess(parsed)) values[name] = parsed.success
    else if (secret) faults.push(`${variable} ${parsed.failure}.`)
    else faults.push(`${variable} is ${JSON.stringify(text)}: it ${parsed.failure}.`)
  }
  if (faults.length === 0) faults.push(...bucketFaults(values as unknown as Config))
  const known = new Set<string>(Object.values(settings).map(({ variable }) => variable))
  for (const variable of Object.values(commandVariables)) known.add(variable)
  const unknown = Object.keys(environment).filter(
    (variable) => variable.startsWith("LAUREL_") && !known.has(variable),
  )
  return {
    config: faults.length === 0 ? Result.succeed(values as unknown as Config) : Result.fail(faults),
    warnings: unknown
      .sort()
      .map((variable) => `${variable} is not a setting and has no effect; is it misspelt?`),
  }
}

/** Whether `environment` has the setting `name`. */
export const isGiven = (
  name: keyof typeof settings,
  environment: Environment = process.env,
): boolean => givenText(settings[name].variable, environment) !== undefined

const givenText = (variable: string, environment: Environment): string | undefined => {
  const text = environment[variable]?.trim()
  return text === "" ? undefined : text
}

/** The directory of archives. */
export const archivesIn = ({ archiveDirectory, dataDirectory }: Config): string =>
  archiveDirectory === "" ? path.join(dataDirectory, "archive") : archiveDirectory

/**
 * Whether archives are also outside of the data directory. Otherwise they would be lost with it.
 */
export const isKeptElsewhere = ({ archiveBucket, archiveDirectory }: Config): boolean =>
  archiveBucket !== undefined || archiveDirectory !== ""

/** How many archives are kept. */
export const retentionOf = ({
  archivesDaily: daily,
  archivesHourly: hourly,
}: Config): Retention => ({
  hourly,
  daily,
})

/** The maximum age of scheduled archives, milliseconds. */
export const archivesKeptMsOf = (config: Config): number =>
  config.archiveIntervalMs === null
    ? 0
    : archiveKeptMs(retentionOf(config), config.archiveIntervalMs)

/**
 * The maximum time for which the journal and the archives keep erased data, milliseconds. The
 * segment with the user's last record is closed, erasures are gathered, and a run that is under way
 * ends before the run that erases the user, in a cluster also from PostgreSQL. Archives made until
 * then have the user's records, as have copies that a cluster set aside. Archives on demand do not
 * count.
 */
export const erasureMsOf = (config: Config): number => {
  const lagMs = 4 * Math.max(limits.journalHeartbeatMs, config.snapshotIntervalMs)
  const gatheredMs = limits.erasureGatherMs + limits.erasureCheckMs
  const closedMs = limits.journalSegmentMs + limits.erasureRetryMs
  const journalMs = closedMs + gatheredMs + 2 * limits.erasureRunMs
  const leftoverMs = config.cluster ? limits.leftoverKeptMs + limits.leftoverSweepMs : 0
  const bucketMs =
    config.archiveBucket === undefined ? 0 : limits.bucketKeptMs + 2 * limits.bucketCollectMs
  const keptMs = journalMs + archivesKeptMsOf(config) + bucketMs
  return Math.max(limits.erasureMs, keptMs + leftoverMs + lagMs)
}

/** All settings with their defaults and meanings, for `laurel serve --help`. */
export const describeSettings = (): string =>
  Object.values(settings)
    .map(({ fallback, meaning, variable }) => `  ${variable}=${fallback}\n      ${meaning}`)
    .join("\n")

/*
 * The configuration of a partition. Its data directory is a folder in the data directory of the
 * process. The archives of the first partition are at the same place as without a cluster. Any
 * other partition has its own folder there, and its own prefix in the bucket.
 */

export const partitionsName = "partitions"

const partitionIn = (folder: string, number: number): string =>
  path.join(folder, partitionsName, String(number))

/**
 * The configuration of partition `number`. `config` is the configuration of the process or of any
 * partition.
 */
export const ofPartition = (config: Config, number: number): Config => {
  const whole = config.partition?.whole ?? config
  const { archiveBucket, archiveDirectory, dataDirectory } = whole
  const own = {
    ...whole,
    dataDirectory: partitionIn(dataDirectory, number),
    partition: { number, whole },
  }
  if (number === firstPartition) return own
  return {
    ...own,
    archiveDirectory: archiveDirectory === "" ? "" : partitionIn(archiveDirectory, number),
    archiveBucket: archiveBucket && {
      ...archiveBucket,
      prefix: `${archiveBucket.prefix}${partitionsName}/${number}/`,
    },
  }
}

/** The partition of a configuration; without a cluster, the first one. */
export const partitionNumber = ({ partition }: Config): number =>
  partition?.number ?? firstPartition

/**
 * The interval of the heartbeats of an idle partition. It differs by partition, so that their
 * heartbeats do not coincide.
 */
export const heartbeatMsOf = (config: Config): number =>
  limits.journalHeartbeatMs - (partitionNumber(config) - 1) * limits.partitionHeartbeatStepMs

/** The directory of a server of the cluster. It has the data directories of the partitions. */
export const clusterDirectory = ({ dataDirectory, partition }: Config): string =>
  path.resolve(partition?.whole.dataDirectory ?? dataDirectory)
