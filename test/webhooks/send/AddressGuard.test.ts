import { describe, expect, it } from "vitest"
import {
  AllowedRanges,
  isPublicAddress,
  mayReach,
} from "../../../src/webhooks/send/AddressGuard.ts"

describe("the address guard", () => {
  it.each([
    "1.1.1.1",
    "8.8.8.8",
    "100.63.255.255",
    "100.128.0.0",
    "168.63.129.15",
    "168.63.129.17",
    "172.15.255.255",
    "172.32.0.0",
    "223.255.255.255",
    "2606:4700:4700::1111",
    "2a00:1450:4001:80b::200e",
  ])("lets %s be reached", (address) => {
    expect(isPublicAddress(address)).toBe(true)
  })

  it.each([
    "0.0.0.0",
    "0.1.2.3",
    "10.0.0.1",
    "100.64.0.0",
    "100.127.255.255",
    "127.0.0.1",
    "127.255.255.255",
    "168.63.129.16",
    "169.254.169.254",
    "172.16.0.0",
    "172.31.255.255",
    "192.0.0.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.19.255.255",
    "224.0.0.1",
    "239.255.255.255",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:7f00:1",
    "::ffff:8.8.8.8",
    "64:ff9b::7f00:1",
    "64:ff9b:1::7f00:1",
    "100::1",
    "2001::1",
    "2001:db8::1",
    "2002:7f00:1::",
    "fc00::1",
    "fd12:3456::1",
    "fe80::1",
    "fec0::1",
    "ff02::1",
  ])("does not let %s be reached", (address) => {
    expect(isPublicAddress(address)).toBe(false)
  })

  it("accepts only addresses, no names and no unusual spellings", () => {
    for (const text of [
      "",
      "localhost",
      "127.1",
      "2130706433",
      "[::1]",
      "8.8.8.8 ",
      "fe80::1%eth0",
    ]) {
      expect([text, isPublicAddress(text)]).toEqual([text, false])
    }
  })

  it("permits the ranges that the operator allows", () => {
    const allowed = new AllowedRanges(["10.1.0.0/16", "fd00::/8", "127.0.0.1/32"])
    expect(mayReach("10.1.255.255", allowed)).toBe(true)
    expect(mayReach("10.2.0.0", allowed)).toBe(false)
    expect(mayReach("fd00::1", allowed)).toBe(true)
    expect(mayReach("fc00::1", allowed)).toBe(false)
    expect(mayReach("127.0.0.1", allowed)).toBe(true)
    expect(mayReach("127.0.0.2", allowed)).toBe(false)
    expect(mayReach("8.8.8.8", allowed)).toBe(true)
  })

  it("refuses text that is not a range", () => {
    for (const cidr of ["10.0.0.0", "10.0.0.0/33", "fd00::/129", "localhost/8", "10.0.0/8", "/8"]) {
      expect(() => new AllowedRanges([cidr])).toThrow(`Not a CIDR: ${cidr}`)
    }
  })
})
