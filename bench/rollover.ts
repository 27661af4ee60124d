/** The cost of the end of a leaderboard window that 1,000,000 users are on. */
import { inProcess } from "./children.ts"
import { type BenchLine, formatLine } from "./Line.ts"
import { users, withTemporaryFolder } from "./millionUsers.ts"
import type { RolloverReport, Turns } from "./processes/rollover.ts"
import { median } from "./statistics.ts"

/** Measures all lines; about half a minute, 200 MB of temporary disk. */
export const rollover = (): Promise<ReadonlyArray<BenchLine>> =>
  withTemporaryFolder(async (directory) => {
    const report = await inProcess<RolloverReport>("rollover", { directory, members: users })
    const longest = (all: ReadonlyArray<Turns>): number =>
      Math.max(...all.map(({ longestProcessorMs }) => longestProcessorMs))
    const copyMs = median([...report.copyMs])
    const held = (what: string, all: ReadonlyArray<Turns>): BenchLine => ({
      question: `rollover of 1,000,000: longest turn, ${what}, processor time`,
      value: longest(all),
      unit: "ms",
      reference: { name: "all rows copied in one turn", value: copyMs, unit: "ms" },
      ratio: longest(all) / copyMs,
      goal: "< 5 ms",
    })
    return [
      held("storing", report.storing),
      held("deleting", report.deleting),
      {
        question: "rollover of 1,000,000: longest turn, storing, wall clock",
        value: median(report.storing.map(({ longestMs }) => longestMs)),
        unit: "ms",
      },
      {
        question: "rollover of 1,000,000: until all is on disk",
        value: median(report.storing.map(({ allMs }) => allMs)),
        unit: "ms",
      },
      {
        question: "rollover of 1,000,000: a page of 100 from the stored board",
        value: median([...report.storedPageMs]),
        unit: "ms",
      },
    ]
  })

if (import.meta.main) for (const line of await rollover()) console.log(formatLine(line))
