/**
 * Pages for people, on the same address as the API, under a path of their own. They have a few
 * places of their own in admission: a person can open a page while the API is overloaded, and pages
 * take no places from the API.
 */
import { type Cause, Effect, Result } from "effect"
import { networkOf } from "../../accounts/AddressRanges.ts"
import type { AuditLog } from "../../accounts/audit/AuditLog.ts"
import type { LaurelError } from "../../domain/values/Errors.ts"
import { laurelError } from "../../domain/values/Errors.ts"
import { shuttingDown } from "../../engine/actor/Actor.ts"
import { limits } from "../../Limits.ts"
import { announcedBytes, bodyTooLarge, emptyBytes, hasBody, readBody } from "../body/Body.ts"
import type { PlainReply } from "../contract/Interpreter.ts"
import type { Operations } from "../contract/Operations.ts"
import type { ClientAddress } from "../request/ClientAddress.ts"
import type { Exchange, RunForRequest } from "../request/Exchange.ts"
import type { StreamedReply, Streams } from "../stream/StreamedReply.ts"

const streamHeaders = ["Cache-Control", "no-store"]

/** A request for a page. `path` is the path as it was sent, without the query. */
export interface PageRequest {
  readonly method: "GET" | "POST"
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: NodeJS.Dict<string | string[]>
  readonly body: Buffer
  /** The client's address (`ClientAddress`). */
  readonly address: string
  readonly requestId: string
  /**
   * Gives the request's place to others while `work` runs. It is for work that waits and has a
   * bound of its own, such as the check of a password: attempts to sign in would otherwise hold all
   * places.
   */
  readonly aside: <A, E>(work: Effect.Effect<A, E>) => Effect.Effect<A, E>
}

/** The parts of a request that are known before its body. */
export type PageHead = Pick<PageRequest, "method" | "headers">

export interface Pages {
  /** The path of the pages, such as `/dashboard`. All requests under it go to the pages. */
  readonly prefix: string
  /** The refusal of a request before its body is read. */
  readonly refusalOf: (head: PageHead) => LaurelError | undefined
  /** Makes a page, or fails with a refusal. `refused` makes the page of an earlier refusal. */
  readonly answer: (request: PageRequest) => Effect.Effect<PlainReply | StreamedReply, LaurelError>
  readonly refused: (error: LaurelError, requestId: string) => PlainReply
}

/**
 * Makes pages that call operations of the contract in process. `audit` is their log, which also has
 * changes by API keys.
 */
export interface MakePages {
  readonly prefix: string
  readonly audit: AuditLog
  readonly make: (operations: Operations) => Pages
}

interface Owner {
  readonly isDraining: () => boolean
  readonly addressOf: ClientAddress
  readonly run: RunForRequest
  readonly streams: Streams
  /** Memory for bodies, apart from the memory of the API. */
  readonly room: {
    readonly hold: (bytes: number) => LaurelError | undefined
    readonly release: (bytes: number) => void
  }
  readonly failed: (exchange: Exchange, cause: Cause.Cause<unknown>) => void
}

export class PageRequests {
  readonly #pages: Pages
  /** The prefix with a slash, for the comparison with each request's path. */
  readonly #under: string
  readonly #owner: Owner
  #running = 0
  /**
   * The requests whose bodies are being read or are in memory, each with its network; and the
   * number of such requests of each network.
   */
  readonly #bodies = new Map<Exchange, string>()
  readonly #bodiesOf = new Map<string, number>()

  constructor(pages: Pages, owner: Owner) {
    this.#pages = pages
    this.#under = `${pages.prefix}/`
    this.#owner = owner
  }

