/** The directory of projects of a data directory, as its place in a cluster, or outside, needs it. */
import { Effect } from "effect"
import type { Config } from "../../config/Config.ts"
import { partitionNumber } from "../../config/PartitionConfig.ts"
import { type DirectoryState, firstPartition, partitionOf } from "../../domain/project/Directory.ts"
import type { LaurelError } from "../../domain/values/Errors.ts"
import type { Engine } from "../../engine/Engine.ts"

const namesShown = 5

/** Why the data cannot be served with this configuration; `undefined`: it can. Decided before anything is written. */
export const misplaced = (
  config: Config,
  { partition, projects }: DirectoryState,
): string | undefined => {
  if (partition !== undefined && partitionNumber(config) === firstPartition) {
    return `This is the data directory of partition ${partition} of a cluster. Its projects and keys are in the data directory of partition 1.`
  }
  if (config.cluster !== undefined) return undefined
  const elsewhere = [...projects.values()].filter((each) => partitionOf(each) !== firstPartition)
  if (elsewhere.length === 0) return undefined
  const names = elsewhere.slice(0, namesShown).map(({ name }) => name)
  const more = elsewhere.length > namesShown ? ` and ${elsewhere.length - namesShown} more` : ""
  return `This is the data directory of partition 1 of a cluster. The data of ${names.join(", ")}${more} are in other partitions. With LAUREL_CLUSTER set, \`laurel cluster gather DIRECTORY\` merges all projects into one data directory.`
}

/** Says in the directory which partition this is, where that is not the first: once, since each record costs a snapshot. */
export const beginDirectory = (
  config: Config,
  engine: Engine["Service"],
): Effect.Effect<void, LaurelError> => {
  const partition = partitionNumber(config)
  if (partition === firstPartition) return Effect.void
  return Effect.flatMap(engine.readDirectory, (directory) =>
    directory.partition === partition
      ? Effect.void
      : Effect.asVoid(engine.askDirectory({ kind: "beginPartition", partition })),
  )
}
