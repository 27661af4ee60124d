/** Ranges of addresses, such as those that a key may be used from. */
import { BlockList } from "node:net"

export class AddressRanges {
  // A list of both families takes IPv4 for a part of IPv6: `::/0` would include all of it.
  readonly #lists = { ipv4: new BlockList(), ipv6: new BlockList() }

  /** Takes ranges as `normalCidr` returns them. */
  constructor(cidrs: ReadonlyArray<string>) {
    for (const cidr of cidrs) {
      const [network, bits] = cidr.split("/") as [string, string]
      const family = familyOf(network)
      this.#lists[family].addSubnet(network, Number(bits), family)
    }
  }

  /** Whether an address, as `normalAddress` returns it, is in one of them. */
  includes(address: string): boolean {
    const family = familyOf(address)
    return this.#lists[family].check(address, family)
  }
}

const familyOf = (address: string) => (address.includes(":") ? "ipv6" : "ipv4")

/** The part of an address that one person is likely to have: all of IPv4, the /64 of IPv6. */
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
