/**
 * Requests of operators to a server of a cluster. A request about archives or a data directory
 * names a partition (`?partition=3`); accounts and keys are in partition 1. If the engine of the
 * partition is open here, it answers. Otherwise the request goes to the internal port of the owner,
 * after this server has checked its own token.
 */
import { Effect, type Scope } from "effect"
import type { ApiKeys } from "../../accounts/ApiKeys.ts"
import type { Projects } from "../../accounts/Projects.ts"
import { noOwner } from "../../cluster/Forward.ts"
import type { Owner } from "../../cluster/Owners.ts"
import type { ClusterStatus, RunnerStatus } from "../../cluster/status.ts"
import { type Config, ofPartition } from "../../config/Config.ts"
import {
  type DirectoryState,
  emptyDirectory,
  firstPartition,
  type Project,
  partitionOf,
  projectNamed,
} from "../../domain/project/Directory.ts"
import { type LaurelError, laurelError } from "../../domain/values/Errors.ts"
import type { Archives } from "../../engine/archive/Archives.ts"
import { type AdminOptions, makeAdmin } from "../../http/admin/AdminServer.ts"
import type { Exchange, RequestHandler } from "../../http/request/Exchange.ts"
import { type CommandFailed, commandFailed, exitCodes } from "../output/ExitCode.ts"

/** The admin servers of a partition's engine, while it is open here. */
export interface AdminHandlers {
  /** For requests with this server's token. */
  own?: RequestHandler
  /** For requests that another server has checked. */
  forOthers?: RequestHandler
}

/** Fills `admin` until the scope closes. */
export const keepAdmin = (
  admin: AdminHandlers,
  options: AdminOptions,
): Effect.Effect<void, never, ApiKeys | Projects | Archives | Scope.Scope> =>
  Effect.gen(function* () {
    const own = yield* makeAdmin(options)
    const forOthers = yield* makeAdmin({ ...options, token: undefined })
    yield* Effect.acquireRelease(
      Effect.sync(() => Object.assign(admin, { own, forOthers })),
      () =>
        Effect.sync(() => {
          delete admin.own
          delete admin.forOthers
        }),
    )
  })

/** Whether the request is about files of the owner's data directory. */
export const isOfDirectory = ({ path }: Pick<Exchange, "path">): boolean =>
  path === "/admin/position"

const partitionQuery = /^\/admin\/(?:archives|position)\?(.*)$/

/** The partition of a request to this path; `undefined`: there is no such partition. */
export const adminPartition = (url: string, partitions: number): number | undefined => {
  const named = new URLSearchParams(partitionQuery.exec(url)?.[1]).get("partition")
  if (named === null) return firstPartition
  const number = /^[1-9]\d*$/.test(named) ? Number(named) : 0
  return number >= 1 && number <= partitions ? number : undefined
}

export const noPartition: LaurelError = laurelError(
  "malformed_request",
  "The cluster has no such partition.",
)

export const elsewhere = (owner: Owner | undefined, partition: number): LaurelError =>
  owner === undefined || owner.address === ""
    ? noOwner
    : laurelError(
        "misdirected_request",
        `The server ${owner.address} of the cluster owns partition ${partition}. Run this command on its machine, with its LAUREL_DATA_DIR.`,
      )

/*
 * The projects of a cluster, for commands: as the owner of partition 1 has published them in
 * PostgreSQL.
 */

/** The directory of the cluster; empty before its first start. */
export const clusterDirectoryOf = (url: string): Effect.Effect<DirectoryState, CommandFailed> =>
  Effect.gen(function* () {
    const [{ readDirectory }, { PgConnection }] = yield* Effect.promise(() =>
      Promise.all([
        import("../../cluster/DirectoryTable.ts"),
        import("../../storage/postgres/PgConnection.ts"),
      ]),
    )
    const connection = new PgConnection({ url })
    const read = Effect.ensuring(readDirectory(connection.run), connection.close)
    const state = yield* Effect.mapError(read, ({ words }) =>
      commandFailed(exitCodes.unavailable, words),
    )
    return state ?? emptyDirectory
  })

/** A project, and the configuration of the partition that has its data. */
export const projectInCluster = Effect.fnUntraced(function* (
  config: Config,
  url: string,
  name: string,
): Effect.fn.Return<{ readonly project: Project; readonly config: Config }, CommandFailed> {
  const project = projectNamed(yield* clusterDirectoryOf(url), name)
  return project === undefined
    ? yield* commandFailed(exitCodes.refused, `There is no project ${name}.`)
    : { project, config: ofPartition(config, partitionOf(project)) }
})

/* Commands that change the data of a cluster need to know which of its servers run. */

interface RunningCluster {
  readonly status: ClusterStatus
  /** The addresses of the servers that run, by their heartbeats. */
  readonly running: ReadonlyArray<string>
  /** The longest expiration of the running servers and of this command. */
  readonly lockExpirationMs: number
}

/** The running servers, by their rows in PostgreSQL. */
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

/** The status of a cluster without running servers; fails while a server runs. */
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
