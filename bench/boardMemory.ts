/** The memory of an entry of a leaderboard in each window. */
import { inProcess } from "./children.ts"
import { type BenchLine, comparing, formatLine } from "./Line.ts"
import type { BenchOptions } from "./options.ts"
import type { BoardMemoryOptions, BoardMemoryReport } from "./processes/boardMemory.ts"

const full: BoardMemoryOptions = { users: 1_000_000, groups: 1_000, windows: 3 }
const quickly: BoardMemoryOptions = { users: 50_000, groups: 100, windows: 3 }

/** Measures all lines. */
export const boardMemory = async ({
  quick = false,
}: BenchOptions = {}): Promise<ReadonlyArray<BenchLine>> => {
  const options = quick ? quickly : full
  const { group, grouped, map, member, plain } = await inProcess<BoardMemoryReport>(
    "boardMemory",
    options,
  )
  const users = options.users.toLocaleString("en-US")
  const line = comparing(
    `memory of leaderboards with ${users} entries`,
    "an entry of a Map from id to score",
  )
  return [
    line("an entry and window", "B", plain, map, "at most 40 B"),
    line("an entry and window, with groups", "B", grouped, map, "at most 40 B"),
    line("a user, for all windows", "B", member, map),
    line("a user's group, for all windows", "B", group, map),
  ]
}

if (import.meta.main) for (const line of await boardMemory()) console.log(formatLine(line))
