import { describe, expect, it } from "@effect/vitest"
import { defaultLevelCurve, levelAt, levelProgress, levelStart } from "../../src/domain/Level.ts"
import { Random, seeds } from "../simulation/random.ts"

describe("The default level curve", () => {
  it("begins its levels at 0, 100, 300, 600 and 1000 xp", () => {
    expect([1, 2, 3, 4, 5].map((level) => levelStart(defaultLevelCurve, level))).toEqual([
      0, 100, 300, 600, 1000,
    ])
  })

  it("counts a level from its first xp on and not one earlier", () => {
    expect([0, 99, 100, 299, 300].map((xp) => levelAt(defaultLevelCurve, xp))).toEqual([
      1, 1, 2, 2, 3,
    ])
  })

  it("is right at every level's both sides, up to the largest balance", () => {
    const [seed] = seeds(1)
    const random = new Random(seed!)
    for (let run = 0; run < 10_000; run++) {
      const curve = { kind: "quadratic", base: random.integer(1, 1_000) } as const
      const level = Math.floor(2 ** (random.next() * 20)) + 1
      const start = levelStart(curve, level)
      expect([levelAt(curve, start - 1), levelAt(curve, start)], `seed ${seed}`).toEqual([
        level - 1,
        level,
      ])
    }
    const top = levelAt(defaultLevelCurve, Number.MAX_SAFE_INTEGER)
    expect(levelStart(defaultLevelCurve, top)).toBeLessThanOrEqual(Number.MAX_SAFE_INTEGER)
    expect(levelStart(defaultLevelCurve, top + 1)).toBeGreaterThan(Number.MAX_SAFE_INTEGER)
  })

  it("tells how far a user is into a level", () => {
    expect(levelProgress(defaultLevelCurve, 150)).toEqual({
      xpAtStart: 100,
      xpAtNext: 300,
      xpInto: 50,
      xpToNext: 150,
      ratio: 0.25,
    })
  })
})
