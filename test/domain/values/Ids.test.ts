import { describe, expect, it } from "@effect/vitest"
import { actionPattern, callerIdFault } from "../../../src/domain/values/Ids.ts"

describe("A caller's id", () => {
  it("has 1 to 128 characters, however many bytes they take", () => {
    for (const character of ["a", "ß", "漢", "🏆"]) {
      expect(callerIdFault(character)).toBeUndefined()
      expect(callerIdFault(character.repeat(128))).toBeUndefined()
      expect(callerIdFault(character.repeat(129))).toContain("128")
    }
    expect(callerIdFault("")).toContain("empty")
  })

  it("may be any text without control characters and lone surrogates", () => {
    for (const fine of [
      "__proto__",
      "constructor",
      "a/b?c#d%2F",
      " ",
      "null",
      "u\u0301",
      "...",
      "%2e",
      "%2E%2e",
      "‮x",
    ]) {
      expect(callerIdFault(fine)).toBeUndefined()
    }
    for (const control of ["\u0000", "a\nb", "\u001b[0m", "\u007f", "\u0085"]) {
      expect(callerIdFault(control)).toContain("control")
    }
    for (const lone of ["\ud800", "a\udc00", "\udc00\ud800"]) {
      expect(callerIdFault(lone)).toContain("well-formed")
    }
  })
})

describe("A caller's id in the path of a URL", () => {
  const parsed = (segment: string): string | undefined => {
    const parts = new URL(`http://host/v1/users/${segment}/progress`).pathname.split("/")
    return parts.length === 5 ? decodeURIComponent(parts[3]!) : undefined
  }

  it("is kept by a standard parser for each id that is accepted", () => {
    const pieces = [".", "..", "%", "%2e", "%2F", "/", "\\", "?", "#", " ", "~", ";", "+", "ü", "a"]
    const ids = [...pieces, ...pieces.flatMap((one) => pieces.map((other) => one + other))]
    for (let unit = 0x20; unit < 0x250; unit++) ids.push(String.fromCharCode(unit))
    const lost = ids.filter((id) => parsed(encodeURIComponent(id)) !== id)
    expect([...new Set(lost)]).toEqual([".", ".."])
    for (const id of lost) expect(callerIdFault(id)).toContain("URLs")
  })

  it("is refused where the parser resolves it as a step, also with its dots percent-encoded", () => {
    for (const segment of [".", "%2e", "..", "%2E.", ".%2e", "%2e%2E"]) {
      expect(parsed(segment)).toBeUndefined()
      expect(callerIdFault(decodeURIComponent(segment))).toContain("URLs")
    }
  })
})

describe("An action", () => {
  it("begins with a capital and has up to 64 capitals, digits and underscores", () => {
    for (const fine of ["A", "LESSON_DONE", "A1_", "A".repeat(64)]) {
      expect(actionPattern.test(fine)).toBe(true)
    }
    for (const wrong of ["", "a", "1A", "_A", "A-B", "A B", "Ä", "A\n", "A".repeat(65)]) {
      expect(actionPattern.test(wrong)).toBe(false)
    }
  })
})
