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
import { readStopped } from "../process/StoppedCluster.ts"

const yes = Flag.Boolean("yes").pipe(
  Flag.withDescription("Replace without asking"),
  Flag.withDefault(false),
)

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
  const { partitions } = yield* readStopped(config, url)
  const remote = partitions.find(({ partition }) => partition === firstPartition)
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
