/**
 * The path of a request: route → key → rate limit → scope → parts → body → operation → reply. All
 * steps before the operation are synchronous, except reading the body. An operation runs in a
 * fiber; a single event needs none. A caller that disconnects does not interrupt its operation,
 * which may already have effects.
 */

import { Cause, Effect, type Exit, Result } from "effect"
import type { Accounts } from "../../accounts/Accounts.ts"
import { RequestOrigin } from "../../accounts/audit/AuditLog.ts"
import { type LaurelError, laurelError } from "../../domain/values/Errors.ts"
import { shuttingDown } from "../../engine/actor/Actor.ts"
import type { Idempotency } from "../../engine/Engine.ts"
import { limits } from "../../Limits.ts"
import { exitOf } from "../../storage/exitOf.ts"
import { entityTag } from "../api/EntityTags.ts"
import {
  acceptable,
  acceptedMediaType,
  announcedBytes,
  bodyTooLarge,
  emptyBytes,
  hasBody,
  JsonText,
  readBody,
  unsupportedMediaType,
} from "../body/Body.ts"
import type { HttpRoute, PlainReply } from "../contract/Interpreter.ts"
import { type CompiledOperation, emptyBody, type OperationReply } from "../contract/Operation.ts"
import type { Router } from "../contract/Router.ts"
import { PageRequests, type Pages } from "../pages/Pages.ts"
import { isPreflight } from "../request/Cors.ts"
import {
  type Exchange,
  type RequestHandler,
  type RunForRequest,
  replies,
} from "../request/Exchange.ts"
import { Share } from "../request/FairShares.ts"
import { insufficientScope, internalError } from "../request/Problem.ts"
import { headFault } from "../request/RequestHead.ts"
import type { RequestMetrics } from "../request/RequestMetrics.ts"
import { loggedPath, RequestWatch } from "../request/RequestWatch.ts"
import { type StreamedReply, Streams } from "../stream/StreamedReply.ts"
import { Admission } from "./Admission.ts"
import { Authentication, type Known } from "./Authentication.ts"
import { OpenRequest } from "./OpenRequest.ts"

/** Sends the reply of an operation. */
const sendReply = (
  exchange: Exchange,
  status: number,
  { body, headers: more = [], location, notModified, replayed, version }: OperationReply<unknown>,
): void => {
  const headers = ["Cache-Control", "no-store", ...more]
  if (replayed) headers.push("Idempotency-Replayed", "true")
  if (location !== undefined) headers.push("Location", location)
  if (version !== undefined) headers.push("ETag", entityTag(version))
  if (notModified) exchange.replyEmpty(304, headers)
  else if (status === 204) exchange.replyEmpty(204, headers)
  else {
    const json = body instanceof JsonText ? body.text : JSON.stringify(body)
    exchange.reply(status, "application/json", json, headers)
  }
}

export interface PipelineParts {
  readonly router: Router<HttpRoute>
  readonly accounts: Accounts["Service"]
  /** Runs an operation. Its log lines have the request's annotations. */
  readonly run: RunForRequest
  readonly metrics: RequestMetrics
  readonly admission?: Admission
  readonly pages?: Pages | undefined
  readonly watch?: RequestWatch
  /** The time for which a client of a streamed reply may stall. */
  readonly streamStallMs: number
}

type Handled = OperationReply<unknown> | StreamedReply

export class Pipeline implements RequestHandler {
  readonly #router: Router<HttpRoute>
  readonly #accounts: Accounts["Service"]
  readonly #authentication: Authentication
  readonly #run: RunForRequest
  readonly #metrics: RequestMetrics
  readonly #streams: Streams
  readonly #admission: Admission
  readonly #pages: PageRequests | undefined
  readonly watch: RequestWatch
  /** Whether new requests are refused. */
  draining = false
  /** The number of requests of operations that wait for their reply. */
  inFlight = 0
  /** The number of requests that have ended. */
  requests = 0

