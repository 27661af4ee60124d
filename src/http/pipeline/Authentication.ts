/**
 * Authentication. The key or token of a connection that repeats the same `Authorization` is hashed once, until any key changes
 * or the token expires.
 */
import type { IncomingMessage } from "node:http"
import type { Socket } from "node:net"
import type { Accounts, Caller } from "../../accounts/Accounts.ts"
import { type LaurelError, laurelError } from "../../domain/values/Errors.ts"
import type { ClientAddress } from "../request/ClientAddress.ts"
import type { FairShares, Share } from "../request/FairShares.ts"
import { bearerKey } from "../request/RequestParts.ts"
import { restrictionRefusal } from "./restrictionRefusal.ts"

/** The same reply for a key or token that is missing, malformed, unknown, expired or revoked. */
const unauthorized = laurelError(
  "unauthorized",
  "Send a valid API key or user token as `Authorization: Bearer <key>`.",
)

/** A caller and its environment's share. */
export interface Known {
  readonly caller: Caller
  readonly share: Share
}

interface Remembered extends Known {
  readonly header: string
  readonly version: number
}

export class Authentication {
  readonly #accounts: Accounts["Service"]
  readonly #shares: FairShares
  readonly #remembered = new WeakMap<Socket, Remembered>()

  readonly #addressOf: ClientAddress

  constructor(accounts: Accounts["Service"], shares: FairShares, addressOf: ClientAddress) {
    this.#accounts = accounts
    this.#shares = shares
    this.#addressOf = addressOf
  }

  /** The caller of a request that may use its key from where it comes; else the refusal. */
  check(request: IncomingMessage): Known | LaurelError {
    const known = this.of(request)
    if (known === undefined) return unauthorized
    const { caller } = known
    if (caller.restrictions === undefined && request.headers.origin === undefined) return known
    return restrictionRefusal(caller, request, this.#addressOf) ?? known
  }

  /** The caller of a request; `undefined`: no valid key. */
  of({ headers, socket }: IncomingMessage): Known | undefined {
    const header = headers.authorization
    if (header === undefined) return undefined
    const { version } = this.#accounts
    const remembered = this.#remembered.get(socket)
    if (remembered?.header === header && remembered.version === version) {
      const { caller } = remembered
      if (caller.expiresAt === undefined || this.#accounts.isInForce(caller)) return remembered
    }
    const key = bearerKey(header)
    const caller = key === undefined ? undefined : this.#accounts.authenticate(key)
    if (caller === undefined) return undefined
    const known = { header, version, caller, share: this.#shares.of(caller.environment) }
    this.#remembered.set(socket, known)
    return known
  }
}
