import { crc32 } from "node:zlib"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { EntryBlock } from "../../src/storage/EntryBlock.ts"
import { dataFormat, otherFormat } from "../../src/storage/format.ts"
import { compositeKey } from "../../src/storage/Keys.ts"
import { decodeValue, encodeValue, firstDamaged } from "../../src/storage/Values.ts"

const place = { table: "userIds", key: compositeKey("env_1", "ada") } as const

const messageOf = (value: Uint8Array) =>
  Effect.map(Effect.flip(decodeValue(value, place)), (error) => String(error.cause))

/** The value in another format, with a right checksum. */
const withForm = (value: Uint8Array, format: number): Buffer => {
  const other = Buffer.from(value)
  other[0] = format
  other.writeUInt32LE(crc32(other.subarray(0, -4)), other.length - 4)
  return other
}

describe("a stored value", () => {
  it.effect.prop("returns its body", [Schema.String], ([text]) =>
    Effect.gen(function* () {
      const body = Buffer.from(text)
      expect(Buffer.from(yield* decodeValue(encodeValue(body), place))).toEqual(body)
      expect(encodeValue(text)).toEqual(encodeValue(body))
    }),
  )

  it.effect("with any flipped bit is refused, and the error names table and key", () =>
    Effect.gen(function* () {
      const value = encodeValue('{"xp":120}')
      for (let bit = 0; bit < value.length * 8; bit++) {
        const flipped = Uint8Array.from(value)
        flipped[bit >> 3]! ^= 1 << (bit & 7)
        expect(yield* messageOf(flipped)).toMatch(/\["env_1","ada"\] of table userIds (is|has)/)
      }
    }),
  )

  it.effect("that was truncated is refused", () =>
    Effect.gen(function* () {
      const value = encodeValue("body")
      for (let length = 0; length < value.length; length++) {
        expect(yield* messageOf(value.subarray(0, length))).toContain("is damaged")
      }
    }),
  )

  it.effect("of an older or newer format is distinguished from damage", () =>
    Effect.gen(function* () {
      for (const format of [dataFormat - 1, dataFormat + 1]) {
        expect(yield* messageOf(withForm(encodeValue("body"), format))).toContain(
          otherFormat(format),
        )
      }
    }),
  )

  it.effect("whose key is not composite is named in hexadecimal", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(
        decodeValue(Uint8Array.of(1), { table: "meta", key: Uint8Array.of(0, 9, 1) }),
      )
      expect(String(error.cause)).toContain("000901")
    }),
  )
})

const blockOf = (values: ReadonlyArray<Uint8Array>): EntryBlock => {
  const block = new EntryBlock()
  for (const value of values) {
    block.addKey(place.key, 0, place.key.length)
    block.addValue(Buffer.from(value), value.length)
  }
  return block
}

describe("a block of values", () => {
  const values = ['{"xp":120}', "", "a", "body".repeat(50)].map(encodeValue)
  /** The block in which the value `n` is another one. */
  const withOther = (n: number, other: Uint8Array) => blockOf(values.with(n, other))

  it("has no damaged value if all of its values are intact", () => {
    expect(firstDamaged(blockOf([]))).toBe(-1)
    for (let count = 1; count <= values.length; count++) {
      expect(firstDamaged(blockOf(values.slice(0, count)))).toBe(-1)
    }
    const block = blockOf(Array.from({ length: 700 }, (_, n) => encodeValue("x".repeat(n))))
    expect(firstDamaged(block)).toBe(-1)
    block.clear()
    expect(firstDamaged(block)).toBe(-1)
  })

  it("names the value that has a flipped bit", () => {
    for (const [n, value] of values.entries()) {
      for (let bit = 0; bit < value.length * 8; bit++) {
        const flipped = Uint8Array.from(value)
        flipped[bit >> 3]! ^= 1 << (bit & 7)
        expect(firstDamaged(withOther(n, flipped))).toBe(n)
      }
    }
  })

  it("names the value that was truncated or has another format", () => {
    for (const [n, value] of values.entries()) {
      for (let length = 0; length < value.length; length++) {
        expect(firstDamaged(withOther(n, value.subarray(0, length)))).toBe(n)
      }
      for (const format of [dataFormat - 1, dataFormat + 1]) {
        expect(firstDamaged(withOther(n, withForm(value, format)))).toBe(n)
      }
    }
  })

  it("names the first of several damaged values", () => {
    const damaged = encodeValue("body").subarray(1)
    expect(firstDamaged(blockOf([values[0]!, damaged, values[1]!, damaged]))).toBe(1)
  })
})
