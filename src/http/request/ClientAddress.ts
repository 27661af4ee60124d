/**
 * The address that a request comes from: that of its connection or, where the operator trusts the peer as a proxy, the last
 * address in `X-Forwarded-For` that is no trusted proxy itself. The addresses before it came from outside and may be forged.
 * `Forwarded` counts where there is no `X-Forwarded-For`: a proxy that writes one of them passes the other on as it came.
 */
import type { IncomingMessage } from "node:http"
import type { AddressRanges } from "../../accounts/AddressRanges.ts"
import { normalAddress } from "../../domain/project/keyRestrictions.ts"
import { limits } from "../../Limits.ts"
import { forwardedClient, forwardedStart } from "./Forwarded.ts"

/** A request; `forwardedPeer`: another runner of the cluster forwarded it, and this is the address of the peer there. */
type PossiblyForwarded = IncomingMessage & { readonly forwardedPeer?: string | undefined }

/** The address of a request's client in the form of `normalAddress`; "" where the connection is gone. */
export type ClientAddress = (request: PossiblyForwarded) => string

export const clientAddress =
  (trusted: AddressRanges | undefined): ClientAddress =>
  ({ forwardedPeer, headers, socket }) => {
    const peer = connectionAddress(forwardedPeer ?? socket.remoteAddress)
    if (trusted === undefined || peer === "") return peer
    const list = headers["x-forwarded-for"]
    if (list !== undefined) return behindProxies(peer, String(list), trusted, inList)
    const { forwarded } = headers
    return forwarded === undefined ? peer : behindProxies(peer, forwarded, trusted, inForwarded)
  }

/** Without the zone of a link-local address. */
export const connectionAddress = (text = ""): string =>
  normalAddress(text.replace(/%.*/s, "")) ?? ""

/** How a field has its elements. */
interface Elements {
  /** Where the element that ends at `end` begins. */
  readonly startOf: (field: string, end: number) => number
  readonly addressOf: (element: string) => string
}

const inList: Elements = {
  startOf: (field, end) => field.lastIndexOf(",", end - 1) + 1,
  addressOf: (element) => element.trim(),
}
const inForwarded: Elements = { startOf: forwardedStart, addressOf: forwardedClient }

/** Goes from the peer to the left, as long as each address is one of a trusted proxy and the next one is an address. */
const behindProxies = (
  peer: string,
  field: string,
  trusted: AddressRanges,
  { addressOf, startOf }: Elements,
): string => {
  let address = peer
  let end = field.length
  for (let hops = 0; hops < limits.forwardedHopsMax && end > 0; hops++) {
    if (!trusted.includes(address)) break
    const start = startOf(field, end)
    const next = forwardedAddress(addressOf(field.slice(start, end)))
    if (next === undefined) break
    address = next
    end = start - 1
  }
  return address
}

/** An address as proxies write it: some add a port, which takes brackets around IPv6. */
const forwardedAddress = (text: string): string | undefined => {
  const [, inBrackets, ipv4] = /^(?:\[([^\]]+)\](?::\d+)?|([\d.]+):\d+)$/.exec(text) ?? []
  return normalAddress(inBrackets ?? ipv4 ?? text)
}
