import { describe, expect, it } from "vitest"
import { networkOf } from "../../../src/accounts/AddressRanges.ts"
import { Throttle } from "../../../src/accounts/people/Throttle.ts"
import { limits } from "../../../src/Limits.ts"

describe("A throttle", () => {
  it("lets a few failures pass, then doubles the pause after each failure, up to a bound", () => {
    const throttle = new Throttle(5)
    const pauses = Array.from({ length: 20 }, () => {
      throttle.failed("ada", 1_000)
      return throttle.pauseMs("ada", 1_000) / 1_000
    })
    expect(pauses).toEqual([
      0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900, 900, 900, 900,
    ])
    expect(throttle.pauseMs("ada", 1_000 + 899_999)).toBe(1)
    expect(throttle.pauseMs("ada", 1_000 + 900_000)).toBe(0)
    expect(throttle.pauseMs("bob", 1_000)).toBe(0)
  })

  it("forgets failures after a success, and after a day without failures", () => {
    const throttle = new Throttle(1)
    throttle.failed("ada", 0)
    throttle.succeeded("ada")
    throttle.failed("bob", 0)
    throttle.failed("bob", limits.signInFailuresKeptMs - 1)
    expect(throttle.pauseMs("bob", limits.signInFailuresKeptMs - 1)).toBe(2_000)
    throttle.failed("bob", 2 * limits.signInFailuresKeptMs - 1)
    expect(throttle.pauseMs("bob", 2 * limits.signInFailuresKeptMs - 1)).toBe(1_000)
    expect(throttle.pauseMs("ada", 0)).toBe(0)
  })

  it("takes a failure back without changing the pause of later failures", () => {
    const throttle = new Throttle(2)
    const takeBack = throttle.failed("ada", 0)
    takeBack()
    throttle.failed("ada", 0)
    expect(throttle.pauseMs("ada", 0)).toBe(0)
    const second = throttle.failed("ada", 0)
    expect(throttle.pauseMs("ada", 0)).toBe(1_000)
    throttle.failed("ada", 0)
    second()
    expect(throttle.pauseMs("ada", 0)).toBe(2_000)
    throttle.failed("ada", 0)
    expect(throttle.pauseMs("ada", 0)).toBe(2_000)
  })

  it(`remembers at most ${limits.signInNamesMax} names, and forgets the oldest failure first`, () => {
    const throttle = new Throttle(1)
    throttle.failed("first", 0)
    throttle.failed("second", 0)
    throttle.failed("first", 0)
    for (let count = 1; count < limits.signInNamesMax; count++) throttle.failed(`n${count}`, 0)
    expect(throttle.pauseMs("second", 0)).toBe(0)
    expect(throttle.pauseMs("first", 0)).toBe(2_000)
  })
})

describe("A network", () => {
  it("is a whole IPv4 address, also a mapped one, or the /64 of IPv6", () => {
    expect(networkOf("192.0.2.1")).toBe("192.0.2.1")
    expect(networkOf("::ffff:192.0.2.1")).toBe("192.0.2.1")
    for (const same of [
      "2001:db8:0:1::1",
      "2001:0DB8:0000:0001:ffff::2",
      "2001:db8:0:1:1:2:3:4%eth0",
    ]) {
      expect(networkOf(same)).toBe("2001:db8:0:1::/64")
    }
    expect(networkOf("::1")).toBe("0:0:0:0::/64")
    expect(networkOf("2001:db8::1")).toBe("2001:db8:0:0::/64")
  })
})
