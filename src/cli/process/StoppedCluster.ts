/** A cluster none of whose servers runs: what commands need that change its data as a whole. */
import { Effect } from "effect"
import type { ClusterStatus } from "../../cluster/status.ts"
import type { Config } from "../../config/Config.ts"
import { type CommandFailed, commandFailed, exitCodes } from "../output/ExitCode.ts"

/** What PostgreSQL has. Fails while a server runs: they are recognised by their signs of life. */
export const readStopped = Effect.fnUntraced(function* (
  config: Config,
  url: string,
): Effect.fn.Return<ClusterStatus, CommandFailed> {
  const { clusterStatusAt } = yield* Effect.promise(() => import("../../cluster/status.ts"))
  const status = yield* Effect.mapError(clusterStatusAt(url), ({ words }) =>
    commandFailed(exitCodes.unavailable, words),
  )
  const alive = status.runners.filter(
    ({ silentSeconds }) => silentSeconds * 1_000 <= config.clusterLockExpirationMs,
  )
  return alive.length === 0
    ? status
    : yield* commandFailed(
        exitCodes.inUse,
        `Stop all servers of the cluster first: ${alive.map(({ address }) => address).join(", ")}. One that was lost counts as running for ${config.clusterLockExpirationMs / 1_000} seconds.`,
      )
})
