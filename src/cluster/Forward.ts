/** One request on its way to the owner and back: see `Forwarder.ts`. */
import type { Dispatcher } from "undici"
import { type LaurelError, laurelError } from "../domain/values/Errors.ts"
import { outcomeUnknown } from "../engine/actor/refusals.ts"
import type { Exchange } from "../http/request/Exchange.ts"
import { originForm } from "../http/request/RequestHead.ts"
import { limits } from "../Limits.ts"
import type { Body } from "./ForwardedBody.ts"
import { forwardedHeaders, internalHeaders, passesOn } from "./internalHeaders.ts"
import type { OwnerConnections } from "./OwnerConnections.ts"
import type { Owner } from "./Owners.ts"
import { isRepeatable } from "./repeatable.ts"

/** How a forwarded request ended, for the metric; `repeated` is counted beside the end. */
export type ForwardOutcome = "answered" | "repeated" | "refused" | "unknown" | "left"

/** What a forwarded request needs of the `Forwarder`. */
export interface ForwardingRunner {
  readonly connections: OwnerConnections
  readonly secret: string
  readonly draining: boolean
  /** Requests that wait for an owner. */
  waiting: number
  /** The owner to send to; `undefined`: none that takes requests. */
  readonly ownerOf: (partition: number) => Owner | undefined
  /** Its owner of this epoch did not take a request: another one may be known. */
  readonly avoid: (partition: number, epoch: number) => void
  /** The owner of this epoch takes requests. */
  readonly reached: (partition: number, epoch: number) => void
  /** Ends with a change of an owner, or after a moment. */
  readonly change: () => Promise<void>
  readonly began: (forward: Forward) => void
  readonly repeated: () => void
  readonly ended: (forward: Forward, outcome: ForwardOutcome) => void
}

export const noOwner: LaurelError = laurelError(
  "starting",
  "No server of the cluster can serve the request now. Nothing was changed.",
  { retryAfterSeconds: 1 },
)

const badRequest = laurelError("malformed_request", "The request could not be forwarded.")

type Controller = Dispatcher.DispatchController
type Headers = Parameters<NonNullable<Dispatcher.DispatchHandler["onResponseStart"]>>[2]

export class Forward implements Dispatcher.DispatchHandler {
  readonly partition: number
  readonly #forwarder: ForwardingRunner
  readonly #exchange: Exchange
  readonly #body: Body
  readonly #headers: Array<string>
  /** Since when it waits for an owner. */
  #waitingSince = performance.now()
  #owner: Owner | undefined
  #controller: Controller | undefined
  /** Of this attempt: the owner may have begun on it; it refused. */
  #isSent = false
  #isRefused = false
  #attempts = 0
  /** A stream can be read once. */
  #isBodyUsed = false
  /** Its reply is a stream of events. */
  #isEndless = false
  #isEnded = false

  /** `more`: header fields for the owner, names and values in turn. */
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

  /** The epoch of the owner that was asked last. */
  get epoch(): number {
    return this.#owner?.epoch ?? 0
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
    this.#owner = owner
    this.#isSent = false
    this.#isRefused = false
    this.#controller = undefined
    this.#forwarder.began(this)
    const isStream = String(request.headers.accept ?? "").includes("text/event-stream")
    const pool = this.#forwarder.connections.to(owner.address, isStream)
    try {
      pool.dispatch(
        {
          path: originForm(request.url ?? ""),
          method: request.method as Dispatcher.HttpMethod,
          headers: this.#headers,
          // The types of undici do not have what it takes as well: an iterable.
          body: this.#body.source as Buffer | null,
        },
        this,
      )
    } catch {
      // undici takes no such request: nothing was sent.
      this.#refuse(badRequest, "refused")
    }
  }

  async #wait(): Promise<void> {
    const forwarder = this.#forwarder
    const isLate = performance.now() - this.#waitingSince > limits.ownerWaitMs
    if (isLate || forwarder.draining || forwarder.waiting >= limits.ownerWaitingMax) {
      this.#refuse(noOwner, "refused")
      return
    }
    forwarder.waiting++
    await forwarder.change()
    forwarder.waiting--
    if (!this.#isEnded) this.#send()
  }

  onRequestStart(controller: Controller): void {
    this.#controller = controller
    if (this.#isEnded) {
      controller.abort(new Error("the client left"))
      return
    }
    this.#isSent = true
    this.#attempts++
    if (this.#body.kept === undefined) this.#isBodyUsed = true
  }

  onResponseStart(_: Controller, status: number, headers: Headers): void {
    if (status < 200) return
    if (headers[internalHeaders.notOwner] !== undefined) {
      this.#isRefused = true
      return
    }
    this.#forwarder.reached(this.partition, this.epoch)
    const { metrics, response, startedAt } = this.#exchange
    if (response.destroyed) return
    const passed: Record<string, string | Array<string>> = {}
    const connection = headers.connection as string | undefined
    for (const [name, value] of Object.entries(headers)) {
      if (value !== undefined && passesOn(name, connection)) passed[name] = value
    }
    metrics?.answered(status, performance.now() - startedAt)
    if (this.#forwarder.draining) passed.connection = "close"
    response.writeHead(status, passed)
    // A stream may be silent for a while.
    if (passed["content-length"] === undefined) response.flushHeaders()
    this.#isEndless = String(passed["content-type"]).startsWith("text/event-stream")
    if (this.#forwarder.draining) this.drain()
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    if (this.#isRefused) return
    const { response } = this.#exchange
    if (response.write(chunk) || response.destroyed) return
    controller.pause()
    response.once("drain", () => controller.resume())
  }

  onResponseEnd(): void {
    if (this.#isEnded) return
    if (this.#isRefused) {
      this.#forwarder.avoid(this.partition, this.epoch)
      this.#again()
      return
    }
    this.#exchange.response.end()
    this.#end("answered")
  }

  onResponseError(): void {
    this.#failed()
  }

  #failed(): void {
    if (this.#isEnded) return
    const { path, request, response } = this.#exchange
    if (response.headersSent) {
      // Of half a reply the caller must see that it is cut.
      response.destroy()
      this.#end("unknown")
      return
    }
    this.#forwarder.avoid(this.partition, this.epoch)
    if (!this.#isSent) {
      this.#again()
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
    this.#again()
  }

  /** Nothing was done, or it is safe to do again. */
  #again(): void {
    if (this.#isBodyUsed) this.#refuse(this.#isRefused ? noOwner : outcomeUnknown, "refused")
    else void this.#wait()
  }

  /** Ends an endless reply, in good order. */
  drain(): void {
    if (!this.#isEndless || this.#isEnded) return
    this.#exchange.response.end()
    this.#end("answered")
    this.#controller?.abort(new Error("this runner ends"))
  }

  /** Its owner is none any more. */
  leave(): void {
    if (this.#controller === undefined) this.#failed()
    else this.#controller.abort(new Error("a new owner"))
  }

  #leftByClient(): void {
    if (this.#isEnded) return
    this.#end("left")
    this.#controller?.abort(new Error("the client left"))
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
