/** What it costs when a window of the leaderboard ends that 1,000,000 users are on. */
import { inProcess } from "./children.ts"
import { type BenchLine, formatLine } from "./Line.ts"
import { users, withTemporaryFolder } from "./millionUsers.ts"
import type { RolloverReport } from "./processes/rollover.ts"
import { median } from "./statistics.ts"

/** Measures all lines; about half a minute, 200 MB of temporary disk. */
export const rollover = (): Promise<ReadonlyArray<BenchLine>> =>
  withTemporaryFolder(async (directory) => {
    const report = await inProcess<RolloverReport>("rollover", { directory, members: users })
    const longestTurnMs = median([...report.longestTurnMs])
    const copyMs = median([...report.copyMs])
    return [
      {
        question: "rollover of 1,000,000: the longest turn of the event loop",
        value: longestTurnMs,
        unit: "ms",
        reference: { name: "all rows copied in one turn", value: copyMs, unit: "ms" },
        ratio: longestTurnMs / copyMs,
        goal: "< 5 ms",
      },
      {
        question: "rollover of 1,000,000: until all is on disk",
        value: median([...report.storedAfterMs]),
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
