import { describe, expect, it } from "vitest"
import { amountOf, minusAmount, plusAmount } from "../../../src/domain/project/Definition.ts"
import { limits } from "../../../src/Limits.ts"
import { randomOf } from "../../simulation/random.ts"

const sum = { sumPath: "run.km" }
const ofKm = (km: unknown) => amountOf(sum, { run: { km } })

describe("The amount of an event", () => {
  it("is 1 where events are counted, whatever their metadata", () => {
    for (const metadata of [undefined, {}, { km: -3 }]) expect(amountOf({}, metadata)).toBe(1)
  })

  it("is the number at the path, rounded to the decimals that add up exactly", () => {
    for (const [km, amount] of [
      [42.195, 42.195],
      [0.00005, 0.0001],
      [1 / 3, 0.3333],
      [Number.MIN_VALUE, 0],
      [0.00004, 0],
      [limits.sumAmountMax, limits.sumAmountMax],
    ]) {
      expect(ofKm(km)).toBe(amount)
    }
  })

  it("is 0 without a number above 0, and for a number beyond the bound", () => {
    const json = (text: string) => JSON.parse(text) as unknown
    const none = [undefined, null, "3", true, [], [3], {}, 0, -0, -1, Number.NaN]
    const huge = [limits.sumAmountMax + 1, json("1e999"), json("-1e999")]
    for (const km of [...none, ...huge]) expect(ofKm(km)).toBe(0)
    expect(amountOf(sum, undefined)).toBe(0)
    expect(amountOf(sum, { run: null })).toBe(0)
    expect(amountOf({ sumPath: "constructor.length" }, {})).toBe(0)
  })
})

describe("A sum", () => {
  it("does not drift, in whatever order amounts are added and taken away", () => {
    const random = randomOf(7)
    const size = [0.0001, 0.1, 1, 1_000, 1_000_000]
    for (let run = 0; run < 200; run++) {
      const amounts = Array.from({ length: 50 }, () =>
        ofKm(random() * size[Math.floor(random() * size.length)]!),
      )
      let total = amounts.reduce((before, amount) => plusAmount(sum, before, amount), 0)
      const exact = amounts.reduce((before, amount) => before + Math.round(amount * 10_000), 0)
      expect(total).toBe(exact / 10_000)
      for (const amount of amounts.toSorted(() => random() - 0.5))
        total = minusAmount(total, amount)
      expect(total).toBe(0)
    }
    expect(plusAmount(sum, plusAmount(sum, 0, 0.1), 0.2)).toBe(0.3)
  })

  it("is exact to its maximum, and stays there", () => {
    const grain = 10 ** -limits.sumDecimals
    const most = limits.sumMax
    const below = minusAmount(most, grain)
    expect(below).toBeLessThan(most)
    expect(plusAmount(sum, below, grain)).toBe(most)
    expect(minusAmount(plusAmount(sum, minusAmount(below, 0.3), 0.3), grain)).toBe(
      minusAmount(below, grain),
    )
    expect(plusAmount(sum, below, 5)).toBe(most)
    expect(minusAmount(1, 2)).toBe(0)
  })
})
