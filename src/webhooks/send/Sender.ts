/**
 * One attempt to deliver a message: a POST over a connection that only this endpoint uses.
 *
 * - At most `connectionsMax` attempts are under way; others wait here in order. The time of an
 *   attempt begins when it has a connection or may open one.
 * - The status decides: a 2xx is success as soon as it arrives. Redirects are not followed.
 * - Everything that a receiver can do is bounded: the attempt by `timeoutMs`, header fields by
 *   `webhookHeaderBytesMax`, the body by `webhookReplyReadBytesMax`. The first
 *   `webhookReplyKeptBytesMax` of the body are kept. A longer body is truncated.
 * - The receiver may close an idle connection just when an attempt begins. The attempt is then
 *   repeated once, on a new connection.
 *
 * Plain callbacks: a fiber for each attempt would cost more than the rest of the attempt.
 */

import type { KeyObject } from "node:crypto"
import { Client, type Dispatcher } from "undici"
import type { Told } from "../../engine/commit/Feed.ts"
import { limits } from "../../Limits.ts"
import type { makeConnector } from "./Connector.ts"
import { sign } from "./Signature.ts"

/*
 * Times out a few concurrent items, such as the attempts of one endpoint. All have the same
 * timeout, so the oldest expires first and one timer serves all. A timer for each item would cost
 * more.
 *
 * Only the time in which the process runs counts: after a suspension, timers fire before replies
 * are read, so attempts would time out although replies are there. So the timer fires every
 * `runningStepMs`. If it is late by at least one more step, all items get that time back, and one
 * step more.
 *
 * Uses an array with linear search, for the reason given in `SenderThread.ts`.
 */

export class TimeoutQueue<A> {
  readonly #timeoutMs: number
  readonly #expired: (one: A) => void
  /** The items, oldest first, and the time at which each expires. */
  readonly #ends: Array<{ readonly one: A; at: number }> = []
  #timer: NodeJS.Timeout | undefined
  /** When the timer should fire, in milliseconds of `performance.now()`. */
  #fireAt = 0

  /** Calls `expired` with each item that is not removed in time. */
  constructor(timeoutMs: number, expired: (one: A) => void) {
    this.#timeoutMs = timeoutMs
    this.#expired = expired
  }

