/**
 * The address that a request comes from: that of its connection or, where the operator trusts the peer as a proxy, the last
 * address in the field of that proxy that is no trusted proxy itself. The addresses before it came from outside and may be
 * forged. The setting names the field: a proxy that writes one field passes the other on as the client sent it.
 */
import type { IncomingMessage } from "node:http"
import type { AddressRanges } from "../../accounts/AddressRanges.ts"
import { normalAddress } from "../../domain/project/Directory.ts"
import { limits } from "../../Limits.ts"

/*
 * The elements of `Forwarded` (RFC 7239), read from the end, which trusted proxies wrote. The elements before came from
 * outside, and must not spoil the reading, such as by a quote that is never closed.
 */

/** Where the element that ends at `end` begins: behind a comma that stands in no quotes of its own. */
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

/** The client of an element (`for=`) as it is written; "" where it names none, or breaks the form. */
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

/** A request; `forwardedPeer`: another runner of the cluster forwarded it, and this is the address of the peer there. */
type PossiblyForwarded = IncomingMessage & { readonly forwardedPeer?: string | undefined }

/** The address of a request's client in the form of `normalAddress`; "" where the connection is gone. */
export type ClientAddress = (request: PossiblyForwarded) => string

/** The header fields in which proxies name the client. */
export const proxyFields = ["x-forwarded-for", "forwarded"] as const
export type ProxyField = (typeof proxyFields)[number]

/** Proxies that are believed about the addresses of clients, and the field that they write. */
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
const elements: Readonly<Record<ProxyField, Elements>> = {
  "x-forwarded-for": inList,
  forwarded: inForwarded,
}

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
