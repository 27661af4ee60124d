/**
 * The parsers of settings. A parser returns the value of a variable's text, or the rule that the
 * text breaks.
 */
import { isIP } from "node:net"
import { totalmem } from "node:os"
import { Duration, type LogLevel, Option, Result } from "effect"
import { AddressRanges } from "../accounts/AddressRanges.ts"
import { normalCidr } from "../domain/project/Directory.ts"
import { limits } from "../Limits.ts"
import { parseSchedule, type RetrySchedule } from "../webhooks/endpoint/RetrySchedule.ts"
import { AllowedRanges } from "../webhooks/send/AddressGuard.ts"

export type Parse<A> = (text: string) => Result.Result<A, string>

export const oneOf =
  <const Values extends ReadonlyArray<string>>(...values: Values): Parse<Values[number]> =>
  (text) =>
    values.includes(text)
      ? Result.succeed(text)
      : Result.fail(`must be one of ${values.join(", ")}`)

export const wholeNumber =
  (min: number, max: number): Parse<number> =>
  (text) =>
    /^\d{1,15}$/.test(text) && Number(text) >= min && Number(text) <= max
      ? Result.succeed(Number(text))
      : Result.fail(`must be a whole number from ${min} to ${max}`)

/** Bytes: a number of MiB, or `half` of the memory of the machine or container. */
export const halfOrMebibytes =
  (min: number, max: number): Parse<number> =>
  (text) => {
    if (text === "half") {
      // Without a limit, the memory of the container is a huge number.
      const memory = Math.min(totalmem(), process.constrainedMemory() || totalmem())
      return Result.succeed(Math.max(min * mebibyte, Math.floor(memory / 2)))
    }
    return /^\d{1,15}$/.test(text) && Number(text) >= min && Number(text) <= max
      ? Result.succeed(Number(text) * mebibyte)
      : Result.fail(`must be half, or a whole number from ${min} to ${max}`)
  }

const mebibyte = 1024 * 1024

const hostName = /^(?=.{1,253}$)[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9-]+)*$/

export const host: Parse<string> = (text) =>
  isIP(text) !== 0 || (hostName.test(text) && !/^[\d.]+$/.test(text))
    ? Result.succeed(text)
    : Result.fail("must be an IP address or a host name")

/** `host:port`, with brackets around IPv6. */
export const hostAndPort: Parse<string> = (text) => {
  const { hostname, port } = splitAddress(text)
  const isName = Result.isSuccess(host(hostname.replace(/^\[|\]$/g, "")))
  return isName && port > 0 && port <= 65_535
    ? Result.succeed(text)
    : Result.fail("must be a host and a port, such as 10.0.0.5:8082")
}

export const splitAddress = (
  text: string,
): { readonly hostname: string; readonly port: number } => {
  const [, hostname = "", digits = ""] = /^(\[[\da-f:.]+\]|[^:]+):(\d{1,5})$/i.exec(text) ?? []
  return { hostname, port: Number(digits) }
}

export const hosts: Parse<ReadonlyArray<string>> = (text) => {
  const names = text === "" ? [] : text.split(",").map((name) => name.trim())
  return names.every((name) => Result.isSuccess(host(name)))
    ? Result.succeed(names)
    : Result.fail("must be comma-separated host names, such as laurel,metrics.internal")
}

export const folder: Parse<string> = (text) =>
  text.includes("\0") ? Result.fail("must be a path") : Result.succeed(text)

/** Text whose form somebody else decides. */
export const anyText: Parse<string> = (text) => Result.succeed(text)

/**
 * A bucket and a prefix of all keys, which is empty or ends with a slash. Servers and clients
 * encode other characters in different ways, so the prefix may not have them.
 */
export const bucketAddress: Parse<
  { readonly bucket: string; readonly prefix: string } | undefined
> = (text) => {
  if (text === "") return Result.succeed(undefined)
  const [, bucket, path = ""] =
    /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/(.*))?$/.exec(text) ?? []
  const parts = path.split("/").filter((part, n, all) => part !== "" || n < all.length - 1)
  const isPlain =
    path.length <= limits.bucketPrefixCharactersMax &&
    parts.every((part) => /^[A-Za-z0-9_-][A-Za-z0-9._-]*$/.test(part))
  return bucket !== undefined && !bucket.includes("..") && isPlain
    ? Result.succeed({ bucket, prefix: parts.map((part) => `${part}/`).join("") })
    : Result.fail(
        "must be s3://bucket or s3://bucket/prefix; a prefix has letters, digits, hyphens, underscores, dots and single slashes",
      )
}

/** A duration such as `30 seconds`, as milliseconds. */
export const duration =
  (minMs: number, maxMs: number): Parse<number> =>
  (text) => {
    const found = Duration.fromInput(text as Duration.Input)
    const ms = Option.isSome(found) ? Duration.toMillis(found.value) : Number.NaN
    const [min, max] = [minMs, maxMs].map((bound) => Duration.format(Duration.millis(bound)))
    return ms >= minMs && ms <= maxMs
      ? Result.succeed(ms)
      : Result.fail(`must be a duration such as "30 seconds", from ${min} to ${max}`)
  }