  add(one: A): void {
    this.#ends.push({ one, at: performance.now() + this.#timeoutMs })
    if (this.#timer === undefined) this.#arm(this.#timeoutMs)
  }

  remove(one: A): void {
    const place = this.#ends.findIndex((end) => end.one === one)
    if (place === -1) return
    this.#ends.splice(place, 1)
    if (this.#ends.length > 0) return
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #arm(ms: number): void {
    const stepMs = Math.ceil(Math.min(ms, limits.runningStepMs))
    clearTimeout(this.#timer)
    this.#fireAt = performance.now() + stepMs
    this.#timer = setTimeout(this.#look, stepMs)
  }

  readonly #look = (): void => {
    this.#timer = undefined
    const lateMs = performance.now() - this.#fireAt
    if (lateMs >= limits.runningStepMs) {
      for (const end of this.#ends) end.at += lateMs + limits.runningStepMs
    }
    for (let [first] = this.#ends; first !== undefined; [first] = this.#ends) {
      const left = first.at - performance.now()
      // An item that was added meanwhile may have set the timer for its own end.
      if (left > 0) {
        this.#arm(left)
        return
      }
      this.#ends.shift()
      this.#expired(first.one)
    }
  }
}

/** Why an attempt has no status. */
export type AttemptError =
  | "address_refused"
  | "connection_failed"
  | "connection_refused"
  | "connection_reset"
  | "invalid_response"
  | "dns_failure"
  | "timeout"
  | "tls_failure"

export interface Outcome {
  /** The HTTP status; null if there was none. */
  readonly status: number | null
  readonly error: AttemptError | null
  /** The start of the reply's body. */
  readonly body: string
  readonly retryAfter: string | undefined
  readonly durationMs: number
}

export interface OutgoingMessage {
  /** Shared by all endpoints. The first attempt adds the `bytes` of the text. */
  readonly message: Told & { bytes?: Buffer }
  /** The trace of the record. */
  readonly trace?: string | undefined
  /** The time of sending, in seconds since 1970. */
  readonly timestampSeconds: number
  /** The signing keys. The array is the same while the keys are the same. */
  readonly keys: ReadonlyArray<KeyObject>
}

export interface SenderOptions {
  readonly connect: ReturnType<typeof makeConnector>
  readonly timeoutMs: number
  readonly connectionsMax: number
}

/** Sends messages to one URL. */
export interface MessageSender {
  /**
   * Sends a message. Calls `settled` once, later, with the outcome. The returned function aborts
   * the attempt without an outcome.
   */
  readonly send: (message: OutgoingMessage, settled: (outcome: Outcome) => void) => () => void
  /** Closes the connections when no attempt is under way. */
  readonly close: () => void
}

/** Sends over HTTP. Attempts run concurrently, each on its own connection. */
export class Sender implements MessageSender {
  readonly #options: SenderOptions
  readonly #origin: string
  readonly #path: string
  readonly #deadlines: TimeoutQueue<Attempt>
  /** The idle connections; the last one was used last. */
  readonly #idle: Array<Client> = []
  /** The waiting attempts, in order. Some may be aborted. */
  readonly #waiting: Array<Attempt> = []
  #underWay = 0
  #beginning = false
  #closing = false

  constructor(url: string, options: SenderOptions) {
    const { origin, pathname, search } = new URL(url)
    this.#options = options
    this.#origin = origin
    this.#path = pathname + search
    this.#deadlines = new TimeoutQueue(options.timeoutMs, (attempt) => attempt.finish("timeout"))
  }

  send(message: OutgoingMessage, settled: (outcome: Outcome) => void): () => void {
    // Signs before the attempt waits, so that a free connection does not wait for the signature.
    const attempt = new Attempt(requestOf(this.#path, message), this.#ended, settled)
    const isFree = this.#waiting.length === 0 && this.#underWay < this.#options.connectionsMax
    if (isFree) this.#begin(attempt)
    else this.#waiting.push(attempt)
    return () => attempt.giveUp()
  }

  close(): void {
    this.#closing = true
    this.#closeWhenLast()
  }

  #begin(attempt: Attempt): void {
    this.#underWay++
    this.#deadlines.add(attempt)
    const idle = this.#idle.pop()
    attempt.begin(idle ?? this.#connection(), idle !== undefined)
  }

  /** Makes a connection, which opens with its first attempt. */
  #connection(): Client {
    return new Client(this.#origin, {
      connect: this.#options.connect,
      pipelining: 1,
      allowH2: false,
      maxHeaderSize: limits.webhookHeaderBytesMax,
      keepAliveTimeout: limits.webhookKeepAliveMs,
      keepAliveMaxTimeout: limits.webhookKeepAliveMs,
      // The attempt has its own deadline.
      headersTimeout: 0,
      bodyTimeout: 0,
    })
  }

  /** `isWhole`: the connection can be reused. */
  readonly #ended = (attempt: Attempt, client: Client, isWhole: boolean): void => {
    this.#deadlines.remove(attempt)
    this.#underWay--
    if (isWhole) this.#idle.push(client)
    else client.destroy().catch(() => {})
    this.#closeWhenLast()
    if (this.#waiting.length === 0 || this.#beginning) return
    this.#beginning = true
    // Other attempts may be aborted in the same turn.
    queueMicrotask(this.#beginMore)
  }

  readonly #beginMore = (): void => {
    this.#beginning = false
    while (this.#waiting.length > 0 && this.#underWay < this.#options.connectionsMax) {
      const attempt = this.#waiting.shift()!
      if (!attempt.done) this.#begin(attempt)
    }
    this.#closeWhenLast()
  }

  /** Closes the connections when no attempt waits or is under way. */
  #closeWhenLast(): void {
    if (!this.#closing || this.#waiting.length > 0) return
    for (const client of this.#idle.splice(0)) client.close().catch(() => {})
  }
}

type Request = Pick<Dispatcher.DispatchOptions, "path" | "method" | "headers" | "body">

/** The request for a message. */
const requestOf = (path: string, outgoing: OutgoingMessage): Request => {
  const { keys, message, timestampSeconds, trace } = outgoing
  const { id, text } = message
  message.bytes ??= Buffer.from(text)
  const body = message.bytes
  const headers = [
    "content-type",
    "application/json",
    "user-agent",
    "Laurel",
    "webhook-id",
    id,
    "webhook-timestamp",
    String(timestampSeconds),
    "webhook-signature",
    sign(keys, id, timestampSeconds, body),
  ]
  // Records have only sampled traces.
  if (trace !== undefined) headers.push("traceparent", `00-${trace}-01`)
  return { path, method: "POST", headers, body }
}

/**
 * The whole state of an attempt in one object, since thousands of attempts wait or are under way.
 */
class Attempt implements Dispatcher.DispatchHandler {
  readonly #request: Request
  readonly #ended: (attempt: Attempt, client: Client, isWhole: boolean) => void
  readonly #settled: (outcome: Outcome) => void
  #client: Client | undefined
  #begunAt = 0
  #again = false
  #status: number | null = null
  #retryAfter: string | undefined
  #chunks: Array<Buffer> | undefined
  #bytes = 0
  /** The attempt has ended or was aborted. */
  done = false

  /** At its end the attempt calls `ended`, then, unless it was aborted, `settled`. */
  constructor(
    request: Request,
    ended: (attempt: Attempt, client: Client, isWhole: boolean) => void,
    settled: (outcome: Outcome) => void,
  ) {
    this.#request = request
    this.#ended = ended
    this.#settled = settled
  }

  /** `again`: repeat the attempt if its connection breaks before any answer. */
  begin(client: Client, again: boolean): void {
    this.#client = client
    this.#again = again
    this.#begunAt = performance.now()
    this.#start()
  }

  #start(): void {
    try {
      this.#client!.dispatch(this.#request, this)
    } catch {
      queueMicrotask(() => this.finish("connection_failed"))
    }
  }

  giveUp(): void {
    if (!this.done) this.#end(false)
  }

  // undici requires this method.
  onRequestStart(): void {}

  onResponseStart(
    _: Dispatcher.DispatchController,
    status: number,
    headers: NodeJS.Dict<string | ReadonlyArray<string>>,
  ): void {
    if (status < 200) return
    this.#status = status
    const retryAfter = headers["retry-after"]
    if (typeof retryAfter === "string") this.#retryAfter = retryAfter
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#bytes < limits.webhookReplyKeptBytesMax) {
      this.#chunks ??= []
      this.#chunks.push(Buffer.from(chunk))
    }
    this.#bytes += chunk.length
    if (this.#bytes > limits.webhookReplyReadBytesMax) this.finish(null)
  }

  onResponseEnd(): void {
    this.finish(null, true)
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    if (this.done) return
    const reason = reasonOf(error)
    if (this.#again && this.#status === null && reason === "connection_reset") {
      this.#again = false
      this.#start()
    } else this.finish(reason)
  }

  /**
   * Ends the attempt. A received status counts, also if the body fails. `isWhole`: the connection
   * can be reused.
   */
  finish(error: AttemptError | null, isWhole = false): void {
    if (this.done) return
    const outcome = {
      status: this.#status,
      error: this.#status === null ? (error ?? "invalid_response") : null,
      body: this.#chunks === undefined ? "" : textOf(this.#chunks),
      retryAfter: this.#retryAfter,
      durationMs: Math.round(performance.now() - this.#begunAt),
    }
    this.#end(isWhole)
    this.#settled(outcome)
  }

  #end(isWhole: boolean): void {
    this.done = true
    this.#chunks = undefined
    // The attempt may not have begun.
    if (this.#client !== undefined) this.#ended(this, this.#client, isWhole)
  }
}

/** The start of a body as text, without a partial character at its end. */
const textOf = (chunks: ReadonlyArray<Buffer>): string => {
  const bytes = Buffer.concat(chunks).subarray(0, limits.webhookReplyKeptBytesMax)
  let text = bytes.toString("utf8")
  let end = text.length
  while (text[end - 1] === "\ufffd") end--
  text = text.slice(0, end)
  while (Buffer.byteLength(JSON.stringify(text)) > 1.2 * limits.webhookReplyKeptBytesMax) {
    text = text.slice(0, Math.floor(0.8 * text.length))
  }
  return text
}

const reasons: Readonly<Record<string, AttemptError>> = {
  ADDRESS_REFUSED: "address_refused",
  LOOKUP_FAILED: "dns_failure",
  ECONNREFUSED: "connection_refused",
  ECONNRESET: "connection_reset",
  EPIPE: "connection_reset",
  UND_ERR_SOCKET: "connection_reset",
  ETIMEDOUT: "timeout",
  UND_ERR_CONNECT_TIMEOUT: "timeout",
  UND_ERR_HEADERS_OVERFLOW: "invalid_response",
}

const reasonOf = (error: Error): AttemptError => {
  const code = String((error as { readonly code?: unknown }).code ?? "")
  // undici closes the connection after an unsolicited 100 or 101.
  if (/^bad (response|upgrade)$/.test(error.message)) return "invalid_response"
  const known = reasons[code]
  if (known !== undefined) return known
  if (error.name === "HTTPParserError") return "invalid_response"
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0])
  if (/CERT|TLS|SSL|ISSUER|SIGNATURE|EPROTO/.test(code)) return "tls_failure"
  return "connection_failed"
}
