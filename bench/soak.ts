/** Hours of steady load on Laurel alone: whether latencies, memory or costs grow with time. */
import { fill } from "./fill.ts"
import { type BenchLine, formatLine, formatNumber, type Point } from "./Line.ts"
import { checkTotal, startLaurel } from "./laurel.ts"
import { anonymousBytes, processorUs } from "./load/processorTime.ts"
import { closedLoop, closedLoopConnections, openLoop } from "./loads.ts"
import type { BenchOptions } from "./options.ts"
import type { OpenLoadReport } from "./processes/openLoad.ts"
import { median } from "./statistics.ts"

const share = 0.5
const connections = 300
const sliceSecondsMin = 5
const sliceSecondsMax = 60
/** Points of each line of a chart, if the soak is long enough. */
const slicesWanted = 60

interface Slice {
  /** Since the first began. */
  readonly minute: number
  readonly report: OpenLoadReport
  readonly memoryMiB: number
  readonly costUs: number
}

/** Whole seconds of each slice of a soak. */
export const sliceSecondsOf = (minutes: number): number =>
  Math.min(sliceSecondsMax, Math.max(sliceSecondsMin, Math.round((minutes * 60) / slicesWanted)))

const chartsOf = (slices: ReadonlyArray<Slice>): ReadonlyArray<Point> =>
  slices.flatMap(({ costUs, memoryMiB, minute, report }) => {
    const latency = { chart: "soak: latency, ms, against minutes", x: minute }
    const { maxMs, p50Ms, p99Ms, p999Ms } = report.whole
    return [
      { ...latency, line: "median", y: p50Ms },
      { ...latency, line: "99 %", y: p99Ms },
      { ...latency, line: "99.9 %", y: p999Ms },
      { ...latency, line: "longest", y: maxMs },
      {
        chart: "soak: private memory, MiB, against minutes",
        line: "Laurel",
        x: minute,
        y: memoryMiB,
      },
      {
        chart: "soak: processor time of an event, µs, against minutes",
        line: "Laurel",
        x: minute,
        y: costUs,
      },
    ]
  })

/** The lines of a soak. Rounds are its slices. */
export const linesOf = (
  perSecond: number,
  slices: ReadonlyArray<Slice>,
): ReadonlyArray<BenchLine> => {
  const third = Math.max(1, Math.floor(slices.length / 3))
  /** The median of all slices, and how the last third differs from the first. */
  const line = (question: string, unit: string, pick: (slice: Slice) => number): BenchLine => {
    const rounds = slices.map(pick)
    const first = median(rounds.slice(0, third))
    const last = median(rounds.slice(-third))
    return {
      question: `soak: ${question}, the last third`,
      value: last,
      unit,
      rounds,
      reference: { name: "the first third", value: first, unit },
      ...(first > 0 && { ratio: last / first }),
    }
  }
  const offered = slices.reduce((sum, { report }) => sum + report.offered, 0)
  const accepted = slices.reduce((sum, { report }) => sum + report.accepted, 0)
  return [
    { question: "soak: offered", value: perSecond, unit: "/s" },
    {
      ...line("99.9 % within", "ms", ({ report }) => report.whole.p999Ms),
      points: chartsOf(slices),
    },
    line("99 % within", "ms", ({ report }) => report.whole.p99Ms),
    {
      question: "soak: longest of all",
      value: Math.max(...slices.map(({ report }) => report.whole.maxMs)),
      unit: "ms",
    },
    line("private memory", "MiB", ({ memoryMiB }) => memoryMiB),
    line("processor time, all threads", "µs/event", ({ costUs }) => costUs),
    {
      question: "soak: refused, broken or not sent",
      value: (1 - accepted / offered) * 100,
      unit: "%",
      goal: "0 %",
    },
    {
      question: "soak: longest stop of the load",
      value: Math.max(...slices.map(({ report }) => report.longestPauseMs)),
      unit: "ms",
      goal: "< 100 ms, else the machine was busy",
    },
  ]
}

/** Measures all lines; an hour by default. */
export const soak = async (options: BenchOptions = {}): Promise<ReadonlyArray<BenchLine>> => {
  const { minutes = 60, quick = false } = options
  const users = quick ? 10_000 : 100_000
  const laurel = await startLaurel()
  const roots = [laurel.pid]
  try {
    await fill(laurel.answer, users)
    const choice = { users, connections: options.connections ?? closedLoopConnections }
    const warm = await closedLoop(laurel.answer, quick ? 2 : 5, choice)
    const full = await closedLoop(laurel.answer, quick ? 2 : 8, choice)
    const perSecond = options.rate ?? full.perSecond * share
    const measureSeconds = sliceSecondsOf(minutes)
    const slices: Array<Slice> = []
    const startedAt = performance.now()
    const minute = () => (performance.now() - startedAt) / 60_000
    while (minute() < minutes) {
      const before = processorUs(roots)
      const load = { users, perSecond, connections, warmUpSeconds: 1, measureSeconds }
      const report = await openLoop(laurel.answer, load)
      const costUs = (processorUs(roots) - before) / report.acceptedInAll
      const memoryMiB = anonymousBytes(roots) / 2 ** 20
      slices.push({ minute: minute(), report, memoryMiB, costUs })
      const { p99Ms, p999Ms } = report.whole
      console.error(
        `minute ${minute().toFixed(1)}: 99 % ${formatNumber(p99Ms)} ms, 99.9 % ${formatNumber(p999Ms)} ms, ` +
          `${formatNumber(memoryMiB)} MiB, ${formatNumber(costUs)} µs`,
      )
    }
    const opened = slices.reduce((sum, { report }) => sum + report.acceptedInAll, 0)
    const broken = slices.reduce((sum, { report }) => sum + report.broken, 0)
    const unread = 2 * choice.connections + broken
    await checkTotal(laurel, users + warm.answered + full.answered + opened, unread)
    return linesOf(perSecond, slices)
  } finally {
    await laurel.stop()
  }
}

if (import.meta.main) for (const line of await soak()) console.log(formatLine(line))
