/**
 * A request of a known caller on its way to its operation: collects the faults of its parts, so that all are
 * told at once, and pays for it, once.
 */
import { Result } from "effect"
import type { Accounts, RateLimitState } from "../../accounts/Accounts.ts"
import {
  type Fault,
  invalidRequest,
  type LaurelError,
  laurelError,
} from "../../domain/values/Errors.ts"
import { limits } from "../../Limits.ts"
import type { CompiledOperation } from "../contract/Operation.ts"
import type { Exchange } from "../request/Exchange.ts"
import type { RequestMetrics } from "../request/RequestMetrics.ts"

export class OpenRequest {
  readonly exchange: Exchange
  readonly operation: CompiledOperation
  /** Decoded, where they have no faults. */
  params: unknown = undefined
  query: unknown = undefined
  headers: unknown = undefined
  readonly #accounts: Accounts["Service"]
  readonly #metrics: RequestMetrics
  readonly #faults: Array<Fault> = []
  /** What was taken of the rate limit before the cost was known. */
  #paid = 0

  constructor(
    exchange: Exchange,
    operation: CompiledOperation,
    accounts: Accounts["Service"],
    metrics: RequestMetrics,
  ) {
    this.exchange = exchange
    this.operation = operation
    this.#accounts = accounts
    this.#metrics = metrics
  }

  /**
   * Whether the caller may ask now. What an operation with a cost of its own takes is known when its body is; until
   * then, only look whether there is enough for what is announced of the body.
   */
  mayBegin(bodyBytes: number): boolean {
    const { exchange, operation } = this
    const caller = exchange.caller!
    if (operation.cost === undefined) return this.#take(this.#accounts.consume(caller, 1))
    return this.#take(this.#accounts.look(caller, Math.max(1, wholeUnits(bodyBytes))))
  }

  /** Takes what a body costs for its bytes, before it is decoded; `false` when that is more than there is. */
  payForBody(bytes: number): boolean {
    const { exchange, operation } = this
    const units = wholeUnits(bytes)
    if (operation.cost === undefined || units === 0) return true
    if (!this.#take(this.#accounts.consume(exchange.caller!, units))) return false
    this.#paid = units
    return true
  }

  part(decoded: Result.Result<unknown, ReadonlyArray<Fault>>): unknown {
    if (Result.isSuccess(decoded)) return decoded.success
    this.#faults.push(...decoded.failure)
    return undefined
  }

  /** Whether no part had faults; else they are told, with what else is wrong with the body. */
  settleFaults(body: Buffer): boolean {
    if (this.#faults.length === 0) return true
    this.refuse(invalidRequest(this.#withMore(this.#faults, body)))
    return false
  }

  /** Tells what is wrong with the payload, which was read from `body`, together with the faults of the other parts. */
  refusePayload(error: LaurelError, body: Buffer): void {
    const faults = [...this.#faults, ...(error.errors ?? [])]
    const together = error.code === "invalid_request" && faults.length > 0
    this.refuse(together ? invalidRequest(this.#withMore(faults, body)) : error)
  }

  /** Those of form first. What is wrong with a place is not told of what is in it, nor twice. */
  #withMore(faults: ReadonlyArray<Fault>, body: Buffer): ReadonlyArray<Fault> {
    if (faults.length >= limits.faultsMax) return faults.slice(0, limits.faultsMax)
    const more = this.operation.moreFaults(body, this.exchange.caller!)
    const others = more.filter(({ pointer }) => !faults.some(isAround(pointer)))
    return [...faults, ...others].slice(0, limits.faultsMax)
  }

  /** Takes what the payload costs beyond what was taken; `false` when that is more than there is. */
  pay(payload: unknown): boolean {
    const { exchange, operation } = this
    if (operation.cost === undefined) return true
    const rest = operation.cost(payload) - this.#paid
    return rest <= 0 || this.#take(this.#accounts.consume(exchange.caller!, rest))
  }

  #take(state: RateLimitState): boolean {
    const { exchange } = this
    exchange.rateLimit = state
    if (!state.limited) return true
    this.#metrics.rateLimited(state.tier)
    exchange.refuse(rateLimited(state.resetSeconds))
    return false
  }

  /** A request that is refused before its cost is known counts as one, or as its body does. */
  refuse(error: LaurelError, headers?: ReadonlyArray<string>): void {
    const { exchange, operation } = this
    if (operation.cost !== undefined && this.#paid === 0) {
      exchange.rateLimit = this.#accounts.consume(exchange.caller!, 1)
    }
    exchange.refuse(error, headers)
  }
}

const isAround =
  (pointer: string) =>
  (fault: Fault): boolean =>
    pointer === fault.pointer || pointer.startsWith(`${fault.pointer}/`)

const wholeUnits = (bytes: number): number => Math.floor(bytes / limits.rateLimitUnitBytes)

const rateLimited = (resetSeconds: number): LaurelError =>
  laurelError("rate_limited", "Rate limit exceeded. Retry after the window ends.", {
    retryAfterSeconds: resetSeconds,
  })
