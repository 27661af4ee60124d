/** Closed and open loops on several servers in turn, and the lines that they make. */
import { type BenchLine, formatNumber, type Point } from "./Line.ts"
import { anonymousBytes, processorUs } from "./load/processorTime.ts"
import { type WrkOptions, type WrkReport, wrk } from "./load/wrk.ts"
import { openLoop } from "./loads.ts"
import type { OpenLoadOptions, OpenLoadReport } from "./processes/openLoad.ts"
import type { Subject } from "./Subject.ts"
import { median } from "./statistics.ts"
import { alone } from "./subjects.ts"

export type Work = Omit<WrkOptions, "key" | "port" | "host">

/** A closed loop of one round. */
export interface ClosedRound {
  /** Processor time of all of the server's threads and processes for each event, page or user. */
  readonly costUs: number
  readonly perSecond: number
  readonly report: WrkReport
}

/** The rounds of one server, or of another subject that has a name. */
export interface Measured<Round, Named = Subject> {
  readonly subject: Named
  readonly rounds: ReadonlyArray<Round>
}

/**
 * Measures the subjects in turn, round after round, while those of `still` are suspended. `use`
 * gets the subject's processor time before it was resumed: what it then catches up with counts.
 */
export const inTurn = async <Round>(
  subjects: ReadonlyArray<Subject>,
  rounds: number,
  use: (subject: Subject, beforeUs: number) => Promise<Round>,
  still = subjects,
): Promise<ReadonlyArray<Measured<Round>>> => {
  const all = subjects.map((subject) => ({ subject, rounds: [] as Array<Round> }))
  for (let round = 0; round < rounds; round++) {
    for (const { rounds, subject } of all) {
      const beforeUs = processorUs(subject.roots)
      rounds.push(await alone(subject, still, () => use(subject, beforeUs)))
    }
  }
  return all
}

/**
 * Measures the subjects in turn, round after round, while the others, or those of `still`, are
 * suspended.
 */
export const closedRounds = (
  subjects: ReadonlyArray<Subject>,
  rounds: number,
  work: Work,
  still = subjects,
): Promise<ReadonlyArray<Measured<ClosedRound>>> => {
  const round = async (
    { answer, name, roots }: Subject,
    beforeUs: number,
  ): Promise<ClosedRound> => {
    const report = await wrk({ ...work, ...answer }).catch((cause) => {
      throw new Error(`${name} failed`, { cause })
    })
    const done = report.requests * (work.events ?? 1)
    return {
      costUs: (processorUs(roots) - beforeUs) / done,
      perSecond: (done * 1e6) / report.durationUs,
      report,
    }
  }
  return inTurn(subjects, rounds, round, still)
}

/**
 * Events that a subject has answered, and the maximum number that were in progress when a round
 * ended.
 */
export const answeredBy = (
  subject: Subject,
  work: Work,
  ...loops: ReadonlyArray<ReadonlyArray<Measured<ClosedRound>>>
): { readonly answered: number; readonly unread: number } => {
  const rounds = loops.flat().flatMap((each) => (each.subject === subject ? each.rounds : []))
  const requests = rounds.reduce((sum, { report }) => sum + report.requests, 0)
  const events = work.events ?? 1
  return { answered: requests * events, unread: rounds.length * work.connections * events }
}

export const openRounds = (
  subjects: ReadonlyArray<Subject>,
  rounds: number,
  rate: Omit<OpenLoadOptions, "key" | "port" | "host">,
): Promise<ReadonlyArray<Measured<OpenLoadReport>>> =>
  inTurn(subjects, rounds, ({ answer }) => openLoop(answer, rate))

/** A line of the first subject's median, beside the second's as reference and the others'. */
export const lineOf = <Round>(
  question: string,
  unit: string,
  measured: ReadonlyArray<Measured<Round, { readonly name: string }>>,
  pick: (round: Round) => number,
  more: { readonly goal?: string; readonly points?: ReadonlyArray<Point> } = {},
): BenchLine => {
  const [first, ...beside] = measured.map(({ rounds, subject }) => {
    return { name: subject.name, rounds: rounds.map(pick), value: median(rounds.map(pick)) }
  })
  const [reference, ...others] = beside
  return {
    question,
    value: first!.value,
    unit,
    rounds: first!.rounds,
    ...(reference !== undefined && {
      reference: { name: reference.name, value: reference.value, unit },
      ...(reference.value > 0 && { ratio: first!.value / reference.value }),
    }),
    others,
    ...more,
  }
}

