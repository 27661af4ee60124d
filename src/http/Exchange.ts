/**
 * One request and its reply: who asked, what is known of it, and the one way in which replies are written.
 * A reply is sent at most once, in one piece, and to nobody when the connection is gone.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Caller, RateLimitState } from "../accounts/Accounts.ts"
import { errorKinds, type LaurelError } from "../domain/Errors.ts"
import { problemContentType } from "./api/Problems.ts"
import { discardBody, hasBody } from "./Body.ts"
import { requestIdOf } from "./Ids.ts"
import { problemBody, problemHeaders } from "./Problem.ts"

/** Names and values in turn. */
export type HeaderList = ReadonlyArray<string>

const none: HeaderList = []
const neverDraining = { draining: false } as const

export class Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly requestId: string
  /** The path that was asked for, as it was sent, and what follows its `?`. */
  readonly path: string
  readonly queryText: string
  /** The caller waits to be told that it may send its body. */
  readonly expectsContinue: boolean
  caller: Caller | undefined = undefined
  rateLimit: RateLimitState | undefined = undefined
  /** The connection ends with this reply. */
  last = false
  #bodyAskedFor = false
  readonly #server: { readonly draining: boolean }

  /** While `server` is draining, every reply ends its connection. */
  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    expectsContinue: boolean,
    server: { readonly draining: boolean } = neverDraining,
  ) {
    this.#server = server
    this.request = request
    this.response = response
    this.expectsContinue = expectsContinue
    this.requestId = requestIdOf(request.headers["x-request-id"] as string | undefined)
    const url = request.url ?? ""
    const question = url.indexOf("?")
    this.path = question === -1 ? url : url.slice(0, question)
    this.queryText = question === -1 ? "" : url.slice(question + 1)
  }

  reply(status: number, contentType: string, body: string | Buffer, more: HeaderList = none): void {
    const { response } = this
    if (response.headersSent || response.destroyed) return
    const headers = [
      "Content-Type",
      contentType,
      "Content-Length",
      String(Buffer.byteLength(body)),
      "X-Request-Id",
      this.requestId,
      ...more,
    ]
    if (this.rateLimit !== undefined) pushRateLimit(headers, this.rateLimit)
    if (this.last || this.#server.draining) headers.push("Connection", "close")
    response.writeHead(status, headers)
    response.end(body)
  }

  /** Tells the caller that it may send its body, if it waits for that. */
  askForBody(): void {
    if (this.expectsContinue) this.response.writeContinue()
    this.#bodyAskedFor = true
  }

  refuse(error: LaurelError, more: HeaderList = none): void {
    const { request } = this
    if (!request.complete && hasBody(request)) {
      // A caller that was not told to go on may send its body or may not: what comes next is uncertain.
      if (this.expectsContinue && !this.#bodyAskedFor) this.last = true
      discardBody(request)
    }
    const body = problemBody(error, this.path, this.requestId)
    const headers = [...problemHeaders(error), "Cache-Control", "no-store", ...more]
    this.reply(errorKinds[error.code].status, problemContentType, body, headers)
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
