import { describe, expect, it } from "@effect/vitest"
import {
  defaultLevelCurve,
  type LevelCurve,
  levelAt,
  levelProgress,
  levelStart,
} from "../../../src/domain/project/Level.ts"
import { limits } from "../../../src/Limits.ts"
import { Random, seeds } from "../../simulation/random.ts"

const startsOf = (curve: LevelCurve, count: number): ReadonlyArray<number> =>
  Array.from({ length: count }, (_, index) => levelStart(curve, index + 1))

/** From which level on there is nothing, found by doubling and halving. */
const topOf = (curve: LevelCurve): number => {
  let exists = 1
  let missing = 2
  while (levelStart(curve, missing) !== Number.POSITIVE_INFINITY) {
    exists = missing
    missing *= 2
  }
  for (;;) {
    const middle = exists + Math.floor((missing - exists) / 2)
    if (middle === exists) return exists
    if (levelStart(curve, middle) === Number.POSITIVE_INFINITY) missing = middle
    else exists = middle
  }
}

/** A number up to `most`, small ones as likely as large ones. */
const upTo = (random: Random, most: number): number =>
  Math.max(1, Math.floor(2 ** (random.next() * Math.log2(most))))

const randomCurve = (random: Random): LevelCurve => {
  switch (random.integer(0, 3)) {
    case 0:
      return { kind: "quadratic", base: upTo(random, limits.amountMax) }
    case 1:
      return { kind: "linear", xpPerLevel: upTo(random, limits.amountMax) }
    case 2: {
      const factor = limits.levelFactorMin + (random.chance(0.5) ? 0.2 : 98) * random.next()
      return { kind: "geometric", base: upTo(random, limits.amountMax), factor }
    }
    default: {
      const thresholds = new Set([0])
      for (let count = random.integer(0, 50); count > 0; count--) {
        thresholds.add(upTo(random, limits.balanceMax))
      }
      return { kind: "table", thresholds: [...thresholds].toSorted((a, b) => a - b) }
    }
  }
}

describe("A level curve", () => {
  it("is quadratic by default: its levels begin at 0, 100, 300, 600 and 1000 xp", () => {
    expect(startsOf(defaultLevelCurve, 5)).toEqual([0, 100, 300, 600, 1000])
    expect([0, 99, 100, 299, 300].map((xp) => levelAt(defaultLevelCurve, xp))).toEqual([
      1, 1, 2, 2, 3,
    ])
  })

  it("that is linear takes as much for every level", () => {
    const curve = { kind: "linear", xpPerLevel: 250 } as const
    expect(startsOf(curve, 4)).toEqual([0, 250, 500, 750])
    expect([249, 250, 749, 750].map((xp) => levelAt(curve, xp))).toEqual([1, 2, 3, 4])
  })

  it("that is geometric takes a factor more for every level, rounded to whole xp", () => {
    // 100, 115, 132.25, 152.0875…
    expect(startsOf({ kind: "geometric", base: 100, factor: 1.15 }, 5)).toEqual([
      0, 100, 215, 347, 499,
    ])
    expect(startsOf({ kind: "geometric", base: 1, factor: 2 }, 5)).toEqual([0, 1, 3, 7, 15])
  })

  it("that is a table begins its levels where it says, and ends with the last of them", () => {
    const curve = { kind: "table", thresholds: [0, 10, 1_000] } as const
    expect(startsOf(curve, 4)).toEqual([0, 10, 1_000, Number.POSITIVE_INFINITY])
    expect([0, 9, 10, 999, 1_000, limits.balanceMax].map((xp) => levelAt(curve, xp))).toEqual([
      1, 1, 2, 2, 3, 3,
    ])
    expect(levelAt({ kind: "table", thresholds: [0] }, limits.balanceMax)).toBe(1)
  })

  it("holds each level from its first xp to the last before the next, up to the largest balance", () => {
    for (const seed of seeds(1)) {
      const random = new Random(seed)
      for (let run = 0; run < 2_000; run++) {
        const curve = randomCurve(random)
        const words = `seed ${seed}: ${JSON.stringify(curve)}`
        const top = topOf(curve)
        const level = run % 2 === 0 ? top : Math.min(top, upTo(random, top))
        const start = levelStart(curve, level)
        const next = Math.min(levelStart(curve, level + 1), limits.balanceMax + 1)
        expect([Number.isSafeInteger(start), start < next], words).toEqual([true, true])
        expect([levelAt(curve, start), levelAt(curve, next - 1)], words).toEqual([level, level])
        if (level > 1) expect(levelAt(curve, start - 1), words).toBe(level - 1)
      }
    }
  })

  it("has as many levels as its bounds let it, and no more", () => {
    const steepest = { base: limits.amountMax, factor: limits.levelFactorMax }
    const flattest = { base: 1, factor: limits.levelFactorMin }
    expect(topOf({ kind: "geometric", ...steepest })).toBe(5)
    const many = topOf({ kind: "geometric", ...flattest })
    expect([many > 3_000, many < 3_500]).toEqual([true, true])
    expect(topOf({ kind: "linear", xpPerLevel: 1 })).toBe(Number.MAX_SAFE_INTEGER)
    expect(topOf({ kind: "quadratic", base: 1 })).toBe(94_906_266)
  })

  it("agrees with exact arithmetic", () => {
    for (const base of [1n, 50n, 999_999_937n]) {
      const curve = { kind: "quadratic", base: Number(base) } as const
      for (const xp of [0n, 1n, 10n ** 9n, 2n ** 53n - 2n, 2n ** 53n - 1n]) {
        const level = BigInt(levelAt(curve, Number(xp)))
        expect([base * level * (level - 1n) <= xp, base * level * (level + 1n) > xp]).toEqual([
          true,
          true,
        ])
      }
    }
  })
})

describe("The progress within a level", () => {
  it("is the share of the present level", () => {
    expect(levelProgress(defaultLevelCurve, 150)).toEqual({
      xpAtStart: 100,
      xpAtNext: 300,
      xpInto: 50,
      xpToNext: 150,
      ratio: 0.25,
    })
  })

  it("knows no next level on the top level", () => {
    expect(levelProgress({ kind: "table", thresholds: [0, 10] }, 12)).toEqual({
      xpAtStart: 10,
      xpAtNext: null,
      xpInto: 2,
      xpToNext: null,
      ratio: 1,
    })
    const { ratio, xpAtNext } = levelProgress(defaultLevelCurve, limits.balanceMax)
    expect([xpAtNext, ratio]).toEqual([null, 1])
  })
})
