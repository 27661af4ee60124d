/**
 * Answers while the data directory is being opened: `/healthz` gets 200, all other requests 503
 * `starting` with the progress, as a page if a browser asks for one. Keys cannot be checked yet, so
 * no reply reveals more.
 */
import { errorKinds, type LaurelError, laurelError } from "../../domain/values/Errors.ts"
import { alive } from "../contract/Interpreter.ts"
import { isPreflight } from "../request/Cors.ts"
import type { Exchange, RequestHandler } from "../request/Exchange.ts"
import type { RequestMetrics } from "../request/RequestMetrics.ts"
import { RequestWatch } from "../request/RequestWatch.ts"
import { notReady, type ReadinessState } from "./Readiness.ts"

/*
 * The page for browsers. It shows the progress and reloads every second. It has no links and no
 * styles, since the server cannot serve them yet.
 */

const headers = [
  "Content-Security-Policy",
  "default-src 'none'; base-uri 'none'; frame-ancestors 'none'",
  "X-Content-Type-Options",
  "nosniff",
  "Cache-Control",
  "no-store",
  "Vary",
  "Accept",
  "Retry-After",
  "1",
]

/** Whether a browser asks for a page. */
const asksForPage = ({ request }: Exchange): boolean =>
  String(request.headers.accept ?? "").includes("text/html")

/**
 * Refuses with a page. The answer to a GET reloads itself; after a POST, the person sends the form
 * again.
 */
const refuseWithPage = (exchange: Exchange, { code, detail }: LaurelError): void => {
  const isForm = exchange.request.method === "POST"
  const { status, title } = errorKinds[code]
  const advice = isForm
    ? "Nothing was changed. Go back and send the form again in a moment."
    : "This page reloads by itself."
  const escaped = detail.replace(/[&<>]/g, (character) => `&#${character.charCodeAt(0)};`)
  const body = `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title>
<h1>${title}</h1>
<p role="status">${escaped}</p>
<p>${advice}</p>
</html>`
  exchange.dropBody()
  const more = isForm ? headers : [...headers, "Refresh", "1"]
  exchange.reply(status, "text/html; charset=utf-8", body, more)
}

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
      // The reply lets the page send its request, whose refusal the page's script can read.
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
