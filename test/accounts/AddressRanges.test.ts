import { describe, expect, it } from "vitest"
import { AddressRanges } from "../../src/accounts/AddressRanges.ts"

describe("Ranges of addresses", () => {
  it("include their first and last address, and not the next one", () => {
    const ranges = new AddressRanges(["10.1.0.0/16", "203.0.113.7/32", "2001:db8::/32"])
    for (const inside of ["10.1.0.0", "10.1.255.255", "203.0.113.7", "2001:db8:ffff::1"]) {
      expect([inside, ranges.includes(inside)]).toEqual([inside, true])
    }
    for (const outside of ["10.0.255.255", "10.2.0.0", "203.0.113.8", "2001:db9::", "::1"]) {
      expect([outside, ranges.includes(outside)]).toEqual([outside, false])
    }
  })

  it("of IPv4 include no IPv6 address, and the other way round", () => {
    expect(new AddressRanges(["::/0"]).includes("10.0.0.1")).toBe(false)
    expect(new AddressRanges(["0.0.0.0/0"]).includes("::1")).toBe(false)
    expect(new AddressRanges(["0.0.0.0/0"]).includes("255.255.255.255")).toBe(true)
    expect(new AddressRanges([]).includes("10.0.0.1")).toBe(false)
  })
})
