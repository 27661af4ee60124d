/** `laurel snapshots prune` */
import { Console, Effect } from "effect"
import { Command, Flag } from "effect/cli"
import type { Config } from "../../config/Config.ts"
import { expiredOf, pruneArchives } from "../../storage/archive/ArchiveCatalog.ts"
import type { Retention } from "../../storage/archive/ArchiveRetention.ts"
import { nodeDisk } from "../../storage/disk/NodeDisk.ts"
import { amountOf } from "../output/Amounts.ts"
import { diskFailure } from "../output/JobWords.ts"
import { archiveSettings, archivesOf } from "../process/ArchiveSettings.ts"
import { tellDirectory } from "../process/DataDirectory.ts"
import { loadConfig, serverFileFolder } from "../process/LoadConfig.ts"
import { loggingLayer } from "../process/Logging.ts"
import {
  forEachPartition,
  isSpread,
  partitionFlag,
  partitionMember,
  partitionsOf,
} from "./partitionFlag.ts"
import { json } from "./SnapshotFlags.ts"

const dryRun = Flag.Boolean("dry-run").pipe(
  Flag.withDescription("Print the archives to remove, without removing them"),
  Flag.withDefault(false),
)

const prune = Effect.fnUntraced(function* (config: Config, dryRun: boolean) {
  const settings = yield* archiveSettings(config)
  const { folder, retention } = settings
  const archives = yield* archivesOf(config, settings)
  const removed = dryRun
    ? expiredOf(archives, retention)
    : yield* Effect.mapError(pruneArchives(nodeDisk, folder, retention), diskFailure)
  return { config, removed, retention }
})

const retentionText = ({ daily, hourly }: Retention): string =>
  `${amountOf(hourly, "hourly archive")}, ${amountOf(daily, "daily archive")}`

export const pruneSnapshots = Command.make(
  "prune",
  {
    dryRun,
    json,
    partition: partitionFlag("remove archives of this partition. Default: of all"),
  },
  Effect.fnUntraced(
    function* ({ dryRun, json, partition }) {
      const config = yield* loadConfig
      const configs = yield* partitionsOf(config, partition)
      yield* tellDirectory(serverFileFolder(config))
      const pruned = yield* forEachPartition(configs, "ignored", (config) => prune(config, dryRun))
      // A text for each id outside a cluster, an object for each in one.
      const all = pruned.flatMap(({ config, removed }) =>
        removed.map((id) => (isSpread(config) ? { ...partitionMember(config), id } : id)),
      )
      if (json) return yield* Console.log(JSON.stringify(all))
      for (const { removed } of pruned) {
        for (const id of removed) yield* Console.log(id)
      }
      const retentions = new Set(pruned.map(({ retention }) => retentionText(retention)))
      yield* Console.error(
        `${dryRun ? "To remove" : "Removed"}: ${amountOf(all.length, "archive")}. Retention${pruned.length > 1 ? " of each partition" : ""}: ${[...retentions].join("; ")}.`,
      )
    },
    (effect) => Effect.provide(effect, loggingLayer()),
  ),
).pipe(
  Command.withDescription(
    "Remove archives beyond LAUREL_ARCHIVE_HOURLY and LAUREL_ARCHIVE_DAILY, as the server does after each new archive. Unset variables default to the server's settings. Archives that failed a check stay",
  ),
)
