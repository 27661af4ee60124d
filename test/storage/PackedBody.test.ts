import { describe, expect, it } from "vitest"
import { limits } from "../../src/Limits.ts"
import {
  encodeValue,
  openValue,
  pack,
  packedValue,
  unpacked,
} from "../../src/storage/SealedValue.ts"
import { Random, seeds } from "../simulation/random.ts"

const packed = (body: Uint8Array): Buffer | undefined => {
  const target = Buffer.alloc(body.length)
  const end = pack(body, target, 0)
  return end < 0 ? undefined : target.subarray(0, end)
}

const record = (n: number) =>
  JSON.stringify({
    sequence: n,
    at: 1_795_407_388_923 + n,
    subject: { actor: "user", environment: "prj_01a2069e9b687b92:sandbox", userId: `user_${n}` },
    cause: { kind: "event", id: `01a2069e-a0b2-7c38-${n}`, action: "TAP", metadata: { score: n } },
    facts: [
      { kind: "xp.earned", amount: 10, total: 10 * n, source: { ruleId: "rul_01a2069ea0aa" } },
    ],
  })

/** Bytes with repetitions of every length and distance. */
const randomBody = (random: Random): Buffer => {
  const parts: Array<Buffer> = []
  const wanted = random.pick([0, 1, 20, 300, 5_000, limits.packedBodyBytesMax])
  for (let bytes = 0; bytes < wanted; ) {
    const kind = random.integer(0, 3)
    const size = random.pick([1, 3, 4, 14, 15, 18, 19, 20, 254, 255, 270, 274, 600])
    const whole = Buffer.concat(parts)
    const part =
      kind === 0
        ? Buffer.from(Array.from({ length: size }, () => random.integer(0, 255)))
        : kind === 1
          ? Buffer.alloc(size, random.integer(0, 255))
          : kind === 2
            ? Buffer.from(record(random.integer(0, 1e6)))
            : whole.subarray(random.integer(0, whole.length)).subarray(0, size)
    parts.push(part)
    bytes += Math.max(1, part.length)
  }
  return Buffer.concat(parts).subarray(0, wanted)
}

describe("A packed body", () => {
  for (const seed of seeds(3)) {
    it(`unpacks to the body and is shorter, or is not written (seed ${seed})`, () => {
      const random = new Random(seed)
      let made = 0
      for (let run = 0; run < 300; run++) {
        const body = randomBody(random)
        const short = packed(body)
        if (short === undefined) continue
        made++
        expect(short.length).toBeLessThan(body.length)
        expect(unpacked(short)?.equals(body)).toBe(true)
      }
      expect(made).toBeGreaterThan(50)
    })

    it(`that was changed or truncated gives other bytes or none, within bounds (seed ${seed})`, () => {
      const random = new Random(seed)
      const body = Buffer.from(Array.from({ length: 40 }, (_, n) => record(n)).join("\n"))
      const whole = packed(body)!
      for (let run = 0; run < 20_000; run++) {
        const short = Buffer.from(whole)
        for (let n = random.integer(1, 4); n > 0; n--) {
          short[random.integer(0, 200)] = random.integer(0, 255)
        }
        const found = unpacked(short.subarray(0, random.integer(0, short.length)))
        expect(found?.length ?? 0).toBeLessThanOrEqual(limits.packedBodyBytesMax)
      }
      // The dictionary is as it was.
      expect(unpacked(whole)?.equals(body)).toBe(true)
    })
  }

  it("that claims more bytes than the limit, more than it has, or bytes before the dictionary is refused", () => {
    const size = limits.packedBodyBytesMax + 1
    expect(unpacked(Buffer.of(size & 0xff, size >>> 8))).toBeUndefined()
    for (const bytes of [
      [],
      [1],
      // One byte, but none follows; a literal that is missing; two literals for one byte.
      [1, 0],
      [1, 0, 0x10],
      [1, 0, 0x20, 65, 66],
      // Copies of four bytes into five: from zero back, and from before the dictionary.
      [5, 0, 0x10, 65, 0, 0, 0x00],
      [5, 0, 0x10, 65, 0xff, 0xff, 0x00],
      // A number without its end, and a distance without its second byte.
      [5, 0, 0x1f, 65, 1, 0, 0xff, 0xff],
      [5, 0, 0xf0],
      [9, 0, 0x10, 65, 1],
    ]) {
      expect(unpacked(Buffer.from(bytes))).toBeUndefined()
    }
    expect(unpacked(Buffer.from([5, 0, 0x10, 65, 1, 0, 0x00]))?.toString()).toBe("AAAAA")
  })

  it("is written for bodies up to the limit", () => {
    const most = Buffer.alloc(limits.packedBodyBytesMax, "ab")
    expect(unpacked(packed(most)!)?.equals(most)).toBe(true)
    expect(packed(Buffer.alloc(limits.packedBodyBytesMax + 1, "ab"))).toBeUndefined()
  })

  it("of format version 2 is read unchanged", () => {
    const text = `${record(1)}\n${record(2)}`
    expect(packed(Buffer.from(text))?.toString("hex")).toBe(golden)
    expect(unpacked(Buffer.from(golden, "hex"))?.toString()).toBe(text)
  })
})

const golden =
  "6702080c0006e401af35343037333838393234ee011dff0161323036396539623638376239323a73c801042f3122c9010f024b00b02d613062322d376333382d2b0305d80168544150222c22db014073636f72aa020fcf01020fb701290289006c61306161227d400124322c180305340100be040f22031a0260000f34010e1f3234012110325702040c030f3401061f32340121009b020feb020602d40005340100"

describe("A stored value with a packed body", () => {
  const value = encodeValue(record(7))
  const short = packedValue(value)

  it("has the same body in half the space", () => {
    expect(short.length).toBeLessThan(value.length / 2)
    expect(Buffer.from(openValue(short) as Uint8Array).toString()).toBe(record(7))
    expect(packedValue(short)).toBe(short)
  })

  it("stays unpacked if that is shorter", () => {
    for (const body of ["", "short", "0123456789abcdefghijklmnopqrstuv"]) {
      const plain = encodeValue(body)
      expect(packedValue(plain)).toBe(plain)
    }
  })

  it("is refused with any flipped bit, and if it was truncated", () => {
    for (let bit = 0; bit < short.length * 8; bit++) {
      const flipped = Buffer.from(short)
      flipped[bit >> 3]! ^= 1 << (bit & 7)
      expect(openValue(flipped)).toMatch(/^(is|has)/)
    }
    for (let length = 0; length < short.length; length++) {
      expect(openValue(short.subarray(0, length))).toBe("is damaged")
    }
  })
})
