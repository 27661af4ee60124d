import type { IncomingMessage } from "node:http"
import { describe, expect, it } from "vitest"
import { AddressRanges } from "../../../src/accounts/AddressRanges.ts"
import { clientAddress } from "../../../src/http/request/ClientAddress.ts"
import { limits } from "../../../src/Limits.ts"

const addressOf = (
  remoteAddress: string | undefined,
  forwarded: string | undefined,
  trusted: ReadonlyArray<string> | undefined = ["10.0.0.0/8", "fd00::/8"],
) => {
  const request = { socket: { remoteAddress }, headers: { "x-forwarded-for": forwarded } }
  const of = clientAddress(
    trusted && { ranges: new AddressRanges(trusted), field: "x-forwarded-for" },
  )
  return of(request as unknown as IncomingMessage)
}

describe("The address of a client", () => {
  it("is that of the connection if no proxy is trusted, or if the peer is not a trusted proxy", () => {
    expect(addressOf("203.0.113.7", "198.51.100.1", undefined)).toBe("203.0.113.7")
    expect(addressOf("10.0.0.1", "198.51.100.1", [])).toBe("10.0.0.1")
    expect(addressOf("203.0.113.7", "198.51.100.1")).toBe("203.0.113.7")
    expect(addressOf("10.0.0.1", undefined)).toBe("10.0.0.1")
    expect(addressOf("10.0.0.1", "")).toBe("10.0.0.1")
    expect(addressOf(undefined, "198.51.100.1")).toBe("")
  })

  it("is the last address in the field of a trusted proxy that is not itself a trusted proxy", () => {
    expect(addressOf("10.0.0.1", "198.51.100.1")).toBe("198.51.100.1")
    expect(addressOf("10.0.0.1", "198.51.100.1, 10.0.0.2,10.0.0.3 ")).toBe("198.51.100.1")
    expect(addressOf("fd00::1", "2001:DB8::1")).toBe("2001:db8::1")
    expect(addressOf("10.0.0.1", "10.0.0.9, 10.0.0.2")).toBe("10.0.0.9")
  })

  it("is not what a client wrote into the field before the proxy added its address", () => {
    expect(addressOf("10.0.0.1", "127.0.0.1, 10.0.0.5, 203.0.113.7")).toBe("203.0.113.7")
    expect(addressOf("10.0.0.1", "192.0.2.1,203.0.113.7, 10.0.0.2")).toBe("203.0.113.7")
  })

  it("is the same, whether it was sent as IPv4 or mapped into IPv6, with a port or a zone", () => {
    expect(addressOf("::ffff:10.0.0.1", "198.51.100.1")).toBe("198.51.100.1")
    expect(addressOf("::ffff:203.0.113.7", undefined)).toBe("203.0.113.7")
    expect(addressOf("10.0.0.1", "::ffff:c633:6401")).toBe("198.51.100.1")
    expect(addressOf("10.0.0.1", "198.51.100.1:4711")).toBe("198.51.100.1")
    expect(addressOf("10.0.0.1", "[2001:db8::1]:4711")).toBe("2001:db8::1")
    expect(addressOf("10.0.0.1", "[2001:db8::1]")).toBe("2001:db8::1")
    expect(addressOf("fe80::1%eth0", undefined)).toBe("fe80::1")
  })

  it.each(["unknown", "garbage", ",", ",,,", "1.2.3", "999.1.1.1", "[::1", "_hidden", "\u00e9"])(
    "stays that of the proxy where the field says %j",
    (garbage) => {
      expect(addressOf("10.0.0.1", garbage)).toBe("10.0.0.1")
      expect(addressOf("10.0.0.1", `${garbage}, 10.0.0.2`)).toBe("10.0.0.2")
      expect(addressOf("10.0.0.1", `198.51.100.1, ${garbage}`)).toBe("10.0.0.1")
      expect(addressOf("10.0.0.1", `${garbage}, 198.51.100.1`)).toBe("198.51.100.1")
    },
  )

  describe("in Forwarded (RFC 7239)", () => {
    const forwardedOf = (forwarded: string, more: Record<string, string> = {}) => {
      const headers = { forwarded, ...more }
      const request = { socket: { remoteAddress: "10.0.0.1" }, headers }
      const ranges = new AddressRanges(["10.0.0.0/8", "fd00::/8"])
      const of = clientAddress({ ranges, field: "forwarded" })
      return of(request as unknown as IncomingMessage)
    }

    it.each([
      ["for=198.51.100.1", "198.51.100.1"],
      ["For=198.51.100.1;Proto=https;by=10.0.0.1", "198.51.100.1"],
      ["proto=https; for=198.51.100.1 ;host=a.example", "198.51.100.1"],
      ['for="[2001:DB8::1]:4711"', "2001:db8::1"],
      ['for="198.51.100.1:80"', "198.51.100.1"],
      ["for=192.0.2.9, for=198.51.100.1, for=10.0.0.2;proto=http", "198.51.100.1"],
      ['for=192.0.2.9,for=198.51.100.1;host="a,for=192.0.2.8", for=10.0.0.2', "198.51.100.1"],
    ])("%j is the last that is no trusted proxy", (field, address) => {
      expect(forwardedOf(field)).toBe(address)
    })

    it.each(["unknown", "_hidden", '"_hidden"', "", '"', "1.2.3", '"198.51.100.1'])(
      "for=%s names no address",
      (client) => {
        expect(forwardedOf(`for=${client}`)).toBe("10.0.0.1")
        expect(forwardedOf(`for=192.0.2.9, for=${client}`)).toBe("10.0.0.1")
      },
    )

    it.each(["garbage", '"', 'for="', "for=192.0.2.9;", ';;;="', 'for="\\', "for=10.0.0.9;for="])(
      "text of the client before the proxy's, %j, does not hide the client",
      (garbage) => {
        expect(forwardedOf(`${garbage}, for=198.51.100.1`)).toBe("198.51.100.1")
        expect(forwardedOf(`${garbage},for=198.51.100.1;proto=https`)).toBe("198.51.100.1")
      },
    )

    it("is read from the field that the setting names, and not from the other field, which the client sent", () => {
      const forged = { "x-forwarded-for": "192.0.2.9" }
      expect(forwardedOf("for=198.51.100.1", forged)).toBe("198.51.100.1")
      expect(forwardedOf("garbage", forged)).toBe("10.0.0.1")
      const ranges = new AddressRanges(["10.0.0.0/8"])
      const of = (headers: Record<string, string>) =>
        clientAddress({ ranges, field: "x-forwarded-for" })({
          socket: { remoteAddress: "10.0.0.1" },
          headers,
        } as unknown as IncomingMessage)
      expect(of({ forwarded: "for=192.0.2.9" })).toBe("10.0.0.1")
      expect(of({ forwarded: "for=192.0.2.9", "x-forwarded-for": "198.51.100.1" })).toBe(
        "198.51.100.1",
      )
    })

    it("is ignored if the peer is not a trusted proxy", () => {
      const headers = { forwarded: "for=198.51.100.1" }
      const request = { socket: { remoteAddress: "203.0.113.7" }, headers }
      const of = clientAddress({ ranges: new AddressRanges(["10.0.0.0/8"]), field: "forwarded" })
      expect(of(request as unknown as IncomingMessage)).toBe("203.0.113.7")
    })

    it("is read in time linear in the length of the field", () => {
      for (const piece of [",", '"', '\\"', "for=10.0.0.2,", 'a="b";', " ", 'for="']) {
        expect(forwardedOf(piece.repeat(16_384 / piece.length))).toMatch(/^10\.0\.0\.[12]$/)
      }
    })
  })

  it("costs at most 32 look-ups, however long the field is", () => {
    let asked = 0
    class Counted extends AddressRanges {
      override includes(address: string): boolean {
        asked++
        return super.includes(address)
      }
    }
    const of = clientAddress({ ranges: new Counted(["10.0.0.0/8"]), field: "x-forwarded-for" })
    const ask = (forwarded: string) => {
      asked = 0
      const request = {
        socket: { remoteAddress: "10.0.0.1" },
        headers: { "x-forwarded-for": forwarded },
      }
      return of(request as unknown as IncomingMessage)
    }
    const hops = (count: number) => Array(count).fill("10.0.0.2").join(",")
    expect(ask(`198.51.100.1,${hops(limits.forwardedHopsMax - 1)}`)).toBe("198.51.100.1")
    expect(ask(`198.51.100.1,${hops(limits.forwardedHopsMax)}`)).toBe("10.0.0.2")
    const whole = `198.51.100.1,${hops(900)}`
    expect(whole.length).toBeGreaterThan(8_000)
    ask(whole)
    expect(asked).toBe(limits.forwardedHopsMax)
    ask(",".repeat(8_192))
    expect(asked).toBe(1)
    ask("1".repeat(8_192))
    expect(asked).toBe(1)
  })
})
