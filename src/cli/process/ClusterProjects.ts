/** The projects of a cluster, for commands: as the first partition's owner has published them in PostgreSQL. */
import { Effect } from "effect"
import type { Config } from "../../config/Config.ts"
import { ofPartition } from "../../config/PartitionConfig.ts"
import {
  type DirectoryState,
  emptyDirectory,
  type Project,
  partitionOf,
  projectNamed,
} from "../../domain/project/Directory.ts"
import { type CommandFailed, commandFailed, exitCodes } from "../output/ExitCode.ts"

/** An empty one before the first start of the cluster. */
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