  constructor(parts: PipelineParts) {
    const pageShare = new Share()
    const { accounts, metrics, router, run, streamStallMs, watch = new RequestWatch() } = parts
    this.#router = router
    this.#accounts = accounts
    this.#run = run
    this.#metrics = metrics
    this.#admission = parts.admission ?? new Admission(limits, () => 0)
    this.watch = watch
    this.#authentication = new Authentication(accounts, this.#admission.shares, watch.addressOf)
    this.#streams = new Streams(run, streamStallMs)
    this.#pages =
      parts.pages &&
      new PageRequests(parts.pages, {
        run,
        streams: this.#streams,
        addressOf: watch.addressOf,
        isDraining: () => this.draining,
        room: {
          hold: (bytes) => this.#admission.hold(pageShare, bytes),
          release: (bytes) => this.#admission.release(pageShare, bytes),
        },
        failed: (exchange, cause) => this.#failed(exchange, cause),
      })
  }

  /** Refuses new requests and ends endless replies. */
  drain(): void {
    this.draining = true
    this.#streams.endEndless()
  }

  answered(exchange: Exchange, status: number): void {
    this.watch.answered(exchange, status, this.#run)
    this.#ended(exchange)
  }

  missed(exchange: Exchange): void {
    this.watch.missed(exchange)
    this.#ended(exchange)
  }

  #ended(exchange: Exchange): void {
    this.#pages?.ended(exchange)
    if (!exchange.inFlight) return
    exchange.inFlight = false
    this.inFlight--
    this.requests++
    this.#admission.left(exchange)
  }

  /** Answers a request; never throws. */
  handle(exchange: Exchange): void {
    try {
      this.#route(exchange)
    } catch (defect) {
      this.#failed(exchange, Cause.die(defect))
    }
  }

  #route(exchange: Exchange): void {
    const { path, request } = exchange
    exchange.metrics = this.#metrics.none
    const fault = headFault(request)
    if (fault !== undefined) {
      exchange.last = true
      exchange.refuse(fault)
      return
    }
    if (this.#pages?.owns(path)) {
      exchange.metrics = this.#metrics.of("dashboard")
      exchange.route = "dashboard"
      this.#pages.handle(exchange)
      return
    }
    if (isPreflight(request, path)) {
      exchange.metrics = this.#metrics.of("preflight")
      // A preflight has no key, so it has no share.
      if (this.#hasPlace(exchange, 0)) exchange.answerPreflight()
      return
    }
    const match = this.#router.find(request.method ?? "", path)
    switch (match.kind) {
      case "nothing":
        exchange.refuse(laurelError("not_found", "No operation matches this path."))
        return
      case "wrongMethod":
        exchange.refuse(laurelError("method_not_allowed", `Allowed methods: ${match.allow}.`), [
          "Allow",
          match.allow,
        ])
        return
      case "found":
        exchange.route = match.route.path
        if (match.route.kind === "operation") {
          exchange.metrics = this.#metrics.of(match.route.operation.name)
          this.#admit(exchange, match.route.operation, match.rawParams)
        } else {
          exchange.metrics = this.#metrics.of(match.route.path)
          this.#answerPlainly(exchange, match.route)
        }
    }
  }

