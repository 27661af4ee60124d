import { describe, expect, it } from "@effect/vitest"
import { BloomFilter, hashText, idSeed } from "../../../src/engine/dedupe/IdIndex.ts"
import { Random, seeds } from "../../simulation/random.ts"

describe("The filter of known ids", () => {
  it("reports every id as known until it is complete", () => {
    const filter = new BloomFilter(1_024)
    expect(filter.mayHave(7)).toBe(true)
    filter.complete()
    expect(filter.mayHave(7)).toBe(false)
  })

  it("never misses an id that was added, however full it is", () => {
    const [seed] = seeds(1)
    const random = new Random(seed!)
    const filter = new BloomFilter(4_096)
    filter.complete()
    for (let count = 0; count < 20_000; count++) {
      const hash = Math.floor(random.next() * 2 ** 32)
      filter.add(hash)
      expect(filter.mayHave(hash), `seed ${seed}`).toBe(true)
    }
  })

  it("reports few new ids as known at 12 bits an id", () => {
    const ids = 100_000
    const filter = new BloomFilter((ids * 12) / 8)
    filter.complete()
    for (let id = 0; id < ids; id++)
      filter.add(hashText(`e${id}`, idSeed("p:sandbox", `u${id % 1_000}`)))
    let wrong = 0
    for (let id = 0; id < ids; id++) {
      if (filter.mayHave(hashText(`x${id}`, idSeed("p:sandbox", `u${id % 1_000}`)))) wrong++
    }
    expect(wrong / ids).toBeLessThan(0.03)
  })

  it("has the published hashes of FNV-1a", () => {
    expect(hashText("")).toBe(0x811c9dc5)
    expect(hashText("a")).toBe(0xe40c292c)
    expect(hashText("foobar")).toBe(0xbf9cf968)
  })

  it("is not complete when another filter with the same bits is", () => {
    const bits = new BloomFilter(1_024)
    const [one, other] = [new BloomFilter(bits), new BloomFilter(bits)]
    const [known, unknown] = [hashText("known"), hashText("unknown")]
    other.add(known)
    one.complete()
    expect([one.mayHave(known), one.mayHave(unknown)]).toEqual([true, false])
    expect([other.mayHave(known), other.mayHave(unknown)]).toEqual([true, true])
    other.complete()
    expect([other.mayHave(known), other.mayHave(unknown)]).toEqual([true, false])
  })
})