/** A duration, or `null` for `off`. */
export const durationOrOff =
  (minMs: number, maxMs: number): Parse<number | null> =>
  (text) =>
    text === "off"
      ? Result.succeed(null)
      : Result.mapError(duration(minMs, maxMs)(text), (words) => `${words}, or "off"`)

/** A number of days in milliseconds, or `null` for `all`. */
export const daysOrAll =
  (min: number, max: number): Parse<number | null> =>
  (text) =>
    text === "all"
      ? Result.succeed(null)
      : Result.map(
          Result.mapError(wholeNumber(min, max)(text), (words) => `${words}, or "all"`),
          (days) => days * 86_400_000,
        )

export const yesOrNo: Parse<boolean> = (text) =>
  Result.map(oneOf("true", "false")(text), (word) => word === "true")

export const cidrs: Parse<AllowedRanges> = (text) => {
  const parts = text.split(",").map((part) => part.trim())
  try {
    return Result.succeed(new AllowedRanges(text === "" ? [] : parts))
  } catch {
    return Result.fail("must be comma-separated CIDRs, such as 10.1.0.0/16,fd00::/8")
  }
}

/** Addresses and ranges; `undefined` for an empty text. */
export const addressRanges: Parse<AddressRanges | undefined> = (text) => {
  if (text === "") return Result.succeed(undefined)
  const ranges = text.split(",").map((part) => normalCidr(part.trim()))
  return ranges.every((cidr) => cidr !== undefined)
    ? Result.succeed(new AddressRanges(ranges))
    : Result.fail("must be comma-separated addresses or ranges, such as 10.0.0.5,fd00::/8")
}

export const webAddress: Parse<string | undefined> = (text) => {
  if (text === "") return Result.succeed(undefined)
  const url = URL.parse(text)
  const plain = url !== null && `${url.username}${url.password}${url.search}${url.hash}` === ""
  return plain && /^https?:$/.test(url.protocol)
    ? Result.succeed(text)
    : Result.fail("must be an http or https URL without credentials, such as http://127.0.0.1:4318")
}

/**
 * The modes of libpq except `allow` and `prefer`, which also accept a connection without
 * encryption.
 */
const sslModes = ["disable", "require", "verify-ca", "verify-full"]

/** The address of a PostgreSQL database. */
export const postgresAddress: Parse<string | undefined> = (text) => {
  if (text === "") return Result.succeed(undefined)
  const url = URL.parse(text)
  if (url === null || !/^postgres(ql)?:$/.test(url.protocol)) {
    return Result.fail("must be an address such as postgres://user:password@host:5432/database")
  }
  const mode = url.searchParams.get("sslmode")
  if (mode !== null && !sslModes.includes(mode)) {
    return Result.fail(`must have an sslmode of ${sslModes.join(", ")}`)
  }
  return mode === "verify-ca" && !url.searchParams.has("sslrootcert")
    ? Result.fail("must have an sslrootcert if its sslmode is verify-ca")
    : Result.succeed(text)
}

/**
 * Header fields in the form of OpenTelemetry: `name=value`, comma-separated, values
 * percent-encoded.
 */
export const headerFields: Parse<Readonly<Record<string, string>>> = (text) => {
  const fields: Array<readonly [string, string]> = []
  for (const part of text === "" ? [] : text.split(",")) {
    const [, name, encoded] = /^\s*([\w!#$%&'*+.^`|~-]+)\s*=\s*(.*?)\s*$/.exec(part) ?? []
    const value = encoded === undefined ? undefined : decoded(encoded)
    if (name === undefined || value === undefined || !/^[\x20-\x7e]+$/.test(value)) {
      return Result.fail("must be comma-separated header fields such as name=value")
    }
    fields.push([name.toLowerCase(), value])
  }
  return Result.succeed(Object.fromEntries(fields))
}

const decoded = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

export const retrySchedule: Parse<RetrySchedule> = (text) => {
  const schedule = parseSchedule(text)
  return schedule === undefined
    ? Result.fail(
        `must be 1 to ${limits.webhookAttemptsMax} comma-separated delays in seconds, each at most ${limits.webhookPauseMsMax / 1_000}`,
      )
    : Result.succeed(schedule)
}

const levels = {
  trace: "Trace",
  debug: "Debug",
  info: "Info",
  warn: "Warn",
  error: "Error",
  none: "None",
} as const satisfies Record<string, LogLevel.LogLevel>

export const logLevels = Object.keys(levels) as Array<keyof typeof levels>

export const logLevel: Parse<LogLevel.LogLevel> = (text) =>
  Result.map(oneOf(...logLevels)(text), (word) => levels[word])

/* A setting of a server: its variable, default, parser and meaning. */

export interface Setting<A> {
  readonly variable: string
  readonly fallback: string
  readonly parse: Parse<A>
  readonly meaning: string
  /** Whether the value must never be shown. */
  readonly secret?: boolean
}

export const setting = <A>(
  variable: string,
  fallback: string,
  parse: Parse<A>,
  meaning: string,
): Setting<A> => ({ variable, fallback, parse, meaning })

/** The values of settings by their names. */
export type ValuesOf<Settings> = {
  readonly [Name in keyof Settings]: Settings[Name] extends Setting<infer A> ? A : never
}
