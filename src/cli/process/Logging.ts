/**
 * Logs go to standard error, so that standard output has only the output of the command, and to a
 * collector if one is configured. Entries of a request have its `requestId`. Log lines never
 * contain keys, tokens, secrets or metadata.
 */
import { Effect, Layer, Logger, References, type Scope } from "effect"
import type { Config } from "../../config/Config.ts"
import { limits } from "../../Limits.ts"
import type { Counter, Metrics } from "../../metrics/Metrics.ts"
import type { RequestSpans } from "./Telemetry.ts"

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

/** Logs as configured; by default only warnings and errors. */
export const loggingLayer = (
  { logFormat, logLevel }: LogOptions = { logFormat: "pretty", logLevel: "Warn" },
): Layer.Layer<never> =>
  Layer.mergeAll(
    Logger.layer([loggerOf(logFormat, process.stderr.isTTY === true)]),
    Layer.succeed(Logger.LogToStderr, true),
    Layer.succeed(References.MinimumLogLevel, logLevel),
  )

/** The same, with the export of logs, metrics and spans if it is configured. */
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

/*
 * The access log: lines on a stream. Node keeps in memory what a pipe does not take. A slow or
 * stopped reader costs at most `accessLogBytesMax` of memory, then lines, and never delays a
 * request. Lost lines are counted. The lines of one turn of the event loop are one write.
 */

/** A stream of the process, as far as the log needs it. */
export type LogStream = Pick<NodeJS.WriteStream, "write" | "writable" | "writableLength" | "on">

export class AccessLog {
  readonly #stream: LogStream
  readonly #bytesMax: number
  readonly #lost: Counter
  /** Lines of this turn. */
  #lines = ""
  #broken = false

  constructor(stream: LogStream, metrics: Metrics, bytesMax = limits.accessLogBytesMax) {
    this.#stream = stream
    this.#bytesMax = bytesMax
    this.#lost = metrics.counter("laurel_access_log_lost_lines_total")
    stream.on("error", this.#fail)
  }

  /** `entry` is a JSON object in ASCII, on one line. */
  readonly write = (entry: string): void => {
    const line = `{"time":"${new Date().toISOString()}",${entry.slice(1)}\n`
    const bytes = this.#stream.writableLength + this.#lines.length + line.length
    if (this.#isBroken || bytes > this.#bytesMax) {
      this.#lost.increment()
      return
    }
    if (this.#lines === "") setImmediate(this.#flush)
    this.#lines += line
  }

  readonly #flush = (): void => {
    const lines = this.#lines
    this.#lines = ""
    if (lines !== "" && !this.#isBroken) this.#stream.write(lines)
  }

  get #isBroken(): boolean {
    return this.#broken || !this.#stream.writable
  }

  /** The reader is gone. Without a listener for the error, the process would end. */
  readonly #fail = (): void => {
    this.#broken = true
  }

  /** Ends when the reader has all lines, or the deadline has passed. */
  readonly close: Effect.Effect<void> = Effect.callback<void>((resume) => {
    this.#flush()
    if (this.#isBroken) resume(Effect.void)
    else this.#stream.write("", () => resume(Effect.void))
  }).pipe(Effect.timeoutOption(limits.accessLogFlushMs), Effect.asVoid)
}

/** Writes until the scope closes. */
export const openAccessLog = (
  stream: LogStream,
  metrics: Metrics,
): Effect.Effect<AccessLog, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => new AccessLog(stream, metrics)),
    ({ close }) => close,
  )
