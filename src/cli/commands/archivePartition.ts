/** Which partition of a cluster an archive is of: its id does not say. */
import { Effect } from "effect"
import type { Config } from "../../config/Config.ts"
import { partitionNumber } from "../../config/PartitionConfig.ts"
import { type CommandFailed, commandFailed, exitCodes } from "../output/ExitCode.ts"
import { archiveSettings, archivesHere } from "../process/ArchiveSettings.ts"
import { idsInBucket } from "../process/BucketAccess.ts"
import { archiveElsewhere, hereOrElsewhere } from "../process/OwnerArchives.ts"
import { forEachPartition } from "./partitionFlag.ts"

/** The one of these that has archive `id`, on this machine or in the bucket; where there is only one, it is not looked into. */
export const partitionOfArchive = Effect.fnUntraced(function* (
  configs: ReadonlyArray<Config>,
  id: string,
): Effect.fn.Return<Config, CommandFailed> {
  if (configs.length === 1) return configs[0]!
  const search = forEachPartition(configs, "ignored", (config) =>
    Effect.gen(function* () {
      const archives = yield* archivesHere(config, yield* archiveSettings(config))
      return archives.some((archive) => archive.id === id) ? [config] : []
    }),
  )
  const here = yield* hereOrElsewhere(configs, id, search)
  const found =
    here.flat().length > 0
      ? here.flat()
      : yield* Effect.filter(configs, (config) =>
          Effect.map(idsInBucket(config), (ids) => ids.includes(id)),
        )
  if (found.length === 1) return found[0]!
  return found.length === 0
    ? yield* archiveElsewhere(configs, id)
    : yield* commandFailed(
        exitCodes.usage,
        `Partitions ${found.map(partitionNumber).join(" and ")} have an archive ${id}: name one by --partition N.`,
      )
})
