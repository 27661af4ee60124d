import { describe, expect, it } from "vitest"
import { halfSipHash } from "../../../src/domain/board/halfSipHash.ts"
import { Members } from "../../../src/domain/board/Members.ts"
import { limits } from "../../../src/Limits.ts"
import { Random, seeds } from "../../simulation/random.ts"

describe("The numbers of user ids", () => {
  for (const seed of seeds(2)) {
    it(`are those of a Map through a random life; again with LAUREL_TEST_SEED=${seed}`, () => {
      const random = new Random(seed)
      const members = new Members(random.integer(0, 0xffff_ffff), random.integer(0, 0xffff_ffff))
      const model = new Map<string, number>()
      const idAt = (n: number) =>
        random.chance(0.1)
          ? `${n}🦊é`.repeat(1 + (n % 20))
          : `${["", "user_", "constructor"][n % 3]}${n}`
      for (let step = 0; step < 30_000; step++) {
        const id = idAt(random.integer(0, limits.boardIdsInOneTableMax * 3))
        if (random.chance(0.15)) {
          members.release(id)
          model.delete(id)
        } else if (random.chance(0.7)) {
          const bytes = Buffer.from(`..${id}.`)
          const member = random.chance(0.5)
            ? members.admit(id)
            : members.admitBytes(bytes, 2, bytes.length - 1)
          const known = model.get(id)
          if (known !== undefined) expect(member).toBe(known)
          else expect([...model.values()].includes(member)).toBe(false)
          model.set(id, member)
        } else {
          expect(members.find(id)).toBe(model.get(id))
        }
      }
      expect(members.size).toBe(model.size)
      for (const [id, member] of model) {
        expect(members.find(id)).toBe(member)
        expect(members.idOf(member)).toBe(id)
      }
    })
  }

  it("are reused, and a number that is not in use has no id", () => {
    const members = new Members()
    expect(["a", "b", "c"].map((id) => members.admit(id))).toEqual([0, 1, 2])
    members.release("b")
    expect(() => members.idOf(1)).toThrow("No member has the number 1")
    expect(members.find("b")).toBeUndefined()
    expect(members.admit("d")).toBe(1)
    expect(members.idOf(1)).toBe("d")
  })

  it("hold ids of the largest size by the thousand", () => {
    const members = new Members()
    const ids = Array.from({ length: 5_000 }, (_, n) => `${n}`.padEnd(4, "_") + "🦊".repeat(124))
    for (const id of ids) members.admit(id)
    ids.forEach((id, n) => {
      expect(members.find(id)).toBe(n)
      expect(members.idOf(n)).toBe(id)
    })
  })
})

describe("An id", () => {
  it("is copied as UTF-8, only while its number is in use", () => {
    const members = new Members()
    const [ada, fox] = [members.admit("ada"), members.admit("ü🦊")]
    const target = Buffer.alloc(16, ".")
    expect(members.copyId(fox, target, members.copyId(ada, target, 2) + 1)).toBe(12)
    expect(target.toString()).toBe("..ada.ü🦊....")
    members.release("ada")
    expect(() => members.copyId(ada, target, 0)).toThrow(RangeError)
  })
})

describe("HalfSipHash-1-3", () => {
  // The reference's rounds written again with whole numbers, which can not go wrong by signs.
  const naive = (bytes: Uint8Array, key0: number, key1: number): number => {
    const mask = 0xffff_ffffn
    const rotated = (value: bigint, by: bigint) => ((value << by) | (value >> (32n - by))) & mask
    let [v0, v1] = [BigInt(key0), BigInt(key1)]
    let v2 = BigInt(key0) ^ 0x6c796765n
    let v3 = BigInt(key1) ^ 0x74656462n
    const round = () => {
      v0 = (v0 + v1) & mask
      v1 = rotated(v1, 5n) ^ v0
      v0 = rotated(v0, 16n)
      v2 = (v2 + v3) & mask
      v3 = rotated(v3, 8n) ^ v2
      v0 = (v0 + v3) & mask
      v3 = rotated(v3, 7n) ^ v0
      v2 = (v2 + v1) & mask
      v1 = rotated(v1, 13n) ^ v2
      v2 = rotated(v2, 16n)
    }
    const whole = bytes.length - (bytes.length % 4)
    const word = (at: number, count: number) => {
      let value = 0n
      for (let n = 0; n < count; n++) value |= BigInt(bytes[at + n]!) << BigInt(8 * n)
      return value
    }
    const words = []
    for (let at = 0; at < whole; at += 4) words.push(word(at, 4))
    words.push(word(whole, bytes.length - whole) | (BigInt(bytes.length & 255) << 24n))
    for (const each of words) {
      v3 ^= each
      round()
      v0 ^= each
    }
    v2 ^= 0xffn
    for (let n = 0; n < 3; n++) round()
    return Number(v1 ^ v3)
  }

  it("equals the reference implementation, for every length and any key", () => {
    const random = new Random(7)
    for (let length = 0; length <= 300; length++) {
      const bytes = Uint8Array.from({ length }, () => random.integer(0, 255))
      const [key0, key1] = [random.integer(0, 0xffff_ffff), random.integer(0, 0xffff_ffff)]
      expect(halfSipHash(bytes, 0, length, key0, key1)).toBe(naive(bytes, key0, key1))
    }
  })
})
