import { describe, expect, it } from "vitest"
import type { OpenLoadReport } from "../../bench/processes/openLoad.ts"
import { linesOf, sliceSecondsOf } from "../../bench/soak.ts"

const reportOf = (p999Ms: number, accepted: number): OpenLoadReport => ({
  seconds: 60,
  offered: 100,
  unsent: 100 - accepted,
  accepted,
  refused: 0,
  acceptedInAll: accepted,
  broken: 0,
  longestPauseMs: 3,
  utilization: 0.1,
  whole: { p50Ms: 1, p99Ms: 2, p999Ms, maxMs: 2 * p999Ms, histogram: [] },
  refusals: { p50Ms: 0, p99Ms: 0, p999Ms: 0, maxMs: 0, histogram: [] },
  longestMs: [],
  loadUs: 4,
})

describe("A soak", () => {
  it("has slices of 5 to 60 seconds, 60 of them in between", () => {
    expect([1, 5, 10, 60, 600].map(sliceSecondsOf)).toEqual([5, 5, 10, 60, 60])
  })

  it("compares the last third with the first", () => {
    const slices = [1, 2, 3, 7, 8, 9].map((ms, n) => {
      const report = reportOf(ms, n === 0 ? 88 : 100)
      return { minute: n + 1, report, memoryMiB: 100 + n, costUs: 80 }
    })
    const lines = linesOf(5_000, slices)
    const [offered, tail] = lines
    expect(offered).toMatchObject({ value: 5_000, unit: "/s" })
    expect(tail).toMatchObject({ value: 9, reference: { value: 2 }, rounds: [1, 2, 3, 7, 8, 9] })
    const lineOf = (part: string) => lines.find(({ question }) => question.includes(part))!
    expect(lineOf("memory")).toMatchObject({ value: 105, reference: { value: 101 } })
    expect(lineOf("longest of all").value).toBe(18)
    expect(lineOf("refused").value).toBeCloseTo(2)
    const charts = new Set(tail!.points!.map(({ chart }) => chart))
    expect(charts.size).toBe(3)
    expect(tail!.points!.filter(({ line }) => line === "99.9 %").map(({ y }) => y)).toEqual(
      slices.map(({ report }) => report.whole.p999Ms),
    )
  })
})