  #answerPlainly(exchange: Exchange, route: Extract<HttpRoute, { readonly kind: "plain" }>): void {
    const answer = route.handle(exchange.request.headers)
    const send = ({ body, contentType, headers, status }: PlainReply) =>
      exchange.reply(status, contentType, body, headers)
    if (!Effect.isEffect(answer)) {
      if ("_tag" in answer) exchange.refuse(answer)
      else send(answer)
      return
    }
    this.#run(answer, exchange).addObserver((exit) => {
      if (exit._tag === "Success") send(exit.value)
      else this.#failed(exchange, exit.cause)
    })
  }

  /** Admission, authentication, rate limit and scope. */
  #admit(exchange: Exchange, operation: CompiledOperation, rawParams: ReadonlyArray<string>): void {
    if (this.draining) {
      exchange.refuse(shuttingDown)
      return
    }
    const bodyBytes = Math.min(announcedBytes(exchange.request), operation.bodyBytesMax)
    if (!this.#hasPlace(exchange, bodyBytes)) return
    exchange.inFlight = true
    this.inFlight++
    const known = this.#knownOf(exchange, operation, rawParams)
    if ("_tag" in known) {
      exchange.refuse(known)
      return
    }
    const { caller, share } = known
    exchange.caller = caller
    exchange.share = share
    if (!this.#hasShare(exchange, share, bodyBytes)) return
    const open = new OpenRequest(exchange, operation, this.#accounts, this.#metrics)
    if (!open.mayBegin(bodyBytes)) return
    if (!operation.scopes.has(caller.scope)) {
      open.refuse(insufficientScope(operation.scopes, caller.scope))
      return
    }
    open.params = open.part(operation.params(rawParams))
    open.query = open.part(operation.query(exchange.queryText))
    open.headers = open.part(operation.headers(exchange.request))
    if (operation.mediaTypes.size === 0) this.#withPayload(open, emptyBytes, "")
    else if (operation.bodyOptional && !hasBody(exchange.request)) {
      this.#withPayload(open, emptyBody.body, emptyBody.mediaType)
    } else this.#withBody(open)
  }

  /** The caller of a request, by its key or, for a signed request, by its path. */
  #knownOf(
    { request }: Exchange,
    { signed }: CompiledOperation,
    rawParams: ReadonlyArray<string>,
  ): Known | LaurelError {
    if (signed === undefined) return this.#authentication.check(request)
    const caller = signed.callerOf(rawParams)
    if ("_tag" in caller) return caller
    return { caller, share: this.#admission.shares.of(caller.environment) }
  }

  /**
   * Whether the request is admitted; otherwise it was refused. In the same turn the answer stays.
   */
  #hasPlace(exchange: Exchange, bodyBytes: number): boolean {
    const admission = this.#admission
    if (exchange.turn !== 0 && exchange.turn === admission.turn) return true
    const refusal = admission.refusal(bodyBytes, exchange, this.#shareOf)
    exchange.turn = admission.turn
    return this.#settle(exchange, refusal)
  }

  readonly #shareOf = ({ request, share }: Exchange): Share | undefined =>
    share ?? this.#authentication.of(request)?.share

  /** Whether the share admits the request; otherwise it was refused. */
  #hasShare(exchange: Exchange, share: Share, bodyBytes: number): boolean {
    return this.#settle(exchange, this.#admission.shareRefusal(share, bodyBytes))
  }

  #settle(exchange: Exchange, refusal: LaurelError | undefined): boolean {
    if (refusal === undefined) return true
    this.#admission.refusals.add(() => exchange.refuse(refusal))
    return false
  }

  #withBody(open: OpenRequest): void {
    const { exchange, operation } = open
    const { request, share } = exchange
    const mediaType = acceptedMediaType(request, operation.mediaTypes)
    if (mediaType === undefined) {
      const header = operation.method === "PATCH" ? "Accept-Patch" : "Accept-Post"
      const { mediaTypes } = operation
      open.refuse(unsupportedMediaType(mediaTypes), [header, acceptable(mediaTypes)])
      return
    }
    if (announcedBytes(request) > operation.bodyBytesMax) {
      open.refuse(bodyTooLarge(operation.bodyBytesMax))
      return
    }
    exchange.askForBody()
    exchange.reading = true
    const room = (bytes: number): LaurelError | undefined => {
      const refusal = this.#admission.hold(share!, bytes)
      if (refusal === undefined) exchange.bodyBytes += bytes
      return refusal
    }
    const arrived = (body: Result.Result<Buffer, LaurelError>): void => {
      exchange.reading = false
      try {
        if (Result.isFailure(body)) open.refuse(body.failure)
        // A body that arrived in a later turn is admitted again.
        else if (this.#hasPlace(exchange, 0) && this.#hasShare(exchange, share!, 0)) {
          this.#withPayload(open, body.success, mediaType)
        }
      } catch (defect) {
        this.#failed(exchange, Cause.die(defect))
      }
    }
    readBody(request, operation.bodyBytesMax, arrived, room)
  }

  #withPayload(open: OpenRequest, body: Buffer, mediaType: string): void {
    const { exchange, operation } = open
    const unsigned = operation.signed?.verify(exchange.caller!, open.headers, body)
    if (unsigned !== undefined) {
      open.refuse(unsigned)
      return
    }
    if (!open.payForBody(body.length)) return
    if (body.length >= limits.admissionUnitBytes) replies.send()
    const payload = operation.payload(body, mediaType, exchange.caller!.environment)
    if (payload instanceof Promise) {
      payload
        .then((decoded) => this.#withDecoded(open, body, decoded))
        .catch((defect) => this.#failed(exchange, Cause.die(defect)))
    } else this.#withDecoded(open, body, payload)
  }

  #withDecoded(
    open: OpenRequest,
    body: Buffer,
    payload: Result.Result<unknown, LaurelError>,
  ): void {
    if (Result.isFailure(payload)) {
      open.refusePayload(payload.failure, body)
      return
    }
    if (!open.settleFaults(body) || !open.mayName(payload.success)) return
    if (!open.pay(payload.success)) return
    this.#perform(open, payload.success, open.idempotency(body))
  }

  #perform(open: OpenRequest, payload: unknown, idempotency: Idempotency | undefined): void {
    const { exchange, headers, operation, params, query } = open
    const request = { params, query, payload, caller: exchange.caller!, idempotency, headers }
    this.#admission.wait(exchange.share!)
    exchange.waiting = true
    if (operation.handleWithCallback !== undefined && idempotency === undefined) {
      operation.handleWithCallback(request, exchange.annotations, (answer) => {
        this.#answer(exchange, operation, answer)
      })
      return
    }
    const settle = (exit: Exit.Exit<Handled, LaurelError>): void => {
      const reason = exit._tag === "Success" ? undefined : exit.cause.reasons[0]
      if (exit._tag === "Success") this.#answer(exchange, operation, () => exit.value)
      else if (reason?._tag === "Fail") this.#answer(exchange, operation, () => reason.error)
      else this.#failed(exchange, exit.cause)
    }
    const answer = operation.isLogged
      ? Effect.provideService(operation.handle(request), RequestOrigin, {
          address: this.watch.addressOf(exchange.request),
          requestId: exchange.requestId,
        })
      : operation.handle(request)
    const exit = exitOf(answer)
    // An operation that completes at once needs no fiber.
    if (exit !== undefined) settle(exit)
    else this.#run(answer, exchange).addObserver(settle)
  }

  /** Sends an answer. It never throws, since a commit may call it. */
  #answer(
    exchange: Exchange,
    operation: CompiledOperation,
    make: () => Handled | LaurelError,
  ): void {
    try {
      const answer = make()
      if ("_tag" in answer) {
        exchange.refuse(answer)
        return
      }
      if ("stream" in answer) {
        this.#streams.send(exchange, operation.status, answer, ["Cache-Control", "no-store"])
      } else sendReply(exchange, operation.status, answer)
    } catch (defect) {
      this.#failed(exchange, Cause.die(defect))
    }
  }

  /** Handles a defect: the log gets the cause, and the caller the request id. */
  #failed(exchange: Exchange, cause: Cause.Cause<unknown>): void {
    if (Cause.hasInterruptsOnly(cause)) {
      exchange.refuse(shuttingDown)
      return
    }
    const { path, request } = exchange
    const log = Effect.logError("A request failed", cause)
    this.#run(
      Effect.annotateLogs(log, { method: request.method, path: loggedPath(path) }),
      exchange,
    )
    exchange.refuse(internalError)
  }
}
