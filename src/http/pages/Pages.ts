/**
 * Pages for people beside the API, on the same address and under a path of their own. They have a few places of their
 * own in admission, so that somebody can look while the API is overloaded, and cannot take places from it.
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

/** A request for a page. `path` is as it was sent, without its query. */
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
   * Gives the request's place to others while `work` runs. For work with a bound of its own that waits, such as the check
   * of a password: attempts to sign in would otherwise hold the places of everybody.
   */
  readonly aside: <A, E>(work: Effect.Effect<A, E>) => Effect.Effect<A, E>
}

/** What is known of a request before its body. */
export type PageHead = Pick<PageRequest, "method" | "headers">

export interface Pages {
  /** Under this path, such as `/dashboard`, every request is theirs. */
  readonly prefix: string
  /** Why a request is refused whatever its body has: asked before the body is read. */
  readonly refusalOf: (head: PageHead) => LaurelError | undefined
  /** A page, or a refusal: `refused` makes the page of an error that was met before. */
  readonly answer: (request: PageRequest) => Effect.Effect<PlainReply | StreamedReply, LaurelError>
  readonly refused: (error: LaurelError, requestId: string) => PlainReply
}

/** Pages that ask operations of the contract in process, and their log, which has changes by API keys, too. */
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
  /** Room for bodies in memory, beside those of the API. */
  readonly room: {
    readonly hold: (bytes: number) => LaurelError | undefined
    readonly release: (bytes: number) => void
  }
  readonly failed: (exchange: Exchange, cause: Cause.Cause<unknown>) => void
}

export class PageRequests {
  readonly #pages: Pages
  /** The prefix with a slash: every request of the API is compared with it. */
  readonly #under: string
  readonly #owner: Owner
  #running = 0
  /** The requests whose bodies are read or in memory, each with the network that it comes from; how many each network has. */
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

  /** Its reply is sent, or its caller is gone. */
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

  /** Why the body of a request is not read. One network cannot take the places of all others by sending slowly. */
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
