/**
 * Single events of several projects at one, two and three servers of a cluster, each project at the
 * owner of its partition. Servers, PostgreSQL and the load share this machine: without a core for
 * each, further servers gain nothing.
 */
import { execFile } from "node:child_process"
import { mkdir } from "node:fs/promises"
import path from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { promisify } from "node:util"
import { Effect } from "effect"
import { type ClusterStatus, clusterStatusAt } from "../src/cluster/status.ts"
import { freePorts } from "../test/freePorts.ts"
import type { Postgres } from "../test/storage/postgres/Postgres.ts"
import { type BenchLine, formatLine } from "./Line.ts"
import {
  checkTotal,
  lessonRule,
  program,
  requesting,
  serve,
  startLaurel,
  totalXpOf,
} from "./laurel.ts"
import { processorUs } from "./load/processorTime.ts"
import { type Target, wrk } from "./load/wrk.ts"
import type { BenchOptions } from "./options.ts"
import { median } from "./statistics.ts"
import { withPostgres } from "./withPostgres.ts"

const projectNames = Array.from({ length: 6 }, (_, index) => `project-${index + 1}`)
const users = 10_000
const connectionsOfProject = 10

type Settings = Readonly<Record<string, string>>

const createKey = async (project: string, settings: Settings): Promise<string> => {
  const scope = ["--project", project, "--environment", "sandbox"]
  const env = { PATH: process.env.PATH, ...settings }
  const args = [program, "keys", "create", ...scope]
  const { stdout } = await promisify(execFile)("sh", args, { env })
  return stdout.trim()
}

/** Waits until each partition has an owner, and no server has two more of them than another. */
const evenShares = async (url: string, servers: number): Promise<ClusterStatus> => {
  while (true) {
    const status = await Effect.runPromise(clusterStatusAt(url))
    const counts = new Map(status.runners.map(({ address }) => [address, 0]))
    for (const { owner } of status.partitions) counts.set(owner, (counts.get(owner) ?? 0) + 1)
    const shares = [...counts.values()]
    const isEven = Math.max(...shares) - Math.min(...shares) <= 1
    if (isEven && counts.size === servers && !counts.has("")) return status
    await sleep(200)
  }
}

interface Measured {
  readonly perSecond: number
  /** Of all servers and PostgreSQL. */
  readonly costUs: number
}

const measure = async (
  postgres: Postgres,
  folder: string,
  servers: number,
  seconds: number,
): Promise<Measured> => {
  const url = await postgres.schema(`runners${servers}`)
  const ports = await freePorts(2 * servers)
  const settingsOf = (index: number): Settings => ({
    LAUREL_CLUSTER: url,
    LAUREL_CLUSTER_FOLLOWERS: "0",
    LAUREL_DATA_DIR: path.join(folder, `${servers}-${index}`),
    LAUREL_CLUSTER_ADDRESS: `127.0.0.1:${ports[index]}`,
  })
  const directory = path.join(folder, `${servers}-0`, "partitions", "1")
  await mkdir(directory, { recursive: true })
  const first = await startLaurel({ directory, settings: settingsOf(0) })
  const others = Array.from({ length: servers - 1 }, (_, index) =>
    serve(
      settingsOf(index + 1).LAUREL_DATA_DIR!,
      ports[servers + index + 1]!,
      settingsOf(index + 1),
    ),
  )
  try {
    const targets: Array<Target> = []
    const keys = []
    for (const name of projectNames) keys.push(await createKey(name, settingsOf(0)))
    const { partitions } = await evenShares(url, servers)
    for (const [index, key] of keys.entries()) {
      const of = partitions.find(({ projects }) => projects?.includes(projectNames[index]!))
      const server = ports.slice(0, servers).findIndex((port) => of?.owner === `127.0.0.1:${port}`)
      const port = server === 0 ? first.answer.port : ports[servers + server]!
      targets.push({ key, port })
    }
    const requests = targets.map(({ key, port }) => requesting(`http://127.0.0.1:${port}`, key))
    for (const request of requests) await request("/v1/rules", lessonRule)
    const load = (loadSeconds: number) =>
      Promise.all(
        targets.map((target) =>
          wrk({
            ...target,
            ...{ kind: "event", users, choice: "uniform" },
            connections: connectionsOfProject,
            seconds: loadSeconds,
          }),
        ),
      )
    const warm = await load(Math.min(4, seconds))
    const roots = [first.pid, ...others.map(({ pid }) => pid!), postgres.pid]
    const before = processorUs(roots)
    const reports = await load(seconds)
    const costUs = processorUs(roots) - before
    for (const [index, request] of requests.entries()) {
      const answered = warm[index]!.requests + reports[index]!.requests
      const unread = 2 * connectionsOfProject
      await checkTotal({ totalXp: () => totalXpOf(request) }, answered, unread)
    }
    const answered = reports.reduce((sum, report) => sum + report.requests, 0)
    const perSecond = reports.reduce(
      (sum, report) => sum + (report.requests * 1e6) / report.durationUs,
      0,
    )
    return { perSecond, costUs: costUs / answered }
  } finally {
    for (const other of others) other.kill("SIGKILL")
    await first.stop()
  }
}

/** Measures the lines; about four minutes. */
export const runners = ({
  quick = false,
  seconds = quick ? 1 : 8,
}: BenchOptions = {}): Promise<ReadonlyArray<BenchLine>> =>
  withPostgres(async (postgres, folder) => {
    const counts = [1, 2, 3]
    const rounds = new Map(counts.map((count) => [count, [] as Array<Measured>]))
    for (let round = 0; round < (quick ? 1 : 3); round++) {
      for (const count of counts) {
        const name = path.join(folder, String(round))
        rounds.get(count)!.push(await measure(postgres, name, count, seconds))
        await postgres.query(`DROP SCHEMA runners${count} CASCADE`)
      }
    }
    const line = (count: number, of: keyof Measured, what: string, unit: string): BenchLine => {
      const values = rounds.get(count)!.map((measured) => measured[of])
      const value = median(values)
      const reference = median(rounds.get(1)!.map((measured) => measured[of]))
      return {
        question: `runners, ${count} ${count === 1 ? "server" : "servers"}: ${what}`,
        ...{ value, unit, rounds: values },
        ...(count > 1 && {
          reference: { name: "1 server", value: reference, unit },
          ratio: value / reference,
        }),
      }
    }
    return counts.flatMap((count) => [
      line(count, "perSecond", "closed loops of 6 projects", "/s"),
      line(count, "costUs", "processor time, all threads and PostgreSQL", "µs/event"),
    ])
  })

if (import.meta.main) for (const line of await runners()) console.log(formatLine(line))
