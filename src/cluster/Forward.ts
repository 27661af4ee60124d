/**
 * One request that is forwarded to the owner of its partition (`Forwarder.ts`), and its reply. At
 * any time the request either waits for an owner, or has exactly one attempt in progress.
 */

import type { IncomingMessage } from "node:http"
import { Readable } from "node:stream"
import { type Dispatcher, Pool } from "undici"
import { type LaurelError, laurelError } from "../domain/values/Errors.ts"
import { outcomeUnknown } from "../engine/actor/Actor.ts"
import { discardRest, hasBody } from "../http/body/Body.ts"
import type { Exchange } from "../http/request/Exchange.ts"
import { originForm } from "../http/request/RequestHead.ts"
import { limits } from "../Limits.ts"
import { forwardedHeaders, internalHeaders, passesOn } from "./InternalPort.ts"
import type { Owner } from "./Owners.ts"

/*
 * One attempt at an owner: the handler that undici calls.
 *
 * An attempt reports its end exactly once, and nothing afterwards. undici may still connect, or
 * fail to connect, for an attempt that was given up. Such a late report must not end, repeat or
 * answer the request, whose next attempt is in progress.
 */

type Controller = Dispatcher.DispatchController
export type ReplyHeaders = Parameters<NonNullable<Dispatcher.DispatchHandler["onResponseStart"]>>[2]

/**
 * What an attempt reports. Exactly one of `replyEnded`, `refused` and `failed` is called, unless
 * the attempt is given up.
 */
export interface AttemptReports {
  /** From now on the owner may execute the request. */
  readonly sent: () => void
  readonly replyBegins: (status: number, headers: ReplyHeaders) => void
  readonly replyGoesOn: (chunk: Buffer, controller: Controller) => void
  readonly replyEnded: () => void
  /** The server is not the owner, and has done nothing. */
  readonly refused: () => void
  /** There was no reply, or only a part of one. */
  readonly failed: () => void
}

class Attempt implements Dispatcher.DispatchHandler {
  readonly owner: Owner
  readonly #reports: AttemptReports
  #controller: Controller | undefined
  #isRefused = false
  #isOver = false
  /** Whether the owner may have executed the request. */
  isSent = false

  constructor(owner: Owner, reports: AttemptReports) {
    this.owner = owner
    this.#reports = reports
  }

  /** Ends the attempt. It reports nothing afterwards. */
  giveUp(why: string): void {
    this.#isOver = true
    this.#controller?.abort(new Error(why))
  }

  onRequestStart(controller: Controller): void {
    if (this.#isOver) {
      controller.abort(new Error("given up"))
      return
    }
    this.#controller = controller
    this.isSent = true
    this.#reports.sent()
  }

