/** Reads over HTTP: a user, and a page of 100 members anywhere on the leaderboard, beside the peers. */
import { userIdAt } from "./events.ts"
import { type BenchLine, formatLine } from "./Line.ts"
import type { BenchOptions } from "./options.ts"
import { closedLines, closedRounds } from "./rounds.ts"
import { withSubjects } from "./subjects.ts"

const measure = (
  bench: string,
  kind: "user" | "page",
  users: number,
  options: BenchOptions,
): Promise<ReadonlyArray<BenchLine>> => {
  const { connections = 64, quick = false } = options
  const work = { kind, users, connections, seconds: options.seconds ?? (quick ? 1 : 8) } as const
  const offset = Math.floor(users / 2)
  const path =
    kind === "user" ? `/v1/users/${userIdAt(0)}` : `/v1/leaderboard?limit=100&offset=${offset}`
  return withSubjects({ ...options, users, example: { path, events: 0 } }, async (subjects) => {
    await closedRounds(subjects, 1, { ...work, seconds: quick ? 1 : 4 })
    const closed = await closedRounds(subjects, quick ? 1 : 3, work)
    return closedLines(bench, kind, closed)
  })
}

/** All of 100,000 users are warm; of 1,000,000 most are cold. About six minutes with all peers. */
export const reads = async (options: BenchOptions = {}): Promise<ReadonlyArray<BenchLine>> => {
  const [warm, many] = options.quick ? [5_000, 10_000] : [100_000, 1_000_000]
  const of = (users: number) => users.toLocaleString("en-US")
  return [
    ...(await measure(`a user of ${of(warm)}`, "user", warm, options)),
    ...(await measure(`a user of ${of(many)}`, "user", many, options)),
    ...(await measure(`100 members of ${of(many)}`, "page", many, options)),
  ]
}

if (import.meta.main) for (const line of await reads()) console.log(formatLine(line))
