/**
 * Single events of a server whose journal is in PostgreSQL, beside a server with a journal of its
 * own. PostgreSQL is on the same machine: a network, and that of a standby, would add to the
 * latency.
 */
import { mkdir } from "node:fs/promises"
import path from "node:path"
import { limits } from "../src/Limits.ts"
import type { Postgres } from "../test/storage/postgres/Postgres.ts"
import { fill } from "./fill.ts"
import { type BenchLine, formatLine } from "./Line.ts"
import { checkTotal, startLaurel } from "./laurel.ts"
import type { BenchOptions } from "./options.ts"
import { answeredBy, closedRounds, lineOf } from "./rounds.ts"
import type { Subject } from "./Subject.ts"
import { withPostgres } from "./withPostgres.ts"

/**
 * Connections, up to the most that no server sheds (`overloadConnectionsMin`), and the share of the
 * embedded server's rate that is the goal.
 */
const goals = [
  [1, 0.6],
  [64, 0.75],
  [256, 0.85],
] as const

const startSubjects = async (postgres: Postgres, folder: string): Promise<Array<Subject>> => {
  // Its key is made before it joins: its records are the first upload.
  const directory = path.join(folder, "partitions", "1")
  await mkdir(directory, { recursive: true })
  const settings = {
    LAUREL_CLUSTER: await postgres.schema("bench"),
    LAUREL_DATA_DIR: folder,
    // The server is suspended while the other is measured. After a longer time a round would begin
    // with regaining the lock.
    LAUREL_CLUSTER_LOCK_EXPIRATION: `${limits.lockExpirationMsMax} millis`,
  }
  const clustered = await startLaurel({ directory, settings })
  const embedded = await startLaurel()
  return [
    { laurel: clustered, name: "PostgreSQL", more: [postgres.pid] },
    { laurel: embedded, name: "own journal", more: [] },
  ].map(({ laurel, more, name }) => ({
    ...laurel,
    name,
    roots: [laurel.pid, ...more],
    check: (answered: number, unread: number) => checkTotal(laurel, answered, unread),
  }))
}

/** Measures the lines; about three minutes. */
export const cluster = ({
  quick = false,
  seconds = quick ? 1 : 8,
}: BenchOptions = {}): Promise<ReadonlyArray<BenchLine>> =>
  withPostgres(async (postgres, folder) => {
    const users = quick ? 10_000 : 100_000
    const subjects: Array<Subject> = []
    try {
      subjects.push(...(await startSubjects(postgres, folder)))
      for (const { answer } of subjects) await fill(answer, users)
      const counts = new Map(subjects.map((subject) => [subject, { answered: users, unread: 0 }]))
      const lines: Array<BenchLine> = []
      for (const [connections, goal] of goals) {
        const work = { kind: "event", users, choice: "uniform", connections, seconds } as const
        const warm = await closedRounds(subjects, 1, { ...work, seconds: quick ? 1 : 4 })
        const measured = await closedRounds(subjects, quick ? 1 : 3, work)
        const bench = `cluster, ${connections} connections`
        lines.push(
          lineOf(`${bench}: closed loop`, "/s", measured, ({ perSecond }) => perSecond, {
            goal: `≥ ${goal}×`,
          }),
          lineOf(`${bench}: 99 % within`, "ms", measured, ({ report }) => report.p99Us / 1e3),
          lineOf(
            `${bench}: processor time, all threads and PostgreSQL`,
            "µs/event",
            measured,
            ({ costUs }) => costUs,
          ),
        )
        for (const subject of subjects) {
          const count = counts.get(subject)!
          const more = answeredBy(subject, work, warm, measured)
          count.answered += more.answered
          count.unread += more.unread
        }
      }
      for (const subject of subjects) {
        const { answered, unread } = counts.get(subject)!
        await subject.check(answered, unread)
      }
      return lines
    } finally {
      for (const subject of subjects) await subject.stop()
    }
  })

if (import.meta.main) for (const line of await cluster()) console.log(formatLine(line))
