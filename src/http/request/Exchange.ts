/**
 * One request and its reply. A reply is sent at most once, and not at all if the connection is
 * closed. It is sent in one piece or, after `begin`, in parts (`StreamedReply.ts`).
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Effect, Fiber } from "effect"
import type { Caller, RateLimitState } from "../../accounts/Accounts.ts"
import { version } from "../../Build.ts"
import { errorKinds, type LaurelError } from "../../domain/values/Errors.ts"
import type { LogAnnotations } from "../../engine/Engine.ts"
import { limits } from "../../Limits.ts"
import { problemContentType } from "../api/Problems.ts"
import { discardBody, hasBody } from "../body/Body.ts"
import { eventLoop, type Turns } from "../Turns.ts"
import { corsHeaders, preflightHeaders } from "./Cors.ts"
import type { Share } from "./FairShares.ts"
import { problemBody, problemHeaders } from "./Problem.ts"
import { originForm, requestIdOf, type TraceParent, traceParentOf } from "./RequestHead.ts"
import type { OperationMetrics } from "./RequestMetrics.ts"

/*
 * Sends the replies of one turn of the event loop together, at the end of the turn. Sending wakes a
 * waiting peer, which costs about as much as the rest of the system call. Of replies that are sent
 * close together, the first wakes the peer, and the others find it awake.
 *
 * A reply waits for at most `repliesTogetherMax - 1` others, and never for a large body: the reader
 * of a large body calls `send` first. Refusals by the parser, which end a socket, also call `send`
 * first, so that they follow the replies on their socket.
 */

export class Replies {
  readonly #turns: Turns
  #ready: Array<{ readonly response: ServerResponse; readonly body: string | Buffer }> = []
  #awaitsEnd = false

  constructor(turns: Turns = eventLoop) {
    this.#turns = turns
  }

  /** The number of replies that are ready. */
  get size(): number {
    return this.#ready.length
  }

  /**
   * Sends at the end of this turn. It is called for each request on arrival, before admission waits
   * for the same end, so that the turn that admission measures includes the sending.
   */
  awaitEnd(): void {
    if (this.#awaitsEnd) return
    this.#awaitsEnd = true
    this.#turns.atEnd(this.#endTurn)
  }

  /** Adds the body of a reply whose head is written. */
  add(response: ServerResponse, body: string | Buffer): void {
    this.awaitEnd()
    this.#ready.push({ response, body })
    if (this.#ready.length >= limits.repliesTogetherMax) this.send()
  }

  /** Sends the replies that are ready. */
  send(): void {
    if (this.#ready.length === 0) return
    const ready = this.#ready
    this.#ready = []
    for (const { body, response } of ready) if (!response.destroyed) response.end(body)
  }

  readonly #endTurn = (): void => {
    this.#awaitsEnd = false
    this.send()
  }
}

/** The replies of all servers of this process. */
export const replies = new Replies()

/** Names and values in turn. */
export type HeaderList = ReadonlyArray<string>

const none: HeaderList = []

/** Called once at the end of each exchange. */
interface ExchangeOwner {
  /** Whether every reply closes its connection. */
  readonly draining: boolean
  /** Whether requests' `traceparent` fields are read. */
  readonly watch: { readonly tracing: boolean }
  readonly answered: (exchange: Exchange, status: number) => void
  /** The caller disconnected before the reply. */
  readonly missed: (exchange: Exchange) => void
}

export interface RequestHandler extends ExchangeOwner {
  /** Answers a request, now or later. Never throws. */
  readonly handle: (exchange: Exchange) => void
}

/** Runs an effect for a request. Its log lines have the request's annotations. */
export type RunForRequest = <A, E>(
  effect: Effect.Effect<A, E>,
  exchange: Pick<Exchange, "annotations">,
) => Fiber.Fiber<A, E>

/** The owner of exchanges without metrics and traces. */
export const unwatched: ExchangeOwner = {
  draining: false,
  watch: { tracing: false },
  answered: () => {},
  missed: () => {},
}

export class Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly requestId: string
  /** The path as it was sent, without the query, and the text after its `?`. */
  readonly path: string
  readonly queryText: string
  /** Whether the caller waits for 100 Continue. */
  readonly expectsContinue: boolean
  /** Arrival of the head, in milliseconds of `performance.now()`. */
  readonly startedAt = performance.now()
  /** The metrics of the operation. */
  metrics: OperationMetrics | undefined = undefined
  /** The path of the operation, with parameters as `:id`. */
  route: string | undefined = undefined
  /** Bytes of the reply's body. */
  bytes = 0
  /** Whether the body is sent in parts. */
  streams = false
  /** Whether the caller disconnected before the reply. */
  missed = false
  /** Whether the request counts among the requests that wait for their reply. */
  inFlight = false
  /** Whether the body is being read. */
  reading = false
  /** The share of the environment; `undefined` until the request is authenticated. */
  share: Share | undefined = undefined
  /** Whether the operation runs: the request then counts among its share's waiting requests. */
  waiting = false
  /** The bytes of the body in memory. */
  bodyBytes = 0
  /** The turn of the event loop in which the request was admitted. */
  turn = 0
  caller: Caller | undefined = undefined
  rateLimit: RateLimitState | undefined = undefined
  /** Whether the connection closes after this reply. */
  last = false
  readonly #owner: ExchangeOwner

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    expectsContinue: boolean,
    owner: ExchangeOwner = unwatched,
  ) {
    this.#owner = owner
    this.request = request
    this.response = response
    this.expectsContinue = expectsContinue
    this.requestId = requestIdOf(request.headers["x-request-id"] as string | undefined)
    const url = originForm(request.url ?? "")
    const question = url.indexOf("?")
    this.path = question === -1 ? url : url.slice(0, question)
    this.queryText = question === -1 ? "" : url.slice(question + 1)
    replies.awaitEnd()
  }

