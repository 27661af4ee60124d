/**
 * Logs, metrics and spans for an OpenTelemetry collector, over OTLP/HTTP with Protobuf. Loaded only
 * if an endpoint is configured. A collector that does not answer loses data, which `Collector`
 * counts, and costs nothing else.
 */

import { randomUUID } from "node:crypto"
import { Effect, Exit, Layer, Option, Tracer } from "effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as HttpClient from "effect/http/HttpClient"
import * as OtlpExporter from "effect/observability/OtlpExporter"
import * as OtlpLogger from "effect/observability/OtlpLogger"
import * as OtlpMetrics from "effect/observability/OtlpMetrics"
import * as OtlpSerialization from "effect/observability/OtlpSerialization"
import * as OtlpTracer from "effect/observability/OtlpTracer"
import { version } from "../../Build.ts"
import type { RequestSpan } from "../../http/request/RequestWatch.ts"
import { limits } from "../../Limits.ts"
import type { Metrics } from "../../metrics/Metrics.ts"
import { Collector } from "./Collector.ts"

/* Passes spans of requests from the HTTP server to the exporter, which is made later. */

export class RequestSpans {
  #tracer: Tracer.Tracer | undefined

  /** From now on spans go to `tracer`, which exports each span at its end. */
  exportBy(tracer: Tracer.Tracer): void {
    this.#tracer = tracer
  }

  /** The request has just ended. */
  readonly ended = ({ attributes, durationMs, failed, name, parent }: RequestSpan): void => {
    const endedAt = BigInt(Date.now()) * 1_000_000n
    const { parentSpanId: spanId, traceId } = parent
    const span = this.#tracer?.span({
      name,
      parent: Option.some(Tracer.externalSpan({ spanId, traceId })),
      annotations: Tracer.externalSpan({ spanId, traceId }).annotations,
      links: [],
      kind: "server",
      startTime: endedAt - BigInt(Math.round(durationMs * 1_000_000)),
      root: false,
      sampled: true,
    })
    if (span === undefined) return
    for (const [key, value] of Object.entries(attributes)) span.attribute(key, value)
    const { "http.response.status_code": status } = attributes
    span.end(endedAt, failed ? Exit.die(`status ${status}`) : Exit.void)
  }
}

interface TelemetryOptions {
  /** The collector's base URL; `/v1/logs`, `/v1/metrics` and `/v1/traces` are appended. */
  readonly endpoint: string
  /** Sent with every export. */
  readonly headers: Readonly<Record<string, string>>
  /** Spans of requests. */
  readonly spans?: RequestSpans | undefined
}

/** Exports logs, metrics every `otlpMetricsEveryMs`, and the spans of `spans`. */
export const telemetryLayer = (
  { endpoint, headers, spans }: TelemetryOptions,
  metrics: Metrics,
  client: Layer.Layer<HttpClient.HttpClient> = FetchHttpClient.layer,
): Layer.Layer<never> => {
  const collector = new Collector(metrics)
  const base = endpoint.replace(/\/+$/, "")
  const common = {
    headers,
    resource: {
      serviceName: "laurel",
      serviceVersion: version,
      // The same id for logs, metrics and traces of this process.
      attributes: { "service.instance.id": randomUUID() },
    },
    shutdownTimeout: limits.otlpShutdownMs,
  }
  // Only for spans of requests: a tracer of the runtime would make a span for each named effect.
  const tracing = Effect.map(
    OtlpTracer.make({
      ...common,
      url: `${base}/v1/traces`,
      exportInterval: limits.otlpLogsEveryMs,
      maxBatchSize: limits.otlpLogsBatchMax,
    }),
    (tracer) => spans?.exportBy(tracer),
  )
  return Layer.mergeAll(
    spans === undefined ? Layer.empty : Layer.effectDiscard(tracing),
    OtlpLogger.layer({
      ...common,
      url: `${base}/v1/logs`,
      exportInterval: limits.otlpLogsEveryMs,
      maxBatchSize: limits.otlpLogsBatchMax,
    }),
    OtlpMetrics.layer({
      ...common,
      url: `${base}/v1/metrics`,
      exportInterval: limits.otlpMetricsEveryMs,
    }),
  ).pipe(
    Layer.provide([
      OtlpExporter.layerFlusher,
      Layer.effect(
        OtlpSerialization.OtlpSerialization,
        Effect.map(OtlpSerialization.OtlpSerialization, (protobuf) => collector.noting(protobuf)),
      ).pipe(Layer.provide(OtlpSerialization.layerProtobuf)),
      Layer.effect(
        HttpClient.HttpClient,
        Effect.map(HttpClient.HttpClient, (sender) => collector.sendingBy(sender)),
      ).pipe(Layer.provide(client)),
      Layer.succeedContext(metrics.context),
    ]),
  ) as Layer.Layer<never>
}
