/**
 * A request of a known caller on its way to its operation: collects the faults of its parts, so that all are
 * told at once, and pays for it, once.
 */
import { Result } from "effect"
import type { Accounts } from "../accounts/Accounts.ts"
import { type Fault, invalidRequest, type LaurelError, laurelError } from "../domain/Errors.ts"
import { limits } from "../Limits.ts"
import type { Exchange } from "./Exchange.ts"
import type { CompiledOperation } from "./Operation.ts"

export class OpenRequest {
  readonly exchange: Exchange
  readonly operation: CompiledOperation
  /** Decoded, where they have no faults. */
  params: unknown = undefined
  query: unknown = undefined
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

const isAround =
  (pointer: string) =>
  (fault: Fault): boolean =>
    pointer === fault.pointer || pointer.startsWith(`${fault.pointer}/`)

export const rateLimited = (resetSeconds: number): LaurelError =>
  laurelError("rate_limited", "The key's requests are used up, or too few for this batch.", {
    retryAfterSeconds: resetSeconds,
  })
