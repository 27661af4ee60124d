/**
 * The results of a run as one HTML page that needs nothing else: charts of the lines' points, and
 * all lines.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { type BenchLine, formatLine, formatNumber, type Point } from "./Line.ts"
import { formatMachine, type Machine } from "./machine.ts"
import type { BenchOptions } from "./options.ts"

export interface Results {
  readonly startedAt: string
  readonly machine: Machine
  readonly options: BenchOptions
  readonly lines: ReadonlyArray<BenchLine>
}

const width = 640
const height = 340
const left = 70
const right = 20
const top = 16
const bottom = 40
/** A line of more points has no dots. */
const dotsMax = 40
const colours = ["#0b5fa5", "#777777", "#b3470e", "#2b7a3d", "#8a3ca8"]

const escapeHtml = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;")

/** 1, 2 or 5 times a power of ten: about five of them from 0 to `max`. */
const ticksTo = (max: number): ReadonlyArray<number> => {
  const rough = max / 6
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough)!
  return Array.from({ length: Math.floor(max / step + 1e-9) + 1 }, (_, n) => n * step)
}

/** A scale of numbers to 0…1, and its ticks. */
interface Scale {
  readonly share: (value: number) => number
  readonly ticks: ReadonlyArray<number>
}

const linear = (high: number): Scale => {
  const max = high > 0 ? high : 1
  return { share: (value) => value / max, ticks: ticksTo(max) }
}

/** Powers of ten, and 2 and 5 times them where those are few. */
const logarithmic = (low: number, high: number): Scale => {
  const first = Math.floor(Math.log10(low))
  const powers = Array.from({ length: Math.ceil(Math.log10(high)) - first + 1 }, (_, n) => {
    return 10 ** (first + n)
  })
  const steps = powers.length > 5 ? [1] : [1, 2, 5]
  const ticks = powers.flatMap((power) => steps.map((step) => step * power))
  return {
    share: (value) => Math.log(value / low) / Math.log(high / low),
    ticks: ticks.filter((tick) => tick >= low && tick <= high),
  }
}

/** Logarithmic where all are positive and span more than a factor of 30. */
const scaleOf = (values: ReadonlyArray<number>): Scale => {
  const low = Math.min(...values)
  const high = Math.max(...values)
  return low > 0 && high / low > 30 ? logarithmic(low / 1.1, high * 1.1) : linear(high * 1.05)
}

const groupBy = (points: ReadonlyArray<Point>, key: "chart" | "line") => {
  const groups = new Map<string, Array<Point>>()
  for (const point of points) {
    const group = groups.get(point[key])
    if (group === undefined) groups.set(point[key], [point])
    else group.push(point)
  }
  return groups
}

const chart = (title: string, all: ReadonlyArray<Point>): string => {
  const points = all.filter(({ x, y }) => Number.isFinite(x) && Number.isFinite(y))
  if (points.length === 0) return ""
  const xs = points.map(({ x }) => x)
  const horizontal = / (minutes|seconds)$/.test(title) ? linear(Math.max(...xs)) : scaleOf(xs)
  const vertical = scaleOf(points.map(({ y }) => y))
  const atX = (x: number) => (left + horizontal.share(x) * (width - left - right)).toFixed(1)
  const atY = (y: number) =>
    (height - bottom - vertical.share(y) * (height - top - bottom)).toFixed(1)
  const marks = [
    ...vertical.ticks.map(
      (y) =>
        `<line class="grid" x1="${left}" x2="${width - right}" y1="${atY(y)}" y2="${atY(y)}"/>` +
        `<text x="${left - 8}" y="${atY(y)}" text-anchor="end" dy=".35em">${formatNumber(y)}</text>`,
    ),
    ...horizontal.ticks.map(
      (x) =>
        `<text x="${atX(x)}" y="${height - bottom + 20}" text-anchor="middle">${formatNumber(x)}</text>`,
    ),
  ]
  const names = [...groupBy(points, "line")]
  const lines = names.map(([name, points], index) => {
    const colour = colours[index % colours.length]
    const sorted = points.toSorted((a, b) => a.x - b.x)
    const path = sorted.map(({ x, y }) => `${atX(x)},${atY(y)}`).join(" ")
    const dots = (sorted.length > dotsMax ? [] : sorted).map(
      ({ x, y }) =>
        `<circle cx="${atX(x)}" cy="${atY(y)}" r="3.5" fill="${colour}">` +
        `<title>${escapeHtml(name)}: ${formatNumber(x)}, ${formatNumber(y)}</title></circle>`,
    )
    return `<polyline points="${path}" stroke="${colour}"/>${dots.join("")}`
  })
  const legend = names.map(
    ([name], index) =>
      `<li><span style="background:${colours[index % colours.length]}"></span>${escapeHtml(name)}</li>`,
  )
  return `<figure><figcaption>${escapeHtml(title)}</figcaption>
<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${escapeHtml(title)}">${marks.join("")}${lines.join("")}</svg>
<ul>${legend.join("")}</ul></figure>`
}

export const pageOf = ({ lines, machine, startedAt }: Results): string => {
  const charts = groupBy(
    lines.flatMap(({ points = [] }) => points),
    "chart",
  )
  return `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Laurel: a run of the benches</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 86rem; padding: 0 1rem; color: #1a1a1a }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(34rem, 1fr)); gap: 1.5rem }
figure { margin: 0 } figcaption { font-weight: 600 } svg { width: 100%; height: auto }
svg text { font-size: 12px; fill: #444 } .grid { stroke: #ddd } polyline { fill: none; stroke-width: 2 }
ul { list-style: none; display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; margin: 0; padding: 0 }
li span { display: inline-block; width: .8em; height: .8em; margin-right: .4em }
pre { overflow-x: auto; font-size: 12px }
</style>
<h1>A run of the benches</h1>
<p>${escapeHtml(formatMachine(machine))}; ${escapeHtml(startedAt)}</p>
<div class="charts">${[...charts].map(([title, points]) => chart(title, points)).join("\n")}</div>
<h2>All lines</h2>
<pre tabindex="0">${lines.map((line) => escapeHtml(formatLine(line))).join("\n")}</pre>
</html>
`
}

if (import.meta.main) {
  const [from, to] = process.argv.slice(2)
  if (from === undefined || to === undefined) {
    console.error("node bench/page.ts RESULTS.json PAGE.html")
    process.exit(64)
  }
  writeFileSync(to, pageOf(JSON.parse(readFileSync(from, "utf8"))))
}
