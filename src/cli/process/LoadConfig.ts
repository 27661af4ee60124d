/** The configuration of this process, or the end of the command. */
import { Effect, Result } from "effect"
import { type Config, readConfig } from "../../config/Config.ts"
import { type CommandFailed, commandFailed, exitCodes } from "../output/ExitCode.ts"

/** Reads the environment; warnings go to the standard error stream, faults end the command. */
export const loadConfig: Effect.Effect<Config, CommandFailed> = Effect.suspend(() => {
  const { config, warnings } = readConfig()
  for (const warning of warnings) console.error(`laurel: warning: ${warning}`)
  return Result.isSuccess(config)
    ? Effect.succeed(config.success)
    : Effect.fail(commandFailed(exitCodes.configuration, ...config.failure))
})
