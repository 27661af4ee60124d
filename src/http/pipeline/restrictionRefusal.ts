/** Whether a request comes from where its key may be used. */
import type { IncomingMessage } from "node:http"
import type { KeyRestrictions } from "../../accounts/Accounts.ts"
import { type LaurelError, laurelError } from "../../domain/values/Errors.ts"
import { limits } from "../../Limits.ts"
import type { ClientAddress } from "../request/ClientAddress.ts"

/** The refusal of a request; a request without `Origin` comes from no page of a browser. */
export const restrictionRefusal = (
  { addresses, origins }: KeyRestrictions,
  request: IncomingMessage,
  addressOf: ClientAddress,
): LaurelError | undefined => {
  if (addresses !== undefined) {
    const address = addressOf(request)
    if (address === "" || !addresses.includes(address)) return addressNotAllowed(address)
  }
  const { origin } = request.headers
  return origin === undefined || origins === undefined || origins.has(origin)
    ? undefined
    : originNotAllowed(origin)
}

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
