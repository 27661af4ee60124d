/**
 * One attempt to deliver a message: a POST over a connection that is this endpoint's own.
 *
 * - No more are under way than there are connections; others wait here, in order. An attempt begins when one is free
 *   for it, or may be opened: from then on its time runs.
 * - What counts is the status: 2xx is success, as soon as it is there. Nothing is followed.
 * - Everything is bounded, whatever the receiver does: the whole attempt by `timeoutMs`, header fields by
 *   `webhookHeaderBytesMax`, and of the body no more is read than `webhookReplyReadBytesMax`, of which the
 *   first `webhookReplyKeptBytesMax` are kept. What goes on after that is cut.
 * - A connection that was kept open may have been closed by the receiver just now. Such an attempt is made once
 *   more, on a new connection.
 *
 * Plain callbacks: a fiber for each attempt would cost more than the rest of it.
 */
import type { KeyObject } from "node:crypto"
import { type Dispatcher, Pool } from "undici"
import type { Told } from "../engine/Feed.ts"
import { limits } from "../Limits.ts"
import type { makeConnector } from "./Connector.ts"
import { Deadlines } from "./Deadlines.ts"
import { sign } from "./Signature.ts"

/** Why there was no status. */
export type AttemptError =
  | "address_refused"
  | "connection_failed"
  | "connection_refused"
  | "connection_reset"
  | "invalid_response"
  | "name_unknown"
  | "timeout"
  | "tls_failure"

export interface Outcome {
  /** The HTTP status; null when there was none. */
  readonly status: number | null
  readonly error: AttemptError | null
  /** The start of the reply's body. */
  readonly body: string
  readonly retryAfter: string | undefined
  readonly durationMs: number
}

export interface OutgoingMessage {
  /** One object for all whom it is sent to; `bytes` of the text are made with the first. */
  readonly message: Told & { bytes?: Buffer }
  /** When it is sent, since 1970. */
  readonly timestampSeconds: number
  /** What it is signed with, the same array as long as they are the same. */
  readonly keys: ReadonlyArray<KeyObject>
}

export interface SenderOptions {
  readonly connect: ReturnType<typeof makeConnector>
  readonly timeoutMs: number
  readonly connectionsMax: number
}

/** Sends messages to one URL. */
export interface MessageSender {
  /** Sends a message and calls back once, later, with what became of it; the function returned gives it up, without an outcome. */
  readonly send: (message: OutgoingMessage, settled: (outcome: Outcome) => void) => () => void
  /** Lets go of what it holds as soon as nothing is under way. */
  readonly close: () => void
}

/** Sends over HTTP. Attempts run side by side, each on a connection of its own. */
export class Sender implements MessageSender {
  readonly #connectionsMax: number
  readonly #deadlines: Deadlines
  readonly #pool: Pool
  readonly #path: string
  /** Something was answered over these connections before. */
  #answered = false
  #underWay = 0
  readonly #waiting = new Map<Attempt, Dispatch>()
  #beginning = false
  #closing = false

  constructor(url: string, options: SenderOptions) {
    const { origin, pathname, search } = new URL(url)
    this.#connectionsMax = options.connectionsMax
    this.#deadlines = new Deadlines(options.timeoutMs)
    this.#path = pathname + search
    this.#pool = new Pool(origin, {
      connect: options.connect,
      connections: options.connectionsMax,
      pipelining: 1,
      allowH2: false,
      maxHeaderSize: limits.webhookHeaderBytesMax,
      keepAliveTimeout: limits.webhookKeepAliveMs,
      keepAliveMaxTimeout: limits.webhookKeepAliveMs,
      // The attempt has a deadline of its own.
      headersTimeout: 0,
      bodyTimeout: 0,
    })
  }

  send(message: OutgoingMessage, settled: (outcome: Outcome) => void): () => void {
    const attempt = new Attempt(this.#deadlines, (outcome) => {
      if (outcome.status !== null) this.#answered = true
      this.#ended()
      settled(outcome)
    })
    // Signed while it waits: a connection that gets free should not wait for that.
    const request = { path: this.#path, method: "POST", ...signed(message) } as const
    const dispatch: Dispatch = (handler) => this.#pool.dispatch(request, handler)
    const isFree = this.#waiting.size === 0 && this.#underWay < this.#connectionsMax
    if (isFree) this.#begin(attempt, dispatch)
    else this.#waiting.set(attempt, dispatch)
    return () => {
      if (this.#waiting.delete(attempt)) this.#closeWhenLast()
      else if (attempt.giveUp()) this.#ended()
    }
  }

  close(): void {
    this.#closing = true
    this.#closeWhenLast()
  }

  #begin(attempt: Attempt, dispatch: Dispatch): void {
    this.#underWay++
    attempt.begin(dispatch, this.#answered)
  }

  #ended(): void {
    this.#underWay--
    if (this.#waiting.size === 0 || this.#beginning) return
    this.#beginning = true
    // The connection is not free yet, and others may be given up in the same turn.
    queueMicrotask(this.#beginMore)
  }

  readonly #beginMore = (): void => {
    this.#beginning = false
    for (const [attempt, dispatch] of this.#waiting) {
      if (this.#underWay >= this.#connectionsMax) break
      this.#waiting.delete(attempt)
      this.#begin(attempt, dispatch)
      this.#closeWhenLast()
    }
  }

  /** Connections are let go when all attempts have one. */
  #closeWhenLast(): void {
    if (this.#closing && this.#waiting.size === 0) this.#pool.close().catch(() => {})
  }
}

/** Header fields and body of a message. */
const signed = ({ keys, message, timestampSeconds }: OutgoingMessage) => {
  const { id, text } = message
  message.bytes ??= Buffer.from(text)
  const { bytes } = message
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
    sign(keys, id, timestampSeconds, bytes),
  ]
  return { headers, body: bytes }
}

