/** The configuration of this process, or the end of the command. */
import path from "node:path"
import { Effect, Result } from "effect"
import { type Config, partitionIn, readConfig } from "../../config/Config.ts"
import { type CommandFailed, commandFailed, exitCodes } from "../output/ExitCode.ts"

/** Reads the environment; warnings go to the standard error stream, faults end the command. */
export const loadConfig: Effect.Effect<Config, CommandFailed> = Effect.suspend(() => {
  const { config, warnings } = readConfig()
  for (const warning of warnings) console.error(`laurel: warning: ${warning}`)
  return Result.isSuccess(config)
    ? Effect.succeed(inPartition(config.success))
    : Effect.fail(commandFailed(exitCodes.configuration, ...config.failure))
})

/** In a cluster of one partition, its data directory is that of the process and of every command. */
const inPartition = (config: Config): Config =>
  config.cluster === undefined
    ? config
    : { ...config, dataDirectory: partitionIn(config.dataDirectory, onlyPartition) }

/** The directory of a server of the cluster, which has a data directory for each partition. */
export const clusterDirectory = ({ dataDirectory }: Config): string =>
  path.resolve(dataDirectory, "..", "..")

/** Where the running server of a data directory keeps its file. */
export const serverFileFolder = (config: Config): string =>
  config.cluster === undefined ? config.dataDirectory : clusterDirectory(config)

/** An embedded data directory becomes this one; 0 is for the directory of projects. */
export const onlyPartition = 1
