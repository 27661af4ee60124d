/** `laurel cluster install` */
import path from "node:path"
import { Console, Effect } from "effect"
import { Command, Flag } from "effect/cli"
import type { Config } from "../../config/Config.ts"
import { firstPartition } from "../../config/PartitionConfig.ts"
import { countText } from "../output/Amounts.ts"
import { confirmation } from "../output/confirmation.ts"
import { commandFailed, exitCodes } from "../output/ExitCode.ts"
import { diskFailure } from "../output/JobWords.ts"
import { requireData } from "../process/DataDirectory.ts"
import { loadConfig } from "../process/LoadConfig.ts"
import { loggingLayer } from "../process/Logging.ts"

const yes = Flag.Boolean("yes").pipe(
  Flag.withDescription("Replace without asking"),
  Flag.withDefault(false),
)

/** What PostgreSQL has, where no server runs; they are recognised by their signs of life. */
const readStopped = Effect.fnUntraced(function* (config: Config, url: string) {
  const { clusterStatusAt } = yield* Effect.promise(() => import("../../cluster/status.ts"))
  const read = clusterStatusAt(url)
  const { partitions, runners } = yield* Effect.mapError(read, ({ words }) =>
    commandFailed(exitCodes.unavailable, words),
  )
  const alive = runners.filter(
    ({ silentSeconds }) => silentSeconds * 1_000 <= config.clusterLockExpirationMs,
  )
  return alive.length === 0
    ? partitions.find(({ partition }) => partition === firstPartition)
    : yield* commandFailed(
        exitCodes.inUse,
        `Stop all servers of the cluster first: ${alive.map(({ address }) => address).join(", ")}. One that was lost counts as running for ${config.clusterLockExpirationMs / 1_000} seconds.`,
      )
})

const replace = (config: Config, url: string) =>
  Effect.scoped(
    Effect.gen(function* () {
      const [{ replacePartition }, { enterPartition }] = yield* Effect.promise(() =>
        Promise.all([
          import("../../storage/postgres/ReplacePartition.ts"),
          import("../../storage/postgres/EnterPartition.ts"),
        ]),
      )
      const directory = path.resolve(config.dataDirectory)
      yield* enterPartition(path.resolve(directory, "..", ".."), directory)
      return yield* replacePartition({ url, partition: firstPartition, directory })
    }),
  ).pipe(
    Effect.catchTags({
      Refused: ({ words }) => Effect.fail(commandFailed(exitCodes.configuration, words)),
      PgFailure: ({ words }) => Effect.fail(commandFailed(exitCodes.unavailable, words)),
      DiskError: (error) => Effect.fail(diskFailure(error)),
    }),
    Effect.mapError((error) =>
      error._tag === "CommandFailed"
        ? error
        : commandFailed(
            exitCodes.damagedData,
            `The data directory cannot be opened: ${error.message}`,
          ),
    ),
  )

const install = Effect.fnUntraced(function* (yes: boolean) {
  const config = yield* loadConfig
  const { cluster: url, dataDirectory } = config
  if (url === undefined) {
    return yield* commandFailed(exitCodes.configuration, "LAUREL_CLUSTER is not set.")
  }
  yield* requireData(dataDirectory)
  const remote = yield* readStopped(config, url)
  yield* Console.error(
    remote === undefined
      ? `PostgreSQL has no data yet. It will get those of ${dataDirectory}.`
      : `PostgreSQL has ${countText(remote.records)} records. All of them will be replaced by the data of ${dataDirectory}.`,
  )
  if (!yes) yield* confirmation
  const { lastSequence } = yield* replace(config, url)
  // As an owner: it ends sessions that the restore has brought back, and uploads the deliveries of webhooks.
  const { openEngine } = yield* Effect.promise(() => import("../process/OpenEngine.ts"))
  yield* Effect.scoped(Effect.provide(openEngine(config), loggingLayer(config)))
  yield* Console.log(
    `Installed ${countText(lastSequence)} records. Start the servers: their copies of what was replaced are moved aside.`,
  )
})

export const installCluster = Command.make(
  "install",
  { yes },
  Effect.fnUntraced(function* ({ yes }) {
    yield* install(yes)
  }),
).pipe(
  Command.withDescription(
    "Replace what PostgreSQL has by the data directory of this machine, as a restore has left it; all servers must be stopped",
  ),
)
