/**
 * One attempt to have an owner carry a forwarded request out: the handler that undici calls for it.
 *
 * It reports its end exactly once, and nothing afterwards: undici may still connect, or fail to connect, for an attempt
 * that was given up. Such a late report must not end, repeat or answer the request, whose next attempt is under way.
 */
import type { Dispatcher } from "undici"
import { internalHeaders } from "./internalHeaders.ts"
import type { Owner } from "./Owners.ts"

type Controller = Dispatcher.DispatchController
export type ReplyHeaders = Parameters<NonNullable<Dispatcher.DispatchHandler["onResponseStart"]>>[2]

/** Who made the attempt. Of the last three exactly one is called, unless the attempt was given up. */
export interface AttemptReports {
  /** The owner may begin on the request from now on. */
  readonly sent: () => void
  readonly replyBegins: (status: number, headers: ReplyHeaders) => void
  readonly replyGoesOn: (chunk: Buffer, controller: Controller) => void
  readonly replyEnded: () => void
  /** The server is not the owner, and did nothing. */
  readonly refused: () => void
  /** No reply, or a part of one. */
  readonly failed: () => void
}

export class Attempt implements Dispatcher.DispatchHandler {
  readonly owner: Owner
  readonly #reports: AttemptReports
  #controller: Controller | undefined
  #isRefused = false
  #isOver = false
  /** The owner may have begun on the request. */
  isSent = false

  constructor(owner: Owner, reports: AttemptReports) {
    this.owner = owner
    this.#reports = reports
  }

  /** Nothing more comes of it. */
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
