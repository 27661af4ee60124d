/**
 * The cost of an event and of a read whose user is not in memory: with 1 % of 1,000,000 users in
 * memory, beside a server with all.
 */
import { cp } from "node:fs/promises"
import path from "node:path"
import { fill } from "./fill.ts"
import { type BenchLine, formatLine } from "./Line.ts"
import { type Laurel, startLaurel } from "./laurel.ts"
import { wrk } from "./load/wrk.ts"
import { closedLoopConnections } from "./loads.ts"
import { withTemporaryFolder } from "./millionUsers.ts"
import type { BenchOptions } from "./options.ts"
import { closedLines, closedRounds } from "./rounds.ts"
import type { Subject } from "./Subject.ts"

const residentShare = 0.01

/** Reads each user once. */
const everyUser = async ({ answer }: Laurel, users: number): Promise<void> => {
  const work = { ...answer, kind: "user", choice: "next", users, connections: 16 } as const
  let read = 0
  // Each run begins with the first user.
  for (let seconds = 4; read < users; seconds *= 2) {
    read = (await wrk({ ...work, seconds })).requests
  }
}

/** Sums are not checked: `single` does that. */
const subjectOf = (name: string, laurel: Laurel): Subject => {
  return { ...laurel, name, roots: [laurel.pid], check: async () => {} }
}

/** Measures all lines; about seven minutes, 4 GB of temporary disk. */
export const cold = (options: BenchOptions = {}): Promise<ReadonlyArray<BenchLine>> =>
  withTemporaryFolder(async (folder) => {
    const { connections = closedLoopConnections, quick = false } = options
    // The setting allows no fewer than 1,000 in memory.
    const users = quick ? 100_000 : 1_000_000
    const seconds = options.seconds ?? (quick ? 1 : 8)
    const directories = { cold: path.join(folder, "cold"), warm: path.join(folder, "warm") }
    const filling = await startLaurel({ directory: directories.cold })
    try {
      await fill(filling.answer, users)
    } finally {
      await filling.stop()
    }
    await cp(directories.cold, directories.warm, { recursive: true })
    const start = (directory: string, residents: number) =>
      startLaurel({ directory, settings: { LAUREL_RESIDENT_USERS_MAX: String(residents) } })
    const laurels: Array<Laurel> = []
    try {
      laurels.push(await start(directories.cold, users * residentShare))
      laurels.push(await start(directories.warm, users * 2))
      const [few, all] = laurels as [Laurel, Laurel]
      // Each user in turn: all of them are in memory then.
      await everyUser(all, users)
      const subjects = [subjectOf("1 % of users in memory", few), subjectOf("all in memory", all)]
      const lines: Array<BenchLine> = []
      for (const kind of ["user", "event"] as const) {
        const work = { kind, users, connections, seconds } as const
        await closedRounds(subjects, 1, { ...work, seconds: quick ? 1 : 4 })
        const measured = await closedRounds(subjects, quick ? 1 : 3, work)
        const one = kind === "user" ? "read" : "event"
        const bench = `${one}s of ${users.toLocaleString("en-US")} users, 1 % in memory`
        lines.push(...closedLines(bench, one, measured))
      }
      return lines
    } finally {
      for (const laurel of laurels) await laurel.stop()
    }
  })

if (import.meta.main) for (const line of await cold()) console.log(formatLine(line))
