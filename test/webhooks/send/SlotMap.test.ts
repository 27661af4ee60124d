import { describe, expect, it } from "vitest"
import { Numbering, SlotMap } from "../../../src/webhooks/send/SenderThread.ts"
import { Random, seeds } from "../../simulation/random.ts"

describe("Numbers", () => {
  it.each(seeds(1))(
    "return the stored value until it is taken, and no other value (%i)",
    (seed) => {
      const random = new Random(seed)
      const numbering = new Numbering<string>()
      const others = new SlotMap<string>()
      const held = new Map<number, string>()
      const given = new Set<number>()
      for (let step = 0; step < 5_000; step++) {
        if (held.size < 100 && random.chance(0.6)) {
          const number = numbering.add(`${step}`)
          others.set(number, `other ${step}`)
          expect(given.has(number)).toBe(false)
          given.add(number)
          held.set(number, `${step}`)
        } else {
          const number = given.size === 0 ? 1 : random.pick([...given])
          const value = held.get(number)
          expect(numbering.take(number)).toBe(value)
          expect(others.take(number)).toBe(value && `other ${value}`)
          held.delete(number)
        }
        expect([numbering.size, others.size]).toEqual([held.size, held.size])
      }
      expect(numbering.takeAll().toSorted()).toEqual([...held.values()].toSorted())
      expect(numbering.size).toBe(0)
      expect(numbering.takeAll()).toEqual([])
    },
  )

  it("reuse a few slots", () => {
    const numbering = new Numbering<number>()
    for (let count = 0; count < 200_000; count++) {
      const number = numbering.add(count)
      expect(number % 65_536).toBe(0)
      expect(numbering.take(number)).toBe(count)
    }
  })
})
