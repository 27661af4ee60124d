import { describe, expect, it } from "vitest"
import { prefersMinimal } from "../../../src/http/request/Prefer.ts"

describe("A Prefer field", () => {
  it.each([
    "return=minimal",
    "Return=Minimal",
    'return="minimal"',
    " return = minimal ",
    "return=minimal; foo=1",
    "respond-async, wait=10, return=minimal",
    'handling="a, return=representation", return=minimal',
    'note="\\", return=representation", return=minimal',
    "return=minimal, return=representation",
    ", ,return=minimal",
    "foo;return=representation, return=minimal",
  ])("asks for a minimal reply: %s", (field) => {
    expect(prefersMinimal(field)).toBe(true)
  })

  it.each([
    undefined,
    "",
    ",",
    "return",
    "return=",
    "return=,minimal",
    "return=minimal minimal",
    "return==minimal",
    "return=minimally",
    'return="minimal',
    'return=minimal"',
    "minimal=return",
    "x=return=minimal",
    "foo; return=minimal",
    'foo="return=minimal"',
    'foo="return=minimal',
    "return=representation, return=minimal",
    "return minimal",
    "return;minimal",
  ])("does not: %s", (field) => {
    expect(prefersMinimal(field)).toBe(false)
  })

  it("is read in a time that grows with its length alone", () => {
    const lengths = [8_000, 16_000, 32_000]
    for (const start of ['"', " ", ";", "=", ",", "\\", 'a="\\']) {
      for (const length of lengths) expect(prefersMinimal(start.repeat(length))).toBe(false)
    }
  })
})
