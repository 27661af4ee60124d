/**
 * Authentication. A connection that repeats the same `Authorization` has its key or token hashed
 * once, until any key changes or the token expires.
 */
import type { IncomingMessage } from "node:http"
import type { Socket } from "node:net"
import type { Accounts, Caller, KeyRestrictions } from "../../accounts/Accounts.ts"
import { isKeyText } from "../../accounts/KeyText.ts"
import { looksLikeToken } from "../../accounts/UserTokens.ts"
import { type LaurelError, laurelError } from "../../domain/values/Errors.ts"
import { limits } from "../../Limits.ts"
import type { ClientAddress } from "../request/ClientAddress.ts"
import type { FairShares, Share } from "../request/FairShares.ts"
import { bearerKey } from "../request/RequestParts.ts"

/*
 * Restrictions of the address and origin of requests. A user token has the origins of the key that
 * made it, but not the key's addresses: the key stays on a server, and its tokens go to users.
 */

/** The refusal because of the address or the origin. Only pages in browsers send `Origin`. */
const restrictionRefusal = (
  { environmentName, kind, restrictions = nowhere }: Caller,
  request: IncomingMessage,
  addressOf: ClientAddress,
): LaurelError | undefined => {
  const { addresses, origins } = restrictions
  if (addresses !== undefined) {
    const address = addressOf(request)
    if (address === "" || !addresses.includes(address)) return addressNotAllowed(address)
  }
  const { origin } = request.headers
  if (origin === undefined) return undefined
  if (kind === "secret" && environmentName === "production") return secretInPage
  return origins === undefined || origins.has(origin) ? undefined : originNotAllowed(origin)
}

const nowhere: KeyRestrictions = { addresses: undefined, origins: undefined }

const addressNotAllowed = (address: string): LaurelError =>
  laurelError(
    "address_not_allowed",
    `The key may not be used from ${address === "" ? "an unknown address" : address}. Create a key whose address ranges include it.`,
  )

const originNotAllowed = (origin: string): LaurelError =>
  laurelError(
    "origin_not_allowed",
    `The key may not be used by pages of ${origin.slice(0, limits.originCharactersMax)}. Create a key whose origins include it.`,
  )

const secretInPage = laurelError(
  "origin_not_allowed",
  "A secret key of production may not be used by web pages: everyone who opens them can read it. Use a publishable key (`laurel keys create --kind publishable`), or a user token that your server creates with the secret key (`POST /v1/users/:id/tokens`). If this key was in a page, rotate it.",
)

const unauthorized = (detail: string): LaurelError<"unauthorized"> =>
  laurelError("unauthorized", detail)
const how = "Send an API key or user token as `Authorization: Bearer <key>`."
const missing = unauthorized(`The request has no Authorization header. ${how}`)
const empty = unauthorized(
  "The Authorization header has no key after `Bearer`: is the variable with the key set?",
)
const notBearer = unauthorized(`The Authorization header has another form. ${how}`)
const malformed = unauthorized(
  "This is not the text of a key: a key begins with lk_, and a character may be missing or mistyped. Copy the whole key.",
)
/** One text for unknown, expired and revoked keys, so that the reply does not tell which it is. */
const notInForce = unauthorized(
  "No key or token in force on this server has this text. Each server has the keys of its own data directory.",
)

/** The refusal of a header without a valid key, as specific as the header's form allows. */
const refusalOf = (header: string | undefined): LaurelError<"unauthorized"> => {
  if (header === undefined) return missing
  if (/^bearer *$/i.test(header)) return empty
  const key = bearerKey(header)
  if (key === undefined) return notBearer
  return isKeyText(key) || looksLikeToken(key) ? notInForce : malformed
}

/** A caller and the share of its environment. */
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

  /** The caller of a request, or the refusal of a request that may not use its key. */
  check(request: IncomingMessage): Known | LaurelError {
    const known = this.of(request)
    if (known === undefined) return refusalOf(request.headers.authorization)
    const { caller } = known
    if (caller.restrictions === undefined && request.headers.origin === undefined) return known
    return restrictionRefusal(caller, request, this.#addressOf) ?? known
  }

  /** The caller of a request; `undefined` if it has no valid key. */
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
