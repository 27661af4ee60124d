/**
 * `laurel cluster gather`: the way out of a cluster of several partitions. Only the new directory is written to, apart from what
 * an owner would: PostgreSQL and the directories of the partitions remain the cluster's. So it can be repeated after any
 * failure, and the servers can be started again.
 */
import path from "node:path"
import { Clock, Console, Context, Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import type { Config } from "../../config/Config.ts"
import { clusterDirectory, ofPartition, partitionsName } from "../../config/PartitionConfig.ts"
import { firstPartition, partitionOf } from "../../domain/project/Directory.ts"
import { Engine } from "../../engine/Engine.ts"
import { installDraft } from "../../storage/archive/ArchiveSwap.ts"
import { nodeDisk } from "../../storage/disk/NodeDisk.ts"
import { amountOf } from "../output/Amounts.ts"
import { commandFailed, exitCodes } from "../output/ExitCode.ts"
import { diskFailure } from "../output/JobWords.ts"
import { runJob } from "../process/CommandJob.ts"
import { holdDirectory } from "../process/DataDirectory.ts"
import { loadConfig } from "../process/LoadConfig.ts"
import { loggingLayer } from "../process/Logging.ts"
import { readStopped } from "../process/StoppedCluster.ts"

const target = Argument.String("DIRECTORY").pipe(
  Argument.withDescription("Data directory to create: a new or empty folder"),
)

const dropPending = Flag.Boolean("drop-pending").pipe(
  Flag.withDescription("Drop messages to webhooks that were not sent yet"),
  Flag.withDefault(false),
)

/** The epoch of this command's claim on each partition. */
type Claims = Map<number, number>

/** Claims a partition, replays what its directory lacks from PostgreSQL, and closes it with a snapshot of everything. */
const complete = Effect.fnUntraced(function* (config: Config, partition: number, claims: Claims) {
  // Other commands start sooner without it.
  const { openEngine } = yield* Effect.promise(() => import("../process/OpenEngine.ts"))
  const onClaimed = ({ epoch }: { readonly epoch: number }) => claims.set(partition, epoch)
  const opened = openEngine(ofPartition(config, partition), { onClaimed })
  return yield* Effect.scoped(
    Effect.flatMap(opened, ({ services }) => Context.get(services, Engine).readDirectory),
  )
})

const insistNew = Effect.fnUntraced(function* (directory: string) {
  yield* Effect.mapError(nodeDisk.makeFolder(directory), diskFailure)
  yield* holdDirectory(directory)
  const names = yield* Effect.mapError(nodeDisk.list(directory), diskFailure)
  if (["journal", "live", partitionsName].some((name) => names.includes(name))) {
    return yield* commandFailed(
      exitCodes.refused,
      `${directory} already has data. Name an empty or new folder.`,
    )
  }
})

const copyAudit = Effect.fnUntraced(function* (url: string, directory: string) {
  const [{ ClusterAuditStore }, { PgConnection }] = yield* Effect.promise(() =>
    Promise.all([
      import("../../accounts/audit/ClusterAuditStore.ts"),
      import("../../storage/postgres/PgConnection.ts"),
    ]),
  )
  const sessions = new PgConnection({ url })
  const audit = new ClusterAuditStore({ sessions, now: Date.now })
  yield* Effect.ensuring(audit.copyTo(nodeDisk, directory), sessions.close).pipe(
    Effect.mapError((error) =>
      error._tag === "DiskError"
        ? diskFailure(error)
        : commandFailed(exitCodes.unavailable, `The audit log cannot be copied: ${error.message}`),
    ),
  )
})

const gather = Effect.fnUntraced(function* (
  config: Config,
  url: string,
  input: { readonly directory: string; readonly dropPending: boolean },
) {
  const { directory } = input
  yield* readStopped(config, url)
  yield* insistNew(directory)
  const claims: Claims = new Map()
  const { projects } = yield* complete(config, firstPartition, claims)
  const partitions = new Set([firstPartition, ...[...projects.values()].map(partitionOf)])
  for (const partition of partitions) {
    if (partition !== firstPartition) yield* complete(config, partition, claims)
  }
  // No server of this machine begins meanwhile.
  yield* holdDirectory(clusterDirectory(config))
  const folders = [...partitions].map((partition) =>
    path.resolve(ofPartition(config, partition).dataDirectory),
  )
  const at = yield* Clock.currentTimeMillis
  const result = yield* runJob("gather", { ...input, folders, at })
  const now = yield* readStopped(config, url)
  for (const { epoch, partition } of now.partitions) {
    if ((claims.get(partition) ?? epoch) === epoch) continue
    return yield* commandFailed(
      exitCodes.inUse,
      `A server has claimed partition ${partition} since this command began. Stop all servers, and run the command again.`,
    )
  }
  yield* copyAudit(url, directory)
  yield* Effect.mapError(installDraft(nodeDisk, directory, at), diskFailure)
  return result
})

export const gatherCluster = Command.make(
  "gather",
  { target, dropPending },
  Effect.fnUntraced(function* ({ dropPending, target }) {
    const config = yield* loadConfig
    const { cluster: url } = config
    if (url === undefined) {
      return yield* commandFailed(exitCodes.configuration, "LAUREL_CLUSTER is not set.")
    }
    const directory = path.resolve(target)
    const { counts, dropped, left } = yield* Effect.scoped(
      gather(config, url, { directory, dropPending }),
    ).pipe(Effect.provide(loggingLayer(config)))
    yield* Console.log(
      `Gathered and verified: ${amountOf(counts.projects ?? 0, "project")}, ${amountOf(counts.users ?? 0, "user")}. The cluster's data was not changed.`,
    )
    if (dropped > 0) yield* Console.log(`Dropped ${amountOf(dropped, "message")} to webhooks.`)
    if (left > 0) {
      yield* Console.log(`Skipped ${amountOf(left, "environment")} without a project.`)
    }
    yield* Console.log(`Start a server with LAUREL_DATA_DIR=${directory}, without LAUREL_CLUSTER.`)
  }),
).pipe(
  Command.withDescription(
    "Merge all projects of the cluster into one data directory, for a server without PostgreSQL; all servers must be stopped",
  ),
)
