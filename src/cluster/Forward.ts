/**
 * One request on its way to the owner and back (`Forwarder.ts`): it waits for an owner, or one attempt is under way
 * (`Attempt.ts`), never both and never two.
 */
import type { Dispatcher } from "undici"
import { type LaurelError, laurelError } from "../domain/values/Errors.ts"
import { outcomeUnknown } from "../engine/actor/refusals.ts"
import type { Exchange } from "../http/request/Exchange.ts"
import { originForm } from "../http/request/RequestHead.ts"
import { limits } from "../Limits.ts"
import { Attempt, type AttemptReports, type ReplyHeaders } from "./Attempt.ts"
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
  /** The refusal of a request that no owner has begun. */
  readonly refusal: LaurelError
  /** Waits for a change of an owner, or a moment; `undefined`: too many requests wait already. */
  readonly change: (partition: number) => Promise<void> | undefined
  /** The owner to send to; `undefined`: none that takes requests. */
  readonly ownerOf: (partition: number) => Owner | undefined
  /** Its owner did not take a request: another one may be known. */
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

/** PostgreSQL does not answer: no server can confirm that it owns a partition. */
const outage: LaurelError = laurelError(
  "storage_unavailable",
  "PostgreSQL does not answer. Nothing was changed.",
  { retryAfterSeconds: 5 },
)

/** Why no owner can be reached now. */
export const refusalNow = ({ failure }: { readonly failure: string | undefined }): LaurelError =>
  failure === undefined ? noOwner : outage

export class Forward implements AttemptReports {
  readonly partition: number
  readonly #forwarder: ForwardingRunner
  readonly #exchange: Exchange
  readonly #body: Body
  readonly #headers: Array<string>
  /** Since when it waits for an owner. */
  #waitingSince = performance.now()
  /** The one under way; `undefined`: it waits for an owner. */
  #attempt: Attempt | undefined
  /** Those that were sent. */
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

  /** Whether an attempt is under way at an owner of an earlier epoch than this. */
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
    // A stream may be silent for a while.
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
      // Of half a reply the caller must see that it is cut.
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
   * Nothing was done, or it is safe to do again; `otherwise`: the refusal where the body is used up. It waits only where no newer
   * owner, or announcement, is known.
   */
  #again(otherwise: LaurelError): void {
    if (this.#isBodyUsed) this.#refuse(otherwise, "refused")
    else this.#send()
  }

  /** Ends an endless reply, in good order. */
  drain(): void {
    if (!this.#isEndless || this.#isEnded) return
    this.#exchange.response.end()
    this.#attempt?.giveUp("this runner ends")
    this.#end("answered")
  }

  /** The owner of its attempt is none any more. */
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
