import { describe, expect, it } from "vitest"
import { randomEvent, userChooser, userIdAt } from "../../bench/events.ts"

describe("Events of the benches", () => {
  it("have as many users as numbers, whose ids are equally long", () => {
    const ids = new Set(Array.from({ length: 10_000 }, (_, n) => userIdAt(n)))
    expect(ids.size).toBe(10_000)
    expect(new Set([...ids].map(({ length }) => length))).toEqual(new Set([13]))
  })

  it("are of about 230 bytes and have an id, or none", () => {
    const bytes = Buffer.byteLength(JSON.stringify(randomEvent()))
    expect(bytes).toBeGreaterThan(210)
    expect(bytes).toBeLessThan(260)
    expect(randomEvent(false)).not.toHaveProperty("id")
  })

  it.each(["uniform", "zipf"] as const)("draws all numbers below the users, %s", (choice) => {
    const choose = userChooser(3, choice)
    const drawn = new Set(Array.from({ length: 2_000 }, choose))
    expect([...drawn].toSorted()).toEqual([0, 1, 2])
  })

  it("draws the first user most often by Zipf's law: of 1,000 with exponent 0.99, every eighth time", () => {
    const choose = userChooser(1_000, "zipf")
    const draws = Array.from({ length: 100_000 }, choose)
    const share = draws.filter((user) => user === 0).length / draws.length
    // 1 over the sum of rank ** -0.99 is 0.1294; of 100,000 draws six standard deviations are 0.0064.
    expect(Math.abs(share - 0.1294)).toBeLessThan(0.0064)
  })
})
