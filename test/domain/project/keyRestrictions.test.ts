import { describe, expect, it } from "vitest"
import {
  normalAddress,
  normalCidr,
  normalRestrictions,
  restrictionFaults,
} from "../../../src/domain/project/Directory.ts"
import { limits } from "../../../src/Limits.ts"

describe("An address", () => {
  it.each([
    ["203.0.113.7", "203.0.113.7"],
    ["::1", "::1"],
    ["2001:DB8:0:0::1", "2001:db8::1"],
    ["::ffff:203.0.113.7", "203.0.113.7"],
    ["::FFFF:cb00:7107", "203.0.113.7"],
    ["0:0:0:0:0:ffff:203.0.113.7", "203.0.113.7"],
  ])("%s has the form %s", (text, form) => {
    expect(normalAddress(text)).toBe(form)
  })

  it.each([
    "",
    "unknown",
    "localhost",
    "127.1",
    "0177.0.0.1",
    "256.0.0.1",
    "1.2.3.4.5",
    "1.2.3.4:80",
    "[::1]",
    "fe80::1%eth0",
    ":::",
    "1::2::3",
    "::1 ",
    "::1\n",
    "12345::",
  ])("is not %j", (text) => {
    expect(normalAddress(text)).toBeUndefined()
  })
})

describe("A range", () => {
  it.each([
    ["203.0.113.7", "203.0.113.7/32"],
    ["10.0.0.0/8", "10.0.0.0/8"],
    ["0.0.0.0/0", "0.0.0.0/0"],
    ["2001:DB8::/32", "2001:db8::/32"],
    ["::1", "::1/128"],
  ])("%s is stored as %s", (text, form) => {
    expect(normalCidr(text)).toBe(form)
  })

  it.each([
    "10.0.0.0/33",
    "::/129",
    "10.0.0.0/",
    "10.0.0.0/08",
    "10.0.0.0/-1",
    "/8",
    "10.0.0/8",
    "10.0.0.0/8/8",
    "::ffff:10.0.0.0/104",
    "::ffff:10.0.0.1",
    "example.com/8",
  ])("is not %j", (text) => {
    expect(normalCidr(text)).toBeUndefined()
  })
})

describe("An origin", () => {
  const pointers = (...allowedOrigins: ReadonlyArray<string>) =>
    restrictionFaults({ allowedOrigins }).map(({ pointer }) => pointer)

  it("is taken as browsers send it", () => {
    const longest = `https://${"a".repeat(limits.originCharactersMax - 8)}`
    expect(
      pointers("https://app.example", "http://localhost:5173", "http://[::1]:8080", longest),
    ).toEqual([])
  })

  it.each([
    "",
    "null",
    "*",
    "app.example",
    "https://*.app.example",
    "https://App.example",
    "https://app.example/",
    "https://app.example:443",
    "http://app.example:80",
    "https://app.example/path",
    "https://user@app.example",
    "https://app.example?x",
    "ftp://app.example",
    "javascript:alert(1)",
    "https://",
    " https://app.example",
    "https://\u00fcber.example",
    `https://${"a".repeat(limits.originCharactersMax - 7)}`,
  ])("is not %j", (origin) => {
    expect(pointers(origin)).toEqual(["/allowedOrigins/0"])
  })

  it("is refused with all the others and all ranges at once", () => {
    const faults = restrictionFaults({
      allowedOrigins: ["null", "https://app.example", "x"],
      allowedCidrs: ["10.0.0.0/8", "ten"],
    })
    expect(faults.map(({ pointer }) => pointer)).toEqual([
      "/allowedOrigins/0",
      "/allowedOrigins/2",
      "/allowedCidrs/1",
    ])
  })

  it("may be one of 20, and so may a range", () => {
    const origins = (count: number) =>
      Array.from({ length: count }, (_, index) => `https://app${index}.example`)
    const cidrs = (count: number) => Array.from({ length: count }, (_, index) => `10.0.0.${index}`)
    const { keyCidrsMax, keyOriginsMax } = limits
    const full = { allowedOrigins: origins(keyOriginsMax), allowedCidrs: cidrs(keyCidrsMax) }
    expect(restrictionFaults(full)).toEqual([])
    const over = {
      allowedOrigins: origins(keyOriginsMax + 1),
      allowedCidrs: cidrs(keyCidrsMax + 1),
    }
    expect(restrictionFaults(over)).toMatchObject([
      { pointer: "/allowedOrigins", code: "too_long" },
      { pointer: "/allowedCidrs", code: "too_long" },
    ])
    const garbage = restrictionFaults({ allowedCidrs: Array(60_000).fill("x") })
    expect(garbage).toHaveLength(1 + keyCidrsMax)
  })

  it("is stored once, and an empty list not at all", () => {
    const allowedOrigins = ["https://app.example", "https://app.example"]
    expect(normalRestrictions({ allowedOrigins, allowedCidrs: [] })).toEqual({
      allowedOrigins: ["https://app.example"],
    })
    expect(normalRestrictions({ allowedCidrs: ["::1", "::1/128"] })).toEqual({
      allowedCidrs: ["::1/128"],
    })
  })
})
