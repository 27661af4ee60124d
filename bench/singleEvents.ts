/** Single events over HTTP, each durable before its reply, beside a server that only parses and answers. */
import { type Running, startProcess } from "./children.ts"
import { type BenchLine, formatLine } from "./Line.ts"
import { checkTotal, startLaurel } from "./laurel.ts"
import { closedLoop } from "./loads.ts"
import type { LoadReport } from "./processes/load.ts"
import { median } from "./statistics.ts"

const rounds = 9
/** Until all that an event goes through is compiled. */
const warmUpRounds = 3

const load = (target: Parameters<typeof closedLoop>[0]) => closedLoop(target, 1_000)

/** Loads one of two servers while the other stands still, so that no work of it falls into this round. */
const alone = async <A>(
  running: Running<unknown>,
  other: Running<unknown>,
  use: () => Promise<A>,
): Promise<A> => {
  other.pause()
  try {
    return await use()
  } finally {
    other.resume()
    running.resume()
  }
}

const busyPercent = ({ utilization }: LoadReport): number => utilization * 100

/** Measures all lines; about two and a half minutes. */
export const singleEvents = async (): Promise<ReadonlyArray<BenchLine>> => {
  const laurel = await startLaurel()
  try {
    // The first round gives the reply that the bare server answers.
    const first = await load(laurel.answer)
    const bare = await startProcess<{ readonly port: number }>("httpServer", {
      kind: "bare",
      reply: first.reply,
    })
    try {
      const bareTarget = { ...bare.answer, key: "none" }
      const warmUps: Array<LoadReport> = []
      for (let round = 0; round < warmUpRounds; round++) {
        warmUps.push(await alone(laurel, bare, () => load(laurel.answer)))
        await alone(bare, laurel, () => load(bareTarget))
      }
      const ours: Array<LoadReport> = []
      const reference: Array<LoadReport> = []
      for (let round = 0; round < rounds; round++) {
        ours.push(await alone(laurel, bare, () => load(laurel.answer)))
        reference.push(await alone(bare, laurel, () => load(bareTarget)))
      }
      await checkTotal(
        laurel,
        [first, ...warmUps, ...ours].reduce((sum, { eventsInAll }) => sum + eventsInAll, 0),
      )
      const of = (reports: ReadonlyArray<LoadReport>, pick: (report: LoadReport) => number) =>
        median(reports.map(pick))
      const line = (
        question: string,
        unit: string,
        pick: (report: LoadReport) => number,
        goal?: string,
      ): BenchLine => ({
        question,
        value: of(ours, pick),
        unit,
        reference: { name: "bare node:http", value: of(reference, pick), unit },
        // Of what came one after the other: the machine's speed changes from minute to minute.
        ratio: median(ours.map((report, round) => pick(report) / pick(reference[round]!))),
        ...(goal !== undefined && { goal }),
      })
      return [
        line(
          "single events: durable, 64 connections",
          "/s",
          ({ durationMs, events }) => (events * 1_000) / durationMs,
          "≥ 0.5×, aim 0.7×",
        ),
        line("single events: median latency", "ms", ({ p50Ms }) => p50Ms),
        line("single events: 99 % answered within", "ms", ({ p99Ms }) => p99Ms),
        {
          question: "single events: share of time the load was busy",
          value: of(ours, busyPercent),
          unit: "%",
          reference: { name: "bare node:http", value: of(reference, busyPercent), unit: "%" },
          goal: "< 90 %, else it is the limit",
        },
      ]
    } finally {
      await bare.stop()
    }
  } finally {
    await laurel.stop()
  }
}

if (import.meta.main) for (const line of await singleEvents()) console.log(formatLine(line))
