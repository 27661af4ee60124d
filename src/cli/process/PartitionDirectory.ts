/** The directory of projects of a data directory, as its place in a cluster, or outside, needs it. */
import { Effect } from "effect"
import type { Config } from "../../config/Config.ts"
import { firstPartition, partitionNumber } from "../../config/PartitionConfig.ts"
import { partitionOf } from "../../domain/project/Directory.ts"
import { type LaurelError, laurelError } from "../../domain/values/Errors.ts"
import type { Engine } from "../../engine/Engine.ts"

/**
 * Says in the directory which partition this is, where that is not the first. A data directory without a cluster has all of its
 * projects itself, whatever partitions they had.
 */
export const beginDirectory = (
  config: Config,
  engine: Engine["Service"],
): Effect.Effect<void, LaurelError> =>
  Effect.gen(function* () {
    const { partition, projects } = yield* engine.readDirectory
    const number = partitionNumber(config)
    if (number !== firstPartition) {
      yield* engine.askDirectory({ kind: "beginPartition", partition: number })
    } else if (partition !== undefined) {
      return yield* Effect.fail(
        laurelError(
          "conflict",
          `This is the data directory of partition ${partition} of a cluster. Its projects and keys are in that of partition 1.`,
        ),
      )
    } else if (
      config.cluster === undefined &&
      [...projects.values()].some((project) => partitionOf(project) !== firstPartition)
    ) {
      yield* engine.askDirectory({ kind: "gatherProjects", by: "operator" })
    }
  })
