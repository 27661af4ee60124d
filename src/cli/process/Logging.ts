/**
 * Where logs go: to the standard error stream, so that the standard output has only what was asked for, and to
 * a collector where one is configured. Entries logged while a request is served have its `requestId`. Log lines
 * never hold keys, tokens, secrets or metadata.
 */
import { Effect, Layer, Logger, References } from "effect"
import type { Config } from "../../config/Config.ts"
import type { Metrics } from "../../metrics/Metrics.ts"
import type { RequestSpans } from "./RequestSpans.ts"

type LogOptions = Pick<Config, "logFormat" | "logLevel">

const loggerOf = (format: Config["logFormat"], terminal: boolean): Logger.Logger<unknown, void> => {
  switch (format) {
    case "auto":
      return loggerOf(terminal ? "pretty" : "json", terminal)
    case "pretty":
      return Logger.consolePretty({ mode: "tty", colors: terminal })
    case "json":
      return Logger.withConsoleError(Logger.formatJson)
    case "logfmt":
      return Logger.withConsoleError(Logger.formatLogFmt)
  }
}

/** Logs as configured; by default only what needs attention. */
export const loggingLayer = (
  { logFormat, logLevel }: LogOptions = { logFormat: "pretty", logLevel: "Warn" },
): Layer.Layer<never> =>
  Layer.mergeAll(
    Logger.layer([loggerOf(logFormat, process.stderr.isTTY === true)]),
    Layer.succeed(Logger.LogToStderr, true),
    Layer.succeed(References.MinimumLogLevel, logLevel),
  )

/** The same, and the export of logs, metrics and spans where that is configured. */
export const observabilityLayer = (
  config: Config,
  metrics: Metrics,
  spans?: RequestSpans,
): Layer.Layer<never> => {
  const { otlpEndpoint: endpoint, otlpHeaders: headers } = config
  const logging = loggingLayer(config)
  if (endpoint === undefined) return logging
  const telemetry = Effect.map(
    Effect.promise(() => import("./Telemetry.ts")),
    ({ telemetryLayer }) => telemetryLayer({ endpoint, headers, spans }, metrics),
  )
  return Layer.provideMerge(Layer.unwrap(telemetry), logging)
}