  reply(status: number, contentType: string, body: string | Buffer, more: HeaderList = none): void {
    if (!this.#sendable()) return
    this.bytes = Buffer.byteLength(body)
    const length = String(this.bytes)
    this.#head(status, ["Content-Type", contentType, "Content-Length", length, ...more])
    replies.add(this.response, body)
  }

  /** Sends a reply without a body and without Content-Length. */
  replyEmpty(status: number, more: HeaderList = none): void {
    const { response } = this
    if (!this.#sendable()) return
    this.#head(status, [...more])
    response.end()
  }

  /** Sends the head of a reply whose body follows. `false`: the caller has disconnected. */
  begin(status: number, contentType: string, more: HeaderList = none): boolean {
    const { response } = this
    if (!this.#sendable()) return false
    this.streams = true
    this.#head(status, ["Content-Type", contentType, ...more])
    response.flushHeaders()
    return true
  }

  answerPreflight(): void {
    this.dropBody()
    this.replyEmpty(204, preflightHeaders)
  }

  #sendable(): boolean {
    const { response } = this
    if (response.headersSent) return false
    if (!response.destroyed) return true
    this.#miss()
    return false
  }

  #head(status: number, headers: Array<string>): void {
    headers.push("X-Request-Id", this.requestId, "Laurel-Version", version)
    const cors = corsHeaders(this.request, this.path)
    if (cors !== undefined) headers.push(...cors)
    if (this.rateLimit !== undefined) pushRateLimit(headers, this.rateLimit)
    if (this.last || this.#owner.draining) headers.push("Connection", "close")
    this.response.writeHead(status, headers)
    this.#owner.answered(this, status)
  }

  /** The connection was closed. A request whose body is incomplete gets no reply. */
  disconnected(): void {
    if (this.reading) this.#miss()
  }

  #miss(): void {
    this.#owner.missed(this)
    this.missed = true
  }

  /** The trace of the request, if traces are recorded. */
  get trace(): TraceParent | undefined {
    return this.#owner.watch.tracing ? traceParentOf(this.request.headers.traceparent) : undefined
  }

  /**
   * Annotations of the request's log lines. The messages that the request causes continue a sampled
   * trace.
   */
  get annotations(): NonNullable<LogAnnotations> {
    const { requestId, trace } = this
    if (trace === undefined) return { requestId }
    const { parentSpanId, sampled, traceId } = trace
    return sampled ? { requestId, traceId, parentSpanId } : { requestId, traceId }
  }

  /** Sends 100 Continue to a caller that waits for it. */
  askForBody(): void {
    if (this.expectsContinue) this.response.writeContinue()
  }

  refuse(error: LaurelError, more: HeaderList = none): void {
    this.dropBody()
    const body = problemBody(error, this.path, this.requestId)
    const headers = [...problemHeaders(error), "Cache-Control", "no-store", ...more]
    this.reply(errorKinds[error.code].status, problemContentType, body, headers)
  }

  /** Prepares a reply that does not need the request's body. */
  dropBody(): void {
    const { request } = this
    // If the caller was not asked for its body, its next bytes are ambiguous. Node then closes the
    // connection.
    if (!request.complete && hasBody(request)) discardBody(request)
  }
}

const pushRateLimit = (headers: Array<string>, state: RateLimitState): void => {
  if (state.limit === null) return
  headers.push(
    "RateLimit-Policy",
    `"${state.tier}";q=${state.limit};w=60`,
    "RateLimit",
    `"${state.tier}";r=${state.remaining};t=${state.resetSeconds}`,
    "X-RateLimit-Limit",
    String(state.limit),
    "X-RateLimit-Remaining",
    String(state.remaining),
    "X-RateLimit-Reset",
    String(state.resetSeconds),
  )
}
