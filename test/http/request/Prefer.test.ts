import { describe, expect, it } from "vitest"
import { prefersMinimal } from "../../../src/http/request/RequestHead.ts"

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
    'foo="bar, return=minimal',
    'foo="a" "\\, return=minimal',
  ])("does not: %s", (field) => {
    expect(prefersMinimal(field)).toBe(false)
  })

  it("is read in time linear in its length", () => {
    // A quadratic time would be hours.
    for (const start of ['"', " ", ";", "=", ",", "\\", 'a="\\', '"\\', ' "\\']) {
      expect(prefersMinimal(start.repeat(2_000_000))).toBe(false)
    }
  })
})