  onResponseStart(_: Controller, status: number, headers: ReplyHeaders): void {
    if (this.#isOver || status < 200) return
    if (headers[internalHeaders.notOwner] === undefined) this.#reports.replyBegins(status, headers)
    else this.#isRefused = true
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    if (!this.#isOver && !this.#isRefused) this.#reports.replyGoesOn(chunk, controller)
  }

  onResponseEnd(): void {
    if (this.#isOver) return
    this.#isOver = true
    if (this.#isRefused) this.#reports.refused()
    else this.#reports.replyEnded()
  }

  onResponseError(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#reports.failed()
  }
}

/*
 * The body of a forwarded request. A small body is kept until the reply, so that it can be sent
 * again. A large body is streamed, after the part that has already arrived. An owner may reply
 * before it has read the whole body. The rest is then read and dropped here, up to
 * `refusedBodyBytesMax`, because many clients read no reply before they have sent their body.
 */

/** Bytes of all kept bodies of this process. */
let keptBytes = 0

export interface Body {
  /** The whole body. `undefined`: the body is streamed. */
  readonly kept: Buffer | undefined
  /**
   * The body for one attempt. `null`: the request has no body. A stream reads nothing from the
   * request before undici reads the stream.
   */
  readonly source: () => Buffer | Readable | null
  /** Called after the last attempt. */
  readonly release: () => void
}

const none: Body = { kept: Buffer.alloc(0), source: () => null, release: () => {} }

/**
 * Calls `done` once the body is complete, or too large to keep. Does not call it if the client
 * disconnects before.
 */
export const receiveBody = (request: IncomingMessage, done: (body: Body) => void): void => {
  if (!hasBody(request)) {
    done(none)
    return
  }
  const chunks: Array<Buffer> = []
  let bytes = 0
  const settle = (): void => {
    request.off("data", take)
    request.off("end", end)
    request.off("close", left)
  }
  const take = (chunk: Buffer): void => {
    chunks.push(chunk)
    bytes += chunk.length
    keptBytes += chunk.length
    if (bytes <= limits.forwardKeptBytesMax && keptBytes <= limits.forwardKeptTotalBytesMax) return
    request.pause()
    settle()
    keptBytes -= bytes
    done(streamed(chunks, request))
  }
  const end = (): void => {
    settle()
    const kept = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, bytes)
    let isKept = true
    const release = (): void => {
      if (isKept) keptBytes -= bytes
      isKept = false
    }
    done({ kept, source: () => kept, release })
  }
  const left = (): void => {
    settle()
    keptBytes -= bytes
  }
  request.on("data", take)
  request.on("end", end)
  request.on("close", left)
}

const streamed = (chunks: Array<Buffer>, request: IncomingMessage): Body => {
  let stream: Readable | undefined
  return {
    kept: undefined,
    source: () => {
      stream = streamOf(chunks, request)
      return stream
    },
    release: () => {
      stream?.destroy()
      if (!request.readableEnded) discardRest(request)
    },
  }
}

/** Streams `chunks`, then the rest of the request. */
const streamOf = (chunks: Array<Buffer>, request: IncomingMessage): Readable => {
  let isListening = false
  const take = (chunk: Buffer): void => {
    if (!stream.push(chunk)) request.pause()
  }
  const end = (): void => {
    stream.push(null)
  }
  const left = (): void => {
    if (!request.readableEnded) stream.destroy(new Error("the client left"))
  }
  const stream = new Readable({
    read: () => {
      if (chunks.length > 0) stream.push(Buffer.concat(chunks.splice(0)))
      else {
        if (!isListening) {
          isListening = true
          request.on("data", take)
          request.on("end", end)
          request.on("close", left)
        }
        request.resume()
      }
    },
    destroy: (error, done) => {
      request.off("data", take)
      request.off("end", end)
      request.off("close", left)
      done(error)
    },
  })
  return stream
}

/*
 * Keep-alive connections to the internal ports of owners. A stream occupies its connection for as
 * long as it lasts. So streams have a pool of their own, in which no short request has to search
 * for a free connection.
 */

interface Connections {
  readonly short: Pool
  readonly streams: Pool
}

export class OwnerConnections {
  readonly #all = new Map<string, Connections>()

  to(address: string, isStream: boolean): Pool {
    let found = this.#all.get(address)
    if (found === undefined) {
      found = { short: poolTo(address), streams: poolTo(address) }
      this.#all.set(address, found)
    }
    return isStream ? found.streams : found.short
  }

  /** Closes the connections to all other addresses, after their requests in progress. */
  keep(addresses: ReadonlySet<string>): void {
    for (const [address, { short, streams }] of this.#all) {
      if (addresses.has(address)) continue
      this.#all.delete(address)
      void short.close().catch(() => {})
      void streams.close().catch(() => {})
    }
  }

  async close(): Promise<void> {
    const all = [...this.#all.values()].flatMap(({ short, streams }) => [short, streams])
    this.#all.clear()
    await Promise.all(all.map((pool) => pool.destroy().catch(() => {})))
  }
}

const poolTo = (address: string): Pool =>
  new Pool(`http://${address}`, {
    connections: null,
    pipelining: 1,
    connect: { timeout: limits.forwardConnectMs },
    headersTimeout: limits.forwardSilenceMs,
    bodyTimeout: limits.forwardSilenceMs,
    keepAliveTimeout: limits.forwardKeepAliveMs,
  })

/*
 * Whether a request may be sent again although the first attempt may have been executed: the
 * request changes nothing, or Laurel recognises the repetition by an `Idempotency-Key` or by the
 * ids of all its events.
 */

export const isRepeatable = (
  { headers, method }: IncomingMessage,
  path: string,
  body: Buffer | undefined,
): boolean => {
  if (method === "GET" || method === "HEAD" || method === "OPTIONS") return true
  if (method !== "POST" || body === undefined) return false
  if (headers["idempotency-key"] !== undefined) return true
  if (path === "/v1/events") return hasId(jsonOf(body))
  return path === "/v1/events/batch" && haveIds(jsonOf(body))
}

const jsonOf = (body: Buffer): unknown => {
  try {
    return JSON.parse(body.toString("utf8"))
  } catch {
    return undefined
  }
}

const hasId = (event: unknown): boolean =>
  typeof (event as { readonly id?: unknown } | null | undefined)?.id === "string"

const haveIds = (batch: unknown): boolean => {
  const events = (batch as { readonly events?: unknown } | null | undefined)?.events
  return Array.isArray(events) && events.every(hasId)
}

/** How a forwarded request ended, for the metric. `repeated` is counted in addition to the end. */
export type ForwardOutcome = "answered" | "repeated" | "refused" | "unknown" | "left"

/** The part of the `Forwarder` that a forwarded request uses. */
export interface ForwardingRunner {
  readonly connections: OwnerConnections
  readonly secret: string
  readonly draining: boolean
  /** The error for a request that no owner has executed. */
  readonly refusal: LaurelError
  /**
   * Waits for a change of an owner, at most `ownerAvoidedMs`. `undefined`: too many requests wait
   * already.
   */
  readonly change: (partition: number) => Promise<void> | undefined
  /** The owner to send to. `undefined`: no owner takes requests now. */
  readonly ownerOf: (partition: number) => Owner | undefined
  /** The owner did not take a request: there may be another owner. */
  readonly avoid: (partition: number, owner: Owner) => void
  /** The owner takes requests. */
  readonly reached: (partition: number, owner: Owner) => void
  readonly began: (forward: Forward) => void
  readonly repeated: () => void
  readonly ended: (forward: Forward, outcome: ForwardOutcome) => void
}

export const noOwner: LaurelError = laurelError(
  "starting",
  "No server of the cluster can serve the request now. Nothing was changed.",
  { retryAfterSeconds: 1 },
)

/**
 * For the time in which PostgreSQL does not answer: no server can confirm that it owns a partition.
 */
const outage: LaurelError = laurelError(
  "storage_unavailable",
  "PostgreSQL does not answer. Nothing was changed.",
  { retryAfterSeconds: 5 },
)

/** The error that tells why no owner can be reached now. */
export const refusalNow = ({ failure }: { readonly failure: string | undefined }): LaurelError =>
  failure === undefined ? noOwner : outage

export class Forward implements AttemptReports {
  readonly partition: number
  readonly #forwarder: ForwardingRunner
  readonly #exchange: Exchange
  readonly #body: Body
  readonly #headers: Array<string>
  /** When the request began to wait for an owner. */
  #waitingSince = performance.now()
  /** The attempt in progress. `undefined`: the request waits for an owner. */
  #attempt: Attempt | undefined
  /** The number of attempts that were sent. */
  #attempts = 0
  /** The body is a stream that an attempt has begun to read. It cannot be read again. */
  #isBodyUsed = false
  /** The reply is a stream of events. */
  #isEndless = false
  #isEnded = false

  /** `more`: header fields for the owner, alternating names and values. */
  constructor(
    forwarder: ForwardingRunner,
    exchange: Exchange,
    body: Body,
    partition: number,
    more: ReadonlyArray<string> = [],
  ) {
    this.#forwarder = forwarder
    this.#exchange = exchange
    this.#body = body
    this.partition = partition
    const { request, requestId } = exchange
    this.#headers = forwardedHeaders(request.rawHeaders, request.headers.connection, [
      internalHeaders.secret,
      forwarder.secret,
      internalHeaders.partition,
      String(partition),
      internalHeaders.peer,
      request.socket.remoteAddress ?? "",
      "x-request-id",
      requestId,
      ...more,
    ])
  }

  /** Whether an attempt is in progress at an owner with an earlier epoch. */
  isOlderThan(epoch: number): boolean {
    return this.#attempt !== undefined && this.#attempt.owner.epoch < epoch
  }

  begin(): void {
    const { response } = this.#exchange
    response.once("close", () => {
      if (!response.writableFinished) this.#leftByClient()
    })
    if (response.destroyed) this.#end("left")
    else this.#send()
  }

  #send(): void {
    const owner = this.#forwarder.ownerOf(this.partition)
    if (owner === undefined) {
      void this.#wait()
      return
    }
    const { request } = this.#exchange
    const attempt = new Attempt(owner, this)
    this.#attempt = attempt
    this.#forwarder.began(this)
    const isStream = String(request.headers.accept ?? "").includes("text/event-stream")
    this.#forwarder.connections.to(owner.address, isStream).dispatch(
      {
        path: originForm(request.url ?? ""),
        method: request.method as Dispatcher.HttpMethod,
        headers: this.#headers,
        body: this.#body.source(),
      },
      attempt,
    )
  }

