/**
 * Renews the table of README.md and the list of bench/run.md, whose figures are all of one commit
 * and one machine: from a run with `npm run bench:table`, or from the JSON files of several, node
 * bench/table.ts RESULTS.json…
 */
import { readFileSync, writeFileSync } from "node:fs"
import path from "node:path"
import { type BenchLine, formatLine, formatNumber, notesOf } from "./Line.ts"
import { busyWarning, formatMachine, type Machine } from "./machine.ts"
import type { Results } from "./page.ts"

interface Row {
  /**
   * Of the question; its groups stand in the title as $1. Each line of the run that it matches is a
   * row.
   */
  readonly question: RegExp
  readonly title: string
}

/** A row for each matching line, a column for each program, the headline first. */
const summarised: ReadonlyArray<Row> = [
  { question: /^single events: processor time/, title: "**processor time of an event**" },
  {
    question: /^batches of ([\d,]+) with ids: processor time/,
    title: "processor time of an event in batches of $1",
  },
  { question: /^single events: closed loop$/, title: "events, 64 connections" },
  { question: /^batches of ([\d,]+) with ids: closed loop$/, title: "events in batches of $1" },
  { question: /^single events at (50 % .+): 99 % within$/, title: "99 % within, at $1" },
  {
    question: /^single events at (50 % .+): refused, broken or not sent$/,
    title: "refused, broken or not sent, at $1",
  },
]

const matching = (lines: ReadonlyArray<BenchLine>) =>
  summarised.flatMap(({ question, title }) =>
    lines
      .filter((line) => question.test(line.question))
      .map((line) => {
        const match = question.exec(line.question)!
        return { line, title: title.replaceAll(/\$(\d)/g, (_, group) => match[Number(group)]!) }
      }),
  )

/** A value in a unit that keeps it short. */
const cellOf = (value: number | undefined, unit: string): string => {
  if (value === undefined || !Number.isFinite(value)) return "–"
  if (unit === "ms" && value >= 1_000) return `${formatNumber(value / 1_000)} s`
  if (unit.startsWith("µs") && value >= 1_000) return `${formatNumber(value / 1_000)} ms`
  return `${formatNumber(value)} ${unit.replace(/^µs\/.*/, "µs")}`
}

const rowOf = (cells: ReadonlyArray<string>): string => `| ${cells.join(" | ")} |`

const valuesOf = ({ others = [], reference, value }: BenchLine): ReadonlyMap<string, number> =>
  new Map([
    ["Laurel", value],
    ...(reference === undefined ? [] : [[reference.name, reference.value] as const]),
    ...others.map(({ name, value }) => [name, value] as const),
  ])

/** All programs that a line names, in the order in which lines name them first. */
const tableOf = (lines: ReadonlyArray<BenchLine>): string => {
  const rows = matching(lines)
  const names = [...new Set(rows.flatMap(({ line }) => [...valuesOf(line).keys()]))]
  const head = ["question", ...names]
  const body = rows.map(({ line, title }) => {
    const values = valuesOf(line)
    return [title, ...names.map((name) => cellOf(values.get(name), line.unit))]
  })
  return [head, head.map(() => "---"), ...body].map(rowOf).join("\n")
}

const captionOf = (machine: Machine): string => {
  const { commit, cores, cpu, flushUs, memoryGiB, node } = machine
  return (
    `Printed by \`npm run bench\` at commit \`${commit}\` on a virtual, shared machine: ${cpu}, ${cores} cores, ${memoryGiB} GiB, ` +
    `Node ${node.slice(1)};\na write of 4 KiB is flushed within ${formatNumber(flushUs.p50)} µs (99 %: ${formatNumber(flushUs.p99)}). ` +
    [
      "Load and server share the cores; medians where a question has several rounds.",
      busyWarning(machine),
    ]
      .filter((text) => text !== "")
      .join("\n")
  )
}

/** The table of README.md: the questions that a reader asks first. */
export const summaryOf = ({ lines, machine }: Results): string =>
  `${captionOf(machine)}\n\n${tableOf(lines)}`

/** The list of bench/run.md: every line. */
export const listOf = ({ lines, machine }: Results): string =>
  [
    formatMachine(machine),
    busyWarning(machine),
    "",
    ...lines.map(formatLine),
    "",
    ...notesOf(lines),
  ]
    .map((line) => `    ${line}`.trimEnd())
    .join("\n")
    .replaceAll(/\n{3,}/g, "\n\n")
    .trimEnd()

const begin = "<!-- printed by bench/table.ts: begin -->"
const end = "<!-- printed by bench/table.ts: end -->"

/** The page with other text between the two marks. Throws where the page lacks one. */
export const renewed = (page: string, text: string): string => {
  const from = page.indexOf(begin)
  const to = page.indexOf(end, from)
  if (from < 0 || to < 0) throw new Error(`A page needs ${begin} and, after that, ${end}`)
  return `${page.slice(0, from + begin.length)}\n\n${text}\n\n${page.slice(to)}`
}

/** Titles of rows for which the run has no line. */
export const missingFrom = ({ lines }: Results): ReadonlyArray<string> =>
  summarised
    .filter(({ question }) => !lines.some((line) => question.test(line.question)))
    .map(({ title }) => title.replaceAll(/\$\d/g, "…"))

/** Several runs as one. Throws unless they are of the same commit and kind of machine. */
export const merged = ([first, ...others]: readonly [
  Results,
  ...ReadonlyArray<Results>,
]): Results => {
  for (const { machine } of others) {
    if (machine.commit !== first.machine.commit) {
      throw new Error(`The runs are of ${first.machine.commit} and ${machine.commit}`)
    }
    if (placeOf(machine) !== placeOf(first.machine)) {
      throw new Error(`The runs are of ${placeOf(first.machine)} and ${placeOf(machine)}`)
    }
  }
  const all = [first, ...others]
  const busyPercent = Math.max(...all.map(({ machine }) => machine.busyPercent ?? 0))
  return {
    ...first,
    machine: { ...first.machine, busyPercent },
    lines: all.flatMap(({ lines }) => lines),
  }
}

const placeOf = ({ cores, cpu, memoryGiB, node }: Machine): string =>
  `${cpu}, ${cores} cores, ${memoryGiB} GiB, Node ${node}`

/** Writes the tables of a run into the pages. */
export const renewPages = (results: Results): void => {
  const root = path.resolve(import.meta.dirname, "..")
  for (const [name, text] of [
    ["README.md", summaryOf(results)],
    ["bench/run.md", listOf(results)],
  ] as const) {
    const page = path.join(root, name)
    writeFileSync(page, renewed(readFileSync(page, "utf8"), text))
  }
}

const main = ([file, ...files]: ReadonlyArray<string>): void => {
  if (file === undefined) {
    console.error("node bench/table.ts RESULTS.json…")
    process.exit(64)
  }
  const read = (name: string): Results => JSON.parse(readFileSync(name, "utf8"))
  const results = merged([read(file), ...files.map(read)])
  for (const title of missingFrom(results)) console.error(`The run has no line for: ${title}`)
  if (results.machine.commit.endsWith("+")) {
    console.error(`The working tree differed from the commit: ${results.machine.commit}`)
  }
  renewPages(results)
}

if (import.meta.main) main(process.argv.slice(2))
