/** The cost of an event, and the server's memory, with more and more users. */

import { fill } from "./fill.ts"
import { type BenchLine, formatLine } from "./Line.ts"
import { anonymousBytes } from "./load/processorTime.ts"
import { closedLoopConnections } from "./loads.ts"
import type { BenchOptions } from "./options.ts"
import { closedRounds, lineOf } from "./rounds.ts"
import { startLaurelSubject } from "./subjects.ts"

const measure = async (users: number, options: BenchOptions) => {
  const { connections = closedLoopConnections, quick = false } = options
  // Each has a snapshot, which is due after 200,000 events.
  const seconds = options.seconds ?? (quick ? 1 : 20)
  const work = { kind: "event", users, connections, seconds } as const
  const subject = await startLaurelSubject(undefined)
  try {
    await fill(subject.answer, users)
    await closedRounds([subject], 1, { ...work, seconds: quick ? 1 : 5 })
    const measured = await closedRounds([subject], quick ? 1 : 3, work)
    const bench = `${users.toLocaleString("en-US")} users`
    const cost = lineOf(
      `${bench}: processor time of an event`,
      "µs/event",
      measured,
      (round) => round.costUs,
    )
    const rate = lineOf(`${bench}: closed loop`, "/s", measured, (round) => round.perSecond)
    const mebibytes = anonymousBytes(subject.roots) / 2 ** 20
    const at = { line: subject.name, x: users }
    return [
      {
        ...cost,
        points: [{ chart: "processor time of an event, µs, against users", ...at, y: cost.value }],
      },
      rate,
      {
        question: `${bench}: private memory of the server`,
        value: mebibytes,
        unit: "MiB",
        points: [{ chart: "private memory, MiB, against users", ...at, y: mebibytes }],
      },
    ]
  } finally {
    await subject.stop()
  }
}

/** Measures all lines; about seven minutes. */
export const growth = async (options: BenchOptions = {}): Promise<ReadonlyArray<BenchLine>> => {
  const lines: Array<BenchLine> = []
  for (const users of options.quick ? [1_000, 10_000] : [1_000, 10_000, 100_000, 1_000_000]) {
    lines.push(...(await measure(users, options)))
  }
  return lines
}

if (import.meta.main) for (const line of await growth()) console.log(formatLine(line))