  async #wait(): Promise<void> {
    const isLate = performance.now() - this.#waitingSince > limits.ownerWaitMs
    const change =
      isLate || this.#forwarder.draining ? undefined : this.#forwarder.change(this.partition)
    if (change === undefined) {
      this.#refuse(this.#forwarder.refusal, "refused")
      return
    }
    await change
    if (!this.#isEnded) this.#send()
  }

  sent(): void {
    this.#attempts++
    if (this.#body.kept === undefined) this.#isBodyUsed = true
  }

  replyBegins(status: number, headers: ReplyHeaders): void {
    this.#forwarder.reached(this.partition, this.#attempt!.owner)
    const { metrics, response, startedAt } = this.#exchange
    if (response.destroyed) return
    const passed: Record<string, string | Array<string>> = {}
    const passes = passesOn(headers.connection as string | undefined)
    for (const [name, value] of Object.entries(headers)) {
      if (value !== undefined && passes(name)) passed[name] = value
    }
    metrics?.answered(status, performance.now() - startedAt)
    if (this.#forwarder.draining) passed.connection = "close"
    response.writeHead(status, passed)
    // A stream may send nothing for a while after its head.
    if (passed["content-length"] === undefined) response.flushHeaders()
    this.#isEndless = String(passed["content-type"]).startsWith("text/event-stream")
    if (this.#forwarder.draining) this.drain()
  }

  replyGoesOn(chunk: Buffer, controller: Dispatcher.DispatchController): void {
    const { response } = this.#exchange
    if (response.write(chunk) || response.destroyed) return
    controller.pause()
    response.once("drain", () => controller.resume())
  }

  replyEnded(): void {
    this.#exchange.response.end()
    this.#end("answered")
  }

  refused(): void {
    this.#avoidOwner()
    this.#again(this.#forwarder.refusal)
  }

  failed(): void {
    const { path, request, response } = this.#exchange
    if (response.headersSent) {
      // The caller must see that the reply is incomplete.
      response.destroy()
      this.#end("unknown")
      return
    }
    const { isSent } = this.#attempt!
    this.#avoidOwner()
    if (!isSent) {
      this.#again(outcomeUnknown)
      return
    }
    const mayRepeat =
      this.#attempts < limits.forwardAttemptsMax && isRepeatable(request, path, this.#body.kept)
    if (!mayRepeat) {
      this.#refuse(outcomeUnknown, "unknown")
      return
    }
    this.#forwarder.repeated()
    this.#waitingSince = performance.now()
    this.#again(outcomeUnknown)
  }

  #avoidOwner(): void {
    this.#forwarder.avoid(this.partition, this.#attempt!.owner)
    this.#attempt = undefined
  }

  /**
   * Sends the request again: it was not executed, or repeating it is safe. Waits only if no newer
   * owner or announcement is known. `otherwise`: the error if the body cannot be read again.
   */
  #again(otherwise: LaurelError): void {
    if (this.#isBodyUsed) this.#refuse(otherwise, "refused")
    else this.#send()
  }

  /** Ends a stream in an orderly way. */
  drain(): void {
    if (!this.#isEndless || this.#isEnded) return
    this.#exchange.response.end()
    this.#attempt?.giveUp("this runner ends")
    this.#end("answered")
  }

  /** Called when the owner of the attempt in progress has lost the partition. */
  leave(): void {
    if (this.#attempt === undefined) return
    this.#attempt.giveUp("a new owner")
    this.failed()
  }

  #leftByClient(): void {
    if (this.#isEnded) return
    this.#attempt?.giveUp("the client left")
    this.#end("left")
  }

  #refuse(error: LaurelError, outcome: ForwardOutcome): void {
    if (this.#isEnded) return
    this.#end(outcome)
    this.#exchange.refuse(error)
  }

  #end(outcome: ForwardOutcome): void {
    if (this.#isEnded) return
    this.#isEnded = true
    this.#body.release()
    this.#forwarder.ended(this, outcome)
  }
}
