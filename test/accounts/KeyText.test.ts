import { describe, expect, it } from "@effect/vitest"
import { isKeyText, keyHint, makeKeyText } from "../../src/accounts/KeyText.ts"

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

describe("The text of a key", () => {
  it("names its environment and is never the same twice", () => {
    expect(makeKeyText("sandbox")).toMatch(/^lk_test_[0-9A-Za-z]{49}$/)
    expect(makeKeyText("production")).toMatch(/^lk_live_[0-9A-Za-z]{49}$/)
    expect(makeKeyText("sandbox", "publishable")).toMatch(/^lk_pub_test_[0-9A-Za-z]{49}$/)
    expect(makeKeyText("production", "publishable")).toMatch(/^lk_pub_live_[0-9A-Za-z]{49}$/)
    expect(isKeyText(makeKeyText("production", "publishable"))).toBe(true)
    const many = Array.from({ length: 1_000 }, () => makeKeyText("sandbox"))
    expect(new Set(many).size).toBe(many.length)
    expect(many.every(isKeyText)).toBe(true)
  })

  it("holds at least 256 random bits", () => {
    expect(43 * Math.log2(alphabet.length)).toBeGreaterThanOrEqual(256)
    // Each place takes each of its 62 characters: of 3,000 keys none is missed but once in 10^19 runs.
    const keys = Array.from({ length: 3_000 }, () => makeKeyText("sandbox"))
    for (let place = 8; place < 8 + 43; place++) {
      expect(new Set(keys.map((key) => key[place])).size).toBe(alphabet.length)
    }
  })

  it("is refused if one character is changed, lost or added", () => {
    const key = makeKeyText("production")
    for (let place = 0; place < key.length; place++) {
      const [before, after] = [key.slice(0, place), key.slice(place + 1)]
      expect(isKeyText(before + after)).toBe(false)
      for (const other of alphabet) {
        if (other !== key[place]) expect(isKeyText(before + other + after)).toBe(false)
      }
    }
    for (const wrong of ["", "lk_test_", `${key}0`, ` ${key}`, `${key}\n`, key.toUpperCase()]) {
      expect(isKeyText(wrong)).toBe(false)
    }
  })

  it("is refused with the prefix of the other environment", () => {
    expect(isKeyText(makeKeyText("production").replace("lk_live_", "lk_test_"))).toBe(false)
  })

  it("is refused with the prefix of the other kind", () => {
    expect(isKeyText(makeKeyText("production").replace("lk_", "lk_pub_"))).toBe(false)
    expect(isKeyText(makeKeyText("sandbox", "publishable").replace("pub_", ""))).toBe(false)
  })

  it("has a hint with only its first 4 random characters", () => {
    const key = makeKeyText("sandbox")
    expect(keyHint(key)).toBe(key.slice(0, 12))
    const publishable = makeKeyText("sandbox", "publishable")
    expect(keyHint(publishable)).toBe(publishable.slice(0, "lk_pub_test_".length + 4))
  })
})
