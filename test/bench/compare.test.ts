import { describe, expect, it } from "vitest"
import { compare, formatCompared } from "../../bench/compare.ts"
import type { BenchLine } from "../../bench/Line.ts"

const line = (question: string, ...rounds: ReadonlyArray<number>): BenchLine => ({
  question,
  value: rounds.toSorted((a, b) => a - b)[rounds.length >>> 1]!,
  unit: "ms",
  rounds,
})

describe("compare", () => {
  it("tells lines whose rounds lie apart, upwards and downwards", () => {
    const before = [line("up", 1, 2, 3), line("down", 7, 8, 9), line("same", 1, 2, 3)]
    const after = [line("up", 4, 5, 6), line("down", 4, 5, 6), line("same", 3, 4, 5)]
    expect(compare(before, after)).toEqual({
      moved: [
        { question: "up", unit: "ms", before: 2, after: 5 },
        { question: "down", unit: "ms", before: 8, after: 5 },
      ],
      within: 1,
      unjudged: 0,
    })
  })

  it("needs three rounds on both sides", () => {
    const two = [line("q", 1, 2)]
    const three = [line("q", 11, 12, 13)]
    for (const [before, after] of [
      [two, three],
      [three, two],
    ] as const) {
      expect(compare(before, after)).toEqual({ moved: [], within: 0, unjudged: 1 })
    }
    expect(compare([line("q", 1, 2, 3)], three).moved).toHaveLength(1)
  })

  it("leaves out lines of one run alone, and lines whose value is unknown in one", () => {
    const nothing = { moved: [], within: 0, unjudged: 0 }
    const known = line("q", 1, 2, 3)
    // JSON has no NaN.
    const unknown: BenchLine = JSON.parse(JSON.stringify(line("q", Number.NaN)))
    expect(compare([known], [unknown])).toEqual(nothing)
    expect(compare([unknown], [known])).toEqual(nothing)
    expect(compare([line("old", 1, 2, 3)], [line("new", 4, 5, 6)])).toEqual(nothing)
    const { rounds: _, ...single } = line("q", 1, 2, 3)
    expect(compare([single], [line("q", 4, 5, 6)])).toEqual({ ...nothing, unjudged: 1 })
  })

  it("prints the change in percent, but none from zero", () => {
    const before = [line("cost", 100, 100, 100), line("failed", 0, 0, 0)]
    const after = [line("cost", 50, 50, 50), line("failed", 1, 1, 1)]
    const text = formatCompared(compare(before, after))
    expect(text).toMatch(/^cost +100 → 50 ms {2}-50 %$/m)
    expect(text).toMatch(/^failed +0 → 1 ms$/m)
    expect(text).toContain("2 moved beyond the spread of their rounds, 0 did not")
  })
})
