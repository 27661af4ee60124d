import { describe, expect, it } from "vitest"
import { SipHash } from "../../../src/engine/users/SipHash.ts"
import { Random, seeds } from "../../simulation/random.ts"

const mask = (1n << 64n) - 1n
const rotated = (value: bigint, by: bigint): bigint =>
  ((value << by) | (value >> (64n - by))) & mask

const wordOf = (bytes: Uint8Array): bigint =>
  bytes.reduceRight((word, byte) => (word << 8n) | BigInt(byte), 0n)

/** SipHash-c-d as its paper states it. */
const reference = (key: Uint8Array, message: Uint8Array, c: number, d: number): bigint => {
  const [k0, k1] = [wordOf(key.subarray(0, 8)), wordOf(key.subarray(8))]
  let v0 = k0 ^ 0x736f6d6570736575n
  let v1 = k1 ^ 0x646f72616e646f6dn
  let v2 = k0 ^ 0x6c7967656e657261n
  let v3 = k1 ^ 0x7465646279746573n
  const round = () => {
    v0 = (v0 + v1) & mask
    v1 = rotated(v1, 13n) ^ v0
    v0 = rotated(v0, 32n)
    v2 = (v2 + v3) & mask
    v3 = rotated(v3, 16n) ^ v2
    v0 = (v0 + v3) & mask
    v3 = rotated(v3, 21n) ^ v0
    v2 = (v2 + v1) & mask
    v1 = rotated(v1, 17n) ^ v2
    v2 = rotated(v2, 32n)
  }
  const whole = message.length - (message.length % 8)
  const words = Array.from({ length: whole / 8 }, (_, n) =>
    wordOf(message.subarray(8 * n, 8 * n + 8)),
  )
  words.push((BigInt(message.length & 0xff) << 56n) | wordOf(message.subarray(whole)))
  for (const word of words) {
    v3 ^= word
    for (let n = 0; n < c; n++) round()
    v0 ^= word
  }
  v2 ^= 0xffn
  for (let n = 0; n < d; n++) round()
  return v0 ^ v1 ^ v2 ^ v3
}

describe("SipHash", () => {
  const key = Uint8Array.from({ length: 16 }, (_, n) => n)

  it("is that of the paper, whose example the reference repeats", () => {
    const message = Uint8Array.from({ length: 15 }, (_, n) => n)
    expect(reference(key, message, 2, 4)).toBe(0xa129ca6149be45e5n)
  })

  for (const seed of seeds(1)) {
    it(`is the reference's with one and three rounds, for any key, size and place; LAUREL_TEST_SEED=${seed}`, () => {
      const random = new Random(seed)
      for (let size = 0; size < 300; size++) {
        const secret = Uint8Array.from({ length: 16 }, () => random.integer(0, 255))
        const message = Uint8Array.from({ length: size }, () => random.integer(0, 255))
        const start = random.integer(0, 9)
        const hash = new SipHash(secret)
        hash.hash(Buffer.concat([Buffer.alloc(start, 1), message, key]), start, start + size)
        const found = (BigInt(hash.high) << 32n) | BigInt(hash.low)
        expect(found).toBe(reference(secret, message, 1, 3))
      }
    })
  }

  it("refuses a key of another size", () => {
    expect(() => new SipHash(new Uint8Array(15))).toThrow(RangeError)
  })
})
