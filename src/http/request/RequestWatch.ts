/**
 * Records requests for the operator: metrics, a line of the access log for each request, a log line
 * for a slow request, and a span for a slow or failed request of a sampled trace.
 *
 * - Everything but the metrics is off by default. A request then costs a comparison; with the
 *   access log it costs the making of its line.
 * - Lines contain text from outside, as JSON, which escapes quotes and control characters. Node's
 *   parser accepts only printable ASCII in a path, and `requestIdOf` in an id, so no line can
 *   control a terminal. Lines leave out queries, which may have personal data, and the id of a user
 *   in a path. Of a key or token they have the key's id.
 * - `slowLinesPerMinuteMax` and `spansPerMinuteMax` bound slow lines and spans.
 * - A reply is recorded when its head is written; a streamed reply when it has ended.
 */
import type { Socket } from "node:net"
import { Effect } from "effect"
import { limits } from "../../Limits.ts"
import {
  type ClientAddress,
  clientAddress,
  connectionAddress,
  type TrustedProxies,
} from "./ClientAddress.ts"
import type { Exchange, RunForRequest } from "./Exchange.ts"
import type { TraceParent } from "./RequestHead.ts"

/** Allows a number per minute: that number at once, and then as time refills it. */
export class Quota {
  readonly #perMinute: number
  #left: number
  #filledAt = Number.NEGATIVE_INFINITY
  #refused = 0

  constructor(perMinute: number) {
    this.#perMinute = perMinute
    this.#left = perMinute
  }

