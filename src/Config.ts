/**
 * The settings of a server, read from environment variables, here and nowhere else. One record says for each
 * what it is called, what it means, what it may be and what it is by default; an empty variable counts as
 * not set. All faults are found at once.
 */
import { isIP } from "node:net"
import { Duration, type LogLevel, Option, Result } from "effect"
import { limits } from "./Limits.ts"
import { AllowedRanges } from "./webhooks/AddressGuard.ts"

type Parse<A> = (text: string) => Result.Result<A, string>

interface Setting<A> {
  readonly variable: string
  readonly fallback: string
  readonly parse: Parse<A>
  /** What it means, for people. */
  readonly meaning: string
}

const setting = <A>(
  variable: string,
  fallback: string,
  parse: Parse<A>,
  meaning: string,
): Setting<A> => ({ variable, fallback, parse, meaning })

const oneOf =
  <const Values extends ReadonlyArray<string>>(...values: Values): Parse<Values[number]> =>
  (text) =>
    values.includes(text)
      ? Result.succeed(text)
      : Result.fail(`must be one of ${values.join(", ")}`)

const wholeNumber =
  (min: number, max: number): Parse<number> =>
  (text) =>
    /^\d{1,15}$/.test(text) && Number(text) >= min && Number(text) <= max
      ? Result.succeed(Number(text))
      : Result.fail(`must be a whole number from ${min} to ${max}`)

const hostName = /^(?=.{1,253}$)[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9-]+)*$/

const host: Parse<string> = (text) =>
  isIP(text) !== 0 || (hostName.test(text) && !/^[\d.]+$/.test(text))
    ? Result.succeed(text)
    : Result.fail("must be an IP address or a host name")

const folder: Parse<string> = (text) =>
  text.includes("\0") ? Result.fail("must be a path") : Result.succeed(text)

/** Milliseconds of a duration such as `30 seconds`. */
const duration =
  (minMs: number, maxMs: number): Parse<number> =>
  (text) => {
    const found = Duration.fromInput(text as Duration.Input)
    const ms = Option.isSome(found) ? Duration.toMillis(found.value) : Number.NaN
    const [min, max] = [minMs, maxMs].map((bound) => Duration.format(Duration.millis(bound)))
    return ms >= minMs && ms <= maxMs
      ? Result.succeed(ms)
      : Result.fail(`must be a duration such as "30 seconds", from ${min} to ${max}`)
  }

const yesOrNo: Parse<boolean> = (text) =>
  Result.map(oneOf("true", "false")(text), (word) => word === "true")

const cidrs: Parse<AllowedRanges> = (text) => {
  const parts = text.split(",").map((part) => part.trim())
  try {
    return Result.succeed(new AllowedRanges(text === "" ? [] : parts))
  } catch {
    return Result.fail("must be CIDRs with commas between, such as 10.1.0.0/16,fd00::/8")
  }
}

const levels = {
  trace: "Trace",
  debug: "Debug",
  info: "Info",
  warn: "Warn",
  error: "Error",
  none: "None",
} as const satisfies Record<string, LogLevel.LogLevel>

const logLevel: Parse<LogLevel.LogLevel> = (text) =>
  Result.map(
    oneOf(...(Object.keys(levels) as Array<keyof typeof levels>))(text),
    (word) => levels[word],
  )

const settings = {
  host: setting("LAUREL_HOST", "127.0.0.1", host, "address that the API listens on"),
  port: setting("LAUREL_PORT", "8080", wholeNumber(0, 65_535), "its port; 0 takes any free one"),
  adminHost: setting(
    "LAUREL_ADMIN_HOST",
    "127.0.0.1",
    host,
    "address of the admin server, which the command line talks to; keep it private",
  ),
  adminPort: setting(
    "LAUREL_ADMIN_PORT",
    "8081",
    wholeNumber(0, 65_535),
    "its port; 0 takes any free one",
  ),
  dataDirectory: setting("LAUREL_DATA_DIR", "./snapshots", folder, "the data directory"),
  durability: setting(
    "LAUREL_DURABILITY",
    "fsync",
    oneOf("fsync", "relaxed"),
    "fsync: a reply means that it is on disk; relaxed: that it soon will be, a crash can take it back",
  ),
  snapshotIntervalMs: setting(
    "LAUREL_SNAPSHOT_INTERVAL",
    `${limits.snapshotIntervalMs / 1_000} seconds`,
    duration(100, 86_400_000),
    "time between snapshots; longer means less writing and a longer recovery",
  ),
  residentUsersMax: setting(
    "LAUREL_RESIDENT_USERS_MAX",
    String(limits.residentUsersMax),
    wholeNumber(1_000, 100_000_000),
    "how many users may be in memory; the rest is read when asked for",
  ),
  shutdownGraceMs: setting(
    "LAUREL_SHUTDOWN_GRACE",
    `${limits.shutdownGraceMs / 1_000} seconds`,
    duration(0, 3_600_000),
    "how long requests under way may take when the server stops",
  ),
  webhookAllowedRanges: setting(
    "LAUREL_WEBHOOK_ALLOW_CIDR",
    "",
    cidrs,
    "private address ranges that webhooks may be sent to, with commas between",
  ),
  webhookRequireHttps: setting(
    "LAUREL_WEBHOOK_REQUIRE_HTTPS",
    "true",
    yesOrNo,
    "whether webhooks of production must be https",
  ),
  logLevel: setting("LAUREL_LOG_LEVEL", "info", logLevel, Object.keys(levels).join(", ")),
  logFormat: setting(
    "LAUREL_LOG_FORMAT",
    "auto",
    oneOf("auto", "pretty", "json", "logfmt"),
    "pretty, json, logfmt; auto is pretty on a terminal, else json",
  ),
}

type Settings = typeof settings

/** What is configured. Times are milliseconds. */
export type Config = {
  readonly [Name in keyof Settings]: Settings[Name] extends Setting<infer A> ? A : never
}

export interface ConfigReading {
  /** The configuration, or one line for each fault. */
  readonly config: Result.Result<Config, ReadonlyArray<string>>
  /** One line for each variable that looks like a setting and is none. */
  readonly warnings: ReadonlyArray<string>
}

export type Environment = { readonly [variable: string]: string | undefined }

/** Reads the configuration from `environment`, by default the process's own. */
export const readConfig = (environment: Environment = process.env): ConfigReading => {
  const values: Record<string, unknown> = {}
  const faults: Array<string> = []
  const all: { readonly [name: string]: Setting<unknown> } = settings
  for (const [name, { fallback, parse, variable }] of Object.entries(all)) {
    const given = environment[variable]?.trim()
    const text = given === undefined || given === "" ? fallback : given
    const parsed = parse(text)
    if (Result.isSuccess(parsed)) values[name] = parsed.success
    else faults.push(`${variable} is ${JSON.stringify(text)}: it ${parsed.failure}.`)
  }
  const known = new Set<string>(Object.values(settings).map(({ variable }) => variable))
  const unknown = Object.keys(environment).filter(
    (variable) => variable.startsWith("LAUREL_") && !known.has(variable),
  )
  return {
    config: faults.length === 0 ? Result.succeed(values as Config) : Result.fail(faults),
    warnings: unknown
      .sort()
      .map((variable) => `${variable} is no setting and has no effect; is it misspelt?`),
  }
}

/** All settings with their defaults, a line or two each, for `laurel serve --help`. */
export const describeSettings = (): string =>
  Object.values(settings)
    .map(({ fallback, meaning, variable }) => `  ${variable}=${fallback}\n      ${meaning}`)
    .join("\n")
