/** Hands spans of requests from the HTTP server to the exporter, which is made apart from it. */
import { Exit, Option, Tracer } from "effect"
import type { RequestSpan } from "../../http/request/RequestWatch.ts"

export class RequestSpans {
  #tracer: Tracer.Tracer | undefined

  /** Spans go to `tracer` from now on, which exports each at its end. */
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
