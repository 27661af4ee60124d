/**
 * Resolves host names and omits addresses that webhooks may not reach. Uses DNS over the network
 * instead of the system's `getaddrinfo`: while a name server is silent, `getaddrinfo` blocks a
 * thread of the pool that writes the journal. Knows `localhost` and the machine's hosts file.
 */
import { Resolver as DnsResolver, NODATA, NOTFOUND } from "node:dns/promises"
import { readFile } from "node:fs/promises"
import { isIP } from "node:net"
import { limits } from "../../Limits.ts"
import { type AllowedRanges, mayReach } from "./AddressGuard.ts"

/** The addresses of a host name; none if the name is unknown. Rejects if the lookup failed. */
export type Resolve = (host: string) => Promise<ReadonlyArray<string>>

export interface ResolverOptions {
  /** `address:port` of each name server; absent: the name servers of the system. */
  readonly servers?: ReadonlyArray<string>
  readonly hostsFile?: string
}

export const makeResolve = ({
  hostsFile = "/etc/hosts",
  servers,
}: ResolverOptions = {}): Resolve => {
  const dns = new DnsResolver({ timeout: limits.dnsTimeoutMs, tries: limits.dnsTries })
  if (servers !== undefined) dns.setServers(servers)
  const hosts = new HostsFile(hostsFile)
  return async (host) => {
    const name = host.toLowerCase().replace(/\.$/, "")
    if (name === "localhost" || name.endsWith(".localhost")) return ["127.0.0.1", "::1"]
    const listed = (await hosts.read()).get(name)
    if (listed !== undefined) return listed
    const [v4, v6] = await Promise.allSettled([dns.resolve4(name), dns.resolve6(name)])
    const found = [v4, v6].flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []))
    if (found.length > 0) return found
    for (const answer of [v4, v6]) {
      if (answer.status === "rejected" && !hasNoAddress.has(answer.reason.code)) throw answer.reason
    }
    return []
  }
}

/** Error codes of a name that is unknown or has no address of this family. */
const hasNoAddress: ReadonlySet<unknown> = new Set([NOTFOUND, NODATA])

/**
 * The host has no allowed address: it has only refused addresses, or none. Callers get the same
 * error for both, since otherwise they could find out which names exist in the operator's network.
 */
export class AddressRefused extends Error {
  readonly code = "ADDRESS_REFUSED"
}

/** No name server answered. */
class LookupFailed extends Error {
  readonly code = "LOOKUP_FAILED"
}

/**
 * The allowed addresses of a host, at least one; rejects if there is none. A connection uses only
 * these addresses, so refused addresses in an answer have no effect.
 */
export const resolveAllowed = async (
  host: string,
  { allowed, resolve }: { readonly allowed: AllowedRanges; readonly resolve: Resolve },
): Promise<ReadonlyArray<string>> => {
  const addresses = await resolve(host).catch((cause) => {
    throw new LookupFailed(`${host} could not be looked up`, { cause })
  })
  const reachable = addresses.filter((address) => mayReach(address, allowed))
  if (reachable.length > 0) return reachable
  throw new AddressRefused(`${host} leads to no address that may be reached`)
}

class HostsFile {
  readonly #path: string
  #entries: Promise<ReadonlyMap<string, ReadonlyArray<string>>> | undefined
  #readAt = 0

  constructor(path: string) {
    this.#path = path
  }

  read(): Promise<ReadonlyMap<string, ReadonlyArray<string>>> {
    const now = performance.now()
    if (this.#entries === undefined || now - this.#readAt > limits.hostsFileCheckMs) {
      this.#readAt = now
      this.#entries = readFile(this.#path, "utf8").then(parseHosts, () => new Map())
    }
    return this.#entries
  }
}

/** The addresses of each name in a hosts file. */
export const parseHosts = (text: string): ReadonlyMap<string, ReadonlyArray<string>> => {
  const hosts = new Map<string, Array<string>>()
  for (const line of text.split("\n")) {
    const [address, ...names] = line.replace(/#.*/, "").trim().split(/\s+/)
    if (address === undefined || isIP(address) === 0) continue
    for (const name of names) {
      const known = hosts.get(name.toLowerCase())
      if (known === undefined) hosts.set(name.toLowerCase(), [address])
      else if (!known.includes(address)) known.push(address)
    }
  }
  return hosts
}
