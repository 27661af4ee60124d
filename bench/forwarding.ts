/**
 * Requests at a server of a cluster that is not the owner, beside the same requests at the owner:
 * two servers and PostgreSQL on this machine. The processor time of all three counts in both, so
 * the difference is what forwarding costs.
 */
import { mkdir } from "node:fs/promises"
import path from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { freePorts } from "../test/freePorts.ts"
import type { Postgres } from "../test/storage/postgres/Postgres.ts"
import { fill } from "./fill.ts"
import { type BenchLine, formatLine } from "./Line.ts"
import { checkTotal, serve, startLaurel } from "./laurel.ts"
import type { BenchOptions } from "./options.ts"
import { answeredBy, closedLines, closedRounds } from "./rounds.ts"
import type { Subject } from "./Subject.ts"
import { withPostgres } from "./withPostgres.ts"

const schema = "forwarding"
const forwardedGoal = "≤ 1.6×"

const kinds = [
  { bench: "single events, 64 connections", one: "event", kind: "event", connections: 64 },
  { bench: "batches of 1,000", one: "event", kind: "event", connections: 4, events: 1_000 },
  { bench: "reads of a user, 64 connections", one: "user", kind: "user", connections: 64 },
] as const

/** Starts the owner, then the other server, which only forwards. */
const startServers = async (postgres: Postgres, folder: string) => {
  const url = await postgres.schema(schema)
  const [ownerPort, otherPort, apiPort] = await freePorts(3)
  const settings = (name: string, port: number) => ({
    LAUREL_CLUSTER: url,
    LAUREL_DATA_DIR: path.join(folder, name),
    LAUREL_CLUSTER_ADDRESS: `127.0.0.1:${port}`,
  })
  // Its key is made before it joins: its records are the first upload.
  const directory = path.join(folder, "owner", "partitions", "1")
  await mkdir(directory, { recursive: true })
  const owner = await startLaurel({ directory, settings: settings("owner", ownerPort!) })
  const other = serve(path.join(folder, "other"), apiPort!, settings("other", otherPort!))
  while (!(await isReady(apiPort!))) {
    if (other.exitCode !== null) throw new Error("The other server ended")
    await sleep(20)
  }
  return { owner, other, apiPort: apiPort! }
}

const isReady = async (port: number): Promise<boolean> =>
  (await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined))?.status === 200

/** Measures the lines; about three minutes. */
export const forwarding = ({
  quick = false,
  seconds = quick ? 1 : 8,
}: BenchOptions = {}): Promise<ReadonlyArray<BenchLine>> =>
  withPostgres(async (postgres, folder) => {
    const users = quick ? 10_000 : 100_000
    const servers = await startServers(postgres, folder)
    const { apiPort, other, owner } = servers
    try {
      await fill(owner.answer, users)
      const nothing = () => {}
      const both = (["forwarded", "at the owner"] as const).map((name, index): Subject => {
        return {
          name,
          answer: index === 0 ? { ...owner.answer, port: apiPort } : owner.answer,
          roots: [owner.pid, other.pid!, postgres.pid],
          // They share all processes.
          pause: nothing,
          resume: nothing,
          stop: async () => {},
          check: async () => {},
        }
      })
      const lines: Array<BenchLine> = []
      let answered = users
      let unread = 0
      for (const { bench, one, ...kind } of kinds) {
        const work = { ...kind, users, choice: "uniform", seconds } as const
        const warm = await closedRounds(both, 1, { ...work, seconds: quick ? 1 : 4 })
        const measured = await closedRounds(both, quick ? 1 : 3, work)
        const [cost, ...others] = closedLines(`forwarding, ${bench}`, one, measured)
        lines.push({ ...cost!, goal: forwardedGoal }, ...others)
        if (kind.kind !== "event") continue
        for (const subject of both) {
          const more = answeredBy(subject, work, warm, measured)
          answered += more.answered
          unread += more.unread
        }
      }
      await checkTotal(owner, answered, unread)
      const [row] = await postgres.query(
        "SELECT epoch::int FROM laurel_partition WHERE id = 1",
        schema,
      )
      if (row?.epoch !== 1) throw new Error("The owner changed")
      return lines
    } finally {
      other.kill("SIGKILL")
      await owner.stop()
    }
  })

if (import.meta.main) for (const line of await forwarding()) console.log(formatLine(line))