type Dispatch = (handler: Dispatcher.DispatchHandler) => unknown

class Attempt implements Dispatcher.DispatchHandler {
  readonly #settled: (outcome: Outcome) => void
  #begunAt = 0
  readonly #deadlines: Deadlines
  readonly #expired = () => this.#finish("timeout")
  #dispatch: Dispatch | undefined
  #again = false
  #controller: Dispatcher.DispatchController | undefined
  #status: number | null = null
  #retryAfter: string | undefined
  #chunks: Array<Buffer> = []
  #bytes = 0
  #done = false

  constructor(deadlines: Deadlines, settled: (outcome: Outcome) => void) {
    this.#settled = settled
    this.#deadlines = deadlines
  }

  /** `again`: it is made once more when its connection breaks before anything was answered. */
  begin(dispatch: Dispatch, again: boolean): void {
    this.#dispatch = dispatch
    this.#again = again
    this.#begunAt = performance.now()
    this.#deadlines.add(this.#expired)
    this.#start()
  }

  #start(): void {
    try {
      this.#dispatch!(this)
    } catch {
      this.#finish("connection_failed")
    }
  }

  /** Whether it was under way until now. */
  giveUp(): boolean {
    if (this.#done) return false
    this.#done = true
    this.#deadlines.remove(this.#expired)
    this.#abort()
    return true
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    // It waited for a connection longer than it may: it must not be sent after all.
    if (this.#done) this.#abort()
  }

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
    if (this.#bytes < limits.webhookReplyKeptBytesMax) this.#chunks.push(Buffer.from(chunk))
    this.#bytes += chunk.length
    if (this.#bytes > limits.webhookReplyReadBytesMax) this.#finish(null)
  }

  onResponseEnd(): void {
    // The connection is whole, and may serve again.
    this.#controller = undefined
    this.#finish(null)
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    const reason = reasonOf(error)
    if (this.#again && !this.#done && this.#status === null && reason === "connection_reset") {
      this.#controller = undefined
      this.#again = false
      this.#start()
    } else this.#finish(reason)
  }

  /** A status that is there counts, whatever becomes of the body. */
  #finish(error: AttemptError | null): void {
    if (this.#done) return
    this.#done = true
    this.#deadlines.remove(this.#expired)
    const kept = Buffer.concat(this.#chunks).subarray(0, limits.webhookReplyKeptBytesMax)
    this.#chunks = []
    this.#abort()
    this.#settled({
      status: this.#status,
      error: this.#status === null ? (error ?? "invalid_response") : null,
      body: textOf(kept),
      retryAfter: this.#retryAfter,
      durationMs: Math.round(performance.now() - this.#begunAt),
    })
  }

  #abort(): void {
    const controller = this.#controller
    if (controller !== undefined && !controller.aborted) controller.abort(new Error("settled"))
  }
}

/** As text; a character that is cut in two at the end is left out, and of what is no text there is less. */
const textOf = (bytes: Buffer): string => {
  if (bytes.length === 0) return ""
  let text = bytes.toString("utf8").replace(/\ufffd+$/, "")
  while (Buffer.byteLength(JSON.stringify(text)) > 1.2 * limits.webhookReplyKeptBytesMax) {
    text = text.slice(0, Math.floor(0.8 * text.length))
  }
  return text
}

const reasons: Readonly<Record<string, AttemptError>> = {
  ADDRESS_REFUSED: "address_refused",
  NAME_UNKNOWN: "name_unknown",
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
  const known = reasons[code]
  if (known !== undefined) return known
  if (error.name === "HTTPParserError") return "invalid_response"
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0])
  if (/CERT|TLS|SSL|ISSUER|SIGNATURE|EPROTO/.test(code)) return "tls_failure"
  return "connection_failed"
}
