/** What a snapshot costs with a shared goal of 100,000 teams. */
import { inProcess } from "./children.ts"
import { type BenchLine, comparing, formatLine } from "./Line.ts"
import type { BenchOptions } from "./options.ts"
import type { GoalsOptions, GoalsReport } from "./processes/goals.ts"

const full: GoalsOptions = { teams: 100_000, rounds: 9 }
const quickly: GoalsOptions = { teams: 1_000, rounds: 1 }

/** Measures four lines; some seconds. */
export const goals = async ({
  quick = false,
}: BenchOptions = {}): Promise<ReadonlyArray<BenchLine>> => {
  const options = quick ? quickly : full
  const { all, one, whole } = await inProcess<GoalsReport>("goals", options)
  const teams = options.teams.toLocaleString("en-US")
  const line = comparing(`snapshots of a goal of ${teams} teams`, "one value of all totals")
  return [
    line("bytes after one contribution", "B", one.bytes, whole.bytes),
    line("longest turn after one contribution", "ms", one.turnMs, whole.turnMs),
    line("bytes after one of each team", "B", all.bytes, whole.bytes),
    line("longest turn after one of each team", "ms", all.turnMs, whole.turnMs),
  ]
}

if (import.meta.main) for (const line of await goals()) console.log(formatLine(line))
