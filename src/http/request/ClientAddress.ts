/**
 * The address of the client that sent a request. This is the address of the connection or, if the
 * operator trusts that peer as a proxy, the last address in the proxy's header field that is not a
 * trusted proxy. Earlier addresses in the field come from the client and may be forged. The setting
 * names the field, since a proxy that writes one field passes on the other as the client sent it.
 */
import type { IncomingMessage } from "node:http"
import type { AddressRanges } from "../../accounts/AddressRanges.ts"
import { normalAddress } from "../../domain/project/Directory.ts"
import { limits } from "../../Limits.ts"

/*
 * Reads the elements of `Forwarded` (RFC 7239) from the end, which trusted proxies wrote. The
 * client may have written the elements before. They must not disturb the reading, for example by an
 * open quote.
 */

/**
 * The start of the element that ends at `end`: after the last comma outside the element's own
 * quotes.
 */
const forwardedStart = (field: string, end: number): number => {
  let quoted = false
  for (let at = end - 1; at >= 0; at--) {
    const mark = field[at]
    if (mark === '"' && field[at - 1] !== "\\") quoted = !quoted
    else if (mark === "," && !quoted) return at + 1
  }
  return 0
}

const pair =
  /[ \t]*([\w!#$%&'*+.^`|~-]+)=(?:"((?:[^"\\]|\\.)*)"|([\w!#$%&'*+.^`|~-]+))[ \t]*(?:;|$)/y

/**
 * The client in an element (`for=`), as it is written; "" if the element has none or is malformed.
 */
const forwardedClient = (element: string): string => {
  let client = ""
  pair.lastIndex = 0
  while (pair.lastIndex < element.length) {
    const [, name, quoted, token] = pair.exec(element) ?? []
    if (name === undefined) return ""
    if (name.toLowerCase() === "for") client = quoted ?? token!
  }
  return client
}

/**
 * A request. `forwardedPeer` is the address of the peer of the runner that forwarded the request.
 */
type PossiblyForwarded = IncomingMessage & { readonly forwardedPeer?: string | undefined }

/**
 * The address of a request's client in the form of `normalAddress`; "" if the connection is closed.
 */
export type ClientAddress = (request: PossiblyForwarded) => string

/** The header fields in which proxies name the client. */
export const proxyFields = ["x-forwarded-for", "forwarded"] as const
export type ProxyField = (typeof proxyFields)[number]

/** The proxies whose header field names the client, and that field. */
export interface TrustedProxies {
  readonly ranges: AddressRanges
  readonly field: ProxyField
}

export const clientAddress =
  (trusted: TrustedProxies | undefined): ClientAddress =>
  ({ forwardedPeer, headers, socket }) => {
    const peer = connectionAddress(forwardedPeer ?? socket.remoteAddress)
    if (trusted === undefined || peer === "") return peer
    const { field, ranges } = trusted
    const text = headers[field]
    return text === undefined ? peer : behindProxies(peer, String(text), ranges, elements[field])
  }

/** The address without the zone of a link-local address. */
export const connectionAddress = (text = ""): string =>
  normalAddress(text.replace(/%.*/s, "")) ?? ""

/** The syntax of the elements of a field. */
interface Elements {
  /** The start of the element that ends at `end`. */
  readonly startOf: (field: string, end: number) => number
  readonly addressOf: (element: string) => string
}

const inList: Elements = {
  startOf: (field, end) => field.lastIndexOf(",", end - 1) + 1,
  addressOf: (element) => element.trim(),
}
const inForwarded: Elements = { startOf: forwardedStart, addressOf: forwardedClient }
const elements: Readonly<Record<ProxyField, Elements>> = {
  "x-forwarded-for": inList,
  forwarded: inForwarded,
}

/**
 * Reads addresses from right to left, while each address is a trusted proxy and the next one is
 * valid.
 */
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

/**
 * An address as proxies write it: with or without a port, and with brackets around IPv6 before a
 * port.
 */
const forwardedAddress = (text: string): string | undefined => {
  const [, inBrackets, ipv4] = /^(?:\[([^\]]+)\](?::\d+)?|([\d.]+):\d+)$/.exec(text) ?? []
  return normalAddress(inBrackets ?? ipv4 ?? text)
}
