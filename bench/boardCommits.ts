/** What an event costs on the four boards of an environment with 1,000,000 users. */
import { inProcess } from "./children.ts"
import { type BenchLine, comparing, formatLine } from "./Line.ts"
import type { BenchOptions } from "./options.ts"
import type { BoardCommitsOptions, BoardCommitsReport } from "./processes/boardCommits.ts"

const eventsPerCommit = 1_000
const full: BoardCommitsOptions = {
  members: 1_000_000,
  rounds: 5,
  eventsPerRound: 100_000,
  eventsPerCommit,
}
const quickly: BoardCommitsOptions = {
  members: 10_000,
  rounds: 1,
  eventsPerRound: 10_000,
  eventsPerCommit,
}

/** Measures both lines; about half a minute. */
export const boardCommits = async ({
  quick = false,
}: BenchOptions = {}): Promise<ReadonlyArray<BenchLine>> => {
  const options = quick ? quickly : full
  const { spread, tied } = await inProcess<BoardCommitsReport>("boardCommits", options)
  const members = options.members.toLocaleString("en-US")
  const bench = `commits of ${eventsPerCommit.toLocaleString("en-US")} events on four boards of ${members}`
  const line = comparing(bench, "four arrays without an order")
  return [
    line("few different scores", "µs/event", tied.boardsUs, tied.arraysUs),
    line("log-normal scores", "µs/event", spread.boardsUs, spread.arraysUs),
  ]
}

if (import.meta.main) for (const line of await boardCommits()) console.log(formatLine(line))
