/**
 * Whether a request comes from where its key or token may be used. A user token has the origins of the key that made it, and is not
 * bound to that key's addresses: the key stays on a server, its tokens go to users.
 */
import type { IncomingMessage } from "node:http"
import type { Caller, KeyRestrictions } from "../../accounts/Accounts.ts"
import { type LaurelError, laurelError } from "../../domain/values/Errors.ts"
import { limits } from "../../Limits.ts"
import type { ClientAddress } from "../request/ClientAddress.ts"

/** The refusal of a request; a request without `Origin` comes from no page of a browser. */
export const restrictionRefusal = (
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
