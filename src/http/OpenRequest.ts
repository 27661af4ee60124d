/**
 * A request of a known caller on its way to its operation: collects the faults of its parts, so that all are
 * told at once, and pays for it, once.
 */
import { Result } from "effect"
import type { Accounts } from "../accounts/Accounts.ts"
import { type Fault, invalidRequest, type LaurelError, laurelError } from "../domain/Errors.ts"
import type { Exchange } from "./Exchange.ts"
import type { CompiledOperation } from "./Operation.ts"

export class OpenRequest {
  readonly exchange: Exchange
  readonly operation: CompiledOperation
  readonly #accounts: Accounts["Service"]
  readonly #faults: Array<Fault> = []

  constructor(exchange: Exchange, operation: CompiledOperation, accounts: Accounts["Service"]) {
    this.exchange = exchange
    this.operation = operation
    this.#accounts = accounts
  }

  part(decoded: Result.Result<unknown, ReadonlyArray<Fault>>): unknown {
    if (Result.isSuccess(decoded)) return decoded.success
    this.#faults.push(...decoded.failure)
    return undefined
  }

  fault(fault: Fault | undefined): void {
    if (fault !== undefined) this.#faults.push(fault)
  }

  /** Whether no part had faults; else they are told. */
  settleFaults(): boolean {
    if (this.#faults.length === 0) return true
    this.refuse(invalidRequest(this.#faults))
    return false
  }

  /** Tells what is wrong with the payload together with the faults of the other parts. */
  refusePayload(error: LaurelError): void {
    const together = error.code === "invalid_request" && this.#faults.length > 0
    const faults = [...this.#faults, ...(error.errors ?? [])]
    this.refuse(together ? invalidRequest(faults) : error)
  }

  /** Takes what the payload costs beyond what was taken; `false` when that is more than there is. */
  pay(payload: unknown): boolean {
    const { exchange, operation } = this
    if (operation.cost === undefined) return true
    const state = this.#accounts.consume(exchange.caller!, operation.cost(payload))
    exchange.rateLimit = state
    if (state.limited) exchange.refuse(rateLimited(state.resetSeconds))
    return !state.limited
  }

  /** A request that is refused before its cost is known counts as one. */
  refuse(error: LaurelError, headers?: ReadonlyArray<string>): void {
    const { exchange, operation } = this
    if (operation.cost !== undefined) {
      exchange.rateLimit = this.#accounts.consume(exchange.caller!, 1)
    }
    exchange.refuse(error, headers)
  }
}

export const rateLimited = (resetSeconds: number): LaurelError =>
  laurelError("rate_limited", "The key's requests are used up, or too few for this batch.", {
    retryAfterSeconds: resetSeconds,
  })
