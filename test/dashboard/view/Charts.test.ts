import { describe, expect, it } from "vitest"
import { lineChart, type Point } from "../../../src/dashboard/view/Charts.ts"
import { count, percent } from "../../../src/dashboard/view/Quantities.ts"

const chartOf = (points: ReadonlyArray<Point>, more = {}): string =>
  lineChart({ label: "Events", points, shown: count, ...more }).text

const scaleOf = (text: string): ReadonlyArray<string> =>
  [...text.matchAll(/<span>([^<]*)<\/span>/g)].map(([, label]) => label!).slice(0, 5)

const points = (...values: ReadonlyArray<number | null>): ReadonlyArray<Point> =>
  values.map((value, index) => ({ at: `Nov ${index + 1}`, value }))

describe("A chart", () => {
  it("says in words what it shows, and has every value in a table and in a title", () => {
    const text = chartOf([
      { at: "Nov 1", value: 1_250, before: 900 },
      { at: "Nov 2", value: 40, before: 1_000, open: true },
    ])
    expect(text).toContain(
      'aria-label="Events from Nov 1 to Nov 2: lowest 40, highest 1,250, last 40"',
    )
    expect(text).toContain("<title>Nov 1: 1,250, before: 900</title>")
    expect(text).toContain("<title>Nov 2: 40 so far, before: 1,000</title>")
    expect(text).toContain("<td>Nov 2</td><td>40 so far</td><td>1,000</td>")
    expect(text).toContain("Dashed: the period before.")
  })

  it.each([
    [
      [0, 0],
      ["4", "3", "2", "1", "0"],
    ],
    [
      [3, 5],
      ["8", "6", "4", "2", "0"],
    ],
    [[81], ["100", "75", "50", "25", "0"]],
    [[101], ["120", "90", "60", "30", "0"]],
    [[4_000], ["4,000", "3,000", "2,000", "1,000", "0"]],
  ])("of %j has a scale of round numbers that holds all values", (values, scale) => {
    expect(scaleOf(chartOf(points(...values)))).toEqual(scale)
  })

  it("of shares has a scale in percent", () => {
    expect(scaleOf(chartOf(points(0.3, 1), { shown: percent, least: 1 }))).toEqual([
      "100%",
      "75%",
      "50%",
      "25%",
      "0%",
    ])
  })

  it("has a dotted way to a value that may still change, and a solid one to the others", () => {
    const text = chartOf([...points(4, 2), { at: "Nov 3", value: 0, open: true }])
    expect(text).toContain('class="line" d="M166.7 0L500 100"')
    expect(text).toContain('class="line open" d="M500 100L833.3 200"')
    expect(chartOf(points(4, 2))).not.toContain("line open")
  })

  it("leaves a gap where a value is unknown, and shows a value alone", () => {
    const text = chartOf(points(4, null, 4, 4))
    expect(text).toContain('class="line" d="M125 0h2M625 0L875 0"')
    expect(text).toContain("<title>Nov 2: unknown</title>")
    expect(chartOf(points(null))).toContain('aria-label="Events: no values"')
  })
})