  owns(path: string): boolean {
    return path.startsWith(this.#under) || path === this.#pages.prefix
  }

  handle(exchange: Exchange): void {
    const { request } = exchange
    const { method } = request
    if (this.#owner.isDraining()) this.#refuse(exchange, shuttingDown)
    else if (method !== "GET" && method !== "HEAD" && method !== "POST") {
      const detail = "Allowed methods: GET, HEAD, POST."
      this.#refuse(exchange, laurelError("method_not_allowed", detail), [
        "Allow",
        "GET, HEAD, POST",
      ])
    } else {
      const isForm = method === "POST" && hasBody(request)
      const refusal =
        this.#pages.refusalOf({
          method: method === "POST" ? method : "GET",
          headers: request.headers,
        }) ?? (isForm ? this.#bodyRefusal(exchange) : undefined)
      if (refusal !== undefined) {
        exchange.dropBody()
        this.#refuse(exchange, refusal)
      } else if (isForm) this.#read(exchange)
      else this.#answer(exchange, emptyBytes)
    }
  }

  /** The reply was sent, or the caller has disconnected. */
  ended(exchange: Exchange): void {
    const network = this.#bodies.get(exchange)
    if (network === undefined) return
    this.#bodies.delete(exchange)
    const others = this.#bodiesOf.get(network)! - 1
    if (others === 0) this.#bodiesOf.delete(network)
    else this.#bodiesOf.set(network, others)
    this.#owner.room.release(exchange.bodyBytes)
    exchange.bodyBytes = 0
  }

  /**
   * The refusal to read the body of a request. One network cannot take all places by sending
   * slowly.
   */
  #bodyRefusal({ request }: Exchange): LaurelError | undefined {
    if (announcedBytes(request) > limits.pageBodyBytesMax) {
      return bodyTooLarge(limits.pageBodyBytesMax)
    }
    const ofNetwork = this.#bodiesOf.get(networkOf(this.#owner.addressOf(request))) ?? 0
    return this.#bodies.size < limits.pageBodiesMax && ofNetwork < limits.pageBodiesOfNetworkMax
      ? undefined
      : tooManyForms
  }

  #read(exchange: Exchange): void {
    const { request } = exchange
    const network = networkOf(this.#owner.addressOf(request))
    this.#bodies.set(exchange, network)
    this.#bodiesOf.set(network, (this.#bodiesOf.get(network) ?? 0) + 1)
    exchange.askForBody()
    exchange.reading = true
    const arrived = (body: Result.Result<Buffer, LaurelError>): void => {
      exchange.reading = false
      if (Result.isFailure(body)) this.#refuse(exchange, body.failure)
      else this.#answer(exchange, body.success)
    }
    const room = (bytes: number): LaurelError | undefined => {
      const refusal = this.#owner.room.hold(bytes)
      if (refusal === undefined) exchange.bodyBytes += bytes
      return refusal
    }
    readBody(request, limits.pageBodyBytesMax, arrived, room)
  }

  readonly #aside: PageRequest["aside"] = (work) =>
    Effect.suspend(() => {
      this.#running--
      return Effect.ensuring(
        work,
        Effect.sync(() => this.#running++),
      )
    })

  #answer(exchange: Exchange, body: Buffer): void {
    if (this.#running >= limits.pagesConcurrentMax) {
      const detail = "Too many pages are being made. Try again in a second."
      this.#refuse(exchange, laurelError("overloaded", detail, { retryAfterSeconds: 1 }))
      return
    }
    const { path, queryText, request, requestId } = exchange
    this.#running++
    const answer = this.#pages.answer({
      method: request.method === "POST" ? "POST" : "GET",
      path,
      query: new URLSearchParams(queryText),
      headers: request.headers,
      body,
      address: this.#owner.addressOf(request),
      requestId,
      aside: this.#aside,
    })
    this.#owner.run(answer, exchange).addObserver((exit) => {
      this.#running--
      const reason = exit._tag === "Success" ? undefined : exit.cause.reasons[0]
      if (exit._tag === "Success") this.#send(exchange, exit.value)
      else if (reason?._tag === "Fail") this.#refuse(exchange, reason.error)
      else this.#owner.failed(exchange, exit.cause)
    })
  }

  #refuse(exchange: Exchange, error: LaurelError, headers: ReadonlyArray<string> = []): void {
    const reply = this.#pages.refused(error, exchange.requestId)
    this.#send(exchange, { ...reply, headers: [...(reply.headers ?? []), ...headers] })
  }

  #send(exchange: Exchange, reply: PlainReply | StreamedReply): void {
    if ("stream" in reply) {
      this.#owner.streams.send(exchange, 200, reply, streamHeaders)
      return
    }
    exchange.reply(reply.status, reply.contentType, reply.body, reply.headers)
  }
}

const tooManyForms = laurelError(
  "overloaded",
  "Too many forms are being received. Try again in a second.",
  { retryAfterSeconds: 1 },
)
