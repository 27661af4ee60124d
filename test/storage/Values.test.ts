import { describe, expect, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { compositeKey } from "../../src/storage/Keys.ts"
import { decodeValue, encodeValue } from "../../src/storage/Values.ts"

const place = { table: "users", key: compositeKey("env_1", "ada") } as const

const messageOf = (value: Uint8Array) =>
  Effect.map(Effect.flip(decodeValue(value, place)), (error) => String(error.cause))

describe("a stored value", () => {
  it.effect.prop("gives its body back", [Schema.String], ([text]) =>
    Effect.gen(function* () {
      const body = Buffer.from(text)
      expect(Buffer.from(yield* decodeValue(encodeValue(body), place))).toEqual(body)
      expect(encodeValue(text)).toEqual(encodeValue(body))
    }),
  )

  it.effect("is refused with any bit flipped, naming table and key", () =>
    Effect.gen(function* () {
      const value = encodeValue('{"xp":120}')
      for (let bit = 0; bit < value.length * 8; bit++) {
        const flipped = Uint8Array.from(value)
        flipped[bit >> 3]! ^= 1 << (bit & 7)
        expect(yield* messageOf(flipped)).toMatch(/\["env_1","ada"\] of table users (is|has)/)
      }
    }),
  )

  it.effect("is refused when it was cut short", () =>
    Effect.gen(function* () {
      const value = encodeValue("body")
      for (let length = 0; length < value.length; length++) {
        expect(yield* messageOf(value.subarray(0, length))).toContain("is damaged")
      }
    }),
  )

  it.effect("of a later format is told apart from damage", () =>
    Effect.gen(function* () {
      const value = Uint8Array.from(encodeValue("body"))
      value[0] = 2
      expect(yield* messageOf(value)).toContain("newer Laurel")
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
