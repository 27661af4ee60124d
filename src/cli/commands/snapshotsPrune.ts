/** `laurel snapshots prune` */
import { Console, Effect } from "effect"
import { Command, Flag } from "effect/cli"
import { expiredOf, pruneArchives } from "../../storage/archive/ArchiveCatalog.ts"
import { nodeDisk } from "../../storage/disk/NodeDisk.ts"
import { amountOf } from "../output/Amounts.ts"
import { diskFailure } from "../output/JobWords.ts"
import { archiveSettings, archivesOf } from "../process/ArchiveSettings.ts"
import { loadConfig } from "../process/LoadConfig.ts"
import { loggingLayer } from "../process/Logging.ts"
import { json } from "./SnapshotFlags.ts"

const dryRun = Flag.Boolean("dry-run").pipe(
  Flag.withDescription("Print the archives to remove, without removing them"),
  Flag.withDefault(false),
)

export const pruneSnapshots = Command.make(
  "prune",
  { dryRun, json },
  Effect.fnUntraced(
    function* ({ dryRun, json }) {
      const config = yield* loadConfig
      const settings = yield* archiveSettings(config)
      const { folder, retention } = settings
      const archives = yield* archivesOf(config, settings)
      const removed = dryRun
        ? expiredOf(archives, retention)
        : yield* Effect.mapError(pruneArchives(nodeDisk, folder, retention), diskFailure)
      if (json) return yield* Console.log(JSON.stringify(removed))
      for (const id of removed) yield* Console.log(id)
      const { daily, hourly } = retention
      yield* Console.error(
        `${dryRun ? "To remove" : "Removed"}: ${amountOf(removed.length, "archive")}. Retention: ${amountOf(hourly, "hourly archive")}, ${amountOf(daily, "daily archive")}.`,
      )
    },
    (effect) => Effect.provide(effect, loggingLayer()),
  ),
).pipe(
  Command.withDescription(
    "Remove archives beyond LAUREL_ARCHIVE_HOURLY and LAUREL_ARCHIVE_DAILY, as the server does after each new archive. Unset variables default to the server's settings. Archives that failed a check stay",
  ),
)
