import { describe, expect, it } from "vitest"
import type { Point } from "../../bench/Line.ts"
import { pageOf } from "../../bench/page.ts"
import { resultsOf } from "./results.ts"

const pageWith = (points: ReadonlyArray<Point>, question = "question"): string =>
  pageOf(resultsOf({ question, value: 1, unit: "ms", points }))

const pointsOf = (chart: string, ...pairs: ReadonlyArray<readonly [x: number, y: number]>) =>
  pairs.map(([x, y]): Point => ({ chart, line: "Laurel", x, y }))

/** The path of the first line: pairs of coordinates. */
const pathOf = (page: string) =>
  /<polyline points="([^"]*)"/
    .exec(page)![1]!
    .split(" ")
    .map((pair) => pair.split(",").map(Number))

describe("The page of a run", () => {
  it("draws a line through the points, in order of x, within the frame", () => {
    const path = pathOf(pageWith(pointsOf("c", [2, 5], [1, 10], [3, 8])))
    expect(path.map(([x]) => x)).toEqual(path.map(([x]) => x).toSorted((a, b) => a! - b!))
    const [first, second] = path
    expect(first![1]).toBeLessThan(second![1]!)
    for (const [x, y] of path) {
      expect(x).toBeGreaterThanOrEqual(70)
      expect(x).toBeLessThanOrEqual(620)
      expect(y).toBeGreaterThanOrEqual(16)
      expect(y).toBeLessThanOrEqual(300)
    }
  })

  it("has logarithmic axes for wide ranges, but never for time", () => {
    const pairs = [1, 10, 100, 1_000].map((x) => [x, x] as const)
    const stepsOf = (chart: string) => {
      const path = pathOf(pageWith(pointsOf(chart, ...pairs)))
      const xs = path.map(([x]) => x!)
      return [xs[1]! - xs[0]!, xs[2]! - xs[1]!]
    }
    const [first, second] = stepsOf("cost against users")
    expect(first).toBeCloseTo(second!, 0)
    const [early, late] = stepsOf("cost against minutes")
    expect(late! / early!).toBeCloseTo(10, 0)
  })

  it("leaves out what could not be measured", () => {
    const page = pageWith([
      ...pointsOf("empty", [1, Number.NaN]),
      ...pointsOf("c", [1, 2], [2, Number.NaN], [3, 4]),
    ])
    expect(pathOf(page)).toHaveLength(2)
    expect(page).not.toContain("NaN")
    expect(page).not.toContain("empty")
  })

  it("escapes names", () => {
    const page = pageWith(pointsOf("<script>", [1, 1]), "a < b")
    expect(page).not.toContain("<script>")
    expect(page).toContain("a &lt; b")
  })
})
