/** The statistics of results, compared with published examples and tables. */
import { describe, expect, it } from "vitest"
import {
  chiSquareTail,
  chiSquareTest,
  type Interval,
  newcombe,
  noSample,
  studentInterval,
  studentQuantile,
  welch,
  wilson,
  withValue,
} from "../../../src/domain/values/statistics.ts"
import { welchOf, wilsonOf } from "../../http/year/statistics.ts"

/** 0 of n, n of n and n = 1 among them. */
const shares = [1, 2, 7, 20, 1_000].flatMap((n) =>
  [0, 1, Math.floor(n / 2), n - 1, n].filter((hits) => hits <= n).map((hits) => [hits, n] as const),
)

const rounded = (interval: Interval | undefined, decimals = 4) =>
  interval && [interval.low, interval.high].map((bound) => Number(bound.toFixed(decimals)))

const sampleOf = (values: ReadonlyArray<number>) => values.reduce(withValue, noSample)

describe("The interval of a share", () => {
  // R. G. Newcombe, Two-sided confidence intervals for the single proportion: comparison of seven
  // methods. Statistics in Medicine 17 (1998), 857–872, table I, method 3.
  it.each([
    [81, 263, 0.2553, 0.3662],
    [15, 148, 0.0624, 0.1605],
    [0, 20, 0, 0.1611],
    [1, 29, 0.0061, 0.1718],
  ])("of %i in %i is that of Newcombe's table", (hits, n, low, high) => {
    expect(rounded(wilson({ hits, n }))).toEqual([low, high])
  })

  it.each(shares)("of %i in %i is where the score test does not refuse it", (hits, n) => {
    const { high, low } = wilson({ hits, n })!
    const [lowest, highest] = wilsonOf(hits, n)
    expect([low, high]).toEqual([expect.closeTo(lowest, 9), expect.closeTo(highest, 9)])
  })

  it("is not known without users, and ends at 1 if all have it", () => {
    expect(wilson({ hits: 0, n: 0 })).toBeUndefined()
    expect(wilson({ hits: 7, n: 7 })?.high).toBe(1)
  })
})

describe("The interval of the difference of two shares", () => {
  // R. G. Newcombe, Interval estimation for the difference between independent proportions:
  // comparison of eleven methods. Statistics in Medicine 17 (1998), 873–890, table II, method 10.
  it.each([
    [56, 70, 48, 80, 0.0524, 0.3339],
    [9, 10, 3, 10, 0.1705, 0.809],
    [6, 7, 2, 7, 0.0582, 0.8062],
    [5, 56, 0, 29, -0.0381, 0.1926],
    [0, 10, 0, 20, -0.1611, 0.2775],
    [0, 10, 0, 10, -0.2775, 0.2775],
    [10, 10, 0, 20, 0.6791, 1],
    [10, 10, 0, 10, 0.6075, 1],
  ])("of %i/%i and %i/%i is that of Newcombe's table", (hits, n, base, from, low, high) => {
    expect(rounded(newcombe({ hits, n }, { hits: base, n: from }))).toEqual([low, high])
  })

  it("is not known if one of the samples is empty", () => {
    expect(newcombe({ hits: 0, n: 0 }, { hits: 1, n: 2 })).toBeUndefined()
  })
})

describe("The interval of the difference of two means", () => {
  // The sleep data of Student, The probable error of a mean, Biometrika 6 (1908), 1–25, and the
  // result of `t.test(extra ~ group, data = sleep)` in the documentation of R.
  const first = sampleOf([0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0, 2])
  const second = sampleOf([1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4])

  it("is that of R for Student's data on sleep", () => {
    expect([first.mean, second.mean]).toEqual([expect.closeTo(0.75, 12), expect.closeTo(2.33, 12)])
    expect(rounded(welch(first, second), 7)).toEqual([-3.3654832, 0.2054832])
  })

  it("of a sample of one value, or of samples without any variance, is not known", () => {
    expect(welch(first, sampleOf([1]))).toBeUndefined()
    expect(welch(sampleOf([1, 1]), sampleOf([2, 2]))).toBeUndefined()
    expect(studentInterval(sampleOf([1]))).toBeUndefined()
  })

  it.each([
    ["two values beside equal ones", [1, 2], [5, 5, 5]],
    ["a sample without variance", [3, 3, 3], [1, 2, 6, 7]],
    ["samples of different sizes and variances", [0.1, 0.2, 0.25], [5, -9, 12, 40, 3, 3, 8]],
    ["equal samples", [1, 2, 3], [1, 2, 3]],
  ])("of %s is that of a sum over the density of Student", (_, of, from) => {
    const { high, low } = welch(sampleOf(of), sampleOf(from))!
    const [lowest, highest] = welchOf(of, from)
    const near = (bound: number) => expect.closeTo(bound, 5)
    expect([low, high]).toEqual([near(lowest), near(highest)])
  })

  it("of a mean of equal values has no width", () => {
    expect(studentInterval(sampleOf([2, 2, 2]))).toEqual({ low: 2, high: 2 })
  })

  it("is that of the mean alone, if the other sample is large and equal", () => {
    const constant = { n: 1e9, mean: 0, squares: 0 }
    const own = studentInterval(first)!
    expect(rounded(welch(first, constant), 9)).toEqual(rounded(own, 9))
  })
})

