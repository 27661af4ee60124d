/**
 * The address that a request comes from: that of its connection or, where the operator trusts the peer as a proxy, the last
 * address in `X-Forwarded-For` that is no trusted proxy itself. What stands before it came from outside and may be forged.
 */
import type { IncomingMessage } from "node:http"
import type { AddressRanges } from "../../accounts/AddressRanges.ts"
import { normalAddress } from "../../domain/project/keyRestrictions.ts"
import { limits } from "../../Limits.ts"

/** The address of a request's client in the form of `normalAddress`; "" where the connection is gone. */
export type ClientAddress = (request: IncomingMessage) => string

export const clientAddress =
  (trusted: AddressRanges | undefined): ClientAddress =>
  ({ headers, socket }) => {
    const peer = connectionAddress(socket.remoteAddress)
    const forwarded = headers["x-forwarded-for"]
    if (trusted === undefined || forwarded === undefined || peer === "") return peer
    return behindProxies(peer, String(forwarded), trusted)
  }

/** Without the zone of a link-local address. */
const connectionAddress = (text = ""): string => normalAddress(text.replace(/%.*$/s, "")) ?? ""

/** Goes from the peer to the left, as long as each address is one of a trusted proxy and the next one is an address. */
const behindProxies = (peer: string, forwarded: string, trusted: AddressRanges): string => {
  let address = peer
  let end = forwarded.length
  for (let hops = 0; hops < limits.forwardedHopsMax && end > 0; hops++) {
    if (!trusted.includes(address)) break
    const comma = forwarded.lastIndexOf(",", end - 1)
    const next = forwardedAddress(forwarded.slice(comma + 1, end).trim())
    if (next === undefined) break
    address = next
    end = comma
  }
  return address
}

/** An address as proxies write it: some add a port, which takes brackets around IPv6. */
const forwardedAddress = (text: string): string | undefined => {
  const [, inBrackets, ipv4] = /^(?:\[([^\]]+)\](?::\d+)?|([\d.]+):\d+)$/.exec(text) ?? []
  return normalAddress(inBrackets ?? ipv4 ?? text)
}
