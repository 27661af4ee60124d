import { describe, expect, it } from "vitest"
import { Gaps } from "../../../src/domain/board/Gaps.ts"
import { Random } from "../../simulation/random.ts"

describe("Gaps", () => {
  it("skip the removed rows like a filter over all rows", () => {
    const random = new Random(7)
    for (let round = 0; round < 50; round++) {
      const size = random.integer(1, 60)
      const gaps = new Gaps()
      const gone = new Set<number>()
      for (let n = random.integer(0, size); n > 0; n--) {
        const position = random.integer(0, size - 1)
        expect(gaps.add(position)).toBe(!gone.has(position))
        gone.add(position)
      }
      const left = Array.from({ length: size }, (_, position) => position).filter(
        (position) => !gone.has(position),
      )
      expect(gaps.size).toBe(gone.size)
      expect([...gaps]).toEqual([...gone].sort((one, other) => one - other))
      expect(left.map((_, n) => gaps.positionOf(n))).toEqual(left)
      for (let position = 0; position < size; position++) {
        expect(gaps.has(position)).toBe(gone.has(position))
        const before = [...gone].filter((other) => other < position).length
        expect(gaps.before(position)).toBe(before)
      }
    }
  })
})
