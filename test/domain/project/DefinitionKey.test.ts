import { describe, expect, it } from "vitest"
import {
  definitionKeyFault,
  definitionKeyPattern,
  definitionOf,
  freeKey,
  keyFrom,
} from "../../../src/domain/project/DefinitionKey.ts"
import { idPrefixes } from "../../../src/domain/values/Ids.ts"
import { limits } from "../../../src/Limits.ts"
import { ruleWith } from "../definitions.ts"

const mapOf = (...keys: ReadonlyArray<string>) =>
  new Map(keys.map((key, index) => [`rul_${index}`, ruleWith({ id: `rul_${index}`, key })]))

describe("A key", () => {
  it("has 1 to 64 characters of its alphabet and begins with a letter", () => {
    const longest = "k".repeat(limits.keyCharactersMax)
    for (const key of ["k", "first-steps", "lesson_done", "a1", longest]) {
      expect([key, definitionKeyPattern.test(key)]).toEqual([key, true])
    }
    for (const key of ["", "1a", "-a", "_a", "A", "é", "a b", `${longest}k`]) {
      expect([key, definitionKeyPattern.test(key)]).toEqual([key, false])
    }
  })

  it("does not begin like an id of any kind", () => {
    for (const prefix of idPrefixes) {
      expect(definitionKeyFault(`${prefix}_a`)).toContain(`${prefix}_`)
      expect(definitionKeyFault(`${prefix}a`)).toBeUndefined()
      expect(definitionKeyFault(`a${prefix}_`)).toBeUndefined()
    }
  })

  it.each([
    ["First steps", "first-steps"],
    ["LESSON_DONE", "lesson_done"],
    ["  Épée & Île!  ", "epee-ile"],
    ["100 km", "badge-100-km"],
    ["_hidden", "badge-_hidden"],
    ["bdg_x", "badge-bdg_x"],
    ["日本語", "badge"],
    ["", "badge"],
    [`${"a".repeat(63)} b`, "a".repeat(63)],
    ["a".repeat(70), "a".repeat(64)],
  ])("is made from the name %j as %s", (name, key) => {
    expect(keyFrom(name, "badge")).toBe(key)
    expect(definitionKeyPattern.test(key)).toBe(true)
    expect(definitionKeyFault(key)).toBeUndefined()
  })

  it("that is taken gets the first free number, within the maximum length", () => {
    expect(freeKey(mapOf(), "tap")).toBe("tap")
    expect(freeKey(mapOf("tap"), "tap")).toBe("tap-2")
    expect(freeKey(mapOf("tap", "tap-2", "tap-4"), "tap")).toBe("tap-3")
    const longest = "k".repeat(limits.keyCharactersMax)
    expect(freeKey(mapOf(longest), longest)).toBe(`${longest.slice(2)}-2`)
    expect(freeKey(mapOf(`${"k".repeat(61)}-kk`), `${"k".repeat(61)}-kk`)).toBe(
      `${"k".repeat(61)}-2`,
    )
  })

  it("names a definition as its id does", () => {
    const definitions = mapOf("tap", "swipe")
    expect(definitionOf(definitions, "swipe")?.id).toBe("rul_1")
    expect(definitionOf(definitions, "rul_1")?.key).toBe("swipe")
    for (const other of ["none", "", "__proto__"]) {
      expect(definitionOf(definitions, other)).toBeUndefined()
    }
  })
})
