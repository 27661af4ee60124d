import { readFileSync } from "node:fs"
import { resolve } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { Result } from "effect"
import { describeSettings, type Environment, readConfig } from "../src/Config.ts"

const configOf = (environment: Environment) => Result.getOrThrow(readConfig(environment).config)

const faultsOf = (environment: Environment) =>
  Result.getOrThrow(Result.flip(readConfig(environment).config))

describe("The configuration", () => {
  it("has a safe default for everything", () => {
    const { webhookAllowedRanges, ...rest } = configOf({})
    expect(rest).toEqual({
      host: "127.0.0.1",
      port: 8080,
      adminHost: "127.0.0.1",
      adminPort: 8081,
      dataDirectory: "./snapshots",
      durability: "fsync",
      snapshotIntervalMs: 30_000,
      residentUsersMax: 200_000,
      shutdownGraceMs: 10_000,
      webhookRequireHttps: true,
      logLevel: "Info",
      logFormat: "auto",
    })
    expect(webhookAllowedRanges.includes("10.0.0.1")).toBe(false)
  })

  it("takes what is set, and an empty variable for one that is not", () => {
    const config = configOf({
      LAUREL_HOST: "::1",
      LAUREL_PORT: "0",
      LAUREL_ADMIN_HOST: "localhost",
      LAUREL_ADMIN_PORT: "",
      LAUREL_DATA_DIR: " /var/lib/laurel ",
      LAUREL_DURABILITY: "relaxed",
      LAUREL_SNAPSHOT_INTERVAL: "2 minutes",
      LAUREL_WEBHOOK_ALLOW_CIDR: "10.1.0.0/16, fd00::/8",
      LAUREL_WEBHOOK_REQUIRE_HTTPS: "false",
      LAUREL_LOG_LEVEL: "warn",
      LAUREL_LOG_FORMAT: "logfmt",
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
      logLevel: "Warn",
      logFormat: "logfmt",
    })
    expect(config.webhookAllowedRanges.includes("10.1.2.3")).toBe(true)
    expect(config.webhookAllowedRanges.includes("fd12::1")).toBe(true)
    expect(config.webhookAllowedRanges.includes("10.2.0.1")).toBe(false)
  })

  it("names every fault at once, a line each, with the variable and its value", () => {
    const faults = faultsOf({
      LAUREL_HOST: "not a host",
      LAUREL_PORT: "65536",
      LAUREL_ADMIN_PORT: "8080.5",
      LAUREL_DURABILITY: "FSYNC",
      LAUREL_SNAPSHOT_INTERVAL: "30",
      LAUREL_RESIDENT_USERS_MAX: "-1",
      LAUREL_WEBHOOK_ALLOW_CIDR: "10.0.0.0/33",
      LAUREL_LOG_LEVEL: "loud",
    })
    expect(faults).toEqual([
      'LAUREL_HOST is "not a host": it must be an IP address or a host name.',
      'LAUREL_PORT is "65536": it must be a whole number from 0 to 65535.',
      'LAUREL_ADMIN_PORT is "8080.5": it must be a whole number from 0 to 65535.',
      'LAUREL_DURABILITY is "FSYNC": it must be one of fsync, relaxed.',
      'LAUREL_SNAPSHOT_INTERVAL is "30": it must be a duration such as "30 seconds", from 100ms to 1d.',
      'LAUREL_RESIDENT_USERS_MAX is "-1": it must be a whole number from 1000 to 100000000.',
      'LAUREL_WEBHOOK_ALLOW_CIDR is "10.0.0.0/33": it must be CIDRs with commas between, such as 10.1.0.0/16,fd00::/8.',
      'LAUREL_LOG_LEVEL is "loud": it must be one of trace, debug, info, warn, error, none.',
    ])
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

  it("warns of variables that look like settings and are none", () => {
    const { config, warnings } = readConfig({ LAUREL_PROT: "1", LAUREL: "x", PATH: "y" })
    expect(Result.isSuccess(config)).toBe(true)
    expect(warnings).toEqual(["LAUREL_PROT is no setting and has no effect; is it misspelt?"])
  })

  it("describes each of its settings with its default", () => {
    expect(describeSettings()).toContain("LAUREL_PORT=8080\n      its port")
    expect(describeSettings().match(/LAUREL_\w+=/g)).toHaveLength(13)
  })

  it("stands in the README with the same variables", () => {
    const readme = readFileSync(resolve(import.meta.dirname, "../README.md"), "utf8")
    const told = [...readme.matchAll(/^\| `(LAUREL_\w+)` \|/gm)].map(([, variable]) => variable)
    const known = [...describeSettings().matchAll(/(LAUREL_\w+)=/g)].map(([, name]) => name)
    expect(told).toEqual(known)
  })
})
