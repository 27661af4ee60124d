/**
 * Exports to an OpenTelemetry collector, and counts the losses.
 *
 * After a failure, Effect's exporter silently drops all data for a minute, and it waits for a reply
 * without a deadline. So each export succeeds for the exporter. This file retries exports, and
 * limits their time and number. One log line reports the first failure, another one the recovery.
 * The log of the process keeps every line.
 */
import { Cause, Effect, Exit, References, Schedule } from "effect"
import * as HttpClient from "effect/http/HttpClient"
import type * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as HttpClientResponse from "effect/http/HttpClientResponse"
import type { OtlpSerialization } from "effect/observability/OtlpSerialization"
import { limits } from "../../Limits.ts"
import type { Counter, Metrics } from "../../metrics/Metrics.ts"

type Signal = "logs" | "metrics" | "traces"

/** The data in the body of an export. */
interface Export {
  readonly signal: Signal
  readonly logLines: number
}

type Serialization = OtlpSerialization["Service"]
type Body = ReturnType<Serialization["logs"]>
type Attempt = Effect.Effect<unknown, unknown>

interface Outcomes {
  readonly succeeded: Counter
  readonly failed: Counter
}

export class Collector {
  readonly #exports = new WeakMap<Body, Export>()
  readonly #outcomes: Readonly<Record<Signal, Outcomes>>
  readonly #lostLogLines: Counter
  /** The signals whose last export failed. */
  readonly #failing = new Set<Signal>()
  /** `#lostLogLines` at the first failure. */
  #lostBefore = 0
  #underWay = 0

  constructor(metrics: Metrics) {
    const outcomes = (signal: Signal): Outcomes => ({
      succeeded: metrics.counter("laurel_otlp_exports_total", { signal, outcome: "succeeded" }),
      failed: metrics.counter("laurel_otlp_exports_total", { signal, outcome: "failed" }),
    })
    this.#outcomes = {
      logs: outcomes("logs"),
      metrics: outcomes("metrics"),
      traces: outcomes("traces"),
    }
    this.#lostLogLines = metrics.counter("laurel_otlp_lost_log_lines_total")
  }

  /** `serialization` that records the data of each body. */
  noting(serialization: Serialization): Serialization {
    const noted = (body: Body, signal: Signal, logLines: number): Body => {
      this.#exports.set(body, { signal, logLines })
      return body
    }
    return {
      ...serialization,
      logs: (data) => noted(serialization.logs(data), "logs", logLinesOf(data)),
      metrics: (data) => noted(serialization.metrics(data), "metrics", 0),
      traces: (data) => noted(serialization.traces(data), "traces", 0),
    }
  }

  /** A client that exports through `client` and always succeeds. */
  sendingBy(client: HttpClient.HttpClient): HttpClient.HttpClient {
    const trying = client.pipe(
      HttpClient.filterStatusOk,
      HttpClient.retryTransient({
        schedule: Schedule.spaced(limits.otlpRetryMs),
        times: limits.otlpRetriesMax,
      }),
    )
    return HttpClient.make((request) => {
      const attempt = trying.execute(request).pipe(
        Effect.flatMap((response) => response.arrayBuffer),
        Effect.timeout(limits.otlpExportMs),
      )
      return Effect.as(this.#watch(request, attempt), took(request))
    })
  }

  #watch(request: HttpClientRequest.HttpClientRequest, attempt: Attempt): Effect.Effect<void> {
    const exported = this.#exports.get(request.body) ?? { signal: "metrics", logLines: 0 }
    if (this.#underWay >= limits.otlpExportsUnderWayMax) {
      return this.#failed(exported, "earlier exports are still in progress")
    }
    this.#underWay++
    return Effect.onExit(Effect.exit(attempt), () => Effect.sync(() => this.#underWay--)).pipe(
      Effect.flatMap((exit) =>
        Exit.isSuccess(exit)
          ? this.#succeeded(exported)
          : this.#failed(exported, reasonOf(Cause.squash(exit.cause))),
      ),
    )
  }

  #succeeded({ signal }: Export): Effect.Effect<void> {
    this.#outcomes[signal].succeeded.increment()
    if (!this.#failing.delete(signal) || this.#failing.size > 0) return Effect.void
    return Effect.logInfo("OpenTelemetry export resumed").pipe(
      onlyWith({ lostLogLines: this.#lostLogLines.value - this.#lostBefore }),
    )
  }

  #failed({ logLines, signal }: Export, cause: string): Effect.Effect<void> {
    const isFirst = this.#failing.size === 0
    if (isFirst) this.#lostBefore = this.#lostLogLines.value
    this.#failing.add(signal)
    this.#outcomes[signal].failed.increment()
    this.#lostLogLines.add(logLines)
    if (!isFirst) return Effect.void
    return Effect.logWarning(
      "OpenTelemetry export failed; the collector loses log lines, metrics and spans until it answers",
    ).pipe(onlyWith({ signal, cause }))
  }
}

/** Annotations of log lines. The annotations of the exporter name its package, and are dropped. */
const onlyWith = (annotations: Readonly<Record<string, unknown>>) =>
  Effect.provideService(References.CurrentLogAnnotations, annotations)

const logLinesOf = ({ resourceLogs }: Parameters<Serialization["logs"]>[0]): number => {
  let lines = 0
  for (const { scopeLogs } of resourceLogs) {
    for (const { logRecords = [] } of scopeLogs) lines += logRecords.length
  }
  return lines
}

const took = (request: HttpClientRequest.HttpClientRequest) =>
  HttpClientResponse.fromWeb(request, new Response(null, { status: 204 }))

/** Why an export failed, without the data that was sent. */
const reasonOf = (error: unknown): string => {
  if (Cause.isTimeoutError(error)) return `no answer within ${limits.otlpExportMs / 1_000} seconds`
  const { cause, response } = error as {
    readonly cause?: unknown
    readonly response?: { readonly status: number }
  }
  if (response !== undefined) return `status ${response.status}`
  const inner = (cause as { readonly cause?: unknown } | undefined)?.cause ?? cause
  const { code, message } = (inner ?? {}) as NodeJS.ErrnoException
  return code ?? message ?? "not reachable"
}
