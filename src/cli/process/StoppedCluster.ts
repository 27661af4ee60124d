/** The servers of a cluster that run, and a cluster none of whose servers runs: what commands need that change its data. */
import { Effect } from "effect"
import type { ClusterStatus, RunnerStatus } from "../../cluster/status.ts"
import type { Config } from "../../config/Config.ts"
import { type CommandFailed, commandFailed, exitCodes } from "../output/ExitCode.ts"

export interface RunningCluster {
  readonly status: ClusterStatus
  /** The addresses of the servers that run, by their heartbeats. */
  readonly running: ReadonlyArray<string>
  /** The longest of the servers that run and of this command. */
  readonly lockExpirationMs: number
}

/** What PostgreSQL has. */
export const readRunning = Effect.fnUntraced(function* (
  config: Config,
  url: string,
): Effect.fn.Return<RunningCluster, CommandFailed> {
  const { clusterStatusAt } = yield* Effect.promise(() => import("../../cluster/status.ts"))
  const status = yield* Effect.mapError(clusterStatusAt(url), ({ words }) =>
    commandFailed(exitCodes.unavailable, words),
  )
  const expirationOf = ({ lockExpirationMs = config.clusterLockExpirationMs }: RunnerStatus) =>
    lockExpirationMs
  const running = status.runners.filter(
    (runner) => runner.silentSeconds * 1_000 <= expirationOf(runner),
  )
  return {
    status,
    running: running.map(({ address }) => address),
    lockExpirationMs: Math.max(config.clusterLockExpirationMs, ...running.map(expirationOf)),
  }
})

/** The same; fails while a server runs. */
export const readStopped = Effect.fnUntraced(function* (
  config: Config,
  url: string,
): Effect.fn.Return<ClusterStatus, CommandFailed> {
  const { lockExpirationMs, running, status } = yield* readRunning(config, url)
  return running.length === 0
    ? status
    : yield* commandFailed(
        exitCodes.inUse,
        `Stop all servers of the cluster first: ${running.join(", ")}. A lost server counts as running for ${lockExpirationMs / 1_000} seconds after its last heartbeat.`,
      )
})
