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