describe("Samples at the bounds", () => {
  const size = 1e9
  const most = Number.MAX_SAFE_INTEGER

  it("have intervals that are finite, and hold what was found", () => {
    for (const n of [1, 2, 3, 99, size]) {
      for (const hits of [0, 1, Math.floor(n / 2), n - 1, n].filter((one) => one <= n)) {
        const { high, low } = wilson({ hits, n })!
        expect([0 <= low, low <= hits / n, hits / n <= high, high <= 1]).not.toContain(false)
        const other = newcombe({ hits, n }, { hits: 0, n: size })!
        expect([-1 <= other.low, other.low <= other.high, other.high <= 1]).not.toContain(false)
      }
    }
    for (const value of [0, 1e-4, 1, 1e9, most]) {
      const [one, other] = [sampleOf([value, 0, value / 3]), sampleOf([0, value, 0, value])]
      for (const interval of [studentInterval(one), studentInterval(other), welch(one, other)]) {
        if (value === 0 && interval === undefined) continue
        expect(Number.isFinite(interval!.low) && Number.isFinite(interval!.high)).toBe(true)
        expect(interval!.low <= interval!.high).toBe(true)
      }
    }
  })

  it("tell nothing of a difference without a variance, and nothing of one value", () => {
    const [none, one] = [noSample, sampleOf([5])]
    const equal = sampleOf(Array.from({ length: 1_000 }, () => 0.1))
    expect(equal.squares).toBe(0)
    for (const other of [none, one, equal]) {
      for (const another of [none, one, equal]) expect(welch(other, another)).toBeUndefined()
    }
    expect([studentInterval(none), studentInterval(one)]).toEqual([undefined, undefined])
  })

  it("have the interval of Student where one of two has almost no variance", () => {
    const sure = { n: 1_000, mean: 1, squares: 1e-12 }
    const own = sampleOf([1, 2, 3, 4])
    const [alone, beside] = [studentInterval(own)!, welch(own, sure)!]
    expect(beside.high - beside.low).toBeCloseTo(alone.high - alone.low, 6)
  })
})

describe("A sample that grows value by value", () => {
  it("keeps its digits far from 0", () => {
    const { mean, squares } = sampleOf([1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16])
    expect(mean).toBe(1e9 + 10)
    expect(squares).toBeCloseTo(90, 9)
  })
})

describe("Student's quantile for 95 %", () => {
  // NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2.
  it.each([
    [1, 12.706],
    [2, 4.303],
    [5, 2.571],
    [10, 2.228],
    [30, 2.042],
    [100, 1.984],
  ])("with %i degrees of freedom is that of the table of NIST", (degrees, quantile) => {
    expect(studentQuantile(degrees)).toBeCloseTo(quantile, 3)
  })

  it("has no jump where the expansion begins, and comes down to that of the normal distribution", () => {
    const [before, after] = [1_000, 1_000.000001].map(studentQuantile)
    expect(Math.abs(before! - after!)).toBeLessThan(1e-9)
    expect(studentQuantile(1e9)).toBeCloseTo(1.959963984540054, 8)
  })
})

describe("The chi-square distribution", () => {
  // NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.4.
  it.each([
    [3.841, 1, 0.05],
    [10.828, 1, 0.001],
    [5.991, 2, 0.05],
    [13.816, 2, 0.001],
    [16.919, 9, 0.05],
    [27.877, 9, 0.001],
    [3.325, 9, 0.95],
  ])("exceeds %f with %i degrees of freedom as the table of NIST has it", (x, degrees, p) => {
    expect(Math.abs(chiSquareTail(x, degrees) / p - 1)).toBeLessThan(2e-3)
  })

  // R. Kohavi, D. Tang, Y. Xu, Trustworthy Online Controlled Experiments (2020), chapter 3.
  it("finds the mismatch of 821,588 and 815,482 users in a published experiment", () => {
    const { p } = chiSquareTest([821_588, 815_482], [1, 1])
    expect(p.toExponential(1)).toBe("1.8e-6")
  })

  it("finds none in samples of the size that was meant, or without users", () => {
    expect(chiSquareTest([100, 300], [1, 3])).toEqual({ chiSquare: 0, p: 1 })
    expect(chiSquareTest([0, 0], [1, 1]).p).toBe(1)
  })
})
