/**
 * `npm run torture -- --cluster --rounds 3`: faults of a cluster of two runners, each with and without load, and how long
 * nobody's write was acknowledged. The oracle is that of `ClusterLoad` and `Cluster.expectExactlyOnce`.
 */
import { setTimeout as delay } from "node:timers/promises"
import { Postgres } from "../storage/postgres/Postgres.ts"
import type { ClusterLoad } from "./ClusterLoad.ts"
import { ownerOf, type Runner } from "./Runner.ts"
import { type Cluster, startCluster } from "./startCluster.ts"

interface Scene {
  readonly cluster: Cluster
  readonly postgres: Postgres
  readonly owner: Runner
  readonly other: Runner
  readonly expirationMs: number
}

/** Each brings the fault about, and returns what brings the cluster back to two runners afterwards. */
const faults: Readonly<Record<string, (scene: Scene) => Promise<() => Promise<void> | void>>> = {
  "SIGTERM of the owner": async ({ owner }) => {
    const end = await owner.end("SIGTERM")
    if (end !== 0) throw new Error(`SIGTERM ended with ${end}`)
    return () => owner.start()
  },
  "kill -9 of the owner": async ({ owner }) => {
    await owner.end("SIGKILL")
    return () => owner.start()
  },
  "kill -9 of the other": async ({ other }) => {
    await other.end("SIGKILL")
    return () => other.start()
  },
  "SIGSTOP of the owner": async ({ expirationMs, owner }) => {
    owner.signal("SIGSTOP")
    await delay(3 * expirationMs)
    return () => owner.signal("SIGCONT")
  },
  "PostgreSQL restarted": async ({ postgres }) => {
    await postgres.stop("SIGQUIT")
    await postgres.start()
    return () => {}
  },
  "PostgreSQL away for longer than the expiration": async ({ expirationMs, postgres }) => {
    await postgres.stop("SIGQUIT")
    await delay(2 * expirationMs)
    await postgres.start()
    return () => {}
  },
}

export interface ClusterTortureOptions {
  readonly rounds: number
  readonly expirationMs: number
  readonly say: (line: string) => void
}

export interface FaultRow {
  readonly fault: string
  readonly at: "idle" | "load"
  readonly rounds: number
  readonly longestMs: number
}

export interface ClusterTortureSummary {
  readonly acknowledged: number
  readonly rows: ReadonlyArray<FaultRow>
  /** Lost or doubled writes, and stale reads. */
  readonly faults: ReadonlyArray<string>
}

/** Time from now until writes of all callers are acknowledged again. */
const settled = async (load: ClusterLoad): Promise<void> => {
  await load.progress(100)
}

export const clusterTorture = async ({
  expirationMs,
  rounds,
  say,
}: ClusterTortureOptions): Promise<ClusterTortureSummary> => {
  const postgres = await Postgres.make()
  const longest = new Map<string, FaultRow>()
  const found: Array<string> = []
  let acknowledged = 0
  let cluster: Cluster | undefined
  try {
    const settings = { LAUREL_CLUSTER_LOCK_EXPIRATION: `${expirationMs} millis` }
    const started = await startCluster(await postgres.schema("torture"), 2, settings)
    cluster = started
    let name = 0
    for (let round = 0; round < rounds; round++) {
      for (const [fault, bring] of Object.entries(faults)) {
        for (const at of ["idle", "load"] as const) {
          const owner = await ownerOf(started.runners)
          const other = started.runners.find((runner) => runner !== owner)!
          // Idle: nobody calls while the fault happens; the first calls after it find what it left.
          let load = at === "load" ? started.load(8, `user-${++name}`) : undefined
          await load?.progress(100)
          load?.resetGap()
          const beganAt = performance.now()
          const restore = await bring({ cluster: started, owner, other, postgres, expirationMs })
          load ??= started.load(8, `user-${++name}`)
          await load.progress(1)
          const firstMs = performance.now() - beganAt
          await settled(load)
          await restore()
          await settled(load)
          const gapMs = at === "load" ? load.longestGapMs : firstMs
          await load.stop()
          acknowledged += load.total
          found.push(...load.faults.map((words) => `${fault}, ${at}: ${words}`))
          const key = `${fault}, ${at}`
          const before = longest.get(key)
          longest.set(key, {
            fault,
            at,
            rounds: (before?.rounds ?? 0) + 1,
            longestMs: Math.max(before?.longestMs ?? 0, gapMs),
          })
          say(`${key}: ${Math.round(gapMs)} ms, ${load.total} acknowledged`)
          // A fresh fold at the end of each round.
          const isLast = fault === Object.keys(faults).at(-1) && at === "load"
          const expected = isLast ? started.expectExactlyOnce(load) : started.expectBoard(load)
          await expected.catch((error) => found.push(`${key}: ${String(error)}`))
        }
      }
    }
  } finally {
    await cluster?.remove()
    await postgres.remove()
  }
  return { acknowledged, rows: [...longest.values()], faults: found }
}
