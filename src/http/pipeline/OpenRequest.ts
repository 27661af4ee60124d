/**
 * An authenticated request before its operation runs. It collects the faults of all parts for one
 * reply, and consumes the rate limit once.
 */
import { Result } from "effect"
import { type Accounts, isClient, type RateLimitState } from "../../accounts/Accounts.ts"
import {
  type Fault,
  invalidRequest,
  type LaurelError,
  laurelError,
} from "../../domain/values/Errors.ts"
import type { Idempotency } from "../../engine/Engine.ts"
import { limits } from "../../Limits.ts"
import { allFaults, type CompiledOperation } from "../contract/Operation.ts"
import type { Exchange } from "../request/Exchange.ts"
import { insufficientScope } from "../request/Problem.ts"
import type { RequestMetrics } from "../request/RequestMetrics.ts"
import { idempotencyOf } from "../request/RequestParts.ts"

export class OpenRequest {
  readonly exchange: Exchange
  readonly operation: CompiledOperation
  /** The decoded parts; `undefined` for faulty ones. */
  params: unknown = undefined
  query: unknown = undefined
  headers: unknown = undefined
  readonly #accounts: Accounts["Service"]
  readonly #metrics: RequestMetrics
  readonly #faults: Array<Fault> = []
  /** The units that were consumed before the cost was known. */
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
   * Checks the rate limit. An operation with its own cost consumes units when the body is decoded;
   * before that, the limit must only cover the announced bytes.
   */
  mayBegin(bodyBytes: number): boolean {
    const { exchange, operation } = this
    const caller = exchange.caller!
    if (operation.cost === undefined) return this.#take(this.#accounts.consume(caller, 1), 1)
    const units = Math.max(1, wholeUnits(bodyBytes))
    return this.#take(this.#accounts.look(caller, units), units)
  }

  /**
   * Consumes the cost of the body's bytes before the body is decoded. `false`: refused with 413 or
   * 429.
   */
  payForBody(bytes: number): boolean {
    const { exchange, operation } = this
    const units = wholeUnits(bytes)
    if (operation.cost === undefined || units === 0) return true
    if (!this.#take(this.#accounts.consume(exchange.caller!, units), units)) return false
    this.#paid = units
    return true
  }

  part(decoded: Result.Result<unknown, ReadonlyArray<Fault>>): unknown {
    if (Result.isSuccess(decoded)) return decoded.success
    this.#faults.push(...decoded.failure)
    return undefined
  }

  /**
   * `true` if there are no faults. Otherwise refuses with all faults, including the faults of the
   * body.
   */
  settleFaults(body: Buffer): boolean {
    if (this.#faults.length === 0) return true
    this.refuse(invalidRequest(this.#withMore(this.#faults, body)))
    return false
  }

  /** Refuses a faulty payload, decoded from `body`, with the faults of the other parts. */
  refusePayload(error: LaurelError, body: Buffer): void {
    const faults = [...this.#faults, ...(error.errors ?? [])]
    const together = error.code === "invalid_request" && faults.length > 0
    this.refuse(together ? invalidRequest(this.#withMore(faults, body)) : error)
  }

  #withMore(faults: ReadonlyArray<Fault>, body: Buffer): ReadonlyArray<Fault> {
    return allFaults(this.operation, faults, body, this.exchange.caller!, this.params)
  }

  /** Checks that a client names no other user. `false`: refused with 403. */
  mayName(payload: unknown): boolean {
    const { exchange, operation, params, query } = this
    const caller = exchange.caller!
    if (!isClient(caller)) return true
    const named = operation.userNamed?.({ params, query, payload })
    if (named === undefined || named === caller.userId) return true
    this.refuse(insufficientScope(operation.scopes, caller.scope))
    return false
  }

  /**
   * The idempotency that the request's `Idempotency-Key` asks for; `undefined` without the field.
   */
  idempotency(body: Buffer): Idempotency | undefined {
    const { exchange, operation, params } = this
    const headers = this.headers as { readonly "idempotency-key"?: string }
    const key = headers["idempotency-key"]
    return key === undefined
      ? undefined
      : idempotencyOf(key, operation, params, headers, body, exchange.caller!.userId)
  }

  /** Consumes the rest of the payload's cost. `false`: refused with 413 or 429. */
  pay(payload: unknown): boolean {
    const { exchange, operation } = this
    if (operation.cost === undefined) return true
    const cost = operation.cost(payload)
    const rest = cost - this.#paid
    return rest <= 0 || this.#take(this.#accounts.consume(exchange.caller!, rest), cost)
  }

  /**
   * `cost` is the cost of the whole request. A cost above the limit itself would be refused in
   * every window.
   */
  #take(state: RateLimitState, cost: number): boolean {
    const { exchange } = this
    exchange.rateLimit = state
    if (!state.limited) return true
    if (state.limit !== null && cost > state.limit) {
      this.refuse(batchTooLarge(cost, state.limit))
      return false
    }
    this.#metrics.rateLimited(state.tier)
    exchange.refuse(rateLimited(state.resetSeconds))
    return false
  }

  /**
   * Refuses the request. If its cost is not known yet, it counts as one request, or by its body. One
   * whose signature is not verified counts as none: anybody may have sent it.
   */
  refuse(error: LaurelError, headers?: ReadonlyArray<string>): void {
    const { exchange, operation } = this
    if (operation.cost !== undefined && operation.signed === undefined && this.#paid === 0) {
      exchange.rateLimit = this.#accounts.consume(exchange.caller!, 1)
    }
    exchange.refuse(error, headers)
  }
}

const wholeUnits = (bytes: number): number => Math.floor(bytes / limits.rateLimitUnitBytes)

const batchTooLarge = (cost: number, limit: number): LaurelError =>
  laurelError(
    "batch_too_large",
    `The batch counts as ${cost} requests, and the limit is ${limit} a minute. Send smaller batches.`,
  )

const rateLimited = (resetSeconds: number): LaurelError =>
  laurelError("rate_limited", "Rate limit exceeded. Retry after the window ends.", {
    retryAfterSeconds: resetSeconds,
  })
