/**
 * Answers while the data directory is being opened: `/healthz` 200, all else 503 `starting` with the progress, as a
 * page where a browser asks. Keys cannot be checked yet, so the replies reveal nothing more.
 */
import { type LaurelError, laurelError } from "../../domain/values/Errors.ts"
import { alive } from "../contract/Interpreter.ts"
import { isPreflight } from "../request/Cors.ts"
import type { Exchange, RequestHandler } from "../request/Exchange.ts"
import type { RequestMetrics } from "../request/RequestMetrics.ts"
import { RequestWatch } from "../request/RequestWatch.ts"
import { notReady, type ReadinessState } from "./Readiness.ts"
import { asksForPage, refuseWithPage } from "./startingPage.ts"

export class Starting implements RequestHandler {
  readonly draining = false
  readonly watch: RequestWatch
  readonly #readiness: ReadinessState
  readonly #metrics: RequestMetrics

  constructor(readiness: ReadinessState, metrics: RequestMetrics, watch = new RequestWatch()) {
    this.#readiness = readiness
    this.#metrics = metrics
    this.watch = watch
  }

  answered(exchange: Exchange, status: number): void {
    this.watch.answered(exchange, status)
  }

  missed(exchange: Exchange): void {
    this.watch.missed(exchange)
  }

  handle(exchange: Exchange): void {
    const { path, request } = exchange
    if (isPreflight(request, path)) {
      // The page's own request gets the refusal, which its script can read.
      exchange.metrics = this.#metrics.of("preflight")
      exchange.answerPreflight()
      return
    }
    const looks = request.method === "GET" || request.method === "HEAD"
    const known = looks && (path === "/healthz" || path === "/readyz")
    exchange.metrics = known ? this.#metrics.of(path) : this.#metrics.none
    if (known && path === "/healthz") exchange.reply(alive.status, alive.contentType, alive.body)
    else if (!known && asksForPage(exchange)) refuseWithPage(exchange, this.#refusal())
    else exchange.refuse(this.#refusal())
  }

  #refusal(): LaurelError {
    return notReady(this.#readiness) ?? almost
  }
}

/** Ready, but the engine has not taken over yet. */
const almost = laurelError("starting", "The server is almost ready.", { retryAfterSeconds: 1 })