  /** `nowMs` is a clock that never goes back. */
  take(nowMs: number): boolean {
    const back = ((nowMs - this.#filledAt) / 60_000) * this.#perMinute
    this.#left = Math.min(this.#perMinute, this.#left + back)
    this.#filledAt = nowMs
    if (this.#left < 1) {
      this.#refused++
      return false
    }
    this.#left--
    return true
  }

  /** The number that was refused since the last call. */
  takeRefused(): number {
    const refused = this.#refused
    this.#refused = 0
    return refused
  }
}

/** A slow or failed request that has just ended, for a collector. Times are milliseconds. */
export interface RequestSpan {
  readonly parent: TraceParent
  readonly name: string
  readonly durationMs: number
  readonly failed: boolean
  readonly attributes: Readonly<Record<string, string | number>>
}

export interface WatchOptions {
  /** The duration from which a request is slow; `null`: no request is. */
  readonly slowMs?: number | null
  /** Receives a line of the access log: a JSON object on one line, in ASCII. */
  readonly accessLog?: ((line: string) => void) | undefined
  /** Whether requests' `traceparent` fields are read. */
  readonly tracing?: boolean
  readonly spans?: ((span: RequestSpan) => void) | undefined
}

/** The status of a request that got no reply, because the client disconnected. */
const clientLeft = null

export class RequestWatch {
  readonly addressOf: ClientAddress
  readonly tracing: boolean
  readonly #slowMs: number
  readonly #accessLog: WatchOptions["accessLog"]
  readonly #spans: WatchOptions["spans"]
  readonly #slowLines = new Quota(limits.slowLinesPerMinuteMax)
  readonly #spanQuota = new Quota(limits.spansPerMinuteMax)

  /** `trusted` are the proxies whose header field names the client. */
  constructor(options: WatchOptions = {}, trusted?: TrustedProxies) {
    this.addressOf = clientAddress(trusted)
    this.tracing = options.tracing ?? false
    this.#slowMs = options.slowMs ?? Number.POSITIVE_INFINITY
    this.#accessLog = options.accessLog
    this.#spans = options.spans
  }

  /** Records a reply when its head is written. */
  answered(exchange: Exchange, status: number, run?: RunForRequest): void {
    const durationMs = ageOf(exchange)
    exchange.metrics?.answered(status, durationMs)
    const slow = durationMs >= this.#slowMs
    if (slow) this.#slow(exchange, status, durationMs, run)
    if (this.#spans !== undefined && (slow || isFailure(status))) {
      this.#span(exchange, status, durationMs)
    }
    if (this.#accessLog === undefined) return
    if (!exchange.streams) this.#log(exchange, status, durationMs)
    else exchange.response.once("close", () => this.#log(exchange, status, ageOf(exchange)))
  }

  /** Records a client that disconnected before the reply. */
  missed(exchange: Exchange): void {
    if (this.#accessLog === undefined || exchange.missed) return
    this.#log(exchange, clientLeft, ageOf(exchange))
  }

  /**
   * Records the reply to malformed HTTP. `latest` is the last request of the connection, if its
   * body broke off.
   */
  malformed(status: number, { remoteAddress }: Socket, latest?: Exchange): void {
    if (this.#accessLog === undefined) return
    if (latest?.request.complete === false) {
      this.#log(latest, status, ageOf(latest))
      latest.missed = true
    } else {
      this.#accessLog(`{"status":${status},"address":${quoted(connectionAddress(remoteAddress))}}`)
    }
  }

  #log(exchange: Exchange, status: number | null, durationMs: number): void {
    const { bytes, caller, path, request, requestId, route, trace } = exchange
    const ms = Math.round(durationMs * 1_000) / 1_000
    const traceId = trace === undefined ? "" : `"traceId":"${trace.traceId}",`
    this.#accessLog?.(
      `{"requestId":${quoted(requestId)},${traceId}"key":${caller === undefined ? "null" : quoted(caller.keyId)},"method":${quoted(request.method ?? "")},"route":${route === undefined ? "null" : quoted(route)},"path":${quoted(loggedPath(path))},"status":${status},"bytes":${request.method === "HEAD" ? 0 : bytes},"durationMs":${ms},"address":${quoted(this.addressOf(request))}}`,
    )
  }

  #slow(exchange: Exchange, status: number, durationMs: number, run?: RunForRequest): void {
    if (run === undefined || !this.#slowLines.take(performance.now())) return
    const { caller, path, request, route } = exchange
    const line = {
      method: request.method,
      route,
      path: shortened(loggedPath(path)),
      status,
      durationMs: Math.round(durationMs),
      key: caller?.keyId,
      notLogged: this.#slowLines.takeRefused() || undefined,
    }
    run(Effect.annotateLogs(Effect.logWarning("A request was slow"), definedOf(line)), exchange)
  }

  #span(exchange: Exchange, status: number, durationMs: number): void {
    const { caller, path, request, requestId, route, trace } = exchange
    if (trace === undefined || !trace.sampled) return
    if (!this.#spanQuota.take(performance.now())) return
    const attributes = {
      "http.request.method": request.method,
      "http.route": route,
      "url.path": shortened(loggedPath(path)),
      "http.response.status_code": status,
      "client.address": this.addressOf(request),
      "laurel.request_id": requestId,
      "laurel.key_id": caller?.keyId,
    }
    this.#spans?.({
      parent: trace,
      name: route === undefined ? `${request.method}` : `${request.method} ${route}`,
      durationMs,
      failed: isFailure(status),
      attributes: definedOf(attributes),
    })
  }
}

/**
 * A path as logs have it. The id of a user and the rest of the path are left out, since a log
 * outlives an erasure.
 */
export const loggedPath = (path: string): string => {
  const at = path.indexOf(users)
  return at === -1 ? path : `${path.slice(0, at + users.length)}...`
}

const users = "/users/"

/**
 * Whether the status is a failure of this server. 503 is a deliberate refusal, possibly thousands a
 * second, which metrics count.
 */
const isFailure = (status: number): boolean => status >= 500 && status !== 503

const ageOf = ({ startedAt }: Exchange): number => performance.now() - startedAt

const shortened = (path: string): string =>
  path.length <= limits.loggedPathCharactersMax
    ? path
    : `${path.slice(0, limits.loggedPathCharactersMax)}...`

const definedOf = <A>(object: Readonly<Record<string, A | undefined>>): Record<string, A> =>
  Object.fromEntries(
    Object.entries(object).filter((entry): entry is [string, A] => entry[1] !== undefined),
  )

/** The text as a JSON string. */
const quoted = (text: string): string => JSON.stringify(shortened(text))
