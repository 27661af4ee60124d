import { describe, expect, it } from "vitest"
import { type BenchLine, formatLine, formatNumber } from "../../bench/Line.ts"

describe("formatNumber", () => {
  it.each([
    [0.012_34, "0.0123"],
    [99.94, "99.9"],
    [1_234.5, "1,235"],
    [Number.NaN, "unknown"],
    [Number.POSITIVE_INFINITY, "unknown"],
  ])("prints %d as %s", (value, text) => {
    expect(formatNumber(value)).toBe(text)
  })
})

describe("formatLine", () => {
  const reference = { name: "bare", value: Number.NaN, unit: "B" }
  const line: BenchLine = { question: "written", value: Number.NaN, unit: "B", reference }

  it("says that a value is unknown, also one that was read from JSON", () => {
    for (const each of [line, JSON.parse(JSON.stringify(line)) as BenchLine]) {
      expect(formatLine(each)).toMatch(/^written +unknown B +of unknown B \(bare\)$/)
    }
  })
})
