/**
 * Decides which addresses webhooks may reach: public addresses, and ranges that the operator
 * allows. Refuses addresses of the machine, its network or a cloud's metadata service, in IPv4,
 * IPv6, and IPv4 inside IPv6. Pure: host names are resolved elsewhere, and each of their addresses
 * is checked here.
 */
import { BlockList, isIP } from "node:net"

type Cidr = readonly [network: string, prefixBits: number]

const refusedV4: ReadonlyArray<Cidr> = [
  ["0.0.0.0", 8], // this network
  ["10.0.0.0", 8], // private
  ["100.64.0.0", 10], // shared by carriers
  ["127.0.0.0", 8], // loopback
  ["169.254.0.0", 16], // link-local, with the metadata services of clouds
  ["168.63.129.16", 32], // the host of a virtual machine in Azure, with the configuration of the machine
  ["172.16.0.0", 12], // private
  ["192.0.0.0", 24], // protocol assignments
  ["192.0.2.0", 24], // documentation
  ["192.31.196.0", 24], // AS112
  ["192.52.193.0", 24], // automatic multicast tunnels
  ["192.88.99.0", 24], // 6to4 relays
  ["192.168.0.0", 16], // private
  ["192.175.48.0", 24], // AS112
  ["198.18.0.0", 15], // benchmarks
  ["198.51.100.0", 24], // documentation
  ["203.0.113.0", 24], // documentation
  ["224.0.0.0", 4], // multicast
  ["240.0.0.0", 4], // reserved, broadcast
]

// Everything outside of 2000::/3 is refused: loopback, mapped and translated IPv4, local,
// multicast.
const globalV6: Cidr = ["2000::", 3]
const refusedV6: ReadonlyArray<Cidr> = [
  ["2001::", 23], // protocol assignments, with Teredo
  ["2001:db8::", 32], // documentation
  ["2002::", 16], // 6to4: IPv4 inside
  ["2620:4f:8000::", 48], // AS112
  ["3fff::", 20], // documentation
]

const blockList = (v4: ReadonlyArray<Cidr>, v6: ReadonlyArray<Cidr>): BlockList => {
  const list = new BlockList()
  for (const [network, bits] of v4) list.addSubnet(network, bits, "ipv4")
  for (const [network, bits] of v6) list.addSubnet(network, bits, "ipv6")
  return list
}

const refused = blockList(refusedV4, refusedV6)
const global = blockList([], [globalV6])

/** Whether `address`, an IPv4 or IPv6 address without brackets or zone, is public. */
export const isPublicAddress = (address: string): boolean => {
  switch (isIP(address)) {
    case 4:
      return !refused.check(address, "ipv4")
    case 6:
      return global.check(address, "ipv6") && !refused.check(address, "ipv6")
    default:
      return false
  }
}

/** The additional ranges that the operator allows. */
export class AllowedRanges {
  readonly cidrs: ReadonlyArray<string>
  readonly #list: BlockList

  /** Throws unless each is a CIDR such as `10.1.0.0/16` or `fd00::/8`. */
  constructor(cidrs: ReadonlyArray<string>) {
    this.cidrs = cidrs
    const v4: Array<Cidr> = []
    const v6: Array<Cidr> = []
    for (const cidr of cidrs) {
      const [, network = "", bits = ""] = /^([0-9a-fA-F.:]+)\/(\d{1,3})$/.exec(cidr) ?? []
      const family = isIP(network)
      if (family === 0 || Number(bits) > (family === 4 ? 32 : 128)) {
        throw new Error(`Not a CIDR: ${cidr}`)
      }
      const range = [network, Number(bits)] as const
      if (family === 4) v4.push(range)
      else v6.push(range)
    }
    this.#list = blockList(v4, v6)
  }

  includes(address: string): boolean {
    const family = isIP(address)
    return family !== 0 && this.#list.check(address, family === 4 ? "ipv4" : "ipv6")
  }
}

/** Whether a webhook may be sent to `address`. */
export const mayReach = (address: string, allowed: AllowedRanges): boolean =>
  isPublicAddress(address) || allowed.includes(address)
