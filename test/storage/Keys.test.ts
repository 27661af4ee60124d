import { describe, expect, it } from "@effect/vitest"
import { Schema } from "effect"
import {
  compositeKey,
  type KeyPart,
  keyBytesMax,
  keyParts,
  rangeOf,
} from "../../src/storage/Keys.ts"

const Part = Schema.Union([
  Schema.String.check(
    Schema.isMaxLength(40),
    Schema.makeFilter((text) => text.isWellFormed()),
  ),
  Schema.Int,
])
const Parts = Schema.Array(Part).check(Schema.isMaxLength(5))

const startsWith = (parts: ReadonlyArray<KeyPart>, prefix: ReadonlyArray<KeyPart>) =>
  prefix.every((part, index) => parts[index] === part)

describe("compositeKey", () => {
  it.prop("returns its parts", [Parts], ([parts]) => {
    const plain = parts.map((part) => (part === 0 ? 0 : part))
    expect(keyParts(compositeKey(...parts))).toEqual(plain)
  })

  it.prop("makes equal keys only of equal parts", [Parts, Parts], ([left, right]) => {
    const same = JSON.stringify(left) === JSON.stringify(right)
    expect(Buffer.compare(compositeKey(...left), compositeKey(...right)) === 0).toBe(same)
  })

  it.prop("sorts numbers by value", [Schema.Int, Schema.Int], ([left, right]) => {
    const order = Buffer.compare(compositeKey("a", left), compositeKey("a", right))
    expect(order).toBe(Math.sign(left - right) + 0)
  })

  it.prop("sorts strings by code points", [Part, Part], ([left, right]) => {
    const [one, other] = [`${left}`, `${right}`]
    const order = Buffer.compare(compositeKey("a", one), compositeKey("a", other))
    expect(order).toBe(Buffer.compare(Buffer.from(one), Buffer.from(other)))
  })

  it("sorts a string before longer strings that begin with it", () => {
    const texts = [
      "",
      "\0",
      "\0\0",
      "\0b",
      "\u0001",
      "\u0001\0",
      "a",
      "a\0",
      "a b",
      "ab",
      "ü",
      "😀",
    ]
    for (const more of [[], [0], ["z", 1]]) {
      const keys = texts.map((text) => compositeKey(text, ...more))
      expect([...keys].reverse().sort(Buffer.compare)).toEqual(keys)
      expect(keys.map(keyParts)).toEqual(texts.map((text) => [text, ...more]))
    }
  })

  it.each(["00", "0161", "0261", "02ffffffff"])("does not read the bytes %s as a key", (hex) => {
    expect(() => keyParts(Buffer.from(hex, "hex"))).toThrow(RangeError)
  })

  it("sorts the extremes of the safe integers", () => {
    const numbers = [
      Number.MIN_SAFE_INTEGER,
      -(2 ** 32),
      -1,
      0,
      1,
      2 ** 32,
      Number.MAX_SAFE_INTEGER,
    ]
    const keys = numbers.map((number) => compositeKey(number))
    expect([...keys].reverse().sort(Buffer.compare)).toEqual(keys)
    expect(keys.map(keyParts)).toEqual(numbers.map((number) => [number]))
  })

  it("distinguishes parts that concatenation would confuse", () => {
    const keys = [["a", "bc"], ["ab", "c"], ["abc", ""], ["", "abc"], ["abc"], ["a\0", "bc"]]
    const distinct = new Set(
      keys.map((parts) => Buffer.from(compositeKey(...parts)).toString("hex")),
    )
    expect(distinct.size).toBe(keys.length)
  })

  it("accepts a key of the largest size and refuses one byte more", () => {
    expect(compositeKey("x".repeat(keyBytesMax - 2)).length).toBe(keyBytesMax)
    expect(() => compositeKey("x".repeat(keyBytesMax - 1))).toThrow(RangeError)
  })

  it.each([0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53])(
    "refuses the number %s",
    (number) => {
      expect(() => compositeKey(number)).toThrow(RangeError)
    },
  )
})

describe("rangeOf", () => {
  it.prop("has exactly the keys that begin with the parts", [Parts, Parts], ([prefix, parts]) => {
    const { from, until } = rangeOf(compositeKey(...prefix))
    const holds = (key: Uint8Array) =>
      Buffer.compare(key, from) >= 0 && Buffer.compare(key, until) < 0
    expect(holds(compositeKey(...prefix, ...parts))).toBe(true)
    expect(holds(compositeKey(...parts))).toBe(startsWith(parts, prefix))
  })

  it("ends after a prefix that ends with the largest bytes", () => {
    const { until } = rangeOf(compositeKey(2 ** 32 - 1))
    expect(Buffer.compare(compositeKey(2 ** 32 - 1, "\u{10ffff}"), until)).toBe(-1)
    expect(Buffer.compare(compositeKey(2 ** 32), until)).not.toBe(-1)
  })
})
