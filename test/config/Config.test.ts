import { describe, expect, it } from "@effect/vitest"
import { Result } from "effect"
import { bucketOf } from "../../src/config/BucketSettings.ts"
import {
  archivesIn,
  describeSettings,
  type Environment,
  erasureMsOf,
  readConfig,
} from "../../src/config/Config.ts"
import { limits } from "../../src/Limits.ts"
import { defaultSchedule } from "../../src/webhooks/endpoint/RetrySchedule.ts"

const configOf = (environment: Environment) => Result.getOrThrow(readConfig(environment).config)

const faultsOf = (environment: Environment) =>
  Result.getOrThrow(Result.flip(readConfig(environment).config))

describe("The configuration", () => {
  it("has a safe default for everything", () => {
    const { webhookAllowedRanges, ...rest } = configOf({})
    expect(rest).toEqual({
      host: "127.0.0.1",
      historyMs: null,
      port: 8080,
      keepAliveMs: 65_000,
      trustedProxies: undefined,
      trustedProxyField: "x-forwarded-for",
      publicUrl: undefined,
      dashboard: "on",
      dashboardInsecure: false,
      adminHost: "127.0.0.1",
      adminPort: 8081,
      adminHostNames: [],
      cluster: undefined,
      clusterAddress: "127.0.0.1:8082",
      clusterLockExpirationMs: 10_000,
      clusterFollowers: 1,
      dataDirectory: "./snapshots",
      durability: "fsync",
      snapshotIntervalMs: 30_000,
      clockJumpMsMax: 31 * 86_400_000,
      archiveIntervalMs: 3_600_000,
      archiveDirectory: "",
      archiveBucket: undefined,
      bucketEndpoint: "",
      bucketRegion: "us-east-1",
      bucketKeyId: "",
      bucketSecret: "",
      bucketToken: "",
      archivesHourly: 24,
      archivesDaily: 7,
      stateBytesMax: expect.any(Number),
      shutdownGraceMs: 10_000,
      webhookRequireHttps: true,
      webhookRetrySchedule: defaultSchedule,
      webhookRetentionMs: 6 * 86_400_000,
      webhooksMax: 50,
      webhookPendingMax: 1_000_000,
      webhookLogMax: 10_000,
      logLevel: "Info",
      logFormat: "auto",
      accessLog: "off",
      slowRequestMs: 1_000,
      tracing: "off",
      otlpEndpoint: undefined,
      otlpHeaders: {},
    })
    expect(webhookAllowedRanges.includes("10.0.0.1")).toBe(false)
  })

  it("reads the variables, and treats an empty one as unset", () => {
    const config = configOf({
      LAUREL_HOST: "::1",
      LAUREL_PORT: "0",
      LAUREL_ADMIN_HOST: "localhost",
      LAUREL_ADMIN_PORT: "",
      LAUREL_DATA_DIR: " /var/lib/laurel ",
      LAUREL_DURABILITY: "relaxed",
      LAUREL_SNAPSHOT_INTERVAL: "2 minutes",
      LAUREL_WEBHOOK_ALLOW_CIDR: "10.1.0.0/16, fd00::/8",
      LAUREL_TRUSTED_PROXIES: "192.0.2.1, ::1, fd00::/8",
      LAUREL_TRUSTED_PROXY_HEADER: "forwarded",
      LAUREL_WEBHOOK_REQUIRE_HTTPS: "false",
      LAUREL_WEBHOOK_RETRY_SCHEDULE: "0, 5,60",
      LAUREL_WEBHOOK_RETENTION: "2 days",
      LAUREL_WEBHOOKS_MAX: "1000",
      LAUREL_WEBHOOK_PENDING_MAX: "10",
      LAUREL_WEBHOOK_LOG_MAX: "20",
      LAUREL_LOG_LEVEL: "warn",
      LAUREL_LOG_FORMAT: "logfmt",
      LAUREL_ACCESS_LOG: "stderr",
      LAUREL_SLOW_REQUEST: "off",
      LAUREL_TRACING: "on",
      LAUREL_OTLP_ENDPOINT: "https://collector.example:4318/otlp",
      LAUREL_OTLP_HEADERS: "Authorization=Bearer%20x%2Cy, api-key = k=1",
    })
    expect(config).toMatchObject({
      host: "::1",
      port: 0,
      adminHost: "localhost",
      adminPort: 8081,
      dataDirectory: "/var/lib/laurel",
      durability: "relaxed",
      snapshotIntervalMs: 120_000,
      webhookRequireHttps: false,
      webhookRetrySchedule: [0, 5_000, 60_000],
      webhookRetentionMs: 2 * 86_400_000,
      webhooksMax: 1_000,
      webhookPendingMax: 10,
      webhookLogMax: 20,
      logLevel: "Warn",
      logFormat: "logfmt",
      accessLog: "stderr",
      slowRequestMs: null,
      tracing: "on",
      otlpEndpoint: "https://collector.example:4318/otlp",
      otlpHeaders: { authorization: "Bearer x,y", "api-key": "k=1" },
    })
    expect(config.webhookAllowedRanges.includes("10.1.2.3")).toBe(true)
    expect(config.webhookAllowedRanges.includes("fd12::1")).toBe(true)
    expect(config.webhookAllowedRanges.includes("10.2.0.1")).toBe(false)
    const trusted = ["192.0.2.1", "192.0.2.2", "::1", "fd12::1"].filter((address) =>
      config.trustedProxies?.includes(address),
    )
    expect(trusted).toEqual(["192.0.2.1", "::1", "fd12::1"])
  })

  it("keeps each header field of a collector, also one with a name that objects inherit", () => {
    const config = configOf({ LAUREL_OTLP_HEADERS: "__proto__=a,constructor=b" })
    expect(Object.entries(config.otlpHeaders)).toEqual([
      ["__proto__", "a"],
      ["constructor", "b"],
    ])
  })

  it("names every fault at once, a line each, with the variable and its value", () => {
    const faults = faultsOf({
      LAUREL_HOST: "not a host",
      LAUREL_PORT: "65536",
      LAUREL_ADMIN_PORT: "8080.5",
      LAUREL_DURABILITY: "FSYNC",
      LAUREL_SNAPSHOT_INTERVAL: "30",
      LAUREL_STATE_MIB_MAX: "-1",
      LAUREL_WEBHOOK_ALLOW_CIDR: "10.0.0.0/33",
      LAUREL_TRUSTED_PROXIES: "10.0.0.0/8, proxy.internal",
      LAUREL_LOG_LEVEL: "loud",
      LAUREL_OTLP_ENDPOINT: "collector:4318",
      LAUREL_OTLP_HEADERS: "a-secret-without-a-name",
    })
    expect(faults).toEqual([
      'LAUREL_HOST is "not a host": it must be an IP address or a host name.',
      'LAUREL_PORT is "65536": it must be a whole number from 0 to 65535.',
      'LAUREL_TRUSTED_PROXIES is "10.0.0.0/8, proxy.internal": it must be comma-separated addresses or ranges, such as 10.0.0.5,fd00::/8.',
      'LAUREL_ADMIN_PORT is "8080.5": it must be a whole number from 0 to 65535.',
      'LAUREL_DURABILITY is "FSYNC": it must be one of fsync, relaxed.',
      'LAUREL_SNAPSHOT_INTERVAL is "30": it must be a duration such as "30 seconds", from 100ms to 1d.',
      'LAUREL_STATE_MIB_MAX is "-1": it must be half, or a whole number from 64 to 16777216.',
      'LAUREL_WEBHOOK_ALLOW_CIDR is "10.0.0.0/33": it must be comma-separated CIDRs, such as 10.1.0.0/16,fd00::/8.',
      'LAUREL_LOG_LEVEL is "loud": it must be one of trace, debug, info, warn, error, none.',
      'LAUREL_OTLP_ENDPOINT is "collector:4318": it must be an http or https URL without credentials, such as http://127.0.0.1:4318.',
      "LAUREL_OTLP_HEADERS must be comma-separated header fields such as name=value.",
    ])
  })

  it("never shows the header fields of a collector, however wrong they are", () => {
    for (const fields of [
      "s3cret",
      "=s3cret",
      "a b=s3cret",
      "a=%zzs3cret",
      "a=s3cret%0a",
      "a=1,s3cret",
    ]) {
      const [fault, ...more] = faultsOf({ LAUREL_OTLP_HEADERS: fields })
      expect([fault, more]).toEqual([expect.stringMatching(/^LAUREL_OTLP_HEADERS must be/), []])
      expect(fault).not.toContain("s3cret")
    }
    const withPassword = faultsOf({ LAUREL_OTLP_ENDPOINT: "http://me:word@host" })
    expect(withPassword).toHaveLength(1)
  })

  it("takes the address of a PostgreSQL, and never shows it: it may have a password", () => {
    const address = "postgresql://laurel:secret@db.example.com:5432/laurel?sslmode=require"
    expect(configOf({ LAUREL_CLUSTER: address }).cluster).toBe(address)
    for (const wrong of ["db.example.com", "mysql://laurel:secret@db/laurel"]) {
      const [fault] = faultsOf({ LAUREL_CLUSTER: wrong })
      expect(fault).toContain("LAUREL_CLUSTER must be an address")
      expect(fault).not.toContain("secret")
    }
    for (const [query, words] of [
      ["sslmode=prefer", "must have an sslmode of disable, require, verify-ca, verify-full"],
      ["sslmode=Require", "must have an sslmode of"],
      ["sslmode=verify-ca", "must have an sslrootcert if its sslmode is verify-ca"],
    ]) {
      expect(faultsOf({ LAUREL_CLUSTER: `postgres://laurel@db/laurel?${query}` })).toEqual([
        expect.stringContaining(`LAUREL_CLUSTER ${words}`),
      ])
    }
    const verifying = "postgres://laurel@db/laurel?sslmode=verify-ca&sslrootcert=/etc/ca.pem"
    expect(configOf({ LAUREL_CLUSTER: verifying }).cluster).toBe(verifying)
  })

  it("refuses hosts that are neither address nor name, and durations out of bounds", () => {
    for (const host of ["256.0.0.1", "1.2.3", "http://x", "a b", "-x", "::g"]) {
      expect(faultsOf({ LAUREL_HOST: host })).toHaveLength(1)
    }
    for (const interval of ["99 millis", "25 hours", "-1 second", "Infinity", "soon"]) {
      expect(faultsOf({ LAUREL_SNAPSHOT_INTERVAL: interval })).toHaveLength(1)
    }
    expect(configOf({ LAUREL_SNAPSHOT_INTERVAL: "100 millis" }).snapshotIntervalMs).toBe(100)
    expect(configOf({ LAUREL_SNAPSHOT_INTERVAL: "24 hours" }).snapshotIntervalMs).toBe(86_400_000)
  })

  it("takes the times of archives, and off for none", () => {
    const archives = configOf({
      LAUREL_ARCHIVE_INTERVAL: "15 minutes",
      LAUREL_ARCHIVE_DIR: "/mnt/archive",
      LAUREL_ARCHIVE_HOURLY: "0",
      LAUREL_ARCHIVE_DAILY: "10000",
    })
    expect(archives).toMatchObject({
      archiveIntervalMs: 900_000,
      archiveDirectory: "/mnt/archive",
      archivesHourly: 0,
      archivesDaily: 10_000,
    })
    for (const jump of ["1 hour", "36500 days"]) {
      expect(configOf({ LAUREL_CLOCK_JUMP_MAX: jump }).clockJumpMsMax).toBeGreaterThan(0)
    }
    for (const jump of ["59 minutes", "36501 days", "off"]) {
      expect(faultsOf({ LAUREL_CLOCK_JUMP_MAX: jump })).toEqual([
        expect.stringMatching(/from 1h to 36500d\.$/),
      ])
    }
    expect(configOf({}).historyMs).toBeNull()
    expect(configOf({ LAUREL_HISTORY_DAYS: "all" }).historyMs).toBeNull()
    for (const days of [limits.historyDaysMin, limits.historyDaysMax]) {
      expect(configOf({ LAUREL_HISTORY_DAYS: `${days}` }).historyMs).toBe(days * 86_400_000)
    }
    for (const days of ["6", "36501", "off", "7.5"]) {
      expect(faultsOf({ LAUREL_HISTORY_DAYS: days })).toEqual([
        expect.stringMatching(/from 7 to 36,?500, or "all"\.$/),
      ])
    }
    expect(configOf({ LAUREL_ARCHIVE_INTERVAL: "off" }).archiveIntervalMs).toBeNull()
    for (const interval of ["1 minute", "31 days"]) {
      expect(configOf({ LAUREL_ARCHIVE_INTERVAL: interval }).archiveIntervalMs).not.toBeNull()
    }
    for (const interval of ["59 seconds", "32 days", "never"]) {
      expect(faultsOf({ LAUREL_ARCHIVE_INTERVAL: interval })).toEqual([
        expect.stringMatching(/from 1m to 31d, or "off"\.$/),
      ])
    }
    expect(faultsOf({ LAUREL_ARCHIVE_HOURLY: "10001", LAUREL_ARCHIVE_DAILY: "-1" })).toHaveLength(2)
    expect(archivesIn(configOf({ LAUREL_DATA_DIR: "/data" }))).toBe("/data/archive")
    expect(archivesIn(archives)).toBe("/mnt/archive")
  })

  it("returns the deadline of an erasure: two weeks, or later with longer retention", () => {
    const days = (environment: Record<string, string>) =>
      erasureMsOf(configOf(environment)) / 86_400_000
    expect(days({})).toBe(14)
    expect(days({ LAUREL_ARCHIVE_INTERVAL: "off", LAUREL_ARCHIVE_DAILY: "30" })).toBe(14)
    expect(days({ LAUREL_ARCHIVE_DAILY: "30" })).toBeGreaterThan(31)
    expect(days({ LAUREL_ARCHIVE_HOURLY: "480" })).toBeGreaterThan(20)
    expect(days({ LAUREL_ARCHIVE_INTERVAL: "7 days" })).toBeGreaterThan(7 * 24)
    expect(days({ LAUREL_SNAPSHOT_INTERVAL: "1 day" })).toBeGreaterThan(15)
    // A bucket keeps what its archives shared for some days more.
    const bucket = {
      LAUREL_ARCHIVE_BUCKET: "s3://my-bucket",
      AWS_ACCESS_KEY_ID: "AKIA",
      AWS_SECRET_ACCESS_KEY: "s3cret",
    }
    const month = { LAUREL_ARCHIVE_DAILY: "30" }
    expect(days({ ...month, ...bucket })).toBe(days(month) + 4)
    // A cluster also has copies that were set aside.
    const cluster = { LAUREL_CLUSTER: "postgres://db/laurel", LAUREL_DASHBOARD: "off" }
    const kept = { ...cluster, LAUREL_ARCHIVE_DIR: "/mnt/archive" }
    const archiveDays = limits.archivesDaily + 1
    const keptDays = archiveDays + limits.leftoverKeptMs / 86_400_000
    expect(days(kept)).toBeGreaterThan(keptDays)
    expect(days(kept)).toBeLessThan(keptDays + 7)
    expect(days({ ...cluster, ...bucket })).toBeGreaterThan(keptDays)
    // Without archives only the journal and copies that were set aside.
    expect(days({ ...kept, LAUREL_ARCHIVE_INTERVAL: "off" })).toBe(14)
  })

  it("reads a bucket, and the variables that programs for S3 share where there is one", () => {
    const shared = { AWS_ACCESS_KEY_ID: "AKIA", AWS_SECRET_ACCESS_KEY: "s3cret" }
    const placeOf = (variables: Record<string, string>) => bucketOf(configOf(variables))
    expect(placeOf({ ...shared, AWS_ENDPOINT_URL: "nonsense" })).toBeUndefined()
    const LAUREL_ARCHIVE_BUCKET = "s3://my-bucket"
    expect(placeOf({ ...shared, LAUREL_ARCHIVE_BUCKET })).toEqual({
      bucket: "my-bucket",
      prefix: "",
      endpoint: "https://s3.us-east-1.amazonaws.com",
      region: "us-east-1",
      accessKeyId: "AKIA",
      secretAccessKey: "s3cret",
      sessionToken: undefined,
    })
    const all = {
      ...shared,
      LAUREL_ARCHIVE_BUCKET: "s3://my-bucket/a/b_1.c/",
      AWS_ENDPOINT_URL: "https://minio.internal:9000",
      AWS_REGION: "eu-central-1",
      AWS_SESSION_TOKEN: "t0ken",
    }
    expect(placeOf(all)).toMatchObject({
      prefix: "a/b_1.c/",
      endpoint: "https://minio.internal:9000",
      region: "eu-central-1",
      sessionToken: "t0ken",
    })
    const longest = `s3://my-bucket/${"x".repeat(limits.bucketPrefixCharactersMax)}`
    expect(placeOf({ ...shared, LAUREL_ARCHIVE_BUCKET: longest })?.prefix).toHaveLength(513)
    for (const wrong of [
      `${longest}x`,
      "my-bucket",
      "https://my-bucket",
      "s3://My-bucket",
      "s3://a..b",
      "s3://my-bucket//a",
      "s3://my-bucket/../a",
      "s3://my-bucket/a b",
    ]) {
      expect(faultsOf({ ...shared, LAUREL_ARCHIVE_BUCKET: wrong })).toEqual([
        expect.stringMatching(/^LAUREL_ARCHIVE_BUCKET is ".*": it must be s3:\/\/bucket or/),
      ])
    }
  })

  it("names what a bucket lacks, and shows no secret and no address with one", () => {
    const LAUREL_ARCHIVE_BUCKET = "s3://my-bucket"
    expect(faultsOf({ LAUREL_ARCHIVE_BUCKET })).toEqual([
      "LAUREL_ARCHIVE_BUCKET needs AWS_ACCESS_KEY_ID.",
      "LAUREL_ARCHIVE_BUCKET needs AWS_SECRET_ACCESS_KEY.",
    ])
    const wrong = {
      LAUREL_ARCHIVE_BUCKET,
      AWS_ACCESS_KEY_ID: "AK IA",
      AWS_SECRET_ACCESS_KEY: "hidden\nhidden",
      AWS_SESSION_TOKEN: "hiddén",
      AWS_REGION: "eu central",
      AWS_ENDPOINT_URL: "https://user:hidden@minio.internal",
    }
    const ascii = "must have visible ASCII characters, without spaces."
    expect(faultsOf(wrong)).toEqual([
      `AWS_ACCESS_KEY_ID ${ascii}`,
      `AWS_SECRET_ACCESS_KEY ${ascii}`,
      `AWS_SESSION_TOKEN ${ascii}`,
      'AWS_REGION is "eu central": it must be the name of a region.',
      "AWS_ENDPOINT_URL must be an http or https URL without credentials, such as http://127.0.0.1:9000.",
    ])
  })

  it("warns of unknown LAUREL_ variables", () => {
    const known = { LAUREL_PORT: "1", LAUREL_KEY: "lk_test_x" }
    const { config, warnings } = readConfig({ ...known, LAUREL_PROT: "1", LAUREL: "x", PATH: "y" })
    expect(Result.isSuccess(config)).toBe(true)
    expect(warnings).toEqual(["LAUREL_PROT is not a setting and has no effect; is it misspelt?"])
  })

  it("describes each of its settings with its default", () => {
    expect(describeSettings()).toContain("LAUREL_PORT=8080\n      Port of the API")
    expect(describeSettings().match(/LAUREL_\w+=/g)).toHaveLength(41)
  })
})
