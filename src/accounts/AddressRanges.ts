/** Sets of IP ranges, such as the addresses that may use a key. */
import { BlockList } from "node:net"

export class AddressRanges {
  // A `BlockList` of both families treats IPv4 as a part of IPv6: `::/0` would include all IPv4
  // addresses.
  readonly #lists = { ipv4: new BlockList(), ipv6: new BlockList() }

  /** The ranges have the form that `normalCidr` returns. */
  constructor(cidrs: ReadonlyArray<string>) {
    for (const cidr of cidrs) {
      const [network, bits] = cidr.split("/") as [string, string]
      const family = familyOf(network)
      this.#lists[family].addSubnet(network, Number(bits), family)
    }
  }

  /** Whether a range includes the address, which has the form that `normalAddress` returns. */
  includes(address: string): boolean {
    const family = familyOf(address)
    return this.#lists[family].check(address, family)
  }
}

const familyOf = (address: string) => (address.includes(":") ? "ipv6" : "ipv4")

/** The network that one person is likely to have: the whole address for IPv4, the /64 for IPv6. */
export const networkOf = (address: string): string => {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)
  if (mapped !== null) return mapped[1]!
  if (!address.includes(":")) return address
  const [head = "", tail] = (address.split("%")[0] ?? "").toLowerCase().split("::")
  const groups = head === "" ? [] : head.split(":")
  const after = tail === undefined || tail === "" ? [] : tail.split(":")
  const zeros = tail === undefined ? 0 : 8 - groups.length - after.length
  const all = [...groups, ...Array<string>(Math.max(0, zeros)).fill("0"), ...after]
  return `${all
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(":")}::/64`
}