/** The cost if it can be measured, then the rate, then what the load itself takes. */
export const closedLines = (
  bench: string,
  one: string,
  measured: ReadonlyArray<Measured<ClosedRound>>,
): ReadonlyArray<BenchLine> =>
  [
    lineOf(`${bench}: processor time, all threads`, `µs/${one}`, measured, ({ costUs }) => costUs),
    {
      ...lineOf(`${bench}: closed loop`, "/s", measured, ({ perSecond }) => perSecond),
      histograms: Object.fromEntries(
        measured.map(({ rounds, subject }) => [subject.name, rounds.at(-1)!.report.histogram]),
      ),
    },
    lineOf(
      `${bench}: 99 % within, closed loop`,
      "ms",
      measured,
      ({ report }) => report.p99Us / 1e3,
    ),
    lineOf(
      `${bench}: the load's own time, wrk`,
      "µs/request",
      measured,
      ({ report }) => report.loadUs,
    ),
    lineOf(
      `${bench}: share of time the load was busy`,
      "%",
      measured,
      ({ report }) => (report.loadUs * report.requests * 100) / report.durationUs,
      { goal: "< 80 %, else it is the limit" },
    ),
  ].filter(({ value }) => Number.isFinite(value))

/** What the servers hold in memory now: after a load, garbage that no collection has met counts. */
export const memoryLines = (
  bench: string,
  subjects: ReadonlyArray<Subject>,
): ReadonlyArray<BenchLine> => {
  const measured = subjects.map((subject) => {
    return { subject, rounds: [anonymousBytes(subject.roots) / 2 ** 20] }
  })
  const question = `${bench}: private memory after the closed loop`
  const line = lineOf(question, "MiB", measured, (mebibytes) => mebibytes)
  return Number.isFinite(line.value) ? [line] : []
}

const failedPercent = ({ accepted, offered }: OpenLoadReport): number =>
  (1 - accepted / offered) * 100

/** Of an open loop. */
export interface Rate {
  readonly perSecond: number
  /** Share of Laurel's rate in a closed loop. */
  readonly share?: number
}

/** Pauses over time: the longest latency of each second, one round after the other. */
const pausesOf = (
  bench: string,
  rate: string,
  line: string,
  rounds: ReadonlyArray<OpenLoadReport>,
): ReadonlyArray<Point> =>
  rounds
    .flatMap(({ longestMs }) => longestMs)
    .map((y, second) => {
      return {
        chart: `${bench} at ${rate}: longest latency of each second, ms, against seconds`,
        line,
        x: second + 1,
        y,
      }
    })

/**
 * Latencies, counted from the time at which each event was due, and the share of events that failed
 * or were never sent.
 */
export const openLines = (
  bench: string,
  { perSecond, share }: Rate,
  measured: ReadonlyArray<Measured<OpenLoadReport>>,
): ReadonlyArray<BenchLine> => {
  // Named by the share: runs have different rates, and are compared by the question.
  const rate =
    share === undefined ? `${formatNumber(perSecond)}/s` : `${share * 100} % of Laurel's rate`
  const at = `${bench} at ${rate}`
  const points = measured.flatMap(({ rounds, subject: { name } }): ReadonlyArray<Point> => {
    const at = { line: name, x: perSecond }
    const of = (pick: (report: OpenLoadReport) => number) => median(rounds.map(pick))
    return [
      { chart: `${bench}: p99, ms, against offered events/s`, ...at, y: of((r) => r.whole.p99Ms) },
      {
        chart: `${bench}: accepted against offered events/s`,
        ...at,
        y: of(({ accepted, seconds }) => accepted / seconds),
      },
      ...pausesOf(bench, rate, name, rounds),
    ]
  })
  return [
    lineOf(`${at}: offered`, "/s", measured, ({ offered, seconds }) => offered / seconds),
    lineOf(`${at}: median`, "ms", measured, ({ whole }) => whole.p50Ms),
    {
      ...lineOf(`${at}: 99 % within`, "ms", measured, ({ whole }) => whole.p99Ms, { points }),
      histograms: Object.fromEntries(
        measured.map(({ rounds, subject }) => [subject.name, rounds.at(-1)!.whole.histogram]),
      ),
    },
    lineOf(`${at}: 99.9 % within`, "ms", measured, ({ whole }) => whole.p999Ms),
    lineOf(`${at}: longest`, "ms", measured, ({ whole }) => whole.maxMs),
    lineOf(`${at}: refused, broken or not sent`, "%", measured, failedPercent),
    lineOf(`${at}: the load's own time`, "µs/event", measured, ({ loadUs }) => loadUs),
    lineOf(`${at}: longest stop of the load`, "ms", measured, (r) => r.longestPauseMs),
  ]
}
