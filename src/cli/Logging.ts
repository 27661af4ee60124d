/**
 * Where logs go: to the standard error stream, so that the standard output has only what was asked for. Log
 * lines never hold keys, tokens, secrets or metadata.
 */
import { Layer, Logger, References } from "effect"
import type { Config } from "../Config.ts"

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
