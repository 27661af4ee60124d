/**
 * Charts of values by day, drawn on the server: they need no script, print, and are in the page when it
 * arrives. Lines scale with the page; texts are beside them, so that they keep their size. Each chart
 * says in words what it shows, and has its values in a table. A script (`browser/charts.ts`) reads out
 * single values, for the pointer and for the arrow keys.
 *
 * A library would bring 20 KiB of script, draw nothing without it, and keep its values from screen
 * readers and from print.
 */
import { type Content, type Html, html } from "./Html.ts"
import { table } from "./Lists.ts"

export interface Point {
  /** What the value belongs to, such as a date. */
  readonly at: string
  /** Null: unknown. */
  readonly value: number | null
  /** The value of the period before. */
  readonly before?: number | null
  /** The value may still change. */
  readonly open?: boolean
}

export interface Chart {
  /** What the chart shows, such as "Daily active users". */
  readonly label: string
  readonly points: ReadonlyArray<Point>
  /** A value as a text with its unit. */
  readonly shown: (value: number) => string
  /** What `at` of the points is. Default: "Day". */
  readonly axis?: string
  /** The scale ends here at least. */
  readonly least?: number
  /** The sum or the mean of the values, large above the chart. */
  readonly figure?: Content
}

const width = 1_000
const height = 200

/**
 * The least of 1, 2, 2.5, 3, 4 and 5 times a power of ten that is not below `value`; below 10 without 2.5,
 * unless the scale is one of shares.
 */
const roundUp = (value: number, isOfShares: boolean): number => {
  const power = 10 ** Math.floor(Math.log10(value))
  const factors = isOfShares || power >= 10 ? [1, 2, 2.5, 3, 4, 5] : [1, 2, 3, 4, 5]
  return (factors.find((one) => one * power >= value) ?? 10) * power
}

/** The end of the scale: four equal steps of a round number. */
const scaleEnd = (values: ReadonlyArray<number>, least: number): number =>
  4 * roundUp(Math.max(least, ...values) / 4, least <= 1)

const place = (value: number): string => value.toFixed(1).replace(/\.0$/, "")

interface Line {
  readonly xOf: (index: number) => number
  readonly yOf: (value: number) => number
}

/** The values that follow each other, each with its index. */
const runsOf = (
  values: ReadonlyArray<number | null>,
): ReadonlyArray<ReadonlyArray<readonly [index: number, value: number]>> => {
  const runs: Array<Array<readonly [number, number]>> = []
  for (const [index, value] of values.entries()) {
    if (value === null) continue
    if (index === 0 || values[index - 1] === null) runs.push([])
    runs.at(-1)!.push([index, value])
  }
  return runs
}

/** Lines through the values that follow each other; a value alone is a short line. */
const linesOf = (values: ReadonlyArray<number | null>, { xOf, yOf }: Line): string =>
  runsOf(values)
    .map((run) => {
      const path = run.map(([index, value]) => `${place(xOf(index))} ${place(yOf(value))}`)
      return `M${path.join("L")}${run.length === 1 ? "h2" : ""}`
    })
    .join("")

/** The areas between the lines and zero. */
const areasOf = (values: ReadonlyArray<number | null>, { xOf, yOf }: Line): string =>
  runsOf(values)
    .filter((run) => run.length > 1)
    .map((run) => {
      const path = run.map(([index, value]) => `L${place(xOf(index))} ${place(yOf(value))}`)
      return `M${place(xOf(run[0]![0]))} ${height}${path.join("")}V${height}Z`
    })
    .join("")

const known = (values: ReadonlyArray<number | null | undefined>): ReadonlyArray<number> =>
  values.filter((value) => value != null)

/** How many labels the axis of days has. */
const labelsMax = 5

const axisLabels = (points: ReadonlyArray<Point>): ReadonlyArray<string> => {
  const count = Math.min(labelsMax, points.length)
  const step = (points.length - 1) / Math.max(1, count - 1)
  return Array.from({ length: count }, (_, n) => points[Math.round(n * step)]!.at)
}

const readingOf = ({ at, before, open, value }: Point, shown: Chart["shown"]): string => {
  const text = value === null ? "unknown" : shown(value)
  const then = before == null ? "" : `, before: ${shown(before)}`
  return `${at}: ${text}${open === true ? " so far" : ""}${then}`
}

/** What the chart shows, in a sentence. */
const summaryOf = ({ label, points, shown }: Chart): string => {
  const values = known(points.map(({ value }) => value))
  if (values.length === 0) return `${label}: no values`
  const [lowest, highest] = [Math.min(...values), Math.max(...values)]
  return `${label} from ${points[0]!.at} to ${points.at(-1)!.at}: lowest ${shown(lowest)}, highest ${shown(highest)}, last ${shown(values.at(-1)!)}`
}

/** A bar as long as the share, beside its text. */
export const shareBar = (share: number): Html =>
  html`<svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true"><rect class="whole" width="100" height="8"/><rect width="${place(100 * share)}" height="8"/></svg>`

/** A line of values, a dashed line of those of the period before, and a table of both. */
export const lineChart = (chart: Chart): Html => {
  const { axis = "Day", figure, label, least = 4, points, shown } = chart
  const hasBefore = points.some(({ before }) => before != null)
  const values = points.map(({ value }) => value)
  const before = points.map((point) => point.before ?? null)
  const end = scaleEnd(known([...values, ...before]), least)
  const step = width / points.length
  const xOf = (index: number) => (index + 0.5) * step
  const yOf = (value: number) => height - (value / end) * height
  const line = { xOf, yOf }
  // The way to a value that may still change is dotted, so that it does not look like a fall.
  const isOpen = (index: number) => points[index]?.open === true
  const settled = values.map((value, index) => (isOpen(index) ? null : value))
  const open = values.map((value, index) => (isOpen(index) || isOpen(index + 1) ? value : null))
  const ticks = [1, 0.75, 0.5, 0.25, 0].map((share) => share * end)
  return html`<figure class="chart" data-chart>
<figcaption>${label}</figcaption>
${figure !== undefined && html`<p class="figure">${figure}</p>`}
<div class="plot"><div class="scale" aria-hidden="true">${ticks.map((tick) => html`<span>${shown(tick)}</span>`)}</div>
<svg viewBox="0 0 ${width} ${height}" preserveAspectRatio="none" role="img" aria-label="${summaryOf(chart)}">
<path class="grid" d="${ticks.map((tick) => `M0 ${place(yOf(tick))}H${width}`).join("")}"/>
${hasBefore && html`<path class="line before" d="${linesOf(before, line)}"/>`}
<path class="area" d="${areasOf(values, line)}"/>
${open.some((value) => value !== null) && html`<path class="line open" d="${linesOf(open, line)}"/>`}
<path class="line" d="${linesOf(settled, line)}"/>
${points.map((point, index) => html`<rect x="${place(index * step)}" y="0" width="${place(step)}" height="${height}"><title>${readingOf(point, shown)}</title></rect>`)}
</svg>
<div class="days" aria-hidden="true">${axisLabels(points).map((text) => html`<span>${text}</span>`)}</div></div>
<p class="hint reading" role="status">${hasBefore ? "Dashed: the period before." : ""}</p>
<details class="data"><summary>Table<span class="unseen"> of ${label.toLowerCase()}</span></summary>
${table(
  label,
  [axis, label, ...(hasBefore ? ["Before"] : [])],
  points.map(({ at, before, open, value }) => [
    at,
    value === null ? null : `${shown(value)}${open === true ? " so far" : ""}`,
    ...(hasBefore ? [before == null ? null : shown(before)] : []),
  ]),
)}</details></figure>`
}
