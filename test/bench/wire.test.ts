import { describe, expect, it } from "vitest"
import { Latencies } from "../../bench/wire.ts"

const latenciesOf = (...all: ReadonlyArray<number>): Latencies => {
  const latencies = new Latencies()
  for (const ms of all) latencies.add(ms)
  return latencies
}

describe("Latencies", () => {
  it("have the smallest value that a share of them does not exceed", () => {
    const latencies = latenciesOf(...Array.from({ length: 100 }, (_, n) => n + 1))
    expect([0.01, 0.5, 0.99, 1].map((share) => latencies.quantileMs(share))).toEqual([
      1, 50, 99, 100,
    ])
    expect([latencies.total, latencies.maxMs]).toEqual([100, 100])
  })

  it("have a median of 0 where all are 0, and where there are none", () => {
    expect([latenciesOf(0).quantileMs(0.5), latenciesOf().quantileMs(0.5)]).toEqual([0, 0])
  })

  it("have the maximum as quantile from two seconds on, not two seconds", () => {
    expect(latenciesOf(1_999.999).quantileMs(1)).toBe(1_999.999)
    expect(latenciesOf(1, 2_500, 60_000).quantileMs(0.5)).toBe(60_000)
  })
})
