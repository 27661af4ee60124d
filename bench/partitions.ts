/**
 * The cost of partitions without projects: a server that owns all partitions of a cluster, beside a
 * cluster with one partition. Start and stop, sessions and statements of PostgreSQL, processor time
 * at rest, memory.
 */
import { once } from "node:events"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { limits } from "../src/Limits.ts"
import { freePorts } from "../test/freePorts.ts"
import type { Postgres } from "../test/storage/postgres/Postgres.ts"
import { type BenchLine, formatLine } from "./Line.ts"
import { serve } from "./laurel.ts"
import { anonymousBytes, processorUs } from "./load/processorTime.ts"
import { withTemporaryFolder } from "./millionUsers.ts"
import type { BenchOptions } from "./options.ts"
import { median } from "./statistics.ts"
import { withPostgres } from "./withPostgres.ts"

const overrides = fileURLToPath(new URL("processes/partitions.mjs", import.meta.url))

const settleMs = 20_000

interface Cost {
  readonly startMs: number
  readonly restartMs: number
  readonly stopMs: number
  readonly sessions: number
  /** Per second, at rest. */
  readonly statements: number
  readonly processorMs: number
  readonly bytes: number
}

/** The number of partitions that the server at this address serves; 0 before it answers. */
const servedBy = (admin: number): Promise<number> =>
  fetch(`http://127.0.0.1:${admin}/metrics`).then(
    async (reply) =>
      [...(await reply.text()).matchAll(/^laurel_cluster_serving\{[^}]*\} 1$/gm)].length,
    () => 0,
  )

const count = async (postgres: Postgres, text: string): Promise<number> =>
  Number((await postgres.query(text))[0]!.count)

/** Starts a cluster of `partitions` with one server. */
const measure = (
  postgres: Postgres,
  partitions: number,
  restSeconds: number,
  name: string,
): Promise<Cost> =>
  withTemporaryFolder(async (folder) => {
    const url = await postgres.schema(name)
    const [port, internal, admin] = (await freePorts(3)) as [number, number, number]
    const settings = {
      LAUREL_CLUSTER: url,
      LAUREL_CLUSTER_ADDRESS: `127.0.0.1:${internal}`,
      LAUREL_ADMIN_PORT: String(admin),
      LAUREL_ARCHIVE_INTERVAL: "off",
      NODE_OPTIONS: `--import=${overrides}`,
      BENCH_PARTITIONS: String(partitions),
    }
    /** Resolves once it serves all partitions. */
    const start = async () => {
      const startedAt = performance.now()
      const server = serve(folder, port, settings)
      while ((await servedBy(admin)) < partitions) await sleep(10)
      return { server, ms: performance.now() - startedAt }
    }
    const stop = async ({ server }: Awaited<ReturnType<typeof start>>): Promise<number> => {
      const startedAt = performance.now()
      server.kill("SIGTERM")
      await once(server, "exit")
      return performance.now() - startedAt
    }
    const first = await start()
    const firstStopMs = await stop(first)
    const again = await start()
    const roots = [again.server.pid!]
    // Remains of the start end: writing threads, garbage, statistics of PostgreSQL.
    await sleep(settleMs)
    const transactions = () =>
      count(postgres, "SELECT sum(xact_commit + xact_rollback) AS count FROM pg_stat_database")
    const before = { transactions: await transactions(), us: processorUs(roots) }
    await sleep(restSeconds * 1_000)
    const after = { transactions: await transactions(), us: processorUs(roots) }
    const sessions = await count(
      postgres,
      "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'laurel%'",
    )
    const bytes = anonymousBytes(roots)
    return {
      startMs: first.ms,
      restartMs: again.ms,
      stopMs: median([firstStopMs, await stop(again)]),
      sessions,
      statements: (after.transactions - before.transactions) / restSeconds,
      processorMs: (after.us - before.us) / 1_000 / restSeconds,
      bytes,
    }
  })

/** Measures the lines; about three minutes. */
export const partitions = ({
  quick = false,
}: BenchOptions = {}): Promise<ReadonlyArray<BenchLine>> =>
  withPostgres(async (postgres) => {
    const many: number = limits.clusterPartitions
    const restSeconds = quick ? 5 : 30
    const one = await measure(postgres, 1, restSeconds, "one")
    const all = await measure(postgres, many, restSeconds, "all")
    const line = (question: string, unit: string, of: (cost: Cost) => number, goal?: string) => ({
      question: `${many} partitions: ${question}`,
      value: of(all),
      unit,
      reference: { name: "one", value: of(one), unit },
      ratio: of(all) / of(one),
      ...(goal !== undefined && { goal }),
    })
    const perPartition = (all.bytes - one.bytes) / Math.max(1, many - 1) / 1_048_576
    return [
      line("first start, until all are served", "ms", ({ startMs }) => startMs),
      line("start, until all are served", "ms", ({ restartMs }) => restartMs),
      line("stop", "ms", ({ stopMs }) => stopMs),
      line("sessions of PostgreSQL", "sessions", ({ sessions }) => sessions, "≤ 12"),
      line("transactions at rest", "/s", ({ statements }) => statements),
      line("processor time at rest", "ms/s", ({ processorMs }) => processorMs),
      line("private memory at rest", "MiB", ({ bytes }) => bytes / 1_048_576),
      {
        question: `${many} partitions: private memory of one more`,
        value: perPartition,
        unit: "MiB",
        goal: "≤ 2 MiB",
      },
    ]
  })

if (import.meta.main) {
  const quick = process.argv.includes("--quick")
  for (const each of await partitions({ quick })) console.log(formatLine(each))
}
