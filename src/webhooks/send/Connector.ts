/**
 * Opens connections behind the address guard: each connection resolves the host once, checks every
 * address, and connects to one that passed. Literal addresses, for which Node makes no lookup, are
 * checked before the connection; the address that the socket reached is checked after it. Proxy
 * settings of the environment are ignored.
 */
import { isIP, type LookupFunction, type Socket } from "node:net"
import { buildConnector } from "undici"
import { type AllowedRanges, mayReach } from "./AddressGuard.ts"
import { AddressRefused, type Resolve, resolveAllowed } from "./Resolver.ts"

export interface ConnectorOptions {
  readonly allowed: AllowedRanges
  readonly resolve: Resolve
  /** For the TCP and TLS handshakes together. */
  readonly timeoutMs: number
  /** Certificates in PEM that are trusted instead of the default ones. */
  readonly trusted?: string
}

export const makeConnector = (options: ConnectorOptions): buildConnector.connector => {
  const { allowed, timeoutMs, trusted } = options
  const connect = buildConnector({
    timeout: timeoutMs,
    allowH2: false,
    lookup: guardedLookup(options),
    ...(trusted !== undefined && { ca: trusted }),
  } as buildConnector.BuildOptions)
  return (target, callback) => {
    const host = target.hostname.replace(/^\[(.*)\]$/, "$1")
    if (isIP(host) !== 0 && !mayReach(host, allowed)) {
      callback(new AddressRefused(`${host} may not be reached`), null)
      return
    }
    connect(target, (error: Error | null, socket?: Socket | null) => {
      // After an error there is no socket.
      if (error !== null || socket === null || socket === undefined) {
        callback(error ?? new Error("No connection"), null)
        return
      }
      const reached = socket.remoteAddress
      if (reached !== undefined && mayReach(plainAddress(reached), allowed)) callback(null, socket)
      else {
        socket.destroy()
        callback(new AddressRefused(`The connection led to ${reached}`), null)
      }
    })
  }
}

const guardedLookup =
  (options: ConnectorOptions): LookupFunction =>
  (host, { all }, callback) => {
    resolveAllowed(host, options).then(
      (addresses) => {
        const found = addresses.map((address) => ({ address, family: isIP(address) }))
        if (all) callback(null, found)
        else callback(null, found[0]!.address, found[0]!.family)
      },
      (error) => callback(error, ""),
    )
  }

/** Removes the zone, and turns IPv4 inside IPv6 into IPv4. */
const plainAddress = (address: string): string =>
  address.replace(/%.*/s, "").replace(/^::ffff:(\d+\.\d+\.\d+\.\d+)$/i, "$1")
