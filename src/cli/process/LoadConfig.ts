/** The configuration of this process, or the end of the command. */
import { Effect, Result } from "effect"
import { type Config, readConfig } from "../../config/Config.ts"
import { clusterDirectory, ofPartition } from "../../config/PartitionConfig.ts"
import { firstPartition } from "../../domain/project/Directory.ts"
import { type CommandFailed, commandFailed, exitCodes } from "../output/ExitCode.ts"

/** Reads the environment; warnings go to the standard error stream, faults end the command. */
export const loadConfig: Effect.Effect<Config, CommandFailed> = Effect.suspend(() => {
  const { config, warnings } = readConfig()
  for (const warning of warnings) console.error(`laurel: warning: ${warning}`)
  return Result.isSuccess(config)
    ? Effect.succeed(inPartition(config.success))
    : Effect.fail(commandFailed(exitCodes.configuration, ...config.failure))
})

/** In a cluster, the data directory of a command is that of the first partition. */
const inPartition = (config: Config): Config =>
  config.cluster === undefined ? config : ofPartition(config, firstPartition)

/** Where the running server of a data directory keeps its file. */
export const serverFileFolder = (config: Config): string =>
  config.cluster === undefined ? config.dataDirectory : clusterDirectory(config)
